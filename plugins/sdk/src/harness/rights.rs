//! What the plugin's account may do: the manifest's rules as grants, and the API server's refusals on top.

use serde::Deserialize;

use super::places::Place;
use crate::{Denial, KubeError};

/// Subresources that a rule has to name, as the host has it.
const BY_NAME: [&str; 3] = ["exec", "ephemeralcontainers", "proxy"];

/// A rule in RBAC's shape; `*` stands for everything of its list, but for what has to be named.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    resource_names: Vec<String>,
    namespaces: Vec<String>,
}

/// One question to the rules.
#[derive(Debug, Clone)]
pub(super) struct Access<'a> {
    pub(super) verb: &'a str,
    pub(super) group: String,
    /// Plural, with `/subresource` where there is one.
    pub(super) resource: String,
    pub(super) namespace: Option<String>,
    /// None where the verb names no object.
    pub(super) name: Option<String>,
}

impl Rule {
    fn allows(&self, access: &Access<'_>) -> bool {
        let holds = |list: &[String], wanted: &str| list.iter().any(|entry| entry == "*" || entry == wanted);
        let subresource = access.resource.split_once('/').map(|(_, subresource)| subresource);
        let resource = match subresource {
            Some(by_name) if BY_NAME.contains(&by_name) => self.resources.contains(&access.resource),
            Some(other) => {
                holds(&self.resources, &access.resource) || self.resources.contains(&format!("*/{other}"))
            }
            None => holds(&self.resources, &access.resource),
        };
        let named = |list: &[String], wanted: &Option<String>| {
            list.is_empty() || wanted.as_ref().is_some_and(|wanted| list.contains(wanted))
        };
        holds(&self.api_groups, &access.group)
            && resource
            && holds(&self.verbs, access.verb)
            && named(&self.resource_names, &access.name)
            && named(&self.namespaces, &access.namespace)
    }
}

/// What one plugin may do.
#[derive(Debug, Clone, Default)]
pub(super) struct Rights {
    /// None: everything; for tests that are not about rights.
    pub(super) granted: Option<Vec<Rule>>,
    /// Servers it may reach; none: all.
    pub(super) egress: Option<Vec<Place>>,
    /// Stores it may use; none: all.
    pub(super) stores: Option<Vec<String>>,
    /// Phases it may announce; none: all.
    pub(super) announces: Option<Vec<String>>,
    /// The account, for refusals.
    pub(super) account: String,
}

impl Rights {
    /// Refuses what is not granted.
    pub(super) fn check(&self, access: &Access<'_>) -> Result<(), KubeError> {
        match &self.granted {
            Some(rules) if !rules.iter().any(|rule| rule.allows(access)) => {
                Err(denied(access, "grants", "the plugin's manifest does not ask for it"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a phase that the manifest does not ask for.
    pub(super) fn may_announce(&self, phase: &str) -> Result<(), String> {
        match &self.announces {
            Some(phases) if !phases.iter().any(|known| known == "*" || known == phase) => Err(format!(
                "{phase} may not be announced: the plugin's manifest does not ask for it (`rights.announces`)"
            )),
            _ => Ok(()),
        }
    }

    /// Would this be granted?
    pub(super) fn allows(
        &self,
        verb: &str,
        group: &str,
        resource: &str,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> bool {
        let (group, resource) = (group.to_owned(), resource.to_owned());
        let (namespace, name) = (namespace.map(str::to_owned), name.map(str::to_owned));
        self.check(&Access { verb, group, resource, namespace, name }).is_ok()
    }

    /// The refusal of the API server's RBAC.
    pub(super) fn forbidden(&self, access: &Access<'_>) -> KubeError {
        let Access { verb, group, resource, .. } = access;
        let message =
            format!("User {:?} cannot {verb} resource {resource:?} in API group {group:?}", self.account);
        denied(access, &self.account, &message)
    }
}

pub(super) fn denied(access: &Access<'_>, account: &str, message: &str) -> KubeError {
    KubeError::Denied(Box::new(Denial {
        verb: access.verb.to_owned(),
        group: access.group.clone(),
        resource: access.resource.clone(),
        namespace: access.namespace.clone(),
        name: access.name.clone(),
        account: account.to_owned(),
        message: message.to_owned(),
    }))
}
