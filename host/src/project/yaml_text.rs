//! Values as YAML, as people write it in Kubernetes' files.

use serde::Serialize;
use serde_json::Value;

/// A value that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// Not writable.
    #[error("cannot be written as YAML: {0}")]
    Write(String),
    /// Not readable.
    #[error("{0}")]
    Read(String),
}

/// Block style, lists not indented, strings quoted where a reader of YAML 1.1 would take them for something else.
///
/// # Errors
/// [`YamlError::Write`].
pub fn write<T: Serialize>(value: &T) -> Result<String, YamlError> {
    // Texts of several lines stay as they are; long lines are not folded, where more than one reader stumbles.
    let options = serde_saphyr::ser_options! { folded_wrap_chars: 1_000_000 };
    let text = serde_saphyr::to_string_with_options(value, options)
        .map_err(|error| YamlError::Write(error.to_string()))?;
    Ok(if text.ends_with('\n') { text } else { format!("{text}\n") })
}

/// Reads one document.
///
/// # Errors
/// [`YamlError::Read`], in one line.
pub fn read(text: &str) -> Result<Value, YamlError> {
    let documents = read_all(text)?;
    match documents.as_slice() {
        [] => Ok(Value::Null),
        [one] => Ok(one.clone()),
        more => Err(YamlError::Read(format!("{} documents where one was expected", more.len()))),
    }
}

/// Reads all documents that are not empty.
///
/// # Errors
/// [`YamlError::Read`], in one line.
pub fn read_all(text: &str) -> Result<Vec<Value>, YamlError> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        YamlError::Read(line.strip_prefix("error: ").unwrap_or(line).to_owned())
    })?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

/// The same text, `spaces` further to the right.
pub fn indent(text: &str, spaces: usize) -> String {
    let margin = " ".repeat(spaces);
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{margin}{line}\n") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_again_as_the_same() {
        let value = json!({
            "a": ["yes", "1e3", "0777", "- x", "a: b", "#", "", " x ", "~", "null", "12:30:00", "2020-01-01"],
            "long": "word ".repeat(60),
            "lines": "one\n  two\n\nthree\n",
            "empty": {"m": {}, "l": []},
            "n": 1, "f": 1.5, "b": true, "z": null,
            "*": "*",
            "@x": "%y",
        });
        let text = write(&value).unwrap();
        assert_eq!(read(&text).unwrap(), value, "{text}");
        assert!(text.starts_with("a:\n- "), "{text}");
    }

    #[test]
    fn what_is_no_yaml_is_told_in_one_line() {
        let said = read("a: [").unwrap_err().to_string();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(read("a: 1\n---\nb: 2\n").is_err());
    }
}
