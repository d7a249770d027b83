//! Why a line is refused.

use super::{MAX_INDEX, MAX_NESTED_LISTS, MAX_NESTED_NAMES};
use thiserror::Error;

/// Why a line is refused. Texts are Helm's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StrvalsError {
    /// The line ends within a key.
    #[error("key {0} has no value")]
    NoValue(String),
    /// A comma where a value should be.
    #[error("key {0} has no value (cannot end with ,)")]
    EndsWithComma(String),
    /// A dot with no key after it.
    #[error("key map {0} has no value")]
    EmptyMap(String),
    /// More dots than [`MAX_NESTED_NAMES`].
    #[error("value name nested level is greater than maximum supported nested level of {MAX_NESTED_NAMES}")]
    TooDeep,
    /// More brackets in a row than [`MAX_NESTED_LISTS`].
    #[error("lists are nested deeper than {MAX_NESTED_LISTS}")]
    ListsTooDeep,
    /// What stands in brackets is not a number.
    #[error("error parsing index: strconv.Atoi: parsing {0}: {1}")]
    Index(String, &'static str),
    /// A negative list index.
    #[error("negative {0} index not allowed")]
    NegativeIndex(i64),
    /// A list index beyond [`MAX_INDEX`].
    #[error("index of {0} is greater than maximum supported index of {MAX_INDEX}")]
    IndexTooLarge(usize),
    /// Something between `]` and `=`, `.` or `[`.
    #[error("unexpected data at end of array index: {0}")]
    AfterIndex(String),
    /// A path goes through a value of another type.
    #[error("unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}")]
    WrongType {
        /// Go's type of the value that is there.
        found: String,
        /// Go's type that the path asks for.
        wanted: &'static str,
    },
    /// A list without its closing brace.
    #[error("list must terminate with '}}'")]
    UnclosedList,
    /// The value is not JSON.
    #[error("{0}")]
    Json(String),
    /// A file for `--set-file` cannot be read.
    #[error("{0}")]
    File(String),
}
