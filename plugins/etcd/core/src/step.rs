//! One step of a decision: what to remember, what to do, what to say meanwhile.

use std::time::Duration;

use etcd_api::Record;

use crate::{
    act::Act,
    decision::{EventNote, Standing},
    situation::Situation,
};

/// How soon to look again at what only etcd knows.
pub(crate) const SOON: Duration = Duration::from_secs(1);
/// How soon to look again at what wakes us anyway when it changes.
pub(crate) const LATER: Duration = Duration::from_secs(10);

/// One step.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) record: Record,
    pub(crate) act: Act,
    pub(crate) events: Vec<EventNote>,
    pub(crate) standing: Standing,
    pub(crate) next: Duration,
}

impl Situation<'_> {
    /// Something to do now; `message` says what for.
    pub(crate) fn act(&self, act: Act, reason: &'static str, message: impl Into<String>) -> Step {
        Step {
            record: self.record.clone(),
            act,
            events: Vec::new(),
            standing: Standing::Progressing { reason, message: message.into() },
            next: Duration::ZERO,
        }
    }

    /// Something to remember now; what follows from it is decided on another look.
    pub(crate) fn note(&self, reason: &'static str, message: impl Into<String>) -> Step {
        self.act(Act::Nothing, reason, message)
    }

    /// Something to wait for.
    pub(crate) fn wait(&self, next: Duration, reason: &'static str, message: impl Into<String>) -> Step {
        Step { next, ..self.note(reason, message) }
    }

    /// Something that only people can mend.
    pub(crate) fn stall(&self, reason: &'static str, message: impl Into<String>) -> Step {
        Step {
            standing: Standing::Stalled { reason, message: message.into() },
            ..self.wait(LATER, reason, "")
        }
    }
}

impl Step {
    /// With something else to remember.
    pub(crate) fn remember(mut self, change: impl FnOnce(&mut Record)) -> Self {
        change(&mut self.record);
        self
    }

    /// With an event.
    pub(crate) fn tell(mut self, event: EventNote) -> Self {
        self.events.push(event);
        self
    }
}
