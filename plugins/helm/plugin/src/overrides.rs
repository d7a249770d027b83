//! Templates in `overrideValues` (operator-sdk's `getOverrideValues`).

use std::collections::BTreeMap;

use helm_template::{CallError, Execution, Function, Functions, Signature, TemplateSet, Type, Value};
use serde::Deserialize;
use thiserror::Error;

/// `overrideValues` of an entry of `watches.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Overrides {
    /// Templates by the paths of values; `$NAME` is already replaced.
    override_values: BTreeMap<String, String>,
    /// The variables of the host's environment that the templates name, for `env`.
    environment: BTreeMap<String, String>,
}

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

impl Overrides {
    #[cfg(test)]
    pub(crate) fn of(texts: &[(&str, &str)]) -> Self {
        let texts = texts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self { override_values: texts.collect(), ..Self::default() }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.override_values.is_empty()
    }

    /// Executes all templates.
    ///
    /// # Errors
    /// The first that fails, with its key.
    pub(crate) fn expanded(&self) -> Result<BTreeMap<String, String>, (String, OverrideError)> {
        let expanded = self.override_values.iter().map(|(key, text)| match self.expand(key, text) {
            Ok(value) => Ok((key.clone(), value)),
            Err(error) => Err((key.clone(), error)),
        });
        expanded.collect()
    }

    /// Executes one, without data.
    fn expand(&self, key: &str, text: &str) -> Result<String, OverrideError> {
        if !text.contains("{{") {
            return Ok(text.to_owned());
        }
        let parse = |error: String| OverrideError::Parse { text: text.to_owned(), error };
        let execute = |error: String| OverrideError::Execute { text: text.to_owned(), error };
        let mut set = TemplateSet::new(key, self.functions());
        set.parse(key, text).map_err(|error| parse(error.to_string()))?;
        let bytes = set
            .execute(key, Value::Nil, &Execution::default())
            .map_err(|error| execute(error.to_string()))?;
        String::from_utf8(bytes).map_err(|error| execute(error.to_string()))
    }

    /// Those of charts, and the two that Helm takes from charts and slim-sprig has.
    fn functions(&self) -> Functions {
        let mut functions = helm_functions::functions();
        let of_text = Signature::new(&[Type::String], Type::String);
        let environment = self.environment.clone();
        functions.insert(Function::new("env", of_text, move |_, args| {
            let value = args.first().and_then(Value::as_str).and_then(|name| environment.get(name));
            Ok(value.map(String::as_str).unwrap_or_default().into())
        }));
        functions.insert(Function::new("expandenv", of_text.fallible(), |_, args| {
            match args.first() {
            // Whatever stood in the file is replaced by now.
            Some(text) if text.as_str().is_some_and(|text| !text.contains('$')) => Ok(text.clone()),
            _ => Err(CallError::Message(
                "variables are replaced where they are written, not in texts that templates make: write $NAME"
                    .to_owned(),
            )),
        }
        }));
        functions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(key: &str, text: &str) -> Result<String, OverrideError> {
        let environment = BTreeMap::from([("RELATED_IMAGE".to_owned(), "registry/web:2".to_owned())]);
        Overrides { environment, ..Overrides::default() }.expand(key, text)
    }

    #[test]
    fn variables_that_the_host_hands_on_are_seen_by_templates() {
        assert_eq!(expand("a", "{{ env \"RELATED_IMAGE\" | upper }}").unwrap(), "REGISTRY/WEB:2");
        assert_eq!(expand("a", "{{ \"NOT_SET\" | env | default \"none\" }}").unwrap(), "none");
        assert_eq!(expand("a", "{{ expandenv \"registry/web\" }}").unwrap(), "registry/web");
        let error = expand("a", "{{ expandenv (printf \"%cHOME\" 36) }}").unwrap_err().to_string();
        assert!(error.contains("write $NAME"), "{error}");
    }

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
