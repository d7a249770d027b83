//! The only writer of status.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::Method;
use serde_json::{Map, Value, json};

use super::conditions::{self, Stamp};
use crate::cluster::path::Resource;
use crate::cluster::request::{Api, ApiError, Call};
use crate::object::ObjectKey;
use crate::plugin::bindings::State;
use crate::plugin::call::Reply;

/// Writes status, and only what differs.
#[derive(Debug)]
pub struct Publisher {
    api: Api,
    /// What our own last write returned, until the watch has caught up with it.
    written: Mutex<HashMap<ObjectKey, Written>>,
}

#[derive(Clone, Debug)]
struct Written {
    resource_version: String,
    status: Value,
}

/// What is to be told.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The object as it was given to the hook.
    pub object: &'a Value,
    /// What the hook said.
    pub reply: &'a Reply,
    /// Conditions of the kind have `lastUpdateTime`.
    pub update_time: bool,
}

impl Publisher {
    /// A writer under the host's own account.
    pub fn new(api: Api) -> Self {
        Self { api, written: Mutex::new(HashMap::new()) }
    }

    /// Brings the object's status to what the hook said: its patch, its conditions, and the host's conditions for the
    /// state. Sends nothing when nothing differs. The answer is the resource version written, if any.
    ///
    /// # Errors
    /// The API server's refusal. An object that is gone meanwhile is no error.
    pub async fn publish(
        &self,
        resource: &Resource,
        key: &ObjectKey,
        told: Told<'_>,
    ) -> Result<Option<String>, ApiError> {
        if matches!(told.reply.state, State::Foreign) {
            return Ok(None);
        }
        let current = self.current_status(key, told.object);
        let wanted = status_of(&current, told);
        if wanted == current {
            return Ok(None);
        }
        let patch = json!({"status": difference(&current, &wanted)});
        let answer = match self.send(resource, key, "status", &patch).await {
            // A kind without a status subresource: the status is a part of the object like others.
            Err(error) if error.code == 404 => self.send(resource, key, "", &patch).await,
            other => other,
        };
        let object = match answer {
            Ok(object) => object,
            Err(error) if error.code == 404 => return Ok(None),
            Err(error) => return Err(error),
        };
        let resource_version = object
            .pointer("/metadata/resourceVersion")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let status = object.get("status").cloned().unwrap_or_else(|| json!({}));
        let written = Written { resource_version: resource_version.clone(), status };
        self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), written);
        Ok(Some(resource_version))
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    async fn send(
        &self,
        resource: &Resource,
        key: &ObjectKey,
        subresource: &str,
        patch: &Value,
    ) -> Result<Value, ApiError> {
        let path = resource.object(key.namespace.as_deref(), &key.name, subresource);
        let call = Call::new(Method::PATCH, format!("{path}?fieldManager=pilothouse"), None);
        let call = call.body("application/merge-patch+json", patch.to_string().into_bytes());
        self.api.send_json(call).await.map(|(_, object)| object)
    }

    /// The status to compare with: the object's, unless we know a newer one that the watch has not brought yet.
    fn current_status(&self, key: &ObjectKey, object: &Value) -> Value {
        let seen = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ours) = written.get(key) {
            if is_newer(&ours.resource_version, seen) {
                return ours.status.clone();
            }
            written.remove(key);
        }
        object.get("status").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}))
    }
}

/// Resource versions of one resource are ordered numbers (Kubernetes 1.35 makes it a promise; etcd's revisions always were).
pub fn is_newer(version: &str, than: &str) -> bool {
    match (version.parse::<u64>(), than.parse::<u64>()) {
        (Ok(version), Ok(than)) => version > than,
        _ => false,
    }
}

/// The whole status after the hook's words. Pure.
fn status_of(current: &Value, told: Told<'_>) -> Value {
    let mut status = current.clone();
    if let Some(patch) = &told.reply.status {
        json_patch::merge(&mut status, patch);
    }
    let generation = told.object.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or(0);
    let existing = current.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let (mut set, mut drop) = conditions::of_state(&told.reply.state);
    // A plugin may say `Ready` itself; its word counts.
    set.retain(|ours| !told.reply.conditions.iter().any(|theirs| theirs.kind == ours.kind));
    set.extend(told.reply.conditions.iter().cloned());
    drop.extend(told.reply.drop_conditions.iter().map(String::as_str));
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let stamp = Stamp { generation, now: &now, update_time: told.update_time };
    let merged = conditions::merge(&existing, &set, &drop, stamp);
    if let Some(map) = status.as_object_mut() {
        map.insert("conditions".to_owned(), Value::Array(merged));
        if generation > 0 {
            map.insert("observedGeneration".to_owned(), json!(generation));
        }
    }
    status
}

/// The merge patch from one status to another, one level deep: what stays is not sent.
fn difference(from: &Value, to: &Value) -> Value {
    let empty = Map::new();
    let (from, to) = (from.as_object().unwrap_or(&empty), to.as_object().unwrap_or(&empty));
    let mut patch = Map::new();
    for (key, value) in to {
        match from.get(key) {
            Some(before) if before == value => {}
            // A merge patch merges maps: what left a map has to be said.
            Some(before) => {
                patch.insert(key.clone(), replace_map(before, value));
            }
            None => {
                patch.insert(key.clone(), value.clone());
            }
        }
    }
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Value::Object(patch)
}

fn replace_map(before: &Value, after: &Value) -> Value {
    match (before, after) {
        (Value::Object(_), Value::Object(_)) => difference(before, after),
        _ => after.clone(),
    }
}

/// The key's shared form, for maps.
pub type SharedPublisher = Arc<Publisher>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::bindings::State;

    fn reply(status: Option<Value>) -> Reply {
        Reply {
            state: State::Ready,
            children: None,
            status,
            conditions: vec![],
            drop_conditions: vec![],
            events: vec![],
            requeue_after: None,
            watches: vec![],
        }
    }

    #[test]
    fn saying_the_same_again_changes_nothing() {
        let object = json!({"metadata": {"generation": 3}, "status": {"other": 1}});
        let reply = reply(Some(json!({"url": "x"})));
        let told = Told { object: &object, reply: &reply, update_time: true };
        let first = status_of(&object["status"], told);
        assert_eq!(first["url"], json!("x"));
        assert_eq!(first["other"], json!(1));
        assert_eq!(first["observedGeneration"], json!(3));
        assert_eq!(status_of(&first, told), first);
    }

    #[test]
    fn a_patch_says_what_left_a_map() {
        let patch = difference(&json!({"a": {"x": 1, "y": 2}, "b": 1}), &json!({"a": {"x": 1, "z": 3}}));
        assert_eq!(patch, json!({"a": {"y": null, "z": 3}, "b": null}));
    }

    #[test]
    fn only_numbers_are_ordered() {
        assert!(is_newer("10", "9"));
        assert!(!is_newer("9", "9"));
        assert!(!is_newer("x", "9"));
    }
}
