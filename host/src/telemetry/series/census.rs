//! How many objects there are of which sort.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use super::MAX_SERIES;
use crate::object::ObjectKey;

/// Gauges of objects, by name.
#[derive(Debug, Default)]
pub(super) struct Census(BTreeMap<String, Counted>);

#[derive(Debug, Default)]
struct Counted {
    /// The labels with which each object was counted last.
    objects: HashMap<ObjectKey, Arc<str>>,
    /// How many there are with which labels.
    counts: BTreeMap<Arc<str>, usize>,
}

impl Census {
    /// Counts an object. False: there are too many series.
    pub(super) fn count(&mut self, name: &str, labels: &str, object: &ObjectKey) -> bool {
        let counted = self.0.entry(name.to_owned()).or_default();
        let known = counted.counts.get_key_value(labels).map(|(labels, _)| Arc::clone(labels));
        if known.is_none() && counted.counts.len() >= MAX_SERIES {
            return false;
        }
        let labels = known.unwrap_or_else(|| Arc::from(labels));
        *counted.counts.entry(Arc::clone(&labels)).or_default() += 1;
        if let Some(before) = counted.objects.insert(object.clone(), labels) {
            counted.one_less(&before);
        }
        true
    }

    /// Whether objects are counted under this name.
    pub(super) fn counts(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Forgets all other objects.
    pub(super) fn retain(&mut self, keep: impl Fn(&ObjectKey) -> bool) {
        for counted in self.0.values_mut() {
            let gone: Vec<ObjectKey> =
                counted.objects.keys().filter(|object| !keep(object)).cloned().collect();
            for object in gone {
                counted.forget(&object);
            }
        }
    }

    pub(super) fn forget(&mut self, object: &ObjectKey) {
        self.0.values_mut().for_each(|counted| counted.forget(object));
    }

    /// Writes the gauges in Prometheus' text format.
    pub(super) fn write(&self, out: &mut String) -> std::fmt::Result {
        for (name, counted) in &self.0 {
            writeln!(out, "# TYPE pilothouse_plugin_{name} gauge")?;
            for (labels, count) in &counted.counts {
                writeln!(out, "pilothouse_plugin_{name}{{{labels}}} {count}")?;
            }
        }
        Ok(())
    }
}

impl Counted {
    fn forget(&mut self, object: &ObjectKey) {
        if let Some(labels) = self.objects.remove(object) {
            self.one_less(&labels);
        }
    }

    fn one_less(&mut self, labels: &Arc<str>) {
        if let Some(count) = self.counts.get_mut(labels) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(labels);
            }
        }
    }
}
