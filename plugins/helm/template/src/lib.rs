//! Go's text/template: lexer, parser, evaluator and fmt verbs. Knows nothing of Helm.
//!
//! [`Value`] is what templates work on, [`Function`] what they call.

mod builtin;
mod code;
mod constant;
mod context;
mod error;
pub mod fmt;
mod function;
mod hash;
mod limits;
mod machine;
mod parse;
mod runes;
mod set;
pub mod strconv;
mod unicode_tables;
mod value;

pub use crate::context::Context;
pub use crate::error::{CallError, ExecCause, ExecError, LimitExceeded, Location, ParseError, TooDeep};
pub use crate::function::{Function, Functions, Render, Signature};
pub use crate::limits::Limits;
pub use crate::set::{Execution, MissingKey, TemplateSet};
pub use crate::value::{
    FloatType, IntType, Kind, List, MAX_DEPTH, Map, Method, MethodBody, NamedType, Object, ObjectRef, Str,
    Type, UintType, Value,
};
