//! What the host writes to an object's status: the plugin's patch, its conditions, and the three of kstatus.

use serde_json::{Value, json};

use super::object::{members, text};
use crate::{Condition, ConditionStatus, Error, ErrorClass, Outcome, State};

/// What is to be told about one object.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) patch: Option<Value>,
    pub(super) conditions: Vec<Condition>,
    pub(super) drop_conditions: Vec<String>,
    /// Another operator's object: nothing is written on it.
    foreign: bool,
}

impl Report {
    /// A hook went well.
    pub(super) fn of_outcome(outcome: &Outcome) -> Self {
        let mut report = Self::of_state(&outcome.state);
        report.add(outcome.status.as_ref(), &outcome.conditions, &outcome.drop_conditions);
        report
    }

    /// A hook, or what it asked for, failed: worth trying again means still reconciling, not worth it means stalled.
    pub(super) fn of_error(error: &Error) -> Self {
        let (reason, message) = (error.reason().to_owned(), error.message().to_owned());
        Self::of_state(&match error.class() {
            ErrorClass::Permanent => State::Stalled { reason, message },
            ErrorClass::Retry | ErrorClass::RetryAfter(_) => State::Progressing { reason, message },
        })
    }

    /// Adds what the plugin tells; its word about a condition counts before the host's.
    pub(super) fn add(
        &mut self,
        patch: Option<&Value>,
        conditions: &[Condition],
        drop_conditions: &[String],
    ) {
        self.patch = patch.cloned();
        self.conditions.retain(|ours| !conditions.iter().any(|theirs| theirs.kind == ours.kind));
        self.conditions.extend_from_slice(conditions);
        self.drop_conditions.extend_from_slice(drop_conditions);
    }

    fn of_state(state: &State) -> Self {
        let condition = |kind: &str, yes: bool, reason: &str, message: &str| {
            Condition::new(kind, yes).reason(reason).message(message)
        };
        let (conditions, drop): (_, &[&str]) = match state {
            State::Ready => (vec![condition("Ready", true, "Reconciled", "")], &["Reconciling", "Stalled"]),
            State::Foreign => return Self { foreign: true, ..Self::default() },
            State::Progressing { reason, message } => {
                let both = [("Ready", false), ("Reconciling", true)];
                (both.map(|(kind, yes)| condition(kind, yes, reason, message)).to_vec(), &["Stalled"])
            }
            State::Stalled { reason, message } => {
                let both = [("Ready", false), ("Stalled", true)];
                (both.map(|(kind, yes)| condition(kind, yes, reason, message)).to_vec(), &["Reconciling"])
            }
        };
        let drop_conditions = drop.iter().map(|kind| (*kind).to_owned()).collect();
        Self { patch: None, conditions, drop_conditions, foreign: false }
    }

    /// The merge patch that brings the live object's status there; none when it is there already.
    pub(super) fn merge_patch(&self, live: &Value, generation: u64, now: &str) -> Option<Value> {
        if self.foreign {
            return None;
        }
        let before = live.get("status").cloned().unwrap_or_else(|| json!({}));
        let mut host = json!({"conditions": self.conditions_after(&before, generation, now)});
        if generation > 0 {
            members(&mut host).insert("observedGeneration".to_owned(), generation.into());
        }
        let mut patch = self.patch.clone().unwrap_or_else(|| json!({}));
        members(&mut patch).append(members(&mut host));
        let mut after = before.clone();
        json_patch::merge(&mut after, &patch);
        (after != before).then(|| json!({"status": patch}))
    }

    fn conditions_after(&self, status: &Value, generation: u64, now: &str) -> Vec<Value> {
        let mut conditions = status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        conditions.retain(|known| !self.drop_conditions.iter().any(|kind| kind == text(known, "/type")));
        for Condition { kind, status, reason, message } in &self.conditions {
            let mut new = json!({
                "type": kind, "status": status.as_str(), "observedGeneration": generation,
                "lastTransitionTime": now, "message": message,
            });
            if !reason.is_empty() {
                members(&mut new).insert("reason".to_owned(), reason.as_str().into());
            }
            let Some(known) = conditions.iter_mut().find(|known| text(known, "/type") == kind) else {
                conditions.push(new);
                continue;
            };
            if text(known, "/status") == status.as_str()
                && let Some(since) = known.get("lastTransitionTime")
            {
                members(&mut new).insert("lastTransitionTime".to_owned(), since.clone());
            }
            *known = new;
        }
        conditions
    }
}

/// What an object's status says about a condition, for tests.
pub(super) fn condition(object: &Value, kind: &str) -> Option<Condition> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|known| text(known, "/type") == kind)?;
    let status = match text(found, "/status") {
        "True" => ConditionStatus::Yes,
        "False" => ConditionStatus::No,
        _ => ConditionStatus::Unknown,
    };
    Some(Condition::new(kind, status).reason(text(found, "/reason")).message(text(found, "/message")))
}
