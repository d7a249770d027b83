//! Label selectors as objects, and as the text that the API server takes.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `metav1.LabelSelector`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LabelSelector {
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
    #[serde(default)]
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Deserialize)]
struct Expression {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

impl LabelSelector {
    /// The selector as text; empty: everything.
    ///
    /// # Errors
    /// Says which expression is none.
    pub(super) fn text(&self) -> Result<String, String> {
        let mut parts: Vec<String> =
            self.match_labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        for expression in &self.match_expressions {
            let Expression { key, operator, values } = expression;
            let list = values.join(",");
            parts.push(match operator.as_str() {
                "In" if !values.is_empty() => format!("{key} in ({list})"),
                "NotIn" if !values.is_empty() => format!("{key} notin ({list})"),
                "Exists" => key.clone(),
                "DoesNotExist" => format!("!{key}"),
                _ => {
                    return Err(format!(
                        "selector: operator {operator:?} with values [{list}] is not a label selector's"
                    ));
                }
            });
        }
        Ok(parts.join(","))
    }
}
