//! How objects are deleted.

use serde_json::{Value, json};

/// How an object is deleted.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// `Background`, `Foreground` or `Orphan`.
    pub propagation: &'static str,
    /// Precondition.
    pub uid: Option<String>,
    /// Precondition.
    pub resource_version: Option<String>,
    /// Seconds; the kind's default when absent.
    pub grace_period: Option<u32>,
}

impl DeleteOptions {
    pub(super) fn body(&self) -> String {
        let mut body =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": self.propagation});
        let mut preconditions = serde_json::Map::new();
        if let Some(uid) = &self.uid {
            preconditions.insert("uid".to_owned(), json!(uid));
        }
        if let Some(version) = &self.resource_version {
            preconditions.insert("resourceVersion".to_owned(), json!(version));
        }
        if let Some(map) = body.as_object_mut() {
            if !preconditions.is_empty() {
                map.insert("preconditions".to_owned(), Value::Object(preconditions));
            }
            if let Some(seconds) = self.grace_period {
                map.insert("gracePeriodSeconds".to_owned(), json!(seconds));
            }
        }
        body.to_string()
    }
}
