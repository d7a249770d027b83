//! JSON as Go's encoding/json reads and writes it.
//!
//! Go 1.27, with which Helm 4.3.1 is built, has a new implementation behind the old package; where its texts differ
//! from those of older Go versions, these are the new ones.

mod read;
mod write;

use helm_template::Value;
use thiserror::Error;

pub use self::read::{StreamError, first_from_json, from_json, from_json_list, from_json_map};
pub(crate) use self::write::push_value;
pub use self::write::{to_json, to_json_pretty, to_json_raw};

/// How deep JSON may be nested.
const MAX_DEPTH: usize = 10_000;

/// Why JSON could not be read or written, in the words of encoding/json.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not JSON: `invalid character 'x' looking for beginning of value`; or it is nested too deep.
    #[error("{0}")]
    Syntax(String),
    /// A value of another kind than the one asked for.
    #[error("json: cannot unmarshal {value} into {place} of type {target}")]
    Type {
        /// What stands in the JSON: `array`, `number 1e999`.
        value: String,
        /// Where it was to be put: `Go value`, `Go struct field .a`.
        place: String,
        /// The Go type that was asked for.
        target: &'static str,
    },
    /// A value that JSON does not have: `+Inf`, `-Inf`, `NaN`, or one that contains itself.
    #[error("json: unsupported value: {0}")]
    UnsupportedValue(String),
    /// A time whose year does not fit.
    #[error("json: error calling MarshalJSON for type *time.Time: year outside of range [0,9999]")]
    Year,
    /// A value of a type that JSON does not have: a function.
    #[error("json: unsupported type: {0}")]
    UnsupportedType(String),
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
        Self::Type { value: kind.to_owned(), place: "Go value".to_owned(), target }
    }
}
