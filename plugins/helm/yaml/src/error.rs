//! What can be wrong with a document, in Go's words.

use thiserror::Error;

use crate::json;

/// Why YAML could not be read; the texts are those of sigs.k8s.io/yaml's `Unmarshal`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no YAML, or it is YAML that JSON cannot say.
    #[error("error converting YAML to JSON: {0}")]
    Convert(#[from] ConvertError),
    /// The document is not of the kind that was asked for.
    #[error("error unmarshaling JSON: while decoding JSON: {0}")]
    Decode(#[from] json::Error),
}

/// Why YAML could not be turned into JSON; the texts are those of sigs.k8s.io/yaml's `YAMLToJSON`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// go-yaml refuses the text: `yaml: line 3: mapping values are not allowed in this context`.
    #[error("{0}")]
    Yaml(String),
    /// A key that JSON cannot have: null, or a number beyond 2^63.
    #[error("{0}")]
    Key(String),
    /// A value that JSON does not have: infinity, NaN, what contains itself.
    #[error(transparent)]
    Json(#[from] json::Error),
}

/// Why a value cannot be written as YAML; the texts are those of sigs.k8s.io/yaml's `Marshal`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MarshalError {
    /// JSON cannot say it.
    #[error("error marshaling into JSON: {0}")]
    Json(#[from] json::Error),
    /// go-yaml does not read the JSON: it has a control character, or a key of more than 1024 characters.
    #[error(transparent)]
    Reread(#[from] ConvertError),
}
