//! The errors of parsing, executing and calling, with Go's texts.

mod chain;

use thiserror::Error;

pub use self::chain::{CallError, ExecCause, ExecError, Location};

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
