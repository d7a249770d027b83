//! The functions every template has (text/template/funcs.go): their names and parameters.

mod collection;
mod compare;
mod escape;

use crate::error::CallError;
use crate::fmt;
use crate::machine::{Form, Operand};
use crate::value::{Type, Value};

/// A builtin function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    And,
    Or,
    Not,
    Len,
    Index,
    Slice,
    Call,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Print,
    Printf,
    Println,
    Html,
    Js,
    UrlQuery,
}

impl Builtin {
    /// The builtin of that name.
    pub(crate) fn find(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"and" => Self::And,
            b"or" => Self::Or,
            b"not" => Self::Not,
            b"len" => Self::Len,
            b"index" => Self::Index,
            b"slice" => Self::Slice,
            b"call" => Self::Call,
            b"eq" => Self::Eq,
            b"ne" => Self::Ne,
            b"lt" => Self::Lt,
            b"le" => Self::Le,
            b"gt" => Self::Gt,
            b"ge" => Self::Ge,
            b"print" => Self::Print,
            b"printf" => Self::Printf,
            b"println" => Self::Println,
            b"html" => Self::Html,
            b"js" => Self::Js,
            b"urlquery" => Self::UrlQuery,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Not => "not",
            Self::Len => "len",
            Self::Index => "index",
            Self::Slice => "slice",
            Self::Call => "call",
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::Print => "print",
            Self::Printf => "printf",
            Self::Println => "println",
            Self::Html => "html",
            Self::Js => "js",
            Self::UrlQuery => "urlquery",
        }
    }

    /// How many parameters it has before a `...` one, and whether it has that.
    pub(crate) fn arity(self) -> (usize, bool) {
        match self {
            Self::Not | Self::Len => (1, false),
            Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => (2, false),
            Self::And | Self::Or | Self::Index | Self::Slice | Self::Call | Self::Eq | Self::Printf => {
                (1, true)
            }
            Self::Print | Self::Println | Self::Html | Self::Js | Self::UrlQuery => (0, true),
        }
    }

    /// What an argument has to be: only the format of `printf` has to be something.
    pub(crate) fn param(self, index: usize) -> &'static Type {
        if self == Self::Printf && index == 0 { &Type::String } else { &Type::Any }
    }
}

/// Go's complaint about a number of arguments; `None` when it fits. `args` are those written after
/// the name, `piped` tells whether one more comes from the pipeline.
pub(crate) fn arity_error(
    name: &str,
    (fixed, variadic): (usize, bool),
    args: usize,
    piped: bool,
) -> Option<String> {
    let given = args + usize::from(piped);
    if variadic && given < fixed {
        Some(format!("wrong number of args for {name}: want at least {fixed} got {args}"))
    } else if !variadic && given != fixed {
        Some(format!("wrong number of args for {name}: want {fixed} got {given}"))
    } else {
        None
    }
}

/// Calls a builtin other than `and`, `or` and `call`, which the evaluator does itself. The number
/// of arguments fits; `forms` are theirs.
pub(crate) fn call(builtin: Builtin, args: &[Value], forms: &[Form]) -> Result<Operand, CallError> {
    let value = match (builtin, args) {
        (Builtin::Not, [value]) => Value::Bool(!value.truth()),
        (Builtin::Eq, _) => Value::Bool(compare::eq(args)?),
        (Builtin::Ne, _) => Value::Bool(!compare::eq(args)?),
        (Builtin::Lt, [a, b]) => Value::Bool(compare::lt(a, b)?),
        (Builtin::Le, [a, b]) => Value::Bool(compare::le(a, b)?),
        (Builtin::Gt, [a, b]) => Value::Bool(!compare::le(a, b)?),
        (Builtin::Ge, [a, b]) => Value::Bool(!compare::lt(a, b)?),
        (Builtin::Len, [value]) => {
            let form = forms.first().copied().unwrap_or(Form::Absent);
            Value::from(collection::len(value, form)?)
        }
        (Builtin::Index, _) => return collection::index(args),
        (Builtin::Slice, _) => collection::slice(args, forms)?,
        (Builtin::Print, _) => fmt::sprint(args)?.into(),
        (Builtin::Println, _) => fmt::sprintln(args)?.into(),
        (Builtin::Printf, [Value::String(format), args @ ..]) => fmt::sprintf(format, args)?.into(),
        (Builtin::Html, _) => escape::html(&escape::arguments(args)?).into(),
        (Builtin::Js, _) => escape::js(&escape::arguments(args)?).into(),
        (Builtin::UrlQuery, _) => escape::url_query(&escape::arguments(args)?).into(),
        _ => return Ok(Operand::ABSENT),
    };
    Ok(Operand::concrete(value))
}
