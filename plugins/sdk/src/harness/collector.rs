//! The controllers every cluster has: garbage collection by owner reference, and the end of namespaces.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    object::{is_deleting, owner_references, section, text, texts},
    store::{Key, Store, Stored, Writer},
};

/// What a held object waits for.
const HOLDS: [&str; 2] = ["foregroundDeletion", "orphan"];

impl Store {
    /// Does what the controllers would do by now. True when something changed; call it until nothing does.
    pub(super) fn collect_garbage(&mut self) -> bool {
        let before = self.changes.len();
        self.collect_orphans();
        self.finish_held();
        self.empty_namespaces();
        self.changes.len() > before
    }

    /// Where each uid lives.
    fn uids(&self) -> HashMap<String, Key> {
        let uids = self.objects.iter();
        uids.map(|(key, stored)| (text(&stored.object, "/metadata/uid").to_owned(), key.clone())).collect()
    }

    fn remove_gently(&mut self, key: &Key, finalizer: Option<&str>) {
        let Some(old) = self.objects.get(key).cloned() else { return };
        if is_deleting(&old.object) {
            return;
        }
        if let Some(kind) = self.kinds.any_version(&key.group, &key.kind).cloned() {
            self.mark_deleted(&kind, &old, finalizer, &Writer::default());
        }
    }

    /// Deletes what has owners, none of which is there. An owner in another namespace is none.
    fn collect_orphans(&mut self) {
        let uids = self.uids();
        let is_orphan = |(key, stored): &(&Key, &Stored)| {
            let mut owners = owner_references(&stored.object).peekable();
            owners.peek().is_some()
                && owners.all(|owner| match uids.get(text(owner, "/uid")) {
                    Some(found) => found.namespace.is_some() && found.namespace != key.namespace,
                    None => true,
                })
        };
        let orphans: Vec<_> = self.objects.iter().filter(is_orphan).map(|(key, _)| key.clone()).collect();
        for key in orphans {
            self.remove_gently(&key, None);
        }
    }

    fn dependents(&self, uid: &str) -> Vec<(Key, bool)> {
        let of_owner = |object: &Value| {
            let owner = owner_references(object).find(|owner| text(owner, "/uid") == uid);
            owner.map(|owner| owner.get("blockOwnerDeletion").and_then(Value::as_bool) == Some(true))
        };
        let found = self.objects.iter();
        found.filter_map(|(key, stored)| Some((key.clone(), of_owner(&stored.object)?))).collect()
    }

    /// Objects held by foreground deletion go when no dependent blocks them; orphaning ones let go of theirs first.
    fn finish_held(&mut self) {
        let held =
            |stored: &Stored, hold| texts(&stored.object, "/metadata/finalizers").any(|name| name == hold);
        for hold in HOLDS {
            let waiting =
                self.objects.iter().filter(|(_, stored)| is_deleting(&stored.object) && held(stored, hold));
            let waiting: Vec<_> = waiting
                .map(|(key, stored)| (key.clone(), text(&stored.object, "/metadata/uid").to_owned()))
                .collect();
            for (key, uid) in waiting {
                let dependents = self.dependents(&uid);
                let mut blocked = false;
                for (dependent, blocks) in dependents {
                    if hold == "orphan" {
                        self.let_go(&dependent, &uid);
                    } else {
                        self.remove_gently(&dependent, Some(hold));
                        blocked |= blocks && self.objects.contains_key(&dependent);
                    }
                }
                if !blocked {
                    self.drop_finalizer(&key, hold);
                }
            }
        }
    }

    fn let_go(&mut self, key: &Key, uid: &str) {
        self.amend(key, |metadata| {
            if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
                owners.retain(|owner| text(owner, "/uid") != uid);
            }
        });
    }

    fn drop_finalizer(&mut self, key: &Key, finalizer: &str) {
        self.amend(key, |metadata| {
            if let Some(list) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
                list.retain(|name| name != finalizer);
            }
        });
        let done =
            |stored: &Stored| is_deleting(&stored.object) && !super::store::has_finalizers(&stored.object);
        if self.objects.get(key).is_some_and(done) {
            self.remove(key, &Writer::default());
        }
    }

    fn amend(&mut self, key: &Key, change: impl FnOnce(&mut serde_json::Map<String, Value>)) {
        let Some(old) = self.objects.get(key).cloned() else { return };
        let mut new = old.clone();
        change(section(&mut new.object, "metadata"));
        if new != old {
            self.put(key.clone(), Some(&old), new, &Writer::default());
        }
    }

    /// Empties namespaces that are being deleted, and takes the empty ones away.
    fn empty_namespaces(&mut self) {
        let is_namespace = |key: &Key| key.group.is_empty() && key.kind == "Namespace";
        let ending =
            self.objects.iter().filter(|(key, stored)| is_namespace(key) && is_deleting(&stored.object));
        let ending: Vec<_> = ending.map(|(key, _)| key.clone()).collect();
        for namespace in ending {
            let inside = self.objects.keys().filter(|key| key.namespace.as_deref() == Some(&namespace.name));
            let inside: Vec<_> = inside.cloned().collect();
            for key in inside {
                self.remove_gently(&key, None);
            }
            let is_empty = !self.objects.keys().any(|key| key.namespace.as_deref() == Some(&namespace.name));
            let finalized = self
                .objects
                .get(&namespace)
                .is_some_and(|stored| !super::store::has_finalizers(&stored.object));
            if is_empty && finalized {
                self.remove(&namespace, &Writer::default());
            }
        }
    }
}
