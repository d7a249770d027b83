//! A way back that was asked for and cannot be gone: told once, and not tried later when it has become possible.

use helm_release::{History, Return};
use pilothouse_sdk::{Condition, Error, Event, Outcome};
use serde_json::Value;

use crate::{call::Call, settings::ROLLBACK_TO};

/// The condition that tells of it.
const REFUSED: &str = "RollbackRefused";

impl Call<'_> {
    /// The way back that is asked for and may still be gone: a revision, and the words of the request.
    ///
    /// # Errors
    /// Permanent, when it is not the number of a revision.
    pub(crate) fn way_back(&self) -> Result<Option<(u32, &str)>, Error> {
        Ok(self.annotations().way_back()?.filter(|(_, words)| !self.was_refused(words)))
    }

    /// Whether nothing is left to be done about the request for a way back. `known`: the last one that was carried out.
    pub(crate) fn is_way_back_settled(&self, known: Option<&str>) -> bool {
        let words = self.annotations().rollback_to.as_deref().filter(|words| !words.is_empty());
        words.is_none_or(|words| known == Some(words) || self.was_refused(words))
    }

    /// Notes that a way back cannot be gone, if that is so.
    pub(crate) fn judge_way_back(&self, history: &History, back: Option<(u32, &str)>) {
        let Some((to, words)) = back else { return };
        let is_at_rest = history.latest().is_some_and(|latest| !latest.status.is_pending());
        if !is_at_rest || self.refusal().is_some() || history.returned(words) != Return::Asked {
            return;
        }
        let Err(why) = history.way_back(Some(to)) else { return };
        let message = format!("{}{why}", refusal_of(words));
        self.ctx().publish(&Event::warning(REFUSED, &message));
        self.refuse(Condition::new(REFUSED, true).reason("NoWayBack").message(message));
    }

    /// Adds the refusal to whatever a call ends with, and takes one away that is of the past.
    pub(crate) fn with_refusal_told(&self, result: Result<Outcome, Error>) -> Result<Outcome, Error> {
        let words = self.annotations().rollback_to.as_deref();
        let is_past = self.told_refusal().is_some() && !words.is_some_and(|words| self.was_refused(words));
        match (self.refusal(), result) {
            (Some(condition), Ok(outcome)) => Ok(outcome.condition(condition)),
            (Some(condition), Err(error)) => Err(error.condition(condition)),
            (None, Ok(outcome)) if is_past => Ok(outcome.drop_condition(REFUSED)),
            (None, Err(error)) if is_past => Err(error.drop_condition(REFUSED)),
            (None, result) => result,
        }
    }

    /// Whether a request with these words was refused by an earlier call.
    fn was_refused(&self, words: &str) -> bool {
        self.told_refusal().is_some_and(|message| message.starts_with(&refusal_of(words)))
    }

    /// What the object's status says was refused.
    fn told_refusal(&self) -> Option<&str> {
        let conditions = self.object().value().pointer("/status/conditions").and_then(Value::as_array)?;
        conditions.iter().find(|condition| condition["type"] == REFUSED)?["message"].as_str()
    }
}

fn refusal_of(words: &str) -> String {
    format!("annotation {ROLLBACK_TO}: {words:?} cannot be followed: ")
}
