//! Names of projects, groups, versions and kinds, by the rules that Kubernetes and operator-sdk have for them.

/// A name that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {name:?} cannot be: {rule}")]
pub struct NameError {
    /// What it should name.
    pub what: &'static str,
    /// As it was given.
    pub name: String,
    /// What names of this sort are like.
    pub rule: &'static str,
}

const LABEL: &str =
    "lower case letters, digits and '-' only, letter or digit first and last, at most 63 characters";
const SUBDOMAIN: &str = "words of lower case letters, digits and '-' with '.' between them, at most 253 characters, such as example.com";
const VERSION: &str =
    "v and a number, with alpha or beta and a number where it is not yet stable, such as v1 or v1alpha1";
const KIND: &str =
    "an upper case letter, then letters, digits and '-', at most 63 characters, such as AppService";

/// What a custom resource is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gvk {
    /// As the person gave it, without the domain; may be empty.
    pub group: String,
    /// Such as `v1alpha1`.
    pub version: String,
    /// Such as `AppService`.
    pub kind: String,
}

impl Gvk {
    /// The group as the API server knows it.
    pub fn full_group(&self, domain: &str) -> String {
        match (self.group.as_str(), domain) {
            ("", domain) => domain.to_owned(),
            (group, "") => group.to_owned(),
            (group, domain) => format!("{group}.{domain}"),
        }
    }

    /// Checks all three.
    ///
    /// # Errors
    /// [`NameError`].
    pub fn check(&self, domain: &str) -> Result<(), NameError> {
        let group = self.full_group(domain);
        let shown = if self.group.is_empty() { &group } else { &self.group };
        check("group", shown, SUBDOMAIN, is_subdomain(&group))?;
        check("version", &self.version, VERSION, is_version(&self.version))?;
        check("kind", &self.kind, KIND, is_kind(&self.kind))
    }
}

/// Checks the domain that groups end with.
///
/// # Errors
/// [`NameError`].
pub fn check_domain(domain: &str) -> Result<(), NameError> {
    check("domain", domain, SUBDOMAIN, is_subdomain(domain))
}

/// Checks the name of a project, which becomes a prefix of all its objects.
///
/// # Errors
/// [`NameError`].
pub fn check_project(name: &str) -> Result<(), NameError> {
    check("project name", name, LABEL, is_label(name))
}

/// Checks a chart's name, which becomes a directory.
///
/// # Errors
/// [`NameError`].
pub fn check_chart(name: &str) -> Result<(), NameError> {
    let plain = !name.is_empty()
        && !name.starts_with('.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    check("chart name", name, "letters, digits, '-', '_' and '.' only", plain)
}

/// The kind for a chart that nobody named one for: `player-stats` is a `PlayerStats`.
pub fn kind_of_chart(chart: &str) -> String {
    let mut kind = String::with_capacity(chart.len());
    let mut upper = true;
    for c in chart.chars() {
        if "-_. ".contains(c) {
            upper = true;
            continue;
        }
        kind.push(if upper { c.to_ascii_uppercase() } else { c });
        upper = c.is_ascii_digit();
    }
    kind
}

/// The name of a project in a directory of this name.
pub fn project_of_directory(directory: &str) -> String {
    directory.to_ascii_lowercase().replace(['_', ' ', '.'], "-").trim_matches('-').to_owned()
}

fn check(what: &'static str, name: &str, rule: &'static str, good: bool) -> Result<(), NameError> {
    if good { Ok(()) } else { Err(NameError { what, name: name.to_owned(), rule }) }
}

fn is_label(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let edge = |c: Option<char>| c.is_some_and(|c| c != '-');
    name.len() <= 63 && name.chars().all(inner) && edge(name.chars().next()) && edge(name.chars().next_back())
}

fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_label)
}

fn is_version(version: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let Some(rest) = version.strip_prefix('v') else { return false };
    let stage = rest.split_once("alpha").or_else(|| rest.split_once("beta"));
    match stage {
        Some((major, minor)) => number(major) && number(minor),
        None => number(rest),
    }
}

fn is_kind(kind: &str) -> bool {
    kind.starts_with(|c: char| c.is_ascii_uppercase()) && is_label(&kind.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gvk(group: &str, version: &str, kind: &str) -> Gvk {
        Gvk { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    #[test]
    fn kinds_are_named_after_their_charts_as_operator_sdk_does() {
        for (chart, kind) in
            [("player-stats", "PlayerStats"), ("nginx", "Nginx"), ("a_b.c", "ABC"), ("web3app", "Web3App")]
        {
            assert_eq!(kind_of_chart(chart), kind);
        }
    }

    #[test]
    fn names_that_kubernetes_would_refuse_are_refused_with_the_rule() {
        assert_eq!(gvk("charts", "v1alpha1", "Player-stats").check("quay.io"), Ok(()));
        for (wrong, named) in [
            (gvk("Charts", "v1", "A"), "group \"Charts\""),
            (gvk("a_b", "v1", "A"), "group \"a_b\""),
            (gvk("a", "1", "A"), "version \"1\""),
            (gvk("a", "v1gamma1", "A"), "version \"v1gamma1\""),
            (gvk("a", "v1alpha", "A"), "version \"v1alpha\""),
            (gvk("a", "v1", "appService"), "kind \"appService\""),
            (gvk("a", "v1", "App_Service"), "kind \"App_Service\""),
            (gvk("a", "v1", ""), "kind \"\""),
        ] {
            let said = wrong.check("example.com").unwrap_err().to_string();
            assert!(said.starts_with(named), "{said}");
        }
        assert!(check_domain("example..com").is_err());
        assert!(check_domain("-example.com").is_err());
        assert!(check_project(&"a".repeat(64)).is_err());
        assert!(check_project("My-Operator").is_err());
        assert!(check_chart("../x").is_err());
        assert!(check_chart("..").is_err());
    }

    #[test]
    fn a_group_may_be_without_a_prefix() {
        assert_eq!(gvk("", "v1", "A").full_group("example.com"), "example.com");
        assert_eq!(gvk("apps", "v1", "A").full_group("example.com"), "apps.example.com");
    }

    #[test]
    fn a_directorys_name_becomes_a_projects() {
        assert_eq!(project_of_directory("My_Operator"), "my-operator");
        assert!(check_project(&project_of_directory("!!")).is_err());
    }
}
