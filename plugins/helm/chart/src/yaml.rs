//! The two ways Helm reads YAML: into structs, where numbers keep their spelling, and into values.

use crate::values::merge_maps;
use helm_template::{Map, Value};
use helm_yaml::Duplicates;
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
    for document in documents(data) {
        let document = document.map_err(LoadValuesError::Separator)?;
        values = merge_maps(&values, &helm_yaml::from_yaml_map(&document, Duplicates::LastWins)?);
    }
    Ok(values)
}

/// Splits at lines that start with `---` (apimachinery's `YAMLReader`). A separator with nothing before it
/// stays with the document it opens.
pub(crate) fn documents(data: &[u8]) -> Documents<'_> {
    Documents { rest: (!data.is_empty()).then(|| data.strip_suffix(b"\n").unwrap_or(data)) }
}

/// [`documents`]: those that can be had, then perhaps a separator with something behind it, which costs the
/// document in front of it as well.
pub(crate) struct Documents<'a> {
    /// What has not been read, without the line break at its end.
    rest: Option<&'a [u8]>,
}

impl<'a> Documents<'a> {
    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.take()?;
        let mut parts = rest.splitn(2, |&byte| byte == b'\n');
        let line = parts.next()?;
        self.rest = parts.next();
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Vec<u8>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut document: Vec<u8> = Vec::new();
        while let Some(line) = self.line() {
            if let Some(rest) = line.strip_prefix(b"---") {
                let rest = String::from_utf8_lossy(rest);
                let rest = rest.trim();
                if !rest.is_empty() && !rest.starts_with('#') {
                    self.rest = None;
                    return Some(Err(rest.to_owned()));
                }
                if !document.is_empty() {
                    return Some(Ok(document));
                }
            }
            document.extend_from_slice(line);
            document.push(b'\n');
        }
        (!document.is_empty()).then_some(Ok(document))
    }
}
