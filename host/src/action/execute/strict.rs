//! What others added to an applied object, and how it is taken away.
//!
//! Server-side apply leaves what it does not name to whoever added it. `metadata.managedFields` of the answer says what that
//! is: what managers own beside ours. It is taken away by one patch, so that a refusal leaves everything as it is. Not
//! touched is what nobody owns (defaults, what admission put in), what comes by way of a subresource (status, scale), what
//! Kubernetes itself manages, and metadata but labels and annotations.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Map, Value, json};

use super::apply::Taken;
use super::supersede::{text, unite};
use super::{Actor, Executor};
use crate::cluster::path::{Resource, escape};
use crate::cluster::request::{ApiError, Call, ErrorKind};
use crate::object::ObjectKey;

/// Managers that are parts of Kubernetes, beside those that begin with `kube-`. Some distributions run all of it in one
/// process.
const OF_KUBERNETES: [&str; 6] = ["kubelet", "cloud-controller-manager", "k3s", "rke2", "k0s", "kubelite"];
/// Domains of annotations by which Kubernetes' controllers speak with each other.
const OF_CONTROLLERS: [&str; 6] = [
    "autoscaling.alpha.kubernetes.io",
    "control-plane.alpha.kubernetes.io",
    "deployment.kubernetes.io",
    "endpoints.kubernetes.io",
    "pv.kubernetes.io",
    "volume.kubernetes.io",
];
/// Where it is not said how many there are to be, somebody else says it.
const REPLICAS: &str = "/spec/replicas";

/// A way down into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    Name(String),
    Index(usize),
}

/// What has to be taken away.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Removal {
    /// A JSON patch that holds for the object as it is.
    pub(super) patch: String,
    /// Whose it was.
    pub(super) taken: Vec<Taken>,
}

/// What came of taking additions away.
pub(super) enum Away {
    /// There were none.
    None,
    /// They are gone; the object as it is now.
    Gone(Value, Vec<Taken>),
    /// Somebody wrote meanwhile, and the next apply finds the same to do.
    Moved,
    /// The API server does not let them go, in its words.
    Refused(String),
}

impl Executor {
    /// Takes away what others added to an object, which is the API server's answer to an apply.
    pub(super) async fn take_away(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        key: &ObjectKey,
        object: &Value,
        keep: &[String],
    ) -> Result<Away, ApiError> {
        let Some(Removal { patch, taken }) = additions(object, &actor.manager.name, keep) else {
            return Ok(Away::None);
        };
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        let path = format!("{path}?fieldManager={}", escape(&actor.manager.name));
        let call = Call::new(Method::PATCH, path, actor.grants.account.as_deref());
        match self.api.send_json(call.body("application/json-patch+json", patch.into_bytes())).await {
            Ok((_, object)) => Ok(Away::Gone(object, taken)),
            Err(error) => match error.kind {
                ErrorKind::Conflict | ErrorKind::NotFound => Ok(Away::Moved),
                ErrorKind::Invalid | ErrorKind::Forbidden => Ok(Away::Refused(error.message)),
                _ => Err(error),
            },
        }
    }
}

/// What others than the manager added to an object, which is the API server's answer to an apply. `keep`: JSON pointers to
/// what stays with everything below.
pub(super) fn additions(object: &Value, manager: &str, keep: &[String]) -> Option<Removal> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let is_other = |entry: &&Value| {
        let name = text(entry, "manager");
        text(entry, "subresource").is_empty()
            && name != manager
            && !name.starts_with("kube-")
            && !OF_KUBERNETES.contains(&name)
    };
    let (others, rest): (Vec<&Value>, Vec<&Value>) = entries.iter().partition(is_other);
    let mut known = Map::new();
    for fields in rest.iter().filter_map(|entry| entry.get("fieldsV1")?.as_object()) {
        unite(&mut known, fields);
    }
    let (mut gone, mut taken) = (BTreeSet::new(), Vec::new());
    for entry in others {
        let mut search = Search { keep, at: Vec::new(), said: String::new(), found: Vec::new() };
        if let Some(Value::Object(fields)) = entry.get("fieldsV1") {
            search.below(fields, &known, object);
        }
        if !search.found.is_empty() {
            let (paths, fields): (Vec<_>, Vec<_>) = search.found.into_iter().unzip();
            gone.extend(paths);
            taken.push(Taken::of(text(entry, "manager"), fields));
        }
    }
    if gone.is_empty() {
        return None;
    }
    let version = object.pointer("/metadata/resourceVersion")?;
    // The resource version is the precondition. From the end, so that places in lists stay what they are.
    let removals = gone.iter().rev().map(|path| json!({"op": "remove", "path": pointer(path)}));
    let guard = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version});
    let patch: Value = std::iter::once(guard).chain(removals).collect();
    Some(Removal { patch: patch.to_string(), taken })
}

/// A walk through what one manager owns.
struct Search<'a> {
    keep: &'a [String],
    at: Vec<Token>,
    /// The same in the API server's words.
    said: String,
    found: Vec<(Vec<Token>, String)>,
}

impl Search<'_> {
    /// Looks for what `known` does not have of `fields`, a tree whose leaves are empty (`FieldsV1`).
    fn below(&mut self, fields: &Map<String, Value>, known: &Map<String, Value>, live: &Value) {
        for (step, fields) in fields {
            let Some((token, said, live)) = resolve(step, live) else { continue };
            let depth = (self.at.len(), self.said.len());
            self.at.push(token);
            self.said.push_str(&said);
            if self.may_be_touched() {
                self.one(step, fields, known.get(step), live);
            }
            self.at.truncate(depth.0);
            self.said.truncate(depth.1);
        }
    }

    fn one(&mut self, step: &str, fields: &Value, known: Option<&Value>, live: &Value) {
        let (nothing, here) = (Map::new(), pointer(&self.at));
        let inside = fields.as_object().filter(|fields| fields.keys().any(|step| step != "."));
        let under = |keep: &&String| keep.strip_prefix(&here).is_some_and(|rest| rest.starts_with('/'));
        let known = match known.and_then(Value::as_object) {
            // Both want it, and want the same of it.
            Some(_) if inside.is_none() => return,
            Some(known) => known,
            None if self.is_frame() || self.keep.iter().any(|keep| under(&keep)) => &nothing,
            None => return self.found.push((self.at.clone(), self.said.clone())),
        };
        // An item of a list is nothing without its keys.
        let keys = step.strip_prefix("k:").and_then(|keys| serde_json::from_str::<Map<_, _>>(keys).ok());
        let is_key = |step: &str| {
            let name = step.strip_prefix("f:").unwrap_or_default();
            keys.as_ref().is_some_and(|keys| keys.contains_key(name))
        };
        let fields = inside.into_iter().flatten().filter(|(step, _)| !is_key(step));
        self.below(&fields.map(|(step, fields)| (step.clone(), fields.clone())).collect(), known, live);
    }

    /// Parts of an object that are not taken away as a whole.
    fn is_frame(&self) -> bool {
        let names: Vec<&str> = self.at.iter().filter_map(Token::name).collect();
        matches!(names.as_slice(), ["metadata" | "spec" | "data"] | ["metadata", "labels" | "annotations"])
    }

    fn may_be_touched(&self) -> bool {
        let here = pointer(&self.at);
        let kept = |keep: &String| {
            here == *keep || here.strip_prefix(keep.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        if here == REPLICAS || self.keep.iter().any(kept) {
            return false;
        }
        let names: Vec<&str> = self.at.iter().filter_map(Token::name).collect();
        match names.as_slice() {
            ["status" | "apiVersion" | "kind", ..] => false,
            ["metadata", rest @ ..] => match rest {
                [] | ["labels", ..] | ["annotations"] => true,
                ["annotations", name, ..] => {
                    let domain = name.split('/').next().unwrap_or_default();
                    !OF_CONTROLLERS.contains(&domain)
                }
                _ => false,
            },
            _ => true,
        }
    }
}

impl Token {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            Self::Index(_) => None,
        }
    }
}

/// Where a step of `FieldsV1` leads in the object, how the API server writes it, and what is there.
fn resolve<'v>(step: &str, live: &'v Value) -> Option<(Token, String, &'v Value)> {
    let (sort, rest) = step.split_once(':')?;
    if sort == "f" {
        return Some((Token::Name(rest.to_owned()), format!(".{rest}"), live.get(rest)?));
    }
    let items = live.as_array()?;
    let (index, said) = match sort {
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
            let fits = |item: &Value| keys.iter().all(|(key, value)| item.get(key) == Some(value));
            let said: Vec<_> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
            (items.iter().position(fits)?, said.join(","))
        }
        "v" => {
            let value: Value = serde_json::from_str(rest).ok()?;
            (items.iter().position(|item| *item == value)?, format!("={value}"))
        }
        "i" => (rest.parse().ok()?, rest.to_owned()),
        _ => return None,
    };
    Some((Token::Index(index), format!("[{said}]"), items.get(index)?))
}

/// RFC 6901.
fn pointer(path: &[Token]) -> String {
    let token = |token: &Token| match token {
        Token::Name(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        Token::Index(index) => format!("/{index}"),
    };
    path.iter().map(token).collect()
}

#[cfg(test)]
mod tests;
