//! Rules about phases of changes: which a plugin announces, and which it takes part in.

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
