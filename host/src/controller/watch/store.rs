//! The objects of one watch, by key.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use kube::api::DynamicObject;

use super::{Cached, ObjectEvent};
use crate::object::{Gvk, ObjectKey};

#[derive(Debug, Default)]
struct Objects {
    by_key: HashMap<ObjectKey, Arc<Cached>>,
    /// While a list is under way: what it has brought so far. What it does not bring is gone.
    listed: Option<HashSet<ObjectKey>>,
    bytes: usize,
}

#[derive(Debug, Default)]
pub(super) struct Store {
    objects: RwLock<Objects>,
}

impl Store {
    pub(super) fn get(&self, key: &ObjectKey) -> Option<Arc<Cached>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).by_key.get(key).cloned()
    }

    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).by_key.keys().cloned().collect()
    }

    pub(super) fn all(&self) -> Vec<(ObjectKey, Arc<Cached>)> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.by_key.iter().map(|(key, cached)| (key.clone(), Arc::clone(cached))).collect()
    }

    /// Objects and bytes.
    pub(super) fn usage(&self) -> (usize, usize) {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        (objects.by_key.len(), objects.bytes)
    }

    pub(super) fn begin_list(&self) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).listed = Some(HashSet::new());
    }

    /// The list is complete: what it did not bring went away while nobody watched.
    pub(super) fn end_list(&self) -> Vec<ObjectEvent> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let Some(listed) = objects.listed.take() else { return Vec::new() };
        let gone: Vec<ObjectKey> =
            objects.by_key.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        let events = gone.into_iter().map(|key| {
            let before = objects.drop_object(&key);
            ObjectEvent { key, before, after: None, relisted: true }
        });
        events.collect()
    }

    /// Puts an object in; `None` when it is the one that is there already.
    pub(super) fn put(&self, gvk: &Arc<Gvk>, object: DynamicObject, relisted: bool) -> Option<ObjectEvent> {
        let key = key_of(gvk, &object)?;
        let after = Arc::new(Cached::new(object, &gvk.api_version(), &gvk.kind));
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(listed) = &mut objects.listed {
            listed.insert(key.clone());
        }
        let known =
            objects.by_key.get(&key).is_some_and(|before| before.resource_version == after.resource_version);
        if known {
            return None;
        }
        objects.bytes += after.bytes();
        let before = objects.by_key.insert(key.clone(), Arc::clone(&after));
        objects.bytes -= before.as_ref().map_or(0, |before| before.bytes());
        // A change that a list brought of a known object is a change like any other.
        Some(ObjectEvent { key, relisted: relisted && before.is_none(), before, after: Some(after) })
    }

    pub(super) fn remove(&self, gvk: &Arc<Gvk>, object: &DynamicObject) -> Option<ObjectEvent> {
        let key = key_of(gvk, object)?;
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let before = objects.drop_object(&key);
        before.is_some().then_some(ObjectEvent { key, before, after: None, relisted: false })
    }
}

impl Objects {
    fn drop_object(&mut self, key: &ObjectKey) -> Option<Arc<Cached>> {
        let before = self.by_key.remove(key);
        self.bytes -= before.as_ref().map_or(0, |before| before.bytes());
        before
    }
}

fn key_of(gvk: &Arc<Gvk>, object: &DynamicObject) -> Option<ObjectKey> {
    let name = object.metadata.name.as_deref()?;
    Some(ObjectKey::new(Arc::clone(gvk), object.metadata.namespace.as_deref(), name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(name: &str, version: &str) -> DynamicObject {
        serde_json::from_value(
            json!({"metadata": {"name": name, "namespace": "n", "resourceVersion": version, "uid": name}}),
        )
        .unwrap()
    }

    #[test]
    fn a_list_after_a_break_reports_what_vanished_and_keeps_silent_about_what_stayed() {
        let (store, gvk) = (Store::default(), Arc::new(Gvk::new("", "v1", "Pod")));
        store.begin_list();
        assert!(store.put(&gvk, object("a", "1"), true).unwrap().relisted);
        store.put(&gvk, object("b", "2"), true);
        assert_eq!(store.end_list().len(), 0);
        store.begin_list();
        assert!(store.put(&gvk, object("b", "2"), true).is_none());
        let changed = store.put(&gvk, object("c", "3"), true).unwrap();
        assert!(changed.before.is_none());
        let gone = store.end_list();
        assert_eq!(gone.len(), 1);
        assert_eq!(&*gone[0].key.name, "a");
        assert!(gone[0].after.is_none());
    }

    #[test]
    fn bytes_are_given_back_when_objects_go() {
        let (store, gvk) = (Store::default(), Arc::new(Gvk::new("", "v1", "Pod")));
        store.put(&gvk, object("a", "1"), false);
        store.put(&gvk, object("a", "2"), false);
        assert!(store.usage().1 > 0);
        assert!(store.remove(&gvk, &object("a", "2")).is_some());
        assert!(store.remove(&gvk, &object("a", "2")).is_none());
        assert_eq!(store.usage(), (0, 0));
    }
}
