//! What a chart looked up in the cluster is part of what its revision was made from. So each question is noted with the revision,
//! with a digest of its answer, and asked again when the release is looked at without anything having moved.
//!
//! What the release itself brought about is no news: its own objects are left out of all answers. So a password that a chart keeps
//! by looking for its own Secret costs no second rendering, and no release can run after itself.

use std::{collections::BTreeMap, fmt::Write};

use jiff::{SignedDuration, Timestamp};
use pilothouse_sdk::Reason;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    call::Call,
    decorate::{HOOK_RUN, Owner},
    lookup::ClusterLookup,
    ownership::foreign,
};

/// So many questions of a chart are noted: a record's annotations have to stay small.
const MOST: usize = 100;
/// A mark of a revision whose chart looks things up and has not looked up any: not that of a former version, which noted nothing.
const NOTHING: &str = "[]";
/// So long after it was asked last it is asked also when objects of the release move, where no period is said: a release one of whose
/// objects moves all the time never comes to a resync.
const PERIOD: SignedDuration = SignedDuration::from_mins(10);
/// Of so many releases an instance knows when it was asked.
const MOST_RELEASES: usize = 10_000;
/// What of metadata moves without anybody meaning it.
const RESTLESS: [&str; 4] = ["resourceVersion", "managedFields", "generation", "selfLink"];

/// apiVersion, kind, namespace and name.
pub(crate) type Question = (String, String, String, String);

/// Questions with digests of their answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LookedUp(BTreeMap<Question, String>);

impl LookedUp {
    /// Notes an answer.
    pub(crate) fn note(&mut self, question: Question, answer: String) {
        if self.0.len() < MOST || self.0.contains_key(&question) {
            self.0.insert(question, answer);
        }
    }

    /// Whether nothing was looked up.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As a revision is marked with it.
    pub(crate) fn mark(&self) -> String {
        let all: Vec<_> = self.0.iter().collect();
        serde_json::to_string(&all).unwrap_or_else(|_| NOTHING.to_owned())
    }

    /// Of a revision's mark.
    pub(crate) fn of_mark(mark: Option<&String>) -> Self {
        let all: Option<Vec<_>> = mark.and_then(|mark| serde_json::from_str(mark).ok());
        Self(all.unwrap_or_default().into_iter().collect())
    }
}

/// What is known of the answers in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answers {
    /// Nobody asked.
    Unasked,
    /// The same as then, as far as it can be told.
    Same,
    /// Others, by their digest.
    Otherwise(String),
}

/// When it was asked last, by the owners of releases.
#[derive(Debug, Default)]
pub(crate) struct LastAsked(BTreeMap<String, Timestamp>);

impl LastAsked {
    fn note(&mut self, owner: &str, now: Timestamp) {
        if self.0.len() >= MOST_RELEASES {
            self.0.clear();
        }
        self.0.insert(owner.to_owned(), now);
    }

    /// How long ago that was; counted from now on where nobody knows.
    fn age(&mut self, owner: &str, now: Timestamp) -> SignedDuration {
        if !self.0.contains_key(owner) {
            self.note(owner, now);
        }
        self.0.get(owner).map_or(SignedDuration::ZERO, |asked| now.duration_since(*asked))
    }
}

impl Call<'_> {
    /// Whether this call is one of those that ask again. What some object's change led to is not while the release is at rest: its
    /// own record moves when answers are noted, and that must not lead to the next question. While something is waited for that
    /// answers led to, it is asked whatever moved; without them it would not be wanted any more.
    pub(crate) fn asks_again(&self) -> bool {
        *self.asks_again_cell().get_or_init(|| {
            let of_an_object = |reason: &Reason| matches!(reason, Reason::Child(_) | Reason::Related(_));
            let period = self.annotations().reconcile_period().ok().flatten();
            let period = period.and_then(|period| SignedDuration::try_from(period).ok()).unwrap_or(PERIOD);
            let age = self.operator().lookups.borrow_mut().age(&self.owner().uid, self.now());
            !self.ctx().reasons().iter().all(of_an_object) || !self.is_at_rest() || age >= period
        })
    }

    /// What is answered now to the questions of a mark. Each question is asked once in a call.
    pub(crate) fn answers(&self, mark: Option<&String>) -> Answers {
        let then = LookedUp::of_mark(mark);
        self.operator().lookups.borrow_mut().note(&self.owner().uid, self.now());
        let Some(lookup) = ClusterLookup::new(self).ok().filter(|_| !then.0.is_empty()) else {
            return Answers::Same;
        };
        let mut asked = self.asked().borrow_mut();
        let mut now = LookedUp::default();
        for (question, before) in &then.0 {
            let ask = || lookup.find(question).map_or(before.clone(), |found| digest(found, self.owner()));
            let answer = asked.entry(question.clone()).or_insert_with(ask);
            now.note(question.clone(), answer.clone());
        }
        if now == then { Answers::Same } else { Answers::Otherwise(short_digest(now.mark().as_bytes())) }
    }
}

/// The digest of an answer, without what is the release's own and what moves by itself. Of lists the status does not count either:
/// who is asked for by name is meant, others move beside the release, and most of all by it.
pub(crate) fn digest(answer: Option<Value>, owner: &Owner) -> String {
    let text = match answer {
        Some(Value::Object(mut list)) if list.get("items").is_some_and(Value::is_array) => {
            if let Some(items) = list.get_mut("items").and_then(Value::as_array_mut) {
                items.retain(|item| !is_own(item, owner));
                items.iter_mut().for_each(|item| calm(item, owner));
                items
                    .iter_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(|item| drop(item.remove("status")));
            }
            Value::Object(list).to_string()
        }
        Some(mut found) if !is_own(&found, owner) => {
            calm(&mut found, owner);
            found.to_string()
        }
        Some(_) | None => String::new(),
    };
    short_digest(text.as_bytes())
}

fn short_digest(text: &[u8]) -> String {
    Sha256::digest(text).iter().take(8).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Whether an object is the release's own: one of its objects, of its hooks or of its records.
fn is_own(object: &Value, owner: &Owner) -> bool {
    let entry = |table: &str, key: &str| object.get("metadata")?.get(table)?.get(key)?.as_str();
    let of_a_hook = |run: &str| {
        run.strip_prefix(owner.release.as_str()).is_some_and(|rest| rest.starts_with(".v"))
            && object.pointer("/metadata/namespace").and_then(Value::as_str) == Some(&owner.namespace)
    };
    let is_record = entry("labels", "name") == Some(&owner.release)
        && matches!(entry("labels", "owner"), Some("helm" | "pilothouse"));
    is_record
        || entry("annotations", HOOK_RUN).is_some_and(of_a_hook)
        || foreign(object, &owner.release, &owner.namespace).is_none()
}

/// Takes off what moves by itself: of the release's owner also its status, which we write.
fn calm(object: &mut Value, owner: &Owner) {
    let is_owner = object.pointer("/metadata/uid").and_then(Value::as_str) == Some(&owner.uid);
    let Some(fields) = object.as_object_mut() else { return };
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !RESTLESS.contains(&key.as_str()));
    }
    if is_owner {
        fields.retain(|key, _| key != "status");
    }
    if let Some(status) = fields.get_mut("status") {
        without_times(status);
    }
}

/// Takes off when something was seen last, which kubelets and controllers write again and again.
fn without_times(status: &mut Value) {
    match status {
        Value::Object(fields) => {
            let is_time =
                |key: &str| key == "observedGeneration" || (key.starts_with("last") && key.ends_with("Time"));
            fields.retain(|key, _| !is_time(key));
            fields.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decorate::tests::owner;
    use serde_json::json;

    fn object(version: &str, metadata: Value, status: Value) -> Value {
        let mut object = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status});
        object["metadata"]["resourceVersion"] = version.into();
        object
    }

    fn of(object: Value) -> String {
        digest(Some(object), &owner())
    }

    #[test]
    fn what_moves_by_itself_is_no_other_answer_and_everything_else_is() {
        let seen = |time: &str, ready: &str| json!({"conditions": [{"lastHeartbeatTime": time, "status": ready}], "observedGeneration": 3});
        let first = of(object("1", json!({"name": "a"}), seen("1", "True")));
        assert_eq!(first, of(object("2", json!({"name": "a", "generation": 2}), seen("2", "True"))));
        assert_ne!(first, of(object("2", json!({"name": "a"}), seen("2", "False"))));
        assert_ne!(first, of(object("2", json!({"name": "a", "labels": {"b": "c"}}), seen("1", "True"))));
        assert_ne!(first, digest(None, &owner()));
        let status = |phase: &str| of(object("1", json!({"uid": "u"}), json!({ "phase": phase })));
        assert_eq!(status("a"), status("b"), "the release's owner says what we say");
        let list = |phase: &str| of(json!({"items": [object("1", json!({}), json!({ "phase": phase }))]}));
        assert_eq!(list("a"), list("b"), "of all there are the status does not count");
    }

    #[test]
    fn what_the_release_brought_about_is_no_answer() {
        let labels = json!({"app.kubernetes.io/managed-by": "Helm"});
        let of_release = json!({"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "ns"});
        let run = json!({"helm.pilothouse.dev/hook-run": "shop.v2.pre-upgrade.0.1"});
        let record = json!({"owner": "helm", "name": "shop"});
        for own in [
            json!({"labels": labels, "annotations": of_release}),
            json!({"namespace": "ns", "annotations": run}),
            json!({"labels": record}),
        ] {
            let own = object("1", own, Value::Null);
            assert_eq!(of(own.clone()), digest(None, &owner()), "{own}");
            let other = object("1", json!({"name": "other"}), Value::Null);
            let list = |items: Value| of(json!({"kind": "NodeList", "items": items}));
            assert_eq!(list(json!([own, other])), list(json!([other])));
        }
    }

    #[test]
    fn a_mark_is_read_as_it_is_written() {
        let mut noted = LookedUp::default();
        assert_eq!(noted.mark(), NOTHING);
        noted.note(("v1".into(), "Secret".into(), "ns".into(), String::new()), "0a".into());
        assert_eq!(LookedUp::of_mark(Some(&noted.mark())), noted);
        assert_eq!(LookedUp::of_mark(Some(&"soon".to_owned())), LookedUp::default());
    }
}
