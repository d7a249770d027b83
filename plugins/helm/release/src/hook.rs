//! Hooks as release records hold them (Helm's `pkg/release/v1/hook.go`).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::time;

/// How far a hook's last run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum HookPhase {
    /// It never ran.
    #[default]
    #[serde(rename = "")]
    NotRun,
    /// It is running.
    Running,
    /// It came to a good end.
    Succeeded,
    /// It did not.
    Failed,
    /// Whoever ran it could not tell.
    #[serde(other)]
    Unknown,
}

/// The last run of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HookRun {
    /// When it was created.
    #[serde(default, deserialize_with = "time::optional", skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was seen to have come to an end.
    #[serde(default, deserialize_with = "time::optional", skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// How far it came.
    #[serde(default)]
    pub phase: HookPhase,
}

/// When the objects of a hook are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletePolicy {
    /// Before it is created again. The default when a hook names none.
    BeforeHookCreation,
    /// After all hooks of the event succeeded.
    HookSucceeded,
    /// After it failed.
    HookFailed,
}

impl DeletePolicy {
    /// The word in annotations and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeHookCreation => "before-hook-creation",
            Self::HookSucceeded => "hook-succeeded",
            Self::HookFailed => "hook-failed",
        }
    }
}

/// A hook of a revision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Hook {
    /// Name of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Kind of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Path of the template it comes from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The document.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub manifest: String,
    /// When it runs, such as `pre-upgrade`.
    #[serde(default, deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// Its last run.
    #[serde(default)]
    pub last_run: HookRun,
    /// Where it stands among the hooks of an event.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub weight: i64,
    /// When it is deleted; see [`deletes`](Self::deletes).
    #[serde(default, deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub delete_policies: Vec<String>,
    /// When its logs are copied: `hook-succeeded`, `hook-failed`.
    #[serde(default, deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub output_log_policies: Vec<String>,
    /// What a newer Helm wrote beside it.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Hook {
    /// Whether it is deleted on this occasion. Definitions of kinds never are: that would take their objects along.
    #[must_use]
    pub fn deletes(&self, policy: DeletePolicy) -> bool {
        if self.kind == "CustomResourceDefinition" {
            return false;
        }
        match self.delete_policies.as_slice() {
            [] => policy == DeletePolicy::BeforeHookCreation,
            policies => policies.iter().any(|word| word == policy.as_str()),
        }
    }

    /// Whether it has come to an end only when its processes have: Jobs and pods. Everything else is done when it
    /// is there (Helm's `WatchUntilReady`).
    #[must_use]
    pub fn runs_to_completion(&self) -> bool {
        matches!(self.kind.as_str(), "Job" | "Pod")
    }
}

impl Hook {
    /// Those of these hooks that run at an event, in the order in which they run.
    #[must_use]
    pub fn of_event<'h>(hooks: &'h [Self], event: &str) -> Vec<&'h Self> {
        order(hooks, event).into_iter().filter_map(|place| hooks.get(place)).collect()
    }
}

/// The hooks that run at `event`, as places in `hooks`, in the order in which they run: by weight, then by name, else
/// as they stand (`hookByWeight`).
pub(crate) fn order(hooks: &[Hook], event: &str) -> Vec<usize> {
    let mut order: Vec<(i64, &str, usize)> = hooks
        .iter()
        .enumerate()
        .filter(|(_, hook)| hook.events.iter().any(|own| own == event))
        .map(|(place, hook)| (hook.weight, hook.name.as_str(), place))
        .collect();
    order.sort_by_key(|&(weight, name, _)| (weight, name));
    order.into_iter().map(|(_, _, place)| place).collect()
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// A list that may be null.
fn list<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(source)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(name: &str, weight: i64, events: &[&str]) -> Hook {
        let events = events.iter().map(|event| (*event).to_owned()).collect();
        Hook { name: name.to_owned(), weight, events, ..Hook::default() }
    }

    #[test]
    fn hooks_run_by_weight_then_name_then_as_they_stand() {
        let hooks = [
            hook("b", 1, &["pre-upgrade"]),
            hook("a", 1, &["post-upgrade", "pre-upgrade"]),
            hook("z", -5, &["pre-upgrade"]),
            hook("b", 1, &["pre-upgrade"]),
            hook("c", 0, &["pre-install"]),
        ];
        assert_eq!(order(&hooks, "pre-upgrade"), [2, 1, 0, 3]);
        assert_eq!(order(&hooks, "pre-delete"), [0_usize; 0]);
    }

    #[test]
    fn a_hook_without_policies_is_deleted_before_it_is_created_again_and_only_then() {
        let plain = Hook { kind: "Job".into(), ..Hook::default() };
        assert!(plain.deletes(DeletePolicy::BeforeHookCreation));
        assert!(!plain.deletes(DeletePolicy::HookSucceeded));
        let policies = vec!["hook-succeeded".to_owned(), "nonsense".to_owned()];
        let kept = Hook { delete_policies: policies.clone(), ..plain };
        assert!(!kept.deletes(DeletePolicy::BeforeHookCreation));
        assert!(kept.deletes(DeletePolicy::HookSucceeded));
        let definition = Hook { kind: "CustomResourceDefinition".into(), ..kept };
        assert!(!definition.deletes(DeletePolicy::HookSucceeded));
    }

    #[test]
    fn last_runs_of_helm_3_and_4_are_read() {
        let empty: HookRun =
            serde_json::from_str(r#"{"started_at":"","completed_at":"","phase":""}"#).unwrap();
        assert_eq!(empty, HookRun::default());
        let zero: HookRun =
            serde_json::from_str(r#"{"started_at":"0001-01-01T00:00:00Z","phase":"Weird"}"#).unwrap();
        assert_eq!(zero, HookRun { phase: HookPhase::Unknown, ..HookRun::default() });
        let run: HookRun =
            serde_json::from_str(r#"{"started_at":"2021-06-01T10:00:00.5+08:00","phase":"Running"}"#)
                .unwrap();
        assert_eq!(run.started_at.unwrap().to_string(), "2021-06-01T02:00:00.5Z");
        assert!(serde_json::from_str::<HookRun>(r#"{"started_at":"soon"}"#).is_err());
        assert_eq!(serde_json::to_string(&HookRun::default()).unwrap(), r#"{"phase":""}"#);
    }
}
