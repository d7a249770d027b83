//! JSON as Go's encoding/json reads and writes it.

use helm_template::Value;
use thiserror::Error;

/// Why JSON could not be read or written, in the words of Go 1.27's encoding/json.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not JSON: `invalid character 'x' looking for beginning of value`.
    #[error("{0}")]
    Syntax(String),
    /// A value of another kind than the one asked for.
    #[error("json: cannot unmarshal {value} into Go value of type {target}")]
    Type {
        /// What stands in the JSON: `array`, `number 1e999`.
        value: String,
        /// The Go type that was asked for.
        target: &'static str,
    },
    /// A number that JSON does not have: `+Inf`, `-Inf` or `NaN`.
    #[error("json: unsupported value: {0}")]
    Unsupported(String),
}

impl Error {
    /// A value that is not of the Go type asked for.
    pub(crate) fn kind(value: &Value, target: &'static str) -> Self {
        let kind = match value {
            Value::Bool(_) => "bool",
            Value::String(_) => "string",
            Value::List(_) => "array",
            Value::Map(_) => "object",
            _ => "number",
        };
        Self::Type { value: kind.to_owned(), target }
    }
}
