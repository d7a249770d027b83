//! Objects by their labels, as Kubernetes selects them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Objects by their labels. Everything has to hold; an empty selector selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels with exactly these values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Requirements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 32)))]
    pub match_expressions: Vec<Requirement>,
}

/// What has to hold for one label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [{
        "rule": "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
        "message": "values are for the operators In and NotIn, which need at least one",
    }]))
)]
pub struct Requirement {
    /// Name of the label.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 317)))]
    pub key: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64), inner(length(max = 63))))]
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Operator {
    /// It is there and has one of the values.
    In,
    /// It is not there or has none of the values.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
}

impl LabelSelector {
    /// Does it select an object with these labels?
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.holds(labels))
    }

    /// Does it select everything?
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }
}

impl Requirement {
    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        let listed = value.is_some_and(|value| self.values.contains(value));
        match self.operator {
            Operator::In => listed,
            Operator::NotIn => !listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(selector: serde_json::Value, labels: serde_json::Value) -> bool {
        let selector: LabelSelector = serde_json::from_value(selector).unwrap();
        selector.selects(&serde_json::from_value(labels).unwrap())
    }

    #[test]
    fn everything_in_a_selector_has_to_hold() {
        let selector = json!({"matchLabels": {"app": "db"}, "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["gold", "silver"]},
            {"key": "old", "operator": "DoesNotExist"},
        ]});
        assert!(selects(selector.clone(), json!({"app": "db", "tier": "gold"})));
        assert!(!selects(selector.clone(), json!({"app": "db"})));
        assert!(!selects(selector.clone(), json!({"app": "web", "tier": "gold"})));
        assert!(!selects(selector, json!({"app": "db", "tier": "gold", "old": ""})));
        assert!(selects(json!({}), json!({"any": "thing"})));
    }

    #[test]
    fn a_label_that_is_not_there_is_not_in_anything() {
        let not_in = json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]});
        assert!(selects(not_in.clone(), json!({})));
        assert!(!selects(not_in, json!({"tier": "gold"})));
        assert!(!selects(json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}), json!({})));
    }
}
