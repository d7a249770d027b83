//! YAML as sigs.k8s.io/yaml and go-yaml v2 read and write it.

mod chars;
mod error;
pub mod json;
pub mod nodes;
mod objects;
pub mod outline;
mod reader;
mod resolve;
mod strconv;
mod timestamp;
mod utf8;
mod writer;

use helm_template::{List, Map, Value};

pub use crate::error::{ConvertError, Error, MarshalError};
pub use crate::reader::Duplicates;

/// Reads the first document of a stream as `yaml.Unmarshal` does into an `interface{}`; no document is nil.
///
/// # Errors
///
/// See [`Error`].
pub fn from_yaml(bytes: &[u8], duplicates: Duplicates) -> Result<Value, Error> {
    Ok(reader::read(bytes, reader::ValueTarget, duplicates)?.unwrap_or_default())
}

/// Reads the first document of a stream with numbers as go-yaml resolves them: `1` is an integer, `1.0` a float. This is
/// what sigs.k8s.io/yaml has in hand when it fills strings of structs: `version: 1.10` becomes `1.1`.
///
/// # Errors
///
/// See [`ConvertError`].
pub fn from_yaml_exact(bytes: &[u8], duplicates: Duplicates) -> Result<Value, ConvertError> {
    Ok(reader::read(bytes, reader::ExactTarget, duplicates)?.unwrap_or_default())
}

/// Reads the first document of a stream as `yaml.YAMLToJSON` does; no document is null.
///
/// # Errors
///
/// See [`ConvertError`].
pub fn yaml_to_json(bytes: &[u8], duplicates: Duplicates) -> Result<serde_json::Value, ConvertError> {
    Ok(reader::read(bytes, reader::JsonTarget, duplicates)?.unwrap_or_default())
}

/// The very text that `yaml.YAMLToJSON` makes of the first document of a stream.
///
/// # Errors
///
/// See [`ConvertError`].
pub fn yaml_to_json_text(bytes: &[u8], duplicates: Duplicates) -> Result<Vec<u8>, ConvertError> {
    let value = reader::read(bytes, reader::ExactTarget, duplicates)?.unwrap_or_default();
    Ok(json::to_json(&value)?)
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

/// Writes a value as sigs.k8s.io/yaml's `yaml.Marshal` does, with the line break at the end.
///
/// # Errors
///
/// [`MarshalError`] for what JSON cannot say, and for the few texts that go-yaml does not read in JSON.
pub fn to_yaml(value: &Value) -> Result<Vec<u8>, MarshalError> {
    writer::marshal(value)
}

/// Writes a value as go-yaml v3's encoder with an indentation of two does, with the line break at the end.
///
/// `None` for functions, on which Go panics, and for values that are nested deeper than 10,000 levels, which includes
/// those that contain themselves.
pub fn to_yaml_pretty(value: &Value) -> Option<Vec<u8>> {
    writer::marshal_pretty(value)
}
