//! Why an expression is refused (`syntax.Error`).

use thiserror::Error as ThisError;

/// `syntax.ErrorCode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
pub(super) enum Code {
    #[error("invalid character class range")]
    CharRange,
    #[error("invalid escape sequence")]
    Escape,
    #[error("invalid named capture")]
    NamedCapture,
    #[error("invalid or unsupported Perl syntax")]
    PerlOp,
    #[error("invalid nested repetition operator")]
    RepeatOp,
    #[error("invalid repeat count")]
    RepeatSize,
    #[error("invalid UTF-8")]
    Utf8,
    #[error("missing closing ]")]
    MissingBracket,
    #[error("missing closing )")]
    MissingParen,
    #[error("missing argument to repetition operator")]
    MissingRepeatArgument,
    #[error("trailing backslash at end of expression")]
    TrailingBackslash,
    #[error("unexpected )")]
    UnexpectedParen,
    #[error("expression nests too deeply")]
    NestingDepth,
    #[error("expression too large")]
    Large,
}

/// The code and the part of the expression it is about.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("error parsing regexp: {code}: `{part}`")]
pub(super) struct Error {
    code: Code,
    part: String,
}

impl Error {
    pub(super) fn new(code: Code, part: &str) -> Self {
        Self { code, part: part.to_owned() }
    }

    /// Whether it is about what is missing at the end.
    pub(super) fn is_of_the_end(&self) -> bool {
        matches!(self.code, Code::MissingBracket | Code::MissingParen | Code::TrailingBackslash)
    }
}
