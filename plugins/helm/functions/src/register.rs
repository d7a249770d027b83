//! How families put their functions into the map.

use helm_template::{CallError, Context, Function, Functions, Signature, Type, Value};

/// What a body returns.
pub(crate) type Result = std::result::Result<Value, CallError>;

/// The functions so far.
#[derive(Default)]
pub(crate) struct Register(Vec<Function>);

impl Register {
    /// A function that may see the context.
    pub(crate) fn with_context(
        &mut self,
        name: &'static str,
        signature: Signature,
        body: impl Fn(&mut Context, &[Value]) -> Result + 'static,
    ) {
        self.0.push(Function::new(name, signature, body));
    }

    /// A function of its arguments only.
    pub(crate) fn add(
        &mut self,
        name: &'static str,
        signature: Signature,
        body: impl Fn(&[Value]) -> Result + 'static,
    ) {
        self.with_context(name, signature, move |_, args| body(args));
    }

    /// The map that templates are parsed with.
    pub(crate) fn into_functions(self) -> Functions {
        self.0.into_iter().collect()
    }
}

/// The argument at a place; nil beyond the last, which only optional ones are.
pub(crate) fn arg(args: &[Value], index: usize) -> &Value {
    args.get(index).unwrap_or(&Value::Nil)
}

/// The argument's text; empty when it is none, which a `string` parameter never is.
pub(crate) fn text(args: &[Value], index: usize) -> &[u8] {
    arg(args, index).as_bytes().unwrap_or_default()
}

/// The argument's integer; 0 when it is none.
pub(crate) fn int(args: &[Value], index: usize) -> i64 {
    arg(args, index).as_i64().unwrap_or_default()
}

/// A plain message.
pub(crate) fn fail(message: impl Into<String>) -> CallError {
    CallError::new(message)
}

/// What Go's runtime says of a nil pointer.
pub(crate) const NIL_POINTER: &str = "runtime error: invalid memory address or nil pointer dereference";

/// `func(string) string`.
pub(crate) const TEXT: Signature = Signature::new(&[Type::String], Type::String);
/// `func(string, string) string`.
pub(crate) const TEXT_TEXT: Signature = Signature::new(&[Type::String, Type::String], Type::String);
/// `func(string, string) bool`.
pub(crate) const TEXTS_BOOL: Signature = Signature::new(&[Type::String, Type::String], Type::Bool);
/// `func(interface {}) string`.
pub(crate) const ANY_TEXT: Signature = Signature::new(&[Type::Any], Type::String);
