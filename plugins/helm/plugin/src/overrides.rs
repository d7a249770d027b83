//! Templates in `overrideValues` (operator-sdk's `getOverrideValues`).

use std::collections::BTreeMap;

use helm_template::{Execution, TemplateSet, Value};
use thiserror::Error;

/// Why an override cannot be used.
#[derive(Debug, Error)]
pub(crate) enum OverrideError {
    /// It is no template.
    #[error("invalid template string {text:?}: {error}")]
    Parse {
        /// The override.
        text: String,
        /// Why.
        error: String,
    },
    /// The template failed.
    #[error("failed to execute template {text:?}: {error}")]
    Execute {
        /// The override.
        text: String,
        /// Why.
        error: String,
    },
}

/// Executes the templates of all overrides.
///
/// # Errors
/// The first that fails, with its key.
pub(crate) fn expand_all(
    overrides: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, (String, OverrideError)> {
    let expanded = overrides.iter().map(|(key, text)| match expand(key, text) {
        Ok(value) => Ok((key.clone(), value)),
        Err(error) => Err((key.clone(), error)),
    });
    expanded.collect()
}

/// Executes an override's template, without data.
///
/// # Errors
/// [`OverrideError`].
pub(crate) fn expand(key: &str, text: &str) -> Result<String, OverrideError> {
    if !text.contains("{{") {
        return Ok(text.to_owned());
    }
    let parse = |error: String| OverrideError::Parse { text: text.to_owned(), error };
    let execute = |error: String| OverrideError::Execute { text: text.to_owned(), error };
    let mut set = TemplateSet::new(key, helm_functions::functions());
    set.parse(key, text).map_err(|error| parse(error.to_string()))?;
    let bytes =
        set.execute(key, Value::Nil, &Execution::default()).map_err(|error| execute(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| execute(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_and_templates_are_executed_without_data() {
        assert_eq!(expand("a", "registry:5000/x").unwrap(), "registry:5000/x");
        assert_eq!(expand("a", "{{ printf \"%d-%s\" 3 \"x\" }}").unwrap(), "3-x");
        assert_eq!(expand("a", "{{ . }}").unwrap(), "<no value>");
        assert_eq!(
            expand("a", "{{ \"x-y\" | upper | replace \"-\" \"_\" }}").unwrap(),
            "X_Y",
            "sprig is there"
        );
    }

    #[test]
    fn what_is_no_template_is_refused_with_its_text() {
        let error = expand("a", "{{ nope }}").unwrap_err().to_string();
        assert!(error.starts_with("invalid template string \"{{ nope }}\": "), "{error}");
        let error = expand("a", "{{ index 1 2 }}").unwrap_err().to_string();
        assert!(error.starts_with("failed to execute template \"{{ index 1 2 }}\": "), "{error}");
    }
}
