//! The objects of one watch, by key.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::cached::Arrival;
use super::{Cached, ObjectEvent};
use crate::object::{Gvk, ObjectKey};

#[derive(Debug, Default)]
struct Objects {
    by_key: HashMap<ObjectKey, Arc<Cached>>,
    /// While a list is under way: what it has brought so far. What it does not bring is gone.
    listed: Option<HashSet<ObjectKey>>,
    bytes: usize,
    /// The highest resource version that any object came with.
    newest: u64,
}

#[derive(Debug)]
pub(super) struct Store {
    gvk: Arc<Gvk>,
    api_version: String,
    objects: RwLock<Objects>,
}

impl Store {
    pub(super) fn new(gvk: Arc<Gvk>) -> Self {
        Self { api_version: gvk.api_version(), gvk, objects: RwLock::default() }
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<Arc<Cached>> {
        self.read().by_key.get(key).cloned()
    }

    pub(super) fn keys(&self) -> Vec<ObjectKey> {
        self.read().by_key.keys().cloned().collect()
    }

    pub(super) fn all(&self) -> Vec<(ObjectKey, Arc<Cached>)> {
        self.read().by_key.iter().map(|(key, cached)| (key.clone(), Arc::clone(cached))).collect()
    }

    /// Objects and bytes.
    pub(super) fn usage(&self) -> (usize, usize) {
        let objects = self.read();
        (objects.by_key.len(), objects.bytes)
    }

    /// Whether the object is here as it was at this resource version, or later. Resource versions grow within a kind
    /// (Kubernetes 1.35 promises it, etcd has always done it); of a server whose versions are no numbers only equality
    /// can be told.
    pub(super) fn is_fresh_enough(&self, key: &ObjectKey, resource_version: &str) -> bool {
        let objects = self.read();
        let cached = objects.by_key.get(key);
        if cached.is_some_and(|cached| &*cached.resource_version == resource_version) {
            return true;
        }
        // Events come in order of their versions: one that is as new was not overtaken.
        resource_version.parse::<u64>().is_ok_and(|wanted| objects.newest >= wanted)
    }

    pub(super) fn begin_list(&self) {
        self.write().listed = Some(HashSet::new());
    }

    /// The list is complete: what it did not bring went away while nobody watched.
    pub(super) fn end_list(&self) -> Vec<ObjectEvent> {
        let mut objects = self.write();
        let Some(listed) = objects.listed.take() else { return Vec::new() };
        let gone: Vec<_> = objects.by_key.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        objects.drop_all(gone)
    }

    /// The kind is gone, and with it everything.
    pub(super) fn clear(&self) -> Vec<ObjectEvent> {
        let mut objects = self.write();
        objects.listed = None;
        let gone: Vec<_> = objects.by_key.keys().cloned().collect();
        objects.drop_all(gone)
    }

    /// Puts an object in; `None` when it says the same as the one that is there.
    pub(super) fn put(&self, arrival: Arrival, relisted: bool) -> Option<ObjectEvent> {
        let key = arrival.key(&self.gvk)?;
        let mut objects = self.write();
        objects.see(arrival.resource_version());
        if let Some(listed) = &mut objects.listed {
            listed.insert(key.clone());
        }
        let before = objects.by_key.get(&key).cloned();
        if before.as_ref().is_some_and(|before| *before.resource_version == *arrival.resource_version()) {
            return None;
        }
        let after = Arc::new(arrival.into_cached(&self.api_version, &self.gvk.kind));
        objects.bytes += after.bytes();
        objects.bytes -= before.as_ref().map_or(0, |before| before.bytes());
        objects.by_key.insert(key.clone(), Arc::clone(&after));
        if before.as_ref().is_some_and(|before| before.says_the_same_as(&after)) {
            return None;
        }
        // A change that a list brought of a known object is a change like any other.
        Some(ObjectEvent { key, relisted: relisted && before.is_none(), before, after: Some(after) })
    }

    pub(super) fn remove(&self, arrival: &Arrival) -> Option<ObjectEvent> {
        let key = arrival.key(&self.gvk)?;
        let mut objects = self.write();
        objects.see(arrival.resource_version());
        let before = objects.drop_object(&key);
        before.is_some().then_some(ObjectEvent { key, before, after: None, relisted: false })
    }

    fn read(&self) -> RwLockReadGuard<'_, Objects> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Objects> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Objects {
    fn see(&mut self, resource_version: &str) {
        self.newest = self.newest.max(resource_version.parse().unwrap_or(0));
    }

    fn drop_object(&mut self, key: &ObjectKey) -> Option<Arc<Cached>> {
        let before = self.by_key.remove(key);
        self.bytes -= before.as_ref().map_or(0, |before| before.bytes());
        before
    }

    fn drop_all(&mut self, gone: Vec<ObjectKey>) -> Vec<ObjectEvent> {
        let events = gone.into_iter().map(|key| {
            let before = self.drop_object(&key);
            ObjectEvent { key, before, after: None, relisted: true }
        });
        events.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn store() -> Store {
        Store::new(Arc::new(Gvk::new("", "v1", "Pod")))
    }

    fn arrival(value: Value) -> Arrival {
        serde_json::from_value(value).unwrap()
    }

    fn object(name: &str, version: &str) -> Arrival {
        let metadata = json!({"name": name, "namespace": "n", "resourceVersion": version, "uid": name});
        arrival(json!({"metadata": metadata, "spec": {"version": version}}))
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(Arc::new(Gvk::new("", "v1", "Pod")), Some("n"), name)
    }

    #[test]
    fn a_list_after_a_break_reports_what_vanished_and_keeps_silent_about_what_stayed() {
        let store = store();
        store.begin_list();
        assert!(store.put(object("a", "1"), true).unwrap().relisted);
        store.put(object("b", "2"), true);
        assert_eq!(store.end_list().len(), 0);
        store.begin_list();
        assert!(store.put(object("b", "2"), true).is_none());
        let created = store.put(object("c", "3"), true).unwrap();
        assert!(created.before.is_none());
        let gone = store.end_list();
        assert_eq!(gone.len(), 1);
        assert_eq!(&*gone[0].key.name, "a");
        assert!(gone[0].after.is_none());
    }

    #[test]
    fn a_change_that_happened_during_a_break_is_reported_like_any_other() {
        let store = store();
        store.put(object("a", "1"), false);
        store.begin_list();
        let event = store.put(object("a", "5"), true).unwrap();
        assert!(!event.relisted && event.before.is_some());
    }

    #[test]
    fn a_list_that_broke_off_makes_nothing_vanish() {
        let store = store();
        store.put(object("a", "1"), false);
        store.begin_list();
        store.begin_list();
        store.put(object("a", "1"), true);
        assert_eq!(store.end_list().len(), 0);
        assert_eq!(store.keys(), [key("a")]);
    }

    #[test]
    fn a_new_version_that_says_the_same_is_kept_without_a_word() {
        let store = store();
        let version = |rv: &str| {
            arrival(
                json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": rv, "managedFields": [rv]}}),
            )
        };
        assert!(store.put(version("1"), false).is_some());
        assert!(store.put(version("2"), false).is_none());
        assert_eq!(&*store.get(&key("a")).unwrap().resource_version, "2");
    }

    #[test]
    fn bytes_are_given_back_when_objects_go() {
        let store = store();
        store.put(object("a", "1"), false);
        store.put(object("a", "2"), false);
        assert!(store.usage().1 > 0);
        assert!(store.remove(&object("a", "2")).is_some());
        assert!(store.remove(&object("a", "2")).is_none());
        store.put(object("b", "3"), false);
        assert_eq!(store.clear().len(), 1);
        assert_eq!(store.usage(), (0, 0));
    }

    #[test]
    fn the_cache_knows_whether_it_has_seen_a_write() {
        let store = store();
        store.put(object("a", "10"), false);
        assert!(store.is_fresh_enough(&key("a"), "10"));
        assert!(store.is_fresh_enough(&key("a"), "9"));
        assert!(!store.is_fresh_enough(&key("a"), "100"));
        // The deletion of another object is as new: what is missing now was not overtaken.
        store.remove(&object("a", "100"));
        assert!(store.is_fresh_enough(&key("b"), "100"));
        assert!(!store.is_fresh_enough(&key("b"), "opaque"));
    }
}
