//! What a function sees of the execution that calls it.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

use crate::error::{CallError, LimitExceeded};
use crate::function::{Functions, Render};
use crate::limits::Limits;
use crate::machine::Machine;
use crate::set::{MissingKey, Namespace, TemplateSet};
use crate::value::{Str, Value};

/// The execution a function is called from: its limits, its state and the template set it can
/// re-enter.
///
/// Functions that only compute need it for [`Context::charge`] at most. Functions whose result is
/// a rendered template return a [`Render`] instead of calling back.
pub struct Context {
    pub(crate) namespace: Rc<Namespace>,
    pub(crate) missing_key: MissingKey,
    pub(crate) limits: Limits,
    state: Option<Rc<dyn Any>>,
    steps: u64,
    written: u64,
    /// How many templates are being executed, one within the other.
    pub(crate) depth: usize,
    nesting: usize,
}

impl Context {
    pub(crate) fn new(
        namespace: Rc<Namespace>,
        missing_key: MissingKey,
        limits: Limits,
        state: Option<Rc<dyn Any>>,
    ) -> Self {
        Self { namespace, missing_key, limits, state, steps: 0, written: 0, depth: 0, nesting: 0 }
    }

    /// A context outside of any execution, for calling functions directly (in tests).
    pub fn detached() -> Self {
        let set = TemplateSet::new("detached", Functions::new());
        Self::new(set.namespace(), MissingKey::default(), Limits::default(), None)
    }

    /// What the execution was given as [`crate::Execution::state`], when it is of that type.
    pub fn state<T: 'static>(&self) -> Option<Rc<T>> {
        self.state.clone()?.downcast().ok()
    }

    /// The name of the template set, which Go shows where a template is not found.
    pub fn set_name(&self) -> &Str {
        self.namespace.name()
    }

    /// Whether the current set has a template of that name.
    pub fn has_template(&self, name: &str) -> bool {
        self.namespace.find(name.as_bytes()).is_some()
    }

    /// Renders a template here and now, on the native stack. Prefer [`crate::Function::rendering`]
    /// for functions that templates may nest at will.
    ///
    /// # Errors
    /// Whatever [`Render`] says, and [`LimitExceeded::Nesting`] beyond
    /// [`Limits::nesting`].
    pub fn render(&mut self, render: Render) -> Result<Value, CallError> {
        if self.nesting >= self.limits.nesting {
            return Err(LimitExceeded::Nesting(self.limits.nesting).into());
        }
        self.nesting += 1;
        let namespace = self.namespace.clone();
        let result = Machine::new(self).render(render);
        self.namespace = namespace;
        self.nesting -= 1;
        result
    }

    /// Executes a template of the current set into a string: [`Context::render`] of
    /// [`Render::template`].
    ///
    /// # Errors
    /// As [`Context::render`].
    pub fn execute_template(&mut self, name: &str, data: Value) -> Result<Value, CallError> {
        self.render(Render::template(name, data))
    }

    /// Counts work against the limit of steps: loops of a function whose length a template decides
    /// (`until 1000000000`) call this once with their length before they start.
    ///
    /// # Errors
    /// [`LimitExceeded::Steps`] when it is too much.
    #[inline]
    pub fn charge(&mut self, steps: u64) -> Result<(), LimitExceeded> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.limits.steps { Err(LimitExceeded::Steps(self.limits.steps)) } else { Ok(()) }
    }

    /// Counts bytes against the limit of output. The evaluator does so for everything written and
    /// for every string a function returns; functions that build something much larger than their
    /// arguments (`repeat`) call this before.
    ///
    /// # Errors
    /// [`LimitExceeded::Output`] when it is too much.
    #[inline]
    pub fn charge_output(&mut self, bytes: usize) -> Result<(), LimitExceeded> {
        self.written = self.written.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if self.written > self.limits.output {
            Err(LimitExceeded::Output(self.limits.output))
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("set", self.set_name())
            .field("limits", &self.limits)
            .field("steps", &self.steps)
            .field("written", &self.written)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}
