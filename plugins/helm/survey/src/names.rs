//! How the resource that stands for a chart is called, as operator-sdk and kubebuilder call it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::plural::plural;

/// The group of a chart that was given none.
pub const DEFAULT_GROUP: &str = "charts";
/// The version of a chart that was given none.
pub const DEFAULT_VERSION: &str = "v1alpha1";

/// A name that Kubernetes would not take.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// A group or domain.
    #[error(
        "{0:?} is no API group: it takes lower case letters, digits, '-' and '.', such as charts.example.com"
    )]
    Group(String),
    /// A version.
    #[error("{0:?} is no API version: versions look like v1, v1beta1 or v1alpha1")]
    Version(String),
    /// A kind.
    #[error(
        "{0:?} is no kind: it takes letters, digits and '-' between them, begins with an upper case letter, and has at most 63 of them"
    )]
    Kind(String),
    /// The kind that comes of a chart's name.
    #[error("the chart's name {chart:?} gives the kind {kind:?}, which is none: say what the kind shall be")]
    KindOfChart {
        /// The chart's name.
        chart: String,
        /// What comes of it.
        kind: String,
    },
    /// A plural.
    #[error("{0:?} is no plural: it takes lower case letters, digits and '-', and begins with a letter")]
    Plural(String),
}

/// What the person said. What is empty is made up.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wishes {
    /// Behind the group.
    pub domain: String,
    /// The group without the domain.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural.
    pub plural: String,
}

/// Names of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Names {
    /// Without the domain.
    pub group: String,
    /// The domain.
    pub domain: String,
    /// What `apiVersion` has in front of the version.
    pub qualified_group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// For paths, in lower case.
    pub plural: String,
    /// For command lines, in lower case.
    pub singular: String,
    /// The kind of lists.
    pub list_kind: String,
}

impl Names {
    /// The names of the kind that stands for a chart.
    ///
    /// # Errors
    /// [`NameError`].
    pub fn new(chart: &str, wishes: &Wishes) -> Result<Self, NameError> {
        let or = |given: &str, default: &str| if given.is_empty() { default } else { given }.to_owned();
        let (group, domain) = (or(&wishes.group, DEFAULT_GROUP), wishes.domain.clone());
        let version = or(&wishes.version, DEFAULT_VERSION);
        let kind = if wishes.kind.is_empty() { kind_of_chart(chart)? } else { wishes.kind.clone() };
        let singular = kind.to_lowercase();
        let plural = if wishes.plural.is_empty() { plural(&singular) } else { wishes.plural.clone() };
        let qualified_group = if domain.is_empty() { group.clone() } else { format!("{group}.{domain}") };
        let names = Self {
            list_kind: format!("{kind}List"),
            group,
            domain,
            qualified_group,
            version,
            kind,
            plural,
            singular,
        };
        names.check()?;
        Ok(names)
    }

    /// `group/version`.
    #[must_use]
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.qualified_group, self.version)
    }

    /// What a CRD has to be called.
    #[must_use]
    pub fn crd(&self) -> String {
        format!("{}.{}", self.plural, self.qualified_group)
    }

    fn check(&self) -> Result<(), NameError> {
        let group = &self.qualified_group;
        if group.len() > 253 || !group.split('.').all(is_label) {
            return Err(NameError::Group(group.clone()));
        }
        if !is_version(&self.version) {
            return Err(NameError::Version(self.version.clone()));
        }
        if !is_kind(&self.kind) {
            return Err(NameError::Kind(self.kind.clone()));
        }
        if !is_label(&self.plural) || self.plural.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(NameError::Plural(self.plural.clone()));
        }
        Ok(())
    }
}

fn kind_of_chart(chart: &str) -> Result<String, NameError> {
    let kind = camel(chart);
    if is_kind(&kind) { Ok(kind) } else { Err(NameError::KindOfChart { chart: chart.to_owned(), kind }) }
}

/// A name in camel case, as the Go library strcase has it: a letter behind `-`, `_`, `.`, a blank or a digit is a capital,
/// of several capitals only the first stays one, and everything else that is no letter and no digit goes.
#[must_use]
pub fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let (mut capital, mut behind_capital) = (true, false);
    for c in name.trim().chars() {
        if c.is_ascii_alphabetic() {
            let as_it_is = if behind_capital && !capital { c.to_ascii_lowercase() } else { c };
            camel.push(if capital { c.to_ascii_uppercase() } else { as_it_is });
            capital = false;
        } else if c.is_ascii_digit() {
            camel.push(c);
            capital = true;
        } else {
            capital = matches!(c, '_' | ' ' | '-' | '.');
        }
        behind_capital = c.is_ascii_uppercase();
    }
    camel
}

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty()
        && text.len() <= 63
        && text.chars().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_kind(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && !text.ends_with('-')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// `v1`, `v1alpha1`, `v1beta1`, as kubebuilder has it.
fn is_version(text: &str) -> bool {
    let is_number =
        |text: &str| !text.is_empty() && !text.starts_with('0') && text.chars().all(|c| c.is_ascii_digit());
    let Some(rest) = text.strip_prefix('v') else { return false };
    ["alpha", "beta"]
        .iter()
        .find_map(|stage| rest.split_once(stage))
        .map_or_else(|| is_number(rest), |(major, minor)| is_number(major) && is_number(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_chart_names_in_camel_case_as_operator_sdk_has_them() {
        for (chart, kind) in [
            ("player-stats", "PlayerStats"),
            ("nginx", "Nginx"),
            ("a.b_c-d", "ABCD"),
            ("app2go", "App2Go"),
            ("kube-prometheus-stack", "KubePrometheusStack"),
            ("HTTPServer", "Httpserver"),
            ("myApp", "MyApp"),
            ("MY-APP", "MyApp"),
            ("x--y", "XY"),
            ("-lead", "Lead"),
            ("k8s-at-home", "K8SAtHome"),
            ("foo@bar", "Foobar"),
            ("2fa-server", "2FaServer"),
        ] {
            assert_eq!(camel(chart), kind);
        }
    }

    #[test]
    fn names_that_nobody_said_are_made_of_the_charts() {
        let wishes = Wishes { domain: "example.com".into(), ..Wishes::default() };
        let names = Names::new("player-stats", &wishes).unwrap();
        assert_eq!(names.api_version(), "charts.example.com/v1alpha1");
        assert_eq!(names.crd(), "playerstats.charts.example.com");
        assert_eq!((&*names.singular, &*names.list_kind), ("playerstats", "PlayerStatsList"));
        assert_eq!(Names::new("nginx", &Wishes::default()).unwrap().crd(), "nginxes.charts");
    }

    #[test]
    fn a_kind_may_have_hyphens_inside_as_kubernetes_lets_it() {
        let of = |kind: &str| Names::new("a", &Wishes { kind: kind.into(), ..Wishes::default() });
        let names = of("Player-stats").unwrap();
        assert_eq!((&*names.singular, &*names.list_kind), ("player-stats", "Player-statsList"));
        assert!(of("Player-").is_err() && of("-Player").is_err());
    }

    #[test]
    fn names_that_kubernetes_refuses_are_refused_with_what_they_look_like() {
        let refused = |change: fn(&mut Wishes)| {
            let mut wishes = Wishes::default();
            change(&mut wishes);
            Names::new("2fa", &wishes).unwrap_err().to_string()
        };
        assert!(refused(|_| ()).starts_with("the chart's name \"2fa\" gives the kind \"2Fa\""));
        assert!(refused(|wishes| wishes.kind = "small".into()).starts_with("\"small\" is no kind"));
        for version in ["1", "v", "v0", "v1gamma1", "v1beta", "V1", "v1.2"] {
            let wishes = Wishes { kind: "App".into(), version: version.into(), ..Wishes::default() };
            assert_eq!(Names::new("a", &wishes), Err(NameError::Version(version.into())));
        }
        for domain in ["Example.com", "a..b", "-a", "a_b", "."] {
            let wishes = Wishes { kind: "App".into(), domain: domain.into(), ..Wishes::default() };
            assert_eq!(Names::new("a", &wishes), Err(NameError::Group(format!("charts.{domain}"))));
        }
        let wishes = Wishes { plural: "My Apps".into(), ..Wishes::default() };
        assert_eq!(Names::new("a", &wishes), Err(NameError::Plural("My Apps".into())));
    }
}
