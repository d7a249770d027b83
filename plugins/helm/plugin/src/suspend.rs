//! A release that nobody looks after for now.

use pilothouse_sdk::{Condition, Error, Outcome};
use serde_json::Value;

use crate::{call::Call, measures::State};

/// The condition that tells of it.
pub(crate) const PAUSED: &str = "Paused";
/// The reason of the host's conditions where nothing else is known.
const SUSPENDED: &str = "Suspended";

impl Call<'_> {
    /// Nobody looks after the release for now. What was said of it last stays, and so does whether it is ready: nothing of it
    /// changes, so whoever waits for it or depends on it goes on. What was never looked at is not ready, nor is a specification
    /// that has to wait.
    pub(crate) fn suspended(&self) -> Outcome {
        self.stands_at(State::Suspended);
        let message = "nothing is done until it is resumed; only a deletion is carried out";
        let paused = Condition::new(PAUSED, true).reason(SUSPENDED).message(message);
        let outcome = self.last_outcome().unwrap_or_else(|| Outcome::progressing(SUSPENDED, message));
        self.watched(outcome.condition(paused), None)
    }

    /// What the last call said of the specification that is there now.
    fn last_outcome(&self) -> Option<Outcome> {
        let object = self.object().value();
        let ready = self.told_condition("Ready")?;
        if ready.get("observedGeneration") != object.pointer("/metadata/generation") {
            return None;
        }
        if ready["status"] == "True" {
            return Some(Outcome::ready());
        }
        let text = |field: &str| ready.get(field).and_then(Value::as_str).unwrap_or_default();
        let (reason, message) = (text("reason"), text("message"));
        let is_stalled = self.told_condition("Stalled").is_some_and(|stalled| stalled["status"] == "True");
        Some(if is_stalled {
            Outcome::stalled(reason, message)
        } else {
            Outcome::progressing(reason, message)
        })
    }

    /// Somebody looks after the release again, whatever the call ends with.
    pub(crate) fn with_resumption_told(&self, result: Result<Outcome, Error>) -> Result<Outcome, Error> {
        if !self.was_suspended() {
            return result;
        }
        result.map(|outcome| outcome.drop_condition(PAUSED)).map_err(|error| error.drop_condition(PAUSED))
    }

    /// Whether nobody looked after the release until now.
    pub(crate) fn was_suspended(&self) -> bool {
        self.told_condition(PAUSED).is_some()
    }

    /// What the object's status says of a condition.
    fn told_condition(&self, kind: &str) -> Option<&Value> {
        let conditions = self.object().value().pointer("/status/conditions").and_then(Value::as_array)?;
        conditions.iter().find(|condition| condition["type"] == kind)
    }
}
