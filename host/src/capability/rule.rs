//! Rules in RBAC's shape, and what they are asked.

use serde::{Deserialize, Serialize};

/// To be told what an apply would make of an object, without applying it. RBAC does not know it: to the API server that is
/// the right to apply, which whoever has it here need not have.
pub const DRY_RUN: &str = "dry-run";

/// To have the host use a Secret (a key, a login) without being told what is in it. RBAC does not know it: to the API server that is
/// the right to read, which the plugin's account has and the plugin need not.
pub const USE: &str = "use";

/// Subresources that lead into containers that run, or past the API server to what is behind it. They are nothing that "everything"
/// is meant to be: a rule has to name them.
const BY_NAME: [&str; 3] = ["exec", "ephemeralcontainers", "proxy"];

/// A rule in RBAC's shape. `*` stands for everything of its list, but for what has to be named ([`Access::by_name`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// API groups; `""` is the core group.
    pub api_groups: Vec<String>,
    /// Plural resources, `resource/subresource` for subresources. In RBAC `*` has `pods/exec` in it; here it has not.
    pub resources: Vec<String>,
    /// Verbs: get, list, watch, create, update, patch, delete; and [`DRY_RUN`], [`USE`].
    pub verbs: Vec<String>,
    /// Only objects of these names; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Only in these namespaces; empty: everywhere. (Not in RBAC, where the binding says it.)
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
}

/// One question to the grants.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// Verb, as the API server's RBAC names it.
    pub verb: &'a str,
    /// API group.
    pub group: &'a str,
    /// Plural resource, with `/subresource`.
    pub resource: &'a str,
    /// `None` for cluster scope or all namespaces.
    pub namespace: Option<&'a str>,
    /// `None` where the verb names no object.
    pub name: Option<&'a str>,
}

impl Access<'_> {
    /// Whether only a rule that names the resource allows this, such as `pods/exec`: neither `*` nor `*/exec` does.
    pub fn by_name(&self) -> bool {
        self.resource.split_once('/').is_some_and(|(_, sub)| BY_NAME.contains(&sub))
    }
}

impl Rule {
    /// Whether the rule allows the access.
    pub fn allows(&self, access: &Access<'_>) -> bool {
        let holds = |list: &[String], wanted: &str| list.iter().any(|entry| entry == "*" || entry == wanted);
        let resource = match access.resource.split_once('/') {
            Some(_) if access.by_name() => self.resources.iter().any(|entry| entry == access.resource),
            // RBAC: `*/scale` is the subresource of every resource.
            Some((_, sub)) => {
                holds(&self.resources, access.resource)
                    || self.resources.iter().any(|entry| entry.strip_prefix("*/") == Some(sub))
            }
            None => holds(&self.resources, access.resource),
        };
        let named = self.resource_names.is_empty()
            || access.name.is_some_and(|name| self.resource_names.iter().any(|entry| entry == name));
        let placed = self.namespaces.is_empty()
            || access
                .namespace
                .is_some_and(|ns| self.namespaces.iter().any(|entry| entry == ns || entry == "*"));
        holds(&self.api_groups, access.group)
            && resource
            && holds(&self.verbs, access.verb)
            && named
            && placed
    }
}
