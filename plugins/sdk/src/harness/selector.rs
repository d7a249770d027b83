//! Label and field selectors as the Kubernetes API reads them.

use serde_json::Value;

use super::object::{bad_request, text};
use crate::KubeError;

/// One term of a label selector. `Some(values)` asks for one of the values, `None` for the key alone.
#[derive(Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    values: Option<Vec<String>>,
    negated: bool,
}

/// A parsed label selector; all terms have to hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LabelSelector(Vec<Requirement>);

impl LabelSelector {
    /// Reads `a=b,c!=d,e in (f, g),h notin (i),j,!k`.
    pub(super) fn parse(selector: &str) -> Result<Self, KubeError> {
        let terms = split_terms(selector);
        let parsed: Result<Vec<_>, _> = terms.iter().map(|term| Requirement::parse(term)).collect();
        let parsed = parsed.map_err(|term| {
            bad_request(format!("unable to parse requirement: {term:?} in label selector {selector:?}"))
        })?;
        parsed.iter().try_for_each(Requirement::check)?;
        Ok(Self(parsed))
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        self.0.iter().all(|requirement| {
            let label = labels.and_then(|labels| labels.get(&requirement.key)).and_then(Value::as_str);
            requirement.holds(label)
        })
    }
}

impl Requirement {
    fn parse(term: &str) -> Result<Self, String> {
        let bad = || term.to_owned();
        let new = |key: &str, values, negated| {
            let key = key.trim();
            if key.is_empty() || key.contains(|c: char| c.is_whitespace() || "()=!,".contains(c)) {
                return Err(bad());
            }
            Ok(Self { key: key.to_owned(), values, negated })
        };
        if let Some((key, rest)) = term.split_once('(') {
            let inner = rest.trim_end().strip_suffix(')').ok_or_else(bad)?;
            let values = inner.split(',').map(|value| value.trim().to_owned()).collect();
            let (key, operator) = key.trim_end().rsplit_once(char::is_whitespace).ok_or_else(bad)?;
            return match operator {
                "in" => new(key, Some(values), false),
                "notin" => new(key, Some(values), true),
                _ => Err(bad()),
            };
        }
        let value = |value: &str| Some(vec![value.trim().to_owned()]);
        if let Some((key, wanted)) = term.split_once("!=") {
            return new(key, value(wanted), true);
        }
        if let Some((key, wanted)) = term.split_once("==").or_else(|| term.split_once('=')) {
            return new(key, value(wanted), false);
        }
        match term.trim().strip_prefix('!') {
            Some(key) => new(key, None, true),
            None => new(term, None, false),
        }
    }

    /// Refuses values that no label has (`validateLabelValue`).
    fn check(&self) -> Result<(), KubeError> {
        for (at, value) in self.values.iter().flatten().enumerate() {
            label_value(value).map_err(|why| {
                let place = format!("values[{at}][{}]", self.key);
                bad_request(format!("unable to parse requirement: {place}: Invalid value: {value:?}: {why}"))
            })?;
        }
        Ok(())
    }

    /// As `labels.Requirement.Matches`: an object without the label satisfies `!=` and `notin`.
    fn holds(&self, label: Option<&str>) -> bool {
        let found = match (&self.values, label) {
            (None, label) => label.is_some(),
            (Some(values), Some(label)) => values.iter().any(|value| value == label),
            (Some(_), None) => false,
        };
        found != self.negated
    }
}

/// Why a text is no value of a label (`IsValidLabelValue`).
pub(super) fn label_value(value: &str) -> Result<(), &'static str> {
    if value.len() > 63 {
        return Err("must be no more than 63 bytes");
    }
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if value.chars().all(inner) && edge(value.chars().next()) && edge(value.chars().last()) {
        return Ok(());
    }
    Err(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and \
         end with an alphanumeric character",
    )
}

/// Splits at commas outside of parentheses; an empty selector has no terms.
fn split_terms(selector: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let terms = selector.split(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    terms.map(str::trim).filter(|term| !term.is_empty()).collect()
}

/// A parsed field selector: dotted path, value, and whether they must differ.
#[derive(Debug)]
pub(super) struct FieldSelector(Vec<(String, String, bool)>);

/// Fields that can be selected by, beside name and namespace; those of custom kinds are not modelled.
const SELECTABLE: &[(&str, &[&str])] = &[
    (
        "Event",
        &[
            "involvedObject.kind",
            "involvedObject.name",
            "involvedObject.namespace",
            "involvedObject.uid",
            "reason",
            "type",
        ],
    ),
    ("Job", &["status.successful"]),
    ("Namespace", &["status.phase"]),
    ("Node", &["spec.unschedulable"]),
    (
        "Pod",
        &["spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "status.phase", "status.podIP"],
    ),
    ("Secret", &["type"]),
];

impl FieldSelector {
    /// Reads `metadata.name=a,status.phase!=Running`; refuses fields the kind cannot be selected by.
    pub(super) fn parse(selector: &str, kind: &str) -> Result<Self, KubeError> {
        let mut terms = Vec::new();
        for term in selector.split(',').map(str::trim).filter(|term| !term.is_empty()) {
            let (path, value, negated) = match term.split_once("!=") {
                Some((path, value)) => (path, value, true),
                None => match term.split_once("==").or_else(|| term.split_once('=')) {
                    Some((path, value)) => (path, value, false),
                    None => return Err(bad_request(format!("invalid field selector: {term:?}"))),
                },
            };
            let own =
                SELECTABLE.iter().find(|(known, _)| *known == kind).map_or(&[][..], |(_, fields)| fields);
            if !["metadata.name", "metadata.namespace"].contains(&path) && !own.contains(&path) {
                return Err(bad_request(format!("field label not supported: {path}")));
            }
            terms.push((path.replace('.', "/"), value.to_owned(), negated));
        }
        Ok(Self(terms))
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|(path, value, negated)| (text(object, &format!("/{path}")) == value) != *negated)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(selector: &str, labels: &Value) -> bool {
        LabelSelector::parse(selector).unwrap().matches(&json!({"metadata": {"labels": labels}}))
    }

    #[test]
    fn every_operator_of_a_label_selector_selects_what_the_api_server_does() {
        let labels = || json!({"app": "web", "tier": "front"});
        for yes in [
            "",
            "app=web",
            "app==web",
            "app!=db",
            "app in (web, db)",
            "tier notin (back)",
            "app",
            "!canary",
            "app=web,tier=front",
            "canary!=yes",
            "canary notin (yes)",
        ] {
            assert!(matches(yes, &labels()), "{yes}");
        }
        for no in [
            "app=db",
            "app!=web",
            "app in (db)",
            "app notin (web,db)",
            "canary",
            "!app",
            "app=web,tier=back",
            "canary=yes",
        ] {
            assert!(!matches(no, &labels()), "{no}");
        }
    }

    #[test]
    fn a_broken_label_selector_is_refused() {
        for broken in ["a in b", "a in (b", "a of (b)", "=b", "a b"] {
            assert!(LabelSelector::parse(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_label_selector_with_a_value_that_no_label_has_is_refused() {
        let long = format!("name in (a, {})", "a".repeat(64));
        let Err(KubeError::Invalid(status)) = LabelSelector::parse(&long) else {
            panic!("not refused");
        };
        assert!(status.message.contains("values[1][name]: Invalid value"), "{}", status.message);
        assert!(status.message.ends_with("must be no more than 63 bytes"), "{}", status.message);
        assert!(LabelSelector::parse(&format!("name={}", "a".repeat(63))).is_ok());
        assert!(LabelSelector::parse("name=-a").is_err());
    }

    #[test]
    fn only_the_fields_of_a_kind_can_be_selected_by() {
        let pod = json!({"metadata": {"name": "a"}, "status": {"phase": "Running"}});
        assert!(FieldSelector::parse("status.phase=Running,metadata.name!=b", "Pod").unwrap().matches(&pod));
        assert!(!FieldSelector::parse("status.phase!=Running", "Pod").unwrap().matches(&pod));
        assert!(FieldSelector::parse("spec.replicas=1", "Deployment").is_err());
        assert!(FieldSelector::parse("metadata.name", "Pod").is_err());
    }
}
