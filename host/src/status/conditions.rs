//! Conditions as kstatus reads them: `Ready` always, `Reconciling` and `Stalled` only while they hold. Pure.

use serde_json::{Map, Value, json};

use crate::plugin::bindings::{Condition, ConditionStatus, State};

/// Conditions of the host itself.
pub const READY: &str = "Ready";
/// Under way.
pub const RECONCILING: &str = "Reconciling";
/// Stuck until people act.
pub const STALLED: &str = "Stalled";

/// The host's conditions for a state, and those that go away.
pub fn of_state(state: &State) -> (Vec<Condition>, Vec<&'static str>) {
    let condition = |kind: &str, status, reason: &str, message: &str| Condition {
        kind: kind.to_owned(),
        status,
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    match state {
        State::Ready => {
            (vec![condition(READY, ConditionStatus::Yes, "Reconciled", "")], vec![RECONCILING, STALLED])
        }
        State::Progressing((reason, message)) => (
            vec![
                condition(READY, ConditionStatus::No, or(reason, "Progressing"), message),
                condition(RECONCILING, ConditionStatus::Yes, or(reason, "Progressing"), message),
            ],
            vec![STALLED],
        ),
        State::Stalled((reason, message)) => (
            vec![
                condition(READY, ConditionStatus::No, or(reason, "Stalled"), message),
                condition(STALLED, ConditionStatus::Yes, or(reason, "Stalled"), message),
            ],
            vec![RECONCILING],
        ),
        State::Foreign => (Vec::new(), Vec::new()),
    }
}

fn or<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.is_empty() { default } else { text }
}

/// What the host fills in.
#[derive(Clone, Copy, Debug)]
pub struct Stamp<'a> {
    /// The object's `metadata.generation`.
    pub generation: u64,
    /// The time, as Kubernetes writes it.
    pub now: &'a str,
    /// Conditions of the kind have `lastUpdateTime`: when status, reason or message last changed.
    pub update_time: bool,
}

/// The list of conditions after setting some and dropping others. A condition keeps its transition time while its
/// status stays; the order of the list stays, new ones come last.
pub fn merge(existing: &[Value], set: &[Condition], drop: &[&str], stamp: Stamp<'_>) -> Vec<Value> {
    let kind_of = |value: &Value| value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut merged: Vec<Value> =
        existing.iter().filter(|value| !drop.contains(&kind_of(value).as_str())).cloned().collect();
    for condition in set {
        if drop.contains(&condition.kind.as_str())
            && !matches!(condition.kind.as_str(), READY | RECONCILING | STALLED)
        {
            continue;
        }
        let position = merged.iter().position(|value| kind_of(value) == condition.kind);
        let before = position.and_then(|index| merged.get(index));
        let value = render(condition, before, stamp);
        match position.and_then(|index| merged.get_mut(index)) {
            Some(slot) => *slot = value,
            None => merged.push(value),
        }
    }
    merged
}

fn render(condition: &Condition, before: Option<&Value>, stamp: Stamp<'_>) -> Value {
    let Stamp { generation, now, update_time } = stamp;
    let status = match condition.status {
        ConditionStatus::Yes => "True",
        ConditionStatus::No => "False",
        ConditionStatus::Unknown => "Unknown",
    };
    let same_status = before.filter(|value| value.get("status").and_then(Value::as_str) == Some(status));
    let since =
        same_status.and_then(|value| value.get("lastTransitionTime")).cloned().unwrap_or_else(|| json!(now));
    let mut map = Map::new();
    map.insert("type".to_owned(), json!(condition.kind));
    map.insert("status".to_owned(), json!(status));
    map.insert("observedGeneration".to_owned(), json!(generation));
    map.insert("lastTransitionTime".to_owned(), since);
    if !condition.reason.is_empty() {
        map.insert("reason".to_owned(), json!(condition.reason));
    }
    map.insert("message".to_owned(), json!(condition.message));
    if update_time {
        let says = ["status", "reason", "message"];
        let same = before.filter(|value| says.iter().all(|field| value.get(field) == map.get(*field)));
        let updated = same.and_then(|value| value.get("lastUpdateTime")).cloned();
        map.insert("lastUpdateTime".to_owned(), updated.unwrap_or_else(|| json!(now)));
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-02T00:00:00Z";

    fn at(generation: u64) -> Stamp<'static> {
        Stamp { generation, now: NOW, update_time: false }
    }

    fn old() -> Vec<Value> {
        vec![
            json!({"type": "Deployed", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}),
            json!({"type": "Stalled", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}),
        ]
    }

    #[test]
    fn ready_takes_the_abnormal_conditions_away_and_leaves_others_alone() {
        let (set, drop) = of_state(&State::Ready);
        let merged = merge(&old(), &set, &drop, at(7));
        let kinds: Vec<_> = merged.iter().map(|c| c["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["Deployed", "Ready"]);
        assert_eq!(merged[1]["observedGeneration"], json!(7));
        assert_eq!(merged[1]["lastTransitionTime"], json!(NOW));
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let set = |status| {
            [Condition {
                kind: "Deployed".to_owned(),
                status,
                reason: "R".to_owned(),
                message: "m".to_owned(),
            }]
        };
        let same = merge(&old(), &set(ConditionStatus::Yes), &[], at(1));
        assert_eq!(same[0]["lastTransitionTime"], json!("2020-01-01T00:00:00Z"));
        assert_eq!(same[0]["reason"], json!("R"));
        let other = merge(&old(), &set(ConditionStatus::No), &[], at(1));
        assert_eq!(other[0]["lastTransitionTime"], json!(NOW));
    }

    #[test]
    fn the_update_time_moves_with_anything_that_is_said_and_is_told_only_of_kinds_that_have_it() {
        let told = |message: &str, existing: &[Value], now, update_time| {
            let (kind, reason, message) = ("Deployed".to_owned(), "R".to_owned(), message.to_owned());
            let set = [Condition { kind, status: ConditionStatus::Yes, reason, message }];
            merge(existing, &set, &[], Stamp { generation: 1, now, update_time })
        };
        let first = told("m", &old(), NOW, true);
        assert_eq!(first[0]["lastUpdateTime"], json!(NOW));
        assert_eq!(told("m", &first, "2026-01-03T00:00:00Z", true), first);
        let second = told("n", &first, "2026-01-03T00:00:00Z", true);
        assert_eq!(second[0]["lastUpdateTime"], json!("2026-01-03T00:00:00Z"));
        assert_eq!(second[0]["lastTransitionTime"], json!("2020-01-01T00:00:00Z"));
        assert!(told("m", &old(), NOW, false)[0].get("lastUpdateTime").is_none());
    }

    #[test]
    fn a_stalled_object_is_not_reconciling() {
        let (set, drop) = of_state(&State::Stalled((String::new(), "broken template".to_owned())));
        assert_eq!(set.iter().map(|c| c.kind.as_str()).collect::<Vec<_>>(), [READY, STALLED]);
        assert_eq!(drop, [RECONCILING]);
        assert_eq!(set[1].reason, "Stalled");
    }
}
