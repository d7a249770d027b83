//! The errors of parsing, executing and calling, with Go's texts.

use std::fmt;

use thiserror::Error;

/// A value is nested deeper than [`crate::MAX_DEPTH`], or contains itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("value is nested too deep or contains itself")]
pub struct TooDeep;

/// A template cannot be parsed: `template: name:line: message`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("template: {name}:{line}: {message}")]
pub struct ParseError {
    /// The name the text was parsed under.
    pub name: String,
    /// The line at which the parser stood, counted from 1.
    pub line: u32,
    /// Go's message.
    pub message: String,
}

/// An execution was stopped because it used too much.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LimitExceeded {
    /// More output than allowed, counting what included templates wrote into strings.
    #[error("output exceeds the limit of {0} bytes")]
    Output(u64),
    /// More executed steps than allowed.
    #[error("execution exceeds the limit of {0} steps")]
    Steps(u64),
    /// Templates are nested too deep. The text is Go's.
    #[error("exceeded maximum template depth ({0})")]
    Templates(usize),
    /// Functions that execute templates are nested too deep.
    #[error("functions that execute templates are nested deeper than {0}")]
    Nesting(usize),
    /// A value is nested too deep to be printed or copied.
    #[error(transparent)]
    Depth(#[from] TooDeep),
}

/// Executing a template failed.
///
/// `Display` is Go's text: `template: name:line:col: executing "name" at <expr>: message`.
#[derive(Debug, Error)]
pub struct ExecError {
    /// The template that was executing, which is a `define`'s name inside of one.
    pub template: String,
    /// Where it happened; `None` when nothing was executing yet.
    pub at: Option<Location>,
    /// What happened.
    #[source]
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
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExecCause {
    /// The evaluator refused: Go's message.
    #[error("{0}")]
    Message(String),
    /// A function or method returned an error.
    #[error("error calling {function}: {error}")]
    Call {
        /// The function's name.
        function: String,
        /// What it returned.
        #[source]
        error: Box<CallError>,
    },
    /// There is no template of the name that was to be executed.
    #[error("template: no template {name} associated with template {set}")]
    NotFound {
        /// The name, quoted.
        name: String,
        /// The name of the set, quoted.
        set: String,
    },
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
}

impl From<TooDeep> for ExecCause {
    fn from(error: TooDeep) -> Self {
        Self::Limit(error.into())
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            None if matches!(self.cause, ExecCause::NotFound { .. }) => self.cause.fmt(f),
            None => write!(f, "template: {}: {}", self.template, self.cause),
            Some(at) => write!(
                f,
                "template: {}:{}:{}: executing {} at <{}>: {}",
                at.file,
                at.line,
                at.column,
                crate::fmt::quote(self.template.as_bytes()),
                at.expression,
                self.cause
            ),
        }
    }
}

/// What a function or method returns when it fails. The evaluator puts `error calling NAME: ` and
/// the position in front.
///
/// `?` turns strings, limits, parse and execution errors into one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CallError {
    /// A plain message, Go's `errors.New`.
    #[error("{0}")]
    Message(String),
    /// A template that the function parsed is wrong.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A template that the function executed failed.
    #[error(transparent)]
    Exec(#[from] Box<ExecError>),
    /// A limit was exceeded.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// A message in front of another error, Go's `fmt.Errorf("…: %w", …)`.
    #[error("{message}{error}")]
    Wrapped {
        /// The text in front, with its `: `.
        message: String,
        /// The error it is about.
        #[source]
        error: Box<CallError>,
    },
    /// Any other error, kept for callers that look for its type.
    #[error(transparent)]
    Other(Box<dyn std::error::Error>),
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

    /// The limit that was exceeded, however deep it is wrapped: such an error must end the
    /// execution and not be turned into a value.
    pub fn limit(&self) -> Option<&LimitExceeded> {
        match self {
            Self::Limit(limit) => Some(limit),
            Self::Exec(error) => error.limit(),
            Self::Wrapped { error, .. } => error.limit(),
            _ => None,
        }
    }
}

impl ExecError {
    /// The limit that was exceeded, if that is why it failed.
    pub fn limit(&self) -> Option<&LimitExceeded> {
        match &self.cause {
            ExecCause::Limit(limit) => Some(limit),
            ExecCause::Call { error, .. } => error.limit(),
            ExecCause::Message(_) | ExecCause::NotFound { .. } => None,
        }
    }

    pub(crate) fn not_found(name: &[u8], set: &[u8]) -> Self {
        let cause = ExecCause::NotFound { name: crate::fmt::quote(name), set: crate::fmt::quote(set) };
        Self { template: String::from_utf8_lossy(set).into_owned(), at: None, cause }
    }

    /// What a call that no template made has failed with.
    pub(crate) fn into_call_error(self) -> CallError {
        match self {
            Self { cause: ExecCause::Call { function, error }, .. } if function.is_empty() => *error,
            other => CallError::Exec(Box::new(other)),
        }
    }
}

impl From<String> for CallError {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<&str> for CallError {
    fn from(message: &str) -> Self {
        Self::Message(message.to_owned())
    }
}

impl From<TooDeep> for CallError {
    fn from(error: TooDeep) -> Self {
        Self::Limit(LimitExceeded::Depth(error))
    }
}
