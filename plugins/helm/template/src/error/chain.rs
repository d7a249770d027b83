//! Errors of execution. A function's error can be another execution's, and so on as deep as
//! templates are nested: they are printed, searched and freed without recursion.

use std::error::Error;
use std::fmt::Display as _;
use std::{fmt, mem};

use super::{LimitExceeded, ParseError, TooDeep};
use crate::fmt::quote;

/// Executing a template failed.
///
/// `Display` is Go's text: `template: name:line:col: executing "name" at <expr>: message`.
#[derive(Debug)]
pub struct ExecError {
    /// The template that was executing, which is a `define`'s name inside of one.
    pub template: String,
    /// Where it happened; `None` when nothing was executing yet.
    pub at: Option<Location>,
    /// What happened.
    pub cause: ExecCause,
}

/// Where in the source an execution failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The name of the parsed text (the file).
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Byte column, counted from 0 as Go does.
    pub column: u32,
    /// The expression, printed from the syntax tree.
    pub expression: String,
}

/// Why an execution failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExecCause {
    /// The evaluator refused: Go's message.
    Message(String),
    /// A function or method returned an error.
    Call {
        /// The function's name.
        function: String,
        /// What it returned.
        error: Box<CallError>,
    },
    /// There is no template of the name that was to be executed.
    NotFound {
        /// The name, quoted.
        name: String,
        /// The name of the set, quoted.
        set: String,
    },
    /// A limit was exceeded.
    Limit(LimitExceeded),
}

/// What a function or method returns when it fails. The evaluator puts `error calling NAME: ` and
/// the position in front.
///
/// `?` turns strings, limits, parse and execution errors into one.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// A plain message, Go's `errors.New`.
    Message(String),
    /// A template that the function parsed is wrong.
    Parse(ParseError),
    /// A template that the function executed failed.
    Exec(Box<ExecError>),
    /// A limit was exceeded.
    Limit(LimitExceeded),
    /// A message in front of another error, Go's `fmt.Errorf("…: %w", …)`.
    Wrapped {
        /// The text in front, with its `: `.
        message: String,
        /// The error it is about.
        error: Box<CallError>,
    },
    /// The method has results that templates do not take. The evaluator says so without `error calling`.
    Refused(String),
    /// Any other error, kept for callers that look for its type.
    Other(Box<dyn Error>),
}

/// A link in a chain of errors.
#[derive(Clone, Copy)]
enum Link<'e> {
    Exec(&'e ExecError),
    Cause(&'e ExecCause),
    Call(&'e CallError),
}

impl<'e> Link<'e> {
    /// The link that this one puts its text in front of.
    fn next(self) -> Option<Self> {
        match self {
            Self::Exec(error) => Some(Self::Cause(&error.cause)),
            Self::Cause(ExecCause::Call { error, .. }) => Some(Self::Call(error)),
            Self::Call(CallError::Exec(error)) => Some(Self::Exec(error)),
            Self::Call(CallError::Wrapped { error, .. }) => Some(Self::Call(error)),
            _ => None,
        }
    }

    fn chain(self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self), |link| link.next())
    }

    fn limit(self) -> Option<&'e LimitExceeded> {
        self.chain().find_map(|link| match link {
            Self::Cause(ExecCause::Limit(limit)) | Self::Call(CallError::Limit(limit)) => Some(limit),
            _ => None,
        })
    }

    /// The link's own text.
    fn write(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exec(error) => error.write_position(f),
            Self::Cause(ExecCause::Message(message))
            | Self::Call(CallError::Message(message) | CallError::Refused(message)) => f.write_str(message),
            Self::Cause(ExecCause::Call { function, .. }) => write!(f, "error calling {function}: "),
            Self::Cause(ExecCause::NotFound { name, set }) => {
                write!(f, "template: no template {name} associated with template {set}")
            }
            Self::Cause(ExecCause::Limit(limit)) | Self::Call(CallError::Limit(limit)) => limit.fmt(f),
            Self::Call(CallError::Parse(error)) => error.fmt(f),
            Self::Call(CallError::Exec(_)) => Ok(()),
            Self::Call(CallError::Wrapped { message, .. }) => f.write_str(message),
            Self::Call(CallError::Other(error)) => error.fmt(f),
        }
    }
}

impl fmt::Display for Link<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chain().try_for_each(|link| link.write(f))
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Link::Exec(self).fmt(f)
    }
}

impl fmt::Display for ExecCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Link::Cause(self).fmt(f)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Link::Call(self).fmt(f)
    }
}

impl Error for ExecError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

impl Error for ExecCause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Call { error, .. } => Some(&**error),
            Self::Limit(limit) => Some(limit),
            Self::Message(_) | Self::NotFound { .. } => None,
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Message(_) | Self::Refused(_) => None,
            Self::Parse(error) => Some(error),
            Self::Exec(error) => Some(&**error),
            Self::Limit(limit) => Some(limit),
            Self::Wrapped { error, .. } => Some(&**error),
            Self::Other(error) => Some(&**error),
        }
    }
}

impl ExecError {
    /// The limit that was exceeded, if that is why it failed.
    pub fn limit(&self) -> Option<&LimitExceeded> {
        Link::Exec(self).limit()
    }

    pub(crate) fn not_found(name: &[u8], set: &[u8]) -> Self {
        let cause = ExecCause::NotFound { name: quote(name), set: quote(set) };
        Self { template: String::from_utf8_lossy(set).into_owned(), at: None, cause }
    }

    fn write_position(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            None if matches!(self.cause, ExecCause::NotFound { .. }) => Ok(()),
            None => write!(f, "template: {}: ", self.template),
            Some(Location { file, line, column, expression }) => {
                let template = quote(self.template.as_bytes());
                write!(f, "template: {file}:{line}:{column}: executing {template} at <{expression}>: ")
            }
        }
    }

    fn take_cause(&mut self) -> ExecCause {
        mem::replace(&mut self.cause, ExecCause::Message(String::new()))
    }

    /// What a call that no template made has failed with.
    pub(crate) fn into_call_error(mut self) -> CallError {
        match self.take_cause() {
            ExecCause::Call { function, error } if function.is_empty() => *error,
            cause => {
                self.cause = cause;
                CallError::Exec(Box::new(self))
            }
        }
    }
}

impl Drop for ExecError {
    fn drop(&mut self) {
        let mut cause = self.take_cause();
        while let ExecCause::Call { error, .. } = cause {
            let mut call = *error;
            while let CallError::Wrapped { error, .. } = call {
                call = *error;
            }
            cause = match call {
                CallError::Exec(mut inner) => inner.take_cause(),
                _ => return,
            };
        }
    }
}

impl CallError {
    /// A plain message.
    pub fn new(message: impl Into<String>) -> Self {
        Self::Message(message.into())
    }

    /// Puts a text in front, as `fmt.Errorf("text%w", err)` does.
    #[must_use]
    pub fn context(self, message: impl Into<String>) -> Self {
        Self::Wrapped { message: message.into(), error: Box::new(self) }
    }

    /// The limit that was exceeded, however deep it is wrapped: such an error ends the execution
    /// and is not turned into a value.
    pub fn limit(&self) -> Option<&LimitExceeded> {
        Link::Call(self).limit()
    }
}

macro_rules! from {
    ($($target:ident: $source:ty => |$value:ident| $make:expr),* $(,)?) => {$(
        impl From<$source> for $target {
            fn from($value: $source) -> Self {
                $make
            }
        }
    )*};
}

from! {
    ExecCause: LimitExceeded => |limit| Self::Limit(limit),
    ExecCause: TooDeep => |error| Self::Limit(error.into()),
    CallError: String => |message| Self::Message(message),
    CallError: &str => |message| Self::Message(message.to_owned()),
    CallError: ParseError => |error| Self::Parse(error),
    CallError: Box<ExecError> => |error| Self::Exec(error),
    CallError: LimitExceeded => |limit| Self::Limit(limit),
    CallError: TooDeep => |error| Self::Limit(error.into()),
}
