//! Waiting for the release's objects.

use jiff::{SignedDuration, Timestamp};

use super::{Act, Operation, Step, Wait};

impl Operation {
    pub(super) fn next_of_readiness(&mut self) -> Option<Act> {
        let Some(patience) = self.patience else {
            // Nobody wants to wait any more.
            self.advance();
            return None;
        };
        let Step::Missing(missing) = &self.step else { return Some(Act::LookReady) };
        let began = self.stored.touched().unwrap_or(self.now);
        let patience = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
        let until = began.checked_add(patience).unwrap_or(Timestamp::MAX);
        if until > self.now {
            return Some(Act::Wait(Wait::Ready { missing: missing.clone(), until }));
        }
        let message = format!("not ready in time: {missing}");
        self.fail(&message);
        None
    }

    /// Whether the objects are ready: `Ok(None)`, or what is missing. What will never be ready without help is an error.
    pub fn readiness(&mut self, state: Result<Option<String>, String>) {
        match state {
            Ok(None) => self.advance(),
            Ok(Some(missing)) => self.step = Step::Missing(missing),
            Err(message) => self.fail(&message),
        }
    }
}
