//! Why a stream cannot be read, with go-yaml's texts.

use std::borrow::Cow;
use std::fmt;

/// What stopped the reader, the scanner, the parser or the decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A byte that no YAML stream may contain.
    Reader(&'static str),
    /// The scanner, on a line counted from 0.
    Scanner { problem: Cow<'static, str>, line: usize },
    /// The parser, on a line counted from 0.
    Parser { problem: &'static str, line: usize },
    /// Anything behind the parser; go-yaml gives no line for it.
    Document(String),
}

/// go-yaml's text, with its line numbers: right for the scanner, one less for the parser, none on the first line.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("yaml: ")?;
        match self {
            Failure::Reader(problem) => f.write_str(problem),
            Failure::Scanner { problem, line: 0 } => f.write_str(problem),
            Failure::Scanner { problem, line } => write!(f, "line {}: {problem}", line + 1),
            Failure::Parser { problem, line: 0 } => f.write_str(problem),
            Failure::Parser { problem, line } => write!(f, "line {line}: {problem}"),
            Failure::Document(problem) => f.write_str(problem),
        }
    }
}
