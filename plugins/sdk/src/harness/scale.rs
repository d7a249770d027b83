//! The subresource `scale`.

use serde_json::{Value, json};

use super::{
    kinds::Kind,
    object::section,
    patch::patched,
    store::{Part, Store, Stored, Writer},
};
use crate::{KubeError, Patch};

impl Store {
    pub(super) fn patch_scale(
        &mut self,
        kind: &Kind,
        old: &Stored,
        patch: &Patch,
        writer: &Writer,
    ) -> Result<Value, KubeError> {
        let before = scale_of(&old.object);
        let scale = patched(&before, patch.format, &patch.body, true)?;
        let mut after = Self::answer(old, &kind.gvk);
        let replicas = scale.pointer("/spec/replicas").cloned().unwrap_or_default();
        section(&mut after, "spec").insert("replicas".to_owned(), replicas);
        self.commit(kind, old, after, Part::Scale, writer).map(|object| scale_of(&object))
    }
}

/// The `Scale` of an object.
fn scale_of(object: &Value) -> Value {
    let at = |pointer: &str| object.pointer(pointer).cloned();
    json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {
            "name": at("/metadata/name"), "namespace": at("/metadata/namespace"), "uid": at("/metadata/uid"),
            "resourceVersion": at("/metadata/resourceVersion"),
        },
        "spec": {"replicas": at("/spec/replicas")},
        "status": {"replicas": at("/status/replicas").unwrap_or_else(|| 0.into())},
    })
}
