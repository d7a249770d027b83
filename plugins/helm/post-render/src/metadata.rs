//! Labels and annotations for every object.

use serde_json::{Map, Value};

/// `commonMetadata`.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommonMetadata {
    pub(crate) labels: Map<String, Value>,
    pub(crate) annotations: Map<String, Value>,
}

impl CommonMetadata {
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.annotations.is_empty()
    }

    /// Sets them on the object itself; the pods of a workload keep theirs, so that nothing restarts. What is there is overridden.
    pub(crate) fn apply(&self, object: &mut Value) -> Result<(), String> {
        for (field, wanted) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !wanted.is_empty() {
                let metadata = map(object, "metadata")?;
                let there = map(metadata, field)?;
                for (key, value) in wanted {
                    if let Value::Object(there) = &mut *there {
                        there.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        Ok(())
    }
}

/// The map in a field, made if there is none.
fn map<'a>(value: &'a mut Value, field: &str) -> Result<&'a mut Value, String> {
    let Value::Object(parent) = value else { return Err("is no object".to_owned()) };
    let child = parent.entry(field).or_insert(Value::Null);
    if child.is_null() {
        *child = Value::Object(Map::new());
    }
    if child.is_object() { Ok(child) } else { Err(format!("its {field} is no object")) }
}
