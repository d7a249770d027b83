//! Invoking templates, returning from them, and what happens to errors on the way.

use std::rc::Rc;

use super::{Form, Machine, Operand, Step};
use crate::code::Template;
use crate::error::{CallError, ExecCause, ExecError, LimitExceeded, Location};
use crate::fmt::quote;
use crate::function::{Finish, Render, Source};
use crate::parse::NodeId;
use crate::set::Namespace;
use crate::value::{Str, Value};

/// What to come back to when a template ends.
pub(super) struct Frame {
    template: Rc<Template>,
    pc: usize,
    node: NodeId,
    dot: Operand,
    base: usize,
    /// Heights of the stacks: variables, operands, cursors, loops, methods, callees.
    heights: [usize; 6],
    rendering: Option<Box<Rendering>>,
}

/// A function call whose result is what the template writes.
struct Rendering {
    /// The function's name; empty when the render was asked for natively.
    function: Str,
    /// What errors of the call point at.
    node: NodeId,
    raw: bool,
    finish: Option<Finish>,
    /// Where its text begins in the output.
    start: usize,
    /// The set to go back to.
    namespace: Rc<Namespace>,
}

impl Machine<'_> {
    /// Finds the template of a `template` action before its data are evaluated.
    pub(super) fn look_up(&mut self, template: &Template, name: u32) -> Step<()> {
        let name = template.unit.constants.get(name as usize).and_then(Value::as_string);
        let name = name.map(Str::as_bytes).unwrap_or_default();
        match self.context.namespace.find(name) {
            None => self.message(format!("template {} not defined", quote(name))),
            Some(found) => {
                self.callees.push(found);
                self.check_depth()
            }
        }
    }

    fn check_depth(&self) -> Step<()> {
        let limit = self.context.limits.depth;
        if self.context.depth >= limit { Err(LimitExceeded::Templates(limit).into()) } else { Ok(()) }
    }

    /// Executes the template found last.
    pub(super) fn invoke(&mut self) -> Step<()> {
        self.context.charge(1)?;
        let data = self.pop();
        if let Some(template) = self.callees.pop() {
            self.push_frame(None);
            self.enter(template, data);
        }
        Ok(())
    }

    fn push_frame(&mut self, rendering: Option<Box<Rendering>>) {
        self.context.depth += 1;
        self.frames.push(Frame {
            template: self.template.clone(),
            pc: self.pc,
            node: self.node,
            dot: std::mem::replace(&mut self.dot, Operand::ABSENT),
            base: self.base,
            heights: [
                self.vars.len(),
                self.values.len(),
                self.dots.len(),
                self.loops.len(),
                self.methods.len(),
                self.callees.len(),
            ],
            rendering,
        });
    }

    /// Goes back to the template around the current one.
    fn restore(&mut self, frame: Frame) -> Option<Box<Rendering>> {
        self.context.depth = self.context.depth.saturating_sub(1);
        let [vars, values, dots, loops, methods, callees] = frame.heights;
        self.vars.truncate(vars);
        self.values.truncate(values);
        self.forms.truncate(values);
        self.dots.truncate(dots);
        self.loops.truncate(loops);
        self.methods.truncate(methods);
        self.callees.truncate(callees);
        self.template = frame.template;
        self.pc = frame.pc;
        self.node = frame.node;
        self.dot = frame.dot;
        self.base = frame.base;
        frame.rendering
    }

    /// Ends the current template; true when it was the outermost.
    pub(super) fn leave(&mut self) -> Step<bool> {
        let Some(frame) = self.frames.pop() else { return Ok(true) };
        if let Some(rendering) = self.restore(frame) {
            let text = Str::from_bytes(self.out.get(rendering.start..).unwrap_or_default());
            self.finish(*rendering, Ok(text))?;
        }
        Ok(false)
    }

    /// Makes the result of a call from what was rendered.
    fn finish(&mut self, rendering: Rendering, text: Result<Str, CallError>) -> Step<()> {
        self.out.truncate(rendering.start);
        self.context.namespace = rendering.namespace;
        let result = match rendering.finish {
            Some(finish) => finish(text),
            None => text.map(Value::from),
        };
        match result {
            Ok(value) => {
                let form = if matches!(value, Value::Nil) { Form::Interface } else { Form::Concrete };
                self.push_opened(Operand { value, form }, rendering.raw);
                Ok(())
            }
            Err(error) => {
                self.node = rendering.node;
                Err(ExecCause::Call { function: rendering.function.to_string(), error: Box::new(error) })
            }
        }
    }

    /// Begins to render for a function call.
    pub(super) fn begin_render(
        &mut self,
        render: Render,
        function: Str,
        (node, raw): (NodeId, bool),
    ) -> Step<()> {
        let Render { source, data, finish } = render;
        let (start, namespace) = (self.out.len(), self.context.namespace.clone());
        let rendering = Rendering { function, node, raw, finish, start, namespace };
        match self.resolve(source) {
            Err(error) => self.finish(rendering, Err(error)),
            Ok(template) => {
                self.check_depth()?;
                self.push_frame(Some(Box::new(rendering)));
                let form = if matches!(data, Value::Nil) { Form::Absent } else { Form::Concrete };
                self.enter(template, Operand { value: data, form });
                Ok(())
            }
        }
    }

    /// The template to render. A text gets a set of its own around its definitions.
    fn resolve(&mut self, source: Source) -> Result<Rc<Template>, CallError> {
        let current = self.context.namespace.clone();
        match source {
            Source::Named(name) => current
                .find(name.as_bytes())
                .ok_or_else(|| CallError::Exec(Box::new(current.not_found(name.as_bytes())))),
            Source::Text { name, text } => {
                let parsed = current.parse_text(&name, &text)?;
                let mut namespace = Namespace::within(current);
                for template in parsed.iter() {
                    namespace.define(template.clone());
                }
                self.context.namespace = Rc::new(namespace);
                let own = parsed.iter().find(|template| template.name == name);
                own.cloned().ok_or_else(|| CallError::new("text without a template"))
            }
        }
    }

    /// Renders natively: for functions that call back.
    pub(crate) fn render(mut self, render: Render) -> Result<Value, CallError> {
        let begun = self.begin_render(render, Str::default(), (self.node, true));
        let result = match begun {
            Ok(()) if self.frames.is_empty() => Ok(()),
            Ok(()) => self.run().map_err(CallError::Exec),
            Err(ExecCause::Call { error, .. }) => Err(*error),
            Err(cause) => Err(CallError::Exec(Box::new(self.locate(cause)))),
        };
        match result {
            Ok(()) => Ok(self.pop().value),
            // What the outermost call failed with is what the caller wants to know.
            Err(CallError::Exec(error)) => Err((*error).into_call_error()),
            Err(error) => Err(error),
        }
    }

    /// Says where in the current template an error happened.
    fn locate(&self, cause: ExecCause) -> ExecError {
        let unit = &self.template.unit;
        let at = unit.nodes().get(self.node).map(|node| {
            let text = unit.text.as_bytes();
            let before = text.get(..node.pos as usize).unwrap_or(text);
            let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
            Location {
                file: unit.name.to_string(),
                line: u32::try_from(1 + memchr::memchr_iter(b'\n', before).count()).unwrap_or(u32::MAX),
                column: u32::try_from(before.len() - line_start).unwrap_or(u32::MAX),
                expression: unit.nodes().text(self.node),
            }
        });
        ExecError { template: self.template.name.to_string(), at, cause }
    }

    /// Carries an error outwards: to the function call that rendered the current template, which
    /// may turn it into a value, or else out of the machine. An exceeded limit is carried as it is:
    /// what it passes only gets to clean up.
    pub(super) fn unwind(&mut self, cause: ExecCause) -> Result<(), Box<ExecError>> {
        let mut error = Box::new(self.locate(cause));
        let limit = error.limit().cloned();
        while let Some(frame) = self.frames.pop() {
            let Some(mut rendering) = self.restore(frame) else { continue };
            if let Some(limit) = &limit {
                self.context.namespace = rendering.namespace;
                let _ = rendering.finish.take().map(|finish| finish(Err(limit.clone().into())));
                continue;
            }
            match self.finish(*rendering, Err(CallError::Exec(error))) {
                Ok(()) => return Ok(()),
                Err(cause) => error = Box::new(self.locate(cause)),
            }
        }
        Err(error)
    }
}
