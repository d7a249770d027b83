//! The functions that need the engine: `include`, `tpl`, `required`, `fail`, `lookup`, and `getHostByName`,
//! which looks nothing up.

use super::{
    LintLog, Lookup, RenderSettings,
    report::{WARN_END, WARN_START},
};
use crate::{log, rules::Rules};
use helm_template::{CallError, Context, Function, Functions, Map, Render, Signature, Str, Type, Value, fmt};
use std::{cell::RefCell, collections::HashMap, rc::Rc};

/// How often a template may include itself, directly or not.
const MAX_INCLUDES: u32 = 1000;

/// What stands in Go's output for a missing value.
pub(super) const NO_VALUE: &str = "<no value>";

/// Name of Helm's template set, under which `tpl` parses its text.
pub(super) const SET_NAME: &str = "gotpl";

/// What one rendering keeps for its functions.
pub(super) struct State {
    lookup: Option<Rc<dyn Lookup>>,
    lint: Option<LintLog>,
    /// How many inclusions of each name are open.
    included: RefCell<HashMap<Str, u32>>,
}

impl State {
    pub(super) fn new(settings: &RenderSettings) -> Self {
        let (lookup, lint) = (settings.lookup.clone(), settings.lint.clone());
        Self { lookup, lint, included: RefCell::default() }
    }

    fn enter(&self, name: &Str) -> Result<(), CallError> {
        let mut included = self.included.borrow_mut();
        let open = included.entry(name.clone()).or_default();
        if *open > MAX_INCLUDES {
            let message =
                format!("rendering template has a nested reference name: {name}: unable to execute template");
            return Err(CallError::new(message));
        }
        *open += 1;
        Ok(())
    }

    fn leave(&self, name: &Str) {
        if let Some(open) = self.included.borrow_mut().get_mut(name.as_bytes()) {
            *open = open.saturating_sub(1);
        }
    }
}

/// What Helm 3 did not have.
const NEW_IN_HELM4: [&str; 13] = [
    "durationDays",
    "durationHours",
    "durationMicroseconds",
    "durationMilliseconds",
    "durationMinutes",
    "durationNanoseconds",
    "durationRoundTo",
    "durationSeconds",
    "durationTruncateTo",
    "durationWeeks",
    "mustToDuration",
    "mustToToml",
    "mustToYaml",
];

thread_local! {
    static MADE: RefCell<HashMap<Rules, Rc<Functions>>> = RefCell::default();
}

/// Every function of Helm's templates; made once, all charts use the same.
pub(super) fn all(rules: Rules) -> Rc<Functions> {
    MADE.with_borrow_mut(|made| Rc::clone(made.entry(rules).or_insert_with(|| Rc::new(make(rules)))))
}

fn make(rules: Rules) -> Functions {
    let mut functions = helm_functions::functions();
    if rules == Rules::Helm3 {
        NEW_IN_HELM4.iter().for_each(|name| functions.remove(name));
    }
    let text_of_any = Signature::new(&[Type::String, Type::Any], Type::String).fallible();
    functions.insert(Function::rendering("include", text_of_any, include));
    functions.insert(Function::rendering("tpl", text_of_any, tpl));
    let any_of_any = Signature::new(&[Type::String, Type::Any], Type::Any).fallible();
    functions.insert(Function::new("required", any_of_any, required));
    functions.insert(Function::new("fail", Signature::new(&[Type::String], Type::String).fallible(), fail));
    let four_strings = &[Type::String, Type::String, Type::String, Type::String];
    functions.insert(Function::new("lookup", Signature::new(four_strings, Type::MAP).fallible(), lookup));
    let host = Signature::new(&[Type::String], Type::String);
    functions.insert(Function::new("getHostByName", host, |_, _| Ok(Value::empty_string())));
    functions
}

fn string(arguments: &[Value], index: usize) -> Str {
    arguments.get(index).and_then(Value::as_string).cloned().unwrap_or_default()
}

fn state(context: &Context) -> Result<Rc<State>, CallError> {
    context.state::<State>().ok_or_else(|| CallError::new("called outside of a chart"))
}

fn include(context: &mut Context, arguments: &[Value]) -> Result<Render, CallError> {
    let (name, data) = (string(arguments, 0), arguments.get(1).cloned().unwrap_or_default());
    let state = state(context)?;
    state.enter(&name)?;
    Ok(Render::template(name.clone(), data).then(move |result| {
        state.leave(&name);
        result.map(Value::String)
    }))
}

fn tpl(_: &mut Context, arguments: &[Value]) -> Result<Render, CallError> {
    let (text, data) = (string(arguments, 0), arguments.get(1).cloned().unwrap_or_default());
    Ok(Render::text(SET_NAME, text.clone(), data).then(move |result| match result {
        Ok(rendered) => Ok(Value::String(without_no_value(rendered))),
        Err(error @ CallError::Parse(_)) => {
            Err(error.context(format!("cannot parse template {}: ", fmt::quote(text.as_bytes()))))
        }
        Err(error) => {
            let quoted = fmt::quote(text.as_bytes());
            Err(error.context(format!("error during tpl function execution for {quoted}: ")))
        }
    }))
}

fn without_no_value(text: Str) -> Str {
    match text.as_str() {
        Some(utf8) if utf8.contains(NO_VALUE) => utf8.replace(NO_VALUE, "").into(),
        Some(_) => text,
        None => strip_no_value(text.as_bytes()).into(),
    }
}

/// `bytes` without every [`NO_VALUE`].
pub(crate) fn strip_no_value(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        match rest.strip_prefix(NO_VALUE.as_bytes()) {
            Some(after) => rest = after,
            None => {
                kept.push(*first);
                rest = after;
            }
        }
    }
    kept
}

fn required(context: &mut Context, arguments: &[Value]) -> Result<Value, CallError> {
    let value = arguments.get(1).cloned().unwrap_or_default();
    let complaint = match &value {
        Value::Nil => "missing required value",
        Value::String(text) if text.is_empty() => "missing required values",
        _ => return Ok(value),
    };
    refuse(context, arguments, "WARN", complaint)
}

fn fail(context: &mut Context, arguments: &[Value]) -> Result<Value, CallError> {
    refuse(context, arguments, "INFO", "funcMap fail")
}

/// An error with the message, or in lint mode a line of the log and no text.
fn refuse(context: &Context, arguments: &[Value], level: &str, title: &str) -> Result<Value, CallError> {
    let message = string(arguments, 0);
    match &state(context)?.lint {
        None => Err(CallError::new(format!("{WARN_START}{message}{WARN_END}"))),
        Some(log) => {
            let message = [("message", message.as_bytes())];
            log.borrow_mut().push(log::line(level, title.as_bytes(), &message));
            Ok(Value::empty_string())
        }
    }
}

fn lookup(context: &mut Context, arguments: &[Value]) -> Result<Value, CallError> {
    let Some(lookup) = state(context)?.lookup.clone() else { return Ok(Value::Map(Map::new())) };
    let text = |index| string(arguments, index).to_string();
    let found = lookup.lookup(&text(0), &text(1), &text(2), &text(3)).map_err(CallError::new)?;
    Ok(Value::Map(found.unwrap_or_default()))
}
