//! Functions that templates call, with the Go signatures their arguments are checked against.

use std::fmt;
use std::rc::Rc;

use crate::context::Context;
use crate::error::CallError;
use crate::hash::FastMap;
use crate::value::{Str, Type, Value};

/// The parameters and result of a function, in Go's types.
///
/// The evaluator checks and converts arguments as `evalArg` and `validateType` of
/// text/template/exec.go do, so a body finds exactly what its signature says:
/// - [`Type::Any`]: anything, [`Value::Nil`] included;
/// - `string`, `int`, `bool`, …: a value of exactly that type (only constants are converted);
/// - a map or slice type: a map or slice of that type, nil when the argument was nil;
/// - arguments beyond `params` are of type `variadic`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// The fixed parameters.
    pub params: &'static [Type],
    /// The element type of a final `...T` parameter.
    pub variadic: Option<&'static Type>,
    /// The type of the result; [`Type::Any`] when it varies.
    pub result: Type,
    /// Whether an error is returned as second result. It shows only in the printed type.
    pub fallible: bool,
}

impl Signature {
    /// `func(params) result`.
    pub const fn new(params: &'static [Type], result: Type) -> Self {
        Self { params, variadic: None, result, fallible: false }
    }

    /// `func(params, ...elem) result`.
    pub const fn variadic(params: &'static [Type], elem: &'static Type, result: Type) -> Self {
        Self { params, variadic: Some(elem), result, fallible: false }
    }

    /// The same with `error` as second result.
    #[must_use]
    pub const fn fallible(mut self) -> Self {
        self.fallible = true;
        self
    }

    /// How many fixed parameters there are, and whether more may follow.
    pub(crate) fn arity(&self) -> (usize, bool) {
        (self.params.len(), self.variadic.is_some())
    }

    /// The type of the argument at an index; `None` beyond the last.
    pub(crate) fn param(&self, index: usize) -> Option<&'static Type> {
        self.params.get(index).or(self.variadic)
    }
}

/// Go's printed form of the function type: `func(string, ...interface {}) (string, error)`.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("func(")?;
        for (index, param) in self.params.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{param}")?;
        }
        if let Some(elem) = self.variadic {
            let comma = if self.params.is_empty() { "" } else { ", " };
            write!(f, "{comma}...{elem}")?;
        }
        if self.fallible { write!(f, ") ({}, error)", self.result) } else { write!(f, ") {}", self.result) }
    }
}

type ValueBody = dyn Fn(&mut Context, &[Value]) -> Result<Value, CallError>;
type RenderBody = dyn Fn(&mut Context, &[Value]) -> Result<Render, CallError>;

#[derive(Clone)]
pub(crate) enum Body {
    Value(Rc<ValueBody>),
    Render(Rc<RenderBody>),
}

/// A function under a name.
pub struct Function {
    name: Str,
    signature: Signature,
    pub(crate) body: Body,
}

impl Function {
    /// A function that computes its result. `body` gets as many arguments as the call had, each
    /// fitting `signature`, and returns a value of the result type.
    pub fn new(
        name: impl Into<Str>,
        signature: Signature,
        body: impl Fn(&mut Context, &[Value]) -> Result<Value, CallError> + 'static,
    ) -> Self {
        Self { name: name.into(), signature, body: Body::Value(Rc::new(body)) }
    }

    /// A function whose result is a rendered template, like Helm's `include` and `tpl`. The
    /// evaluator renders after `body` has returned, without using native stack for the nesting, so
    /// this is the way to go for functions that templates call recursively.
    pub fn rendering(
        name: impl Into<Str>,
        signature: Signature,
        body: impl Fn(&mut Context, &[Value]) -> Result<Render, CallError> + 'static,
    ) -> Self {
        Self { name: name.into(), signature, body: Body::Render(Rc::new(body)) }
    }

    /// Calls it directly, with arguments that fit its signature.
    ///
    /// # Errors
    /// What the function returns, and for rendering functions what [`Context::render`] returns.
    pub fn call(&self, context: &mut Context, args: &[Value]) -> Result<Value, CallError> {
        match &self.body {
            Body::Value(body) => body(context, args),
            Body::Render(body) => {
                let render = body(context, args)?;
                context.render(render)
            }
        }
    }

    /// The name templates call it by.
    pub fn name(&self) -> &Str {
        &self.name
    }

    /// Parameters and result.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.signature)
    }
}

/// The functions of a template set, by name. They come before builtins of the same name.
#[derive(Debug, Clone, Default)]
pub struct Functions(FastMap<Str, Rc<Function>>);

impl Functions {
    /// No functions but the builtins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function, in place of one of the same name.
    pub fn insert(&mut self, function: Function) {
        self.0.insert(function.name.clone(), Rc::new(function));
    }

    /// Removes a function.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name.as_bytes());
    }

    /// The function of that name.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&Rc<Function>> {
        self.0.get(name.as_ref())
    }

    /// The names, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &Str> {
        self.0.keys()
    }

    /// These functions, in place of others of the same name.
    pub(crate) fn of(functions: &[Rc<Function>]) -> Self {
        Self(functions.iter().map(|function| (function.name.clone(), function.clone())).collect())
    }

    pub(crate) fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.0.contains_key(name.as_ref())
    }
}

impl FromIterator<Function> for Functions {
    fn from_iter<I: IntoIterator<Item = Function>>(functions: I) -> Self {
        let functions = functions.into_iter();
        let mut all = Self(FastMap::with_capacity_and_hasher(functions.size_hint().0, Default::default()));
        all.extend(functions);
        all
    }
}

impl Extend<Function> for Functions {
    fn extend<I: IntoIterator<Item = Function>>(&mut self, functions: I) {
        for function in functions {
            self.insert(function);
        }
    }
}

/// What is done with the text of a [`Render`], or with its failure.
pub(crate) type Finish = Box<dyn FnOnce(Result<Str, CallError>) -> Result<Value, CallError>>;

#[derive(Clone)]
pub(crate) enum Source {
    /// A template of the current set.
    Named(Str),
    /// A text, parsed under a name in a clone of the current set.
    Text { name: Str, text: Str },
}

/// A request to render a template, whose text becomes the result of a function call.
pub struct Render {
    pub(crate) source: Source,
    pub(crate) data: Value,
    pub(crate) finish: Option<Finish>,
}

impl Render {
    /// Executes a template of the current set by name, as `Template.ExecuteTemplate`.
    ///
    /// Fails with [`CallError::Message`] when there is none of that name.
    pub fn template(name: impl Into<Str>, data: Value) -> Self {
        Self { source: Source::Named(name.into()), data, finish: None }
    }

    /// Parses a text under `name` in a clone of the current set and executes it. The text sees all
    /// templates of the set; its own definitions are seen only by itself and what it calls. Parsed
    /// texts are kept, so rendering the same text again does not parse it again.
    ///
    /// Fails with [`CallError::Parse`] when the text is no template.
    pub fn text(name: impl Into<Str>, text: impl Into<Str>, data: Value) -> Self {
        Self { source: Source::Text { name: name.into(), text: text.into() }, data, finish: None }
    }

    /// Sets what happens afterwards: `finish` gets the text or the error and makes the result of
    /// the call from it. It runs exactly once. Without it the text is the result, as a string.
    #[must_use]
    pub fn then(
        mut self,
        finish: impl FnOnce(Result<Str, CallError>) -> Result<Value, CallError> + 'static,
    ) -> Self {
        self.finish = Some(Box::new(finish));
        self
    }
}

impl fmt::Debug for Render {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Named(name) => write!(f, "Render({name:?})"),
            Source::Text { name, .. } => write!(f, "Render(text as {name:?})"),
        }
    }
}
