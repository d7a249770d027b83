//! Rules about phases of changes: which a plugin announces, and which it takes part in.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::object::Gvk;

/// All phases, all kinds, all groups.
const ALL: &str = "*";

/// A kind in any version, or a family of kinds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KindRule {
    /// API group; empty for the core group; `*`: any.
    #[serde(default)]
    pub group: String,
    /// Kind; `*`: any of the group.
    pub kind: String,
}

/// Phases of changes of some kinds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookRule {
    /// Such as `pre-upgrade`; `*`: all.
    pub phases: Vec<String>,
    /// Of which subjects.
    pub kinds: Vec<KindRule>,
}

impl fmt::Display for HookRule {
    /// `pre-upgrade,post-upgrade of Shop.example.com,*`, kinds as kubectl writes them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = self.kinds.iter().map(|rule| match (rule.group.as_str(), rule.kind.as_str()) {
            (ALL, ALL) => ALL.to_owned(),
            ("", kind) => kind.to_owned(),
            (group, kind) => format!("{kind}.{group}"),
        });
        write!(f, "{} of {}", self.phases.join(","), kinds.collect::<Vec<_>>().join(","))
    }
}

impl HookRule {
    /// Whether it speaks of a phase of a kind.
    pub fn covers(&self, phase: &str, kind: &Gvk) -> bool {
        has_phase(&self.phases, phase) && self.is_about(kind)
    }

    /// Whether it speaks of a kind.
    pub fn is_about(&self, kind: &Gvk) -> bool {
        let meant = |rule: &KindRule| {
            (rule.group == ALL || rule.group == kind.group) && (rule.kind == ALL || rule.kind == kind.kind)
        };
        self.kinds.iter().any(meant)
    }
}

/// What is wrong with rules about phases. One that covers nothing would guard nothing, and nobody would know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhaseError {
    /// Not of the form.
    #[error("{0:?} is no phase: `pre-` or `post-`, and a word such as `upgrade`")]
    NoPhase(String),
    /// It speaks of no phase or of no kind.
    #[error("a rule of `hooks` has no {0}: name some, or `*`")]
    Empty(&'static str),
}

/// Holds rules against their form.
///
/// # Errors
/// [`PhaseError`].
pub fn check(announces: &[String], hooks: &[HookRule]) -> Result<(), PhaseError> {
    for rule in hooks {
        if rule.phases.is_empty() {
            return Err(PhaseError::Empty("phases"));
        }
        if rule.kinds.is_empty() {
            return Err(PhaseError::Empty("kinds"));
        }
    }
    let mut phases = announces.iter().chain(hooks.iter().flat_map(|rule| &rule.phases));
    match phases.find(|phase| *phase != ALL && !is_phase(phase)) {
        Some(phase) => Err(PhaseError::NoPhase(phase.clone())),
        None => Ok(()),
    }
}

/// Whether a list of phases has this one.
pub fn has_phase(phases: &[String], phase: &str) -> bool {
    phases.iter().any(|known| known == ALL || known == phase)
}

/// Whether a text names a phase: `pre-` or `post-` and a word of lower-case letters, digits and `-`, at most 40 characters.
pub fn is_phase(text: &str) -> bool {
    let word = text.strip_prefix("pre-").or_else(|| text.strip_prefix("post-"));
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    text.len() <= 40
        && word.is_some_and(|word| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.chars().all(allowed)
                && !word.ends_with('-')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_speaks_of_its_phases_and_kinds_and_of_no_others() {
        let rule: HookRule = serde_json::from_str(
            r#"{"phases": ["pre-upgrade"], "kinds": [{"group": "apps", "kind": "*"}, {"group": "*", "kind": "Shop"}]}"#,
        )
        .unwrap();
        let kind = |group: &str, kind: &str| Gvk::new(group, "v1", kind);
        assert!(rule.covers("pre-upgrade", &kind("apps", "Deployment")));
        assert!(rule.covers("pre-upgrade", &kind("example.com", "Shop")));
        assert!(!rule.covers("post-upgrade", &kind("apps", "Deployment")));
        assert!(!rule.covers("pre-upgrade", &kind("example.com", "Bank")));
        assert_eq!(rule.to_string(), "pre-upgrade of *.apps,Shop.*");
    }

    #[test]
    fn a_rule_that_would_guard_nothing_is_refused() {
        let rule = |phases: &[&str], kinds: &[&str]| HookRule {
            phases: phases.iter().map(|phase| (*phase).to_owned()).collect(),
            kinds: kinds
                .iter()
                .map(|kind| KindRule { group: String::new(), kind: (*kind).to_owned() })
                .collect(),
        };
        assert_eq!(check(&["*".to_owned()], &[rule(&["pre-upgrade", "*"], &["Shop"])]), Ok(()));
        assert_eq!(
            check(&[], &[rule(&["upgrade"], &["Shop"])]),
            Err(PhaseError::NoPhase("upgrade".to_owned()))
        );
        assert_eq!(
            check(&["pre_upgrade".to_owned()], &[]),
            Err(PhaseError::NoPhase("pre_upgrade".to_owned()))
        );
        assert_eq!(check(&[], &[rule(&[], &["Shop"])]), Err(PhaseError::Empty("phases")));
        assert_eq!(check(&[], &[rule(&["*"], &[])]), Err(PhaseError::Empty("kinds")));
    }

    #[test]
    fn a_phase_is_a_side_and_a_word() {
        for good in ["pre-upgrade", "post-scale-down", "pre-b2"] {
            assert!(is_phase(good), "{good}");
        }
        let long = format!("pre-{}", "a".repeat(40));
        for bad in ["", "upgrade", "pre-", "pre--a", "pre-a-", "pre-A", "*", long.as_str()] {
            assert!(!is_phase(bad), "{bad}");
        }
    }
}
