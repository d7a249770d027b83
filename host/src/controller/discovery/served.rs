//! The discovery document as a table of kinds. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use kube::core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery, APIVersionDiscovery};

use crate::cluster::path::Resource;
use crate::object::Gvk;

/// A kind that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Kind, plural and scope.
    pub resource: Arc<Resource>,
    /// Whether its version is the preferred one of its group.
    pub preferred: bool,
    /// What can be asked: `get`, `list`, `watch`, …
    pub verbs: Vec<Box<str>>,
    /// `status`, `scale`, …
    pub subresources: Vec<Box<str>>,
}

impl Served {
    /// Whether it can be asked so.
    pub fn supports(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| **known == *verb)
    }
}

/// All kinds.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    pub(super) served: Arc<Vec<Served>>,
    /// Where each stands in `served`.
    by_kind: HashMap<Gvk, usize>,
}

impl Kinds {
    fn new(served: Vec<Served>) -> Self {
        let mut by_kind = HashMap::with_capacity(served.len());
        for (index, entry) in served.iter().enumerate() {
            // The first resource of a kind is the main one.
            by_kind.entry(entry.resource.gvk.clone()).or_insert(index);
        }
        Self { served: Arc::new(served), by_kind }
    }

    pub(super) fn of(&self, gvk: &Gvk) -> Option<&Served> {
        self.served.get(*self.by_kind.get(gvk)?)
    }

    fn of_version<'a>(&'a self, group: &'a str, version: &'a str) -> impl Iterator<Item = &'a Served> {
        let is_of = move |gvk: &Gvk| gvk.group == group && gvk.version == version;
        self.served.iter().filter(move |entry| is_of(&entry.resource.gvk))
    }
}

/// Reads groups. A version whose server does not answer at the moment (a dead APIService) comes as stale and without
/// kinds: it keeps those it had, its objects are still there.
pub(super) fn read<'a>(groups: impl Iterator<Item = &'a APIGroupDiscovery>, before: &Kinds) -> Kinds {
    let mut served = Vec::new();
    for group in groups {
        let name = group.metadata.as_ref().and_then(|metadata| metadata.name.as_deref()).unwrap_or_default();
        // The first version of a group is the preferred one.
        for (index, version) in group.versions.iter().enumerate() {
            let Some(version_name) = version.version.as_deref() else { continue };
            if is_stale(version) {
                served.extend(before.of_version(name, version_name).cloned());
            } else {
                let kinds = version.resources.iter();
                served.extend(kinds.filter_map(|resource| kind(resource, name, version_name, index == 0)));
            }
        }
    }
    Kinds::new(served)
}

fn is_stale(version: &APIVersionDiscovery) -> bool {
    version.freshness.as_deref() == Some("Stale") && version.resources.is_empty()
}

fn kind(resource: &APIResourceDiscovery, group: &str, version: &str, preferred: bool) -> Option<Served> {
    let plural = resource.resource.clone()?;
    let kind = resource.response_kind.as_ref()?.kind.as_deref()?;
    let namespaced = resource.scope.as_deref() == Some("Namespaced");
    let boxed = |text: &String| Box::from(text.as_str());
    let subresources = resource.subresources.iter().filter_map(|sub| sub.subresource.as_ref());
    Some(Served {
        resource: Arc::new(Resource { gvk: Gvk::new(group, version, kind), plural, namespaced }),
        preferred,
        verbs: resource.verbs.iter().map(boxed).collect(),
        subresources: subresources.map(boxed).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn groups(value: Value) -> Vec<APIGroupDiscovery> {
        serde_json::from_value(value).unwrap()
    }

    fn apps() -> Value {
        json!({"metadata": {"name": "apps"}, "versions": [{"version": "v1", "freshness": "Current", "resources": [
            {"resource": "deployments", "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
             "scope": "Namespaced", "verbs": ["get", "list", "watch"],
             "subresources": [{"subresource": "scale", "responseKind": {"kind": "Scale"}, "verbs": ["get"]}]},
        ]}]})
    }

    fn metrics(freshness: &str, resources: Value) -> Value {
        json!({"metadata": {"name": "metrics.k8s.io"},
            "versions": [{"version": "v1beta1", "freshness": freshness, "resources": resources}]})
    }

    #[test]
    fn a_kind_leads_to_its_resource_verbs_and_subresources() {
        let kinds = read(groups(json!([apps()])).iter(), &Kinds::default());
        let served = kinds.of(&Gvk::new("apps", "v1", "Deployment")).unwrap();
        assert_eq!(
            (&*served.resource.plural, served.resource.namespaced, served.preferred),
            ("deployments", true, true)
        );
        assert!(served.supports("watch") && !served.supports("delete"));
        assert_eq!(served.subresources, [Box::from("scale")]);
        assert!(kinds.of(&Gvk::new("apps", "v1", "Scale")).is_none());
        assert!(kinds.of(&Gvk::new("apps", "v2", "Deployment")).is_none());
    }

    #[test]
    fn only_the_first_version_of_a_group_is_preferred() {
        let resource = json!([{"resource": "things", "responseKind": {"kind": "Thing"}, "scope": "Cluster"}]);
        let group = json!([{"metadata": {"name": "g"}, "versions": [
            {"version": "v2", "resources": resource}, {"version": "v1", "resources": resource}]}]);
        let kinds = read(groups(group).iter(), &Kinds::default());
        assert!(kinds.of(&Gvk::new("g", "v2", "Thing")).unwrap().preferred);
        assert!(!kinds.of(&Gvk::new("g", "v1", "Thing")).unwrap().preferred);
    }

    #[test]
    fn a_dead_aggregated_server_takes_no_kind_away_and_breaks_no_other() {
        let pods =
            json!([{"resource": "pods", "responseKind": {"kind": "PodMetrics"}, "scope": "Namespaced"}]);
        let alive = read(groups(json!([apps(), metrics("Current", pods)])).iter(), &Kinds::default());
        let dead = read(groups(json!([apps(), metrics("Stale", json!([]))])).iter(), &alive);
        assert_eq!(alive.served, dead.served);
        let gone = read(groups(json!([apps()])).iter(), &dead);
        assert!(gone.of(&Gvk::new("metrics.k8s.io", "v1beta1", "PodMetrics")).is_none());
        assert!(gone.of(&Gvk::new("apps", "v1", "Deployment")).is_some());
    }
}
