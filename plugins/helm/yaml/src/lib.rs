//! YAML as sigs.k8s.io/yaml and go-yaml v2 read and write it.

mod chars;
mod error;
pub mod json;
mod reader;
mod resolve;
mod strconv;
mod timestamp;
mod utf8;

use helm_template::{List, Map, Value};

pub use crate::error::{ConvertError, Error};
pub use crate::reader::Duplicates;

/// Reads the first document of a stream as `yaml.Unmarshal` does into an `interface{}`; no document is nil.
///
/// # Errors
///
/// See [`Error`].
pub fn from_yaml(bytes: &[u8], duplicates: Duplicates) -> Result<Value, Error> {
    Ok(reader::read(bytes, reader::ValueTarget, duplicates)?.unwrap_or_default())
}

/// Reads the first document of a stream as `yaml.YAMLToJSON` does; no document is null.
///
/// # Errors
///
/// See [`ConvertError`].
pub fn yaml_to_json(bytes: &[u8], duplicates: Duplicates) -> Result<serde_json::Value, ConvertError> {
    Ok(reader::read(bytes, reader::JsonTarget, duplicates)?.unwrap_or_default())
}

/// Reads the first document of a stream as `yaml.Unmarshal` does into a `map[string]interface{}`; no document and null
/// are an empty map.
///
/// # Errors
///
/// See [`Error`]; [`Error::Decode`] for a document that is no mapping.
pub fn from_yaml_map(bytes: &[u8], duplicates: Duplicates) -> Result<Map, Error> {
    from_yaml_map_as(bytes, duplicates, "map[string]interface {}")
}

/// [`from_yaml_map`] into a map type of another name, which is only seen in the error: `common.Values`.
///
/// # Errors
///
/// See [`Error`]; [`Error::Decode`] for a document that is no mapping.
pub fn from_yaml_map_as(bytes: &[u8], duplicates: Duplicates, go_type: &'static str) -> Result<Map, Error> {
    match from_yaml(bytes, duplicates)? {
        Value::Map(map) => Ok(map),
        Value::Nil => Ok(Map::new()),
        other => Err(json::Error::kind(&other, go_type).into()),
    }
}

/// Reads the first document of a stream as `yaml.Unmarshal` does into a `[]interface{}`; no document and null are an
/// empty list.
///
/// # Errors
///
/// See [`Error`]; [`Error::Decode`] for a document that is no sequence.
pub fn from_yaml_list(bytes: &[u8], duplicates: Duplicates) -> Result<List, Error> {
    match from_yaml(bytes, duplicates)? {
        Value::List(list) => Ok(list),
        Value::Nil => Ok(List::new(Vec::new())),
        other => Err(json::Error::kind(&other, "[]interface {}").into()),
    }
}
