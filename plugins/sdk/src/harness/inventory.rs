//! What declarative children each owner has. Survives crashes, as the host's own record does.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    object::{ref_of, section, text},
    ownership::{Owner, same_object},
};
use crate::{Error, Gvk, ObjectRef};

/// The children of all owners, by the owner's uid.
pub(super) type Inventories = BTreeMap<String, Vec<ObjectRef>>;

/// What has to be done for one owner.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) apply: Vec<Value>,
    /// Latest first.
    pub(super) delete: Vec<ObjectRef>,
    /// Recorded before anything is applied: what was there and what will be.
    pub(super) announce: Vec<ObjectRef>,
    /// Recorded when all is done.
    pub(super) settle: Vec<ObjectRef>,
}

impl Plan {
    /// Compares the desired set with the inventory. Children of a namespaced owner that name no namespace get the
    /// owner's, where their kind has namespaces.
    ///
    /// # Errors
    /// The whole set is refused when an object stands in it twice.
    pub(super) fn new(
        inventory: &[ObjectRef],
        desired: Vec<Value>,
        owner: &Owner,
        namespaced: impl Fn(&Gvk) -> bool,
    ) -> Result<Self, Error> {
        let (mut apply, mut settle) = (Vec::new(), Vec::<ObjectRef>::new());
        for mut child in desired {
            let kind = ref_of(&child).kind;
            if let Some(namespace) = &owner.reference.namespace
                && text(&child, "/metadata/namespace").is_empty()
                && namespaced(&kind)
            {
                section(&mut child, "metadata").insert("namespace".to_owned(), json!(namespace));
            }
            let reference = ref_of(&child);
            if settle.contains(&reference) {
                return Err(Error::permanent(
                    "PluginAnswerInvalid",
                    format!("{reference} stands twice in the set"),
                ));
            }
            settle.push(reference);
            apply.push(child);
        }
        let gone = |old: &&ObjectRef| !settle.iter().any(|new| same_object(new, old));
        let delete: Vec<_> = inventory.iter().rev().filter(gone).cloned().collect();
        let announce = settle.iter().chain(delete.iter().rev()).cloned().collect();
        Ok(Self { apply, delete, announce, settle })
    }
}
