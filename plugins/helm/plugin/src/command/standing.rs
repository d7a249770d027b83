//! Where an object says that it stands: its condition `Ready`, and what else is worth a remark.

use std::fmt;

use serde_json::Value;

/// What `Ready` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    /// `True`, `False` or `Unknown`.
    pub(super) ready: String,
    /// UpperCamelCase.
    pub(super) reason: String,
    /// Why it is not.
    pub(super) message: String,
}

const UNKNOWN: &str = "Unknown";

impl Standing {
    /// Reads it. What was said of an older generation is not known of this one.
    pub(super) fn of(object: &Value) -> Self {
        let Some(ready) = condition(object, "Ready") else { return Self::without_ready(object) };
        let text = |field: &str| ready.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let standing = Self { ready: text("status"), reason: text("reason"), message: text("message") };
        let generation = object.pointer("/metadata/generation").and_then(Value::as_u64);
        let seen = ready.get("observedGeneration").and_then(Value::as_u64);
        match (seen, generation) {
            (Some(seen), Some(generation)) if seen < generation => Self {
                ready: UNKNOWN.to_owned(),
                reason: "NotObserved".to_owned(),
                message: format!(
                    "the operator has not looked at generation {generation} yet; it said {} of {seen}",
                    standing.ready
                ),
            },
            _ => standing,
        }
    }

    fn without_ready(object: &Value) -> Self {
        let (reason, message) = if condition(object, "Deployed").is_some() {
            ("NoReadyCondition", "kept by an operator that says nothing of readiness")
        } else {
            ("NotObserved", "no operator has looked at it yet")
        };
        Self { ready: UNKNOWN.to_owned(), reason: reason.to_owned(), message: message.to_owned() }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready == "True"
    }

    /// Whether the object says anything.
    pub(super) fn is_known(&self) -> bool {
        self.ready != UNKNOWN
    }
}

/// `Ready is False: NotReady: Deployment web: 0 of 2 pods are there`.
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready is {}", self.ready)?;
        [&self.reason, &self.message]
            .into_iter()
            .filter(|part| !part.is_empty())
            .try_for_each(|part| write!(f, ": {part}"))
    }
}

/// What else conditions tell.
pub(super) fn remarks(object: &Value) -> Vec<String> {
    let told = [
        ("ManualRevision", "True", "made by hand"),
        ("Drifted", "True", "drifted"),
        ("TestSuccess", "False", "tests failed"),
        ("Paused", "True", "suspended"),
    ];
    let holds =
        |kind: &str, status: &str| condition(object, kind).is_some_and(|found| found["status"] == status);
    let remarks = told.into_iter().filter(|(kind, status, _)| holds(kind, status));
    let mut remarks: Vec<_> = remarks.map(|(_, _, words)| words.to_owned()).collect();
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        remarks.push("being deleted".to_owned());
    }
    remarks
}

/// Why nothing is done about an object for now; none: it is looked after.
pub(super) fn suspension(object: &Value) -> Option<String> {
    let annotation =
        object.pointer("/metadata/annotations/helm.pilothouse.dev~1suspend").and_then(Value::as_str);
    if annotation.is_some_and(|word| matches!(word, "1" | "t" | "T" | "true" | "TRUE" | "True")) {
        return Some("its annotation helm.pilothouse.dev/suspend says so".to_owned());
    }
    let paused = condition(object, "Paused").filter(|paused| paused["status"] == "True")?;
    Some(paused["message"].as_str().unwrap_or("its condition Paused says so").to_owned())
}

/// A condition of the object.
fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(conditions: Value) -> Value {
        json!({"metadata": {"generation": 3}, "status": {"conditions": conditions}})
    }

    #[test]
    fn what_is_said_of_an_older_generation_is_not_known_of_this_one() {
        let ready = |seen: u64| {
            let message = "Deployment web: 0 of 2 pods are there";
            let condition = json!({"type": "Ready", "status": "False", "reason": "NotReady", "message": message,
                "observedGeneration": seen});
            Standing::of(&object(json!([condition])))
        };
        assert_eq!(ready(3).to_string(), "Ready is False: NotReady: Deployment web: 0 of 2 pods are there");
        let old = ready(2);
        assert_eq!((old.ready.as_str(), old.reason.as_str()), ("Unknown", "NotObserved"));
        assert_eq!(old.message, "the operator has not looked at generation 3 yet; it said False of 2");
    }

    #[test]
    fn objects_of_other_operators_and_new_ones_are_told_apart() {
        assert_eq!(Standing::of(&json!({})).reason, "NotObserved");
        let deployed = object(json!([{"type": "Deployed", "status": "True"}]));
        assert_eq!(Standing::of(&deployed).reason, "NoReadyCondition");
    }

    #[test]
    fn what_is_worth_a_remark_is_told() {
        let all = object(json!([
            {"type": "ManualRevision", "status": "True"}, {"type": "Drifted", "status": "False"},
            {"type": "TestSuccess", "status": "False"},
        ]));
        assert_eq!(remarks(&all), ["made by hand", "tests failed"]);
        assert_eq!(suspension(&all), None);
        let paused = object(json!([{"type": "Paused", "status": "True", "message": "for now"}]));
        assert_eq!(suspension(&paused).as_deref(), Some("for now"));
        let annotated = json!({"metadata": {"annotations": {"helm.pilothouse.dev/suspend": "true"}}});
        assert!(suspension(&annotated).unwrap().contains("helm.pilothouse.dev/suspend"));
    }
}
