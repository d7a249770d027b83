//! Names of kinds and objects in the guest's words and in the host's.

use super::bindings::{ObjectRef, WitGvk};
use crate::object::{Gvk, ObjectKey};

/// The guest's kind in the host's words.
pub fn host_gvk(gvk: &WitGvk) -> Gvk {
    Gvk::new(&gvk.group, &gvk.version, &gvk.kind)
}

/// The host's kind in the guest's words.
pub fn wit_gvk(gvk: &Gvk) -> WitGvk {
    WitGvk { group: gvk.group.clone(), version: gvk.version.clone(), kind: gvk.kind.clone() }
}

/// The host's object in the guest's words.
pub fn wit_ref(key: &ObjectKey) -> ObjectRef {
    ObjectRef {
        kind: wit_gvk(&key.gvk),
        namespace: key.namespace.as_deref().map(ToOwned::to_owned),
        name: key.name.to_string(),
    }
}
