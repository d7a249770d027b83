//! The two ways Helm reads YAML: into structs, where numbers keep their spelling, and into values.

use crate::values::merge_maps;
use helm_template::{Map, Value};
use helm_yaml::Duplicates;
use std::borrow::Cow;
use thiserror::Error;

/// Why a values file cannot be used. Texts are Helm's.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadValuesError {
    /// `---` followed by something on the same line.
    #[error("error reading yaml document: invalid Yaml document separator: {0}")]
    Separator(String),
    /// Not YAML, or not a table.
    #[error("cannot unmarshal yaml document: {0}")]
    Yaml(#[from] helm_yaml::Error),
}

/// A document with numbers as go-yaml resolves them, for decoding into structs.
pub(crate) fn typed(data: &[u8]) -> Result<Value, helm_yaml::Error> {
    Ok(helm_yaml::from_yaml_exact(data, Duplicates::LastWins)?)
}

/// Reads a values file: all its documents, merged in their order (`loader.LoadValues`).
///
/// # Errors
/// [`LoadValuesError`].
pub fn load_values(data: &[u8]) -> Result<Map, LoadValuesError> {
    let mut values = Map::new();
    for document in documents(data)? {
        values = merge_maps(&values, &helm_yaml::from_yaml_map(&document, Duplicates::LastWins)?);
    }
    Ok(values)
}

/// Splits at lines that start with `---` (apimachinery's `YAMLReader`). A separator with nothing before it
/// stays with the document it opens.
fn documents(data: &[u8]) -> Result<Vec<Cow<'_, [u8]>>, LoadValuesError> {
    let mut documents = Vec::new();
    let mut document: Vec<u8> = Vec::new();
    let terminated = data.strip_suffix(b"\n").unwrap_or(data);
    if terminated.is_empty() {
        return Ok(documents);
    }
    for line in terminated.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(rest) = line.strip_prefix(b"---") {
            let rest = String::from_utf8_lossy(rest);
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                return Err(LoadValuesError::Separator(rest.to_owned()));
            }
            if !document.is_empty() {
                documents.push(Cow::Owned(std::mem::take(&mut document)));
                continue;
            }
        }
        document.extend_from_slice(line);
        document.push(b'\n');
    }
    if !document.is_empty() {
        documents.push(Cow::Owned(document));
    }
    Ok(documents)
}
