//! From a desired set of children and the inventory of the last one to what has to be done. Pure.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::inventory::Entry;
use crate::object::ObjectKey;

/// Why a set of children is refused as a whole: nothing of it is applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A child does not say what it is.
    #[error("children[{0}] needs apiVersion, kind and metadata.name")]
    Nameless(usize),
    /// The same object twice.
    #[error("children[{index}]: {key} stands twice in the set")]
    Twice {
        /// Which one.
        index: usize,
        /// The object.
        key: String,
    },
}

/// What has to be done for one owner, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Recorded before anything is applied: what was there and what will be. A crash in between loses nothing.
    pub announce: Vec<Entry>,
    /// Objects to apply, in the order given.
    pub apply: Vec<Value>,
    /// Objects to delete, latest first.
    pub delete: Vec<Entry>,
    /// Recorded when all is done.
    pub settle: Vec<Entry>,
}

impl Plan {
    /// Compares the desired set with the inventory. Children of a namespaced owner that name no namespace get the
    /// owner's; `namespaced` says whether a kind has namespaces (`None`: not known yet, then it is left as it is).
    ///
    /// # Errors
    /// The whole set is refused when one child is nameless or stands twice.
    pub fn new(
        inventory: &[Entry],
        desired: Vec<Value>,
        owner: &ObjectKey,
        namespaced: impl Fn(&crate::object::Gvk) -> Option<bool>,
    ) -> Result<Self, PlanError> {
        let mut settle: Vec<Entry> = Vec::with_capacity(desired.len());
        let mut apply = Vec::with_capacity(desired.len());
        let mut seen = HashSet::new();
        for (index, mut child) in desired.into_iter().enumerate() {
            let key = ObjectKey::of(&child).ok_or(PlanError::Nameless(index))?;
            let wants_namespace = key.namespace.is_none() && namespaced(&key.gvk) == Some(true);
            let key = match &owner.namespace {
                Some(namespace) if wants_namespace => {
                    if let Some(metadata) = child.get_mut("metadata").and_then(Value::as_object_mut) {
                        metadata.insert("namespace".to_owned(), json!(&**namespace));
                    }
                    ObjectKey { namespace: Some(namespace.clone()), ..key }
                }
                _ => key,
            };
            if !seen.insert(key.clone()) {
                return Err(PlanError::Twice { index, key: key.to_string() });
            }
            settle.push(Entry::of(&key));
            apply.push(child);
        }
        // A version change of the same object is no reason to delete it.
        let kept = |entry: &Entry| settle.iter().any(|new| new.same_object(entry));
        let delete: Vec<Entry> = inventory.iter().rev().filter(|entry| !kept(entry)).cloned().collect();
        let mut announce = settle.clone();
        announce.extend(delete.iter().rev().cloned());
        Ok(Self { announce, apply, delete, settle })
    }

    /// What stays announced when the child after the first `done` ones was refused, so that nothing came of it: what was recorded
    /// before, and what was applied. The rest was never made; it would have to be deleted one day, perhaps by an account that
    /// may not even do that.
    pub fn taken_back(&self, inventory: &[Entry], done: usize) -> Vec<Entry> {
        let applied = self.settle.get(..done).unwrap_or_default();
        let may_exist =
            |entry: &&Entry| inventory.iter().chain(applied).any(|known| known.same_object(entry));
        self.announce.iter().filter(may_exist).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Gvk;
    use std::sync::Arc;

    fn owner() -> ObjectKey {
        ObjectKey::new(Arc::new(Gvk::new("example.com", "v1", "App")), Some("shop"), "a")
    }

    fn child(kind: &str, name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}})
    }

    fn plan(inventory: &[Entry], desired: Vec<Value>) -> Result<Plan, PlanError> {
        Plan::new(inventory, desired, &owner(), |gvk| Some(gvk.kind != "Namespace"))
    }

    #[test]
    fn children_get_the_owners_namespace_where_their_kind_has_one() {
        let plan = plan(&[], vec![child("ConfigMap", "c"), child("Namespace", "n")]).unwrap();
        assert_eq!(plan.apply[0]["metadata"]["namespace"], json!("shop"));
        assert_eq!(plan.apply[1]["metadata"].get("namespace"), None);
    }

    #[test]
    fn what_left_the_set_is_deleted_latest_first_and_announced_before() {
        let first =
            plan(&[], vec![child("ConfigMap", "a"), child("ConfigMap", "b"), child("ConfigMap", "c")])
                .unwrap();
        let second = plan(&first.settle, vec![child("ConfigMap", "b")]).unwrap();
        let names = |entries: &[Entry]| entries.iter().map(|e| e.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&second.delete), ["c", "a"]);
        assert_eq!(names(&second.announce), ["b", "a", "c"]);
        assert_eq!(names(&second.settle), ["b"]);
    }

    #[test]
    fn of_a_refused_set_only_what_may_exist_stays_announced() {
        let set = |names: &[&str]| names.iter().map(|name| child("ConfigMap", name)).collect();
        let before = plan(&[], set(&["old", "kept"])).unwrap().settle;
        let plan = plan(&before, set(&["a", "b", "kept", "c"])).unwrap();
        let names = |done| {
            let left = plan.taken_back(&before, done);
            left.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(0), ["kept", "old"]);
        assert_eq!(names(1), ["a", "kept", "old"]);
        assert_eq!(names(4), ["a", "b", "kept", "c", "old"]);
    }

    #[test]
    fn a_new_version_of_the_same_object_deletes_nothing() {
        let old = json!({"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "x"}});
        let new = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "x"}});
        let first = plan(&[], vec![old]).unwrap();
        assert_eq!(plan(&first.settle, vec![new]).unwrap().delete, []);
    }

    #[test]
    fn one_bad_child_refuses_the_whole_set() {
        let bad = json!({"kind": "ConfigMap", "metadata": {}});
        assert_eq!(plan(&[], vec![child("ConfigMap", "a"), bad]), Err(PlanError::Nameless(1)));
        let twice = plan(&[], vec![child("ConfigMap", "a"), child("ConfigMap", "a")]).unwrap_err();
        assert!(twice.to_string().contains("ConfigMap.v1 shop/a stands twice"));
    }
}
