//! What a function sees of the execution that calls it.

use crate::error::LimitExceeded;
use crate::limits::Limits;

/// The execution a function is called from: its limits and the template set it can re-enter.
///
/// Functions that only compute need it for [`Context::charge`] at most. Functions whose result is
/// a rendered template return a [`crate::Render`] instead of calling back.
#[derive(Debug)]
pub struct Context {
    limits: Limits,
    steps: u64,
}

impl Context {
    /// A context outside of any execution, for calling functions directly (in tests).
    pub fn detached() -> Self {
        Self { limits: Limits::default(), steps: 0 }
    }

    /// Counts work against the limit of steps: loops of a function whose length a template decides
    /// (`until 1000000000`) call this once with their length before they start.
    ///
    /// # Errors
    /// [`LimitExceeded::Steps`] when it is too much.
    pub fn charge(&mut self, steps: u64) -> Result<(), LimitExceeded> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.limits.steps { Err(LimitExceeded::Steps(self.limits.steps)) } else { Ok(()) }
    }
}
