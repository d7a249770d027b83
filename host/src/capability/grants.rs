//! What a plugin may do: what its manifest asks for and what the administrator granted, both. Nothing by default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::phases::{self, HookRule, PhaseError, has_phase};
use super::rule::{Access, Rule};
use crate::blob;
use crate::charts::places::{Address, Place, found_in};
use crate::egress::address::Reach;
use crate::egress::place;
use crate::object::Gvk;
use crate::plugin::limits::LimitsSpec;
use crate::plugin::manifest::Manifest;

/// What an administrator grants one plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantSpec {
    /// Account the plugin acts under, `namespace/name` of a ServiceAccount; the host's own when absent.
    pub service_account: Option<String>,
    /// Rules of the cluster's API.
    #[serde(default)]
    pub kube: Vec<Rule>,
    /// Grant every rule the manifest asks for, but commands in containers and the like ([`Access::by_name`]), which `kube` has to
    /// name. The API server's RBAC for the account still holds.
    #[serde(default)]
    pub all_requested: bool,
    /// Places that charts may come from, of those the manifest asks for. Absent: those that the configuration names for a
    /// kind (an entry of `watches.yaml`, `--releases`) and no others.
    pub charts: Option<Vec<Place>>,
    /// Servers that HTTP requests may go to, of those the manifest asks for. Nothing else would hold the plugin back, so
    /// `allRequested` does not speak of them.
    #[serde(default)]
    pub egress: Vec<place::Place>,
    /// Object storage that it may use, of what the manifest asks for. Not within `allRequested` either.
    #[serde(default)]
    pub stores: Vec<blob::place::Place>,
    /// Phases of changes that it may announce, of those the manifest asks for; `*`: all. Within `allRequested`.
    #[serde(default)]
    pub announces: Vec<String>,
    /// Phases of others' changes that it takes part in, of those the manifest asks for. What they cover does not go on without the
    /// plugin, so `allRequested` does not speak of them.
    #[serde(default)]
    pub hooks: Vec<HookRule>,
    /// Ceiling for the manifest's limits.
    #[serde(default)]
    pub limits: LimitsSpec,
    /// Settings handed to the plugin as they are.
    #[serde(default)]
    pub settings: serde_json::Map<String, serde_json::Value>,
}

impl GrantSpec {
    /// Whatever a manifest asks for.
    pub fn of_all_requested(manifest: &Manifest) -> Self {
        let rights = manifest.rights.clone();
        let (kube, egress, stores, hooks) = (rights.kube, rights.egress, rights.stores, rights.hooks);
        Self { all_requested: true, kube, egress, stores, hooks, ..Self::default() }
    }
}

/// The grants file: plugin name → grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantsFile {
    /// Grants by plugin name; a plugin that is not named has none.
    #[serde(default)]
    pub plugins: BTreeMap<String, GrantSpec>,
}

impl GrantsFile {
    /// Holds it against what its form cannot say.
    ///
    /// # Errors
    /// [`GrantError::Phases`].
    pub fn check(&self) -> Result<(), GrantError> {
        self.plugins.iter().try_for_each(|(plugin, spec)| {
            phases::check(&spec.announces, &spec.hooks)
                .map_err(|error| GrantError::Phases { plugin: plugin.clone(), error })
        })
    }
}

/// Grants in force for one revision of a plugin.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    asked: Vec<Rule>,
    given: Vec<Rule>,
    all_requested: bool,
    charts_asked: Vec<Place>,
    charts_given: Option<Vec<Place>>,
    egress_asked: Vec<place::Place>,
    egress_given: Vec<place::Place>,
    stores_asked: Vec<blob::place::Place>,
    stores_given: Vec<blob::place::Place>,
    announces_asked: Vec<String>,
    announces_given: Vec<String>,
    hooks_asked: Vec<HookRule>,
    hooks_given: Vec<HookRule>,
    /// Full user name to impersonate, `system:serviceaccount:ns:name`; `None`: the host's own account.
    pub account: Option<String>,
    /// Ceiling for limits.
    pub ceiling: LimitsSpec,
    /// Settings as JSON text.
    pub settings: String,
}

/// What is wrong with a grant.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// Not `namespace/name`.
    #[error("serviceAccount {0:?} must be `namespace/name`")]
    Account(String),
    /// Rules about phases that are none.
    #[error("plugins.{plugin}: {error}")]
    Phases {
        /// Whose grant.
        plugin: String,
        /// What is wrong.
        #[source]
        error: PhaseError,
    },
}

impl Grants {
    /// The grants of a plugin: `spec` is what the administrator said of it, if anything.
    ///
    /// # Errors
    /// When the account is not of the form `namespace/name`.
    pub fn new(manifest: &Manifest, spec: Option<&GrantSpec>) -> Result<Self, GrantError> {
        let Some(spec) = spec else { return Ok(Self { settings: "{}".to_owned(), ..Self::default() }) };
        let account = match spec.service_account.as_deref() {
            None => None,
            Some(text) => match text.split_once('/') {
                Some((ns, name)) if !ns.is_empty() && !name.is_empty() && !name.contains('/') => {
                    Some(format!("system:serviceaccount:{ns}:{name}"))
                }
                _ => return Err(GrantError::Account(text.to_owned())),
            },
        };
        Ok(Self {
            asked: manifest.rights.kube.clone(),
            given: spec.kube.clone(),
            all_requested: spec.all_requested,
            charts_asked: manifest.rights.charts.clone(),
            charts_given: spec.charts.clone(),
            egress_asked: manifest.rights.egress.clone(),
            egress_given: spec.egress.clone(),
            stores_asked: manifest.rights.stores.clone(),
            stores_given: spec.stores.clone(),
            announces_asked: manifest.rights.announces.clone(),
            announces_given: spec.announces.clone(),
            hooks_asked: manifest.rights.hooks.clone(),
            hooks_given: spec.hooks.clone(),
            account,
            ceiling: spec.limits,
            settings: serde_json::Value::Object(spec.settings.clone()).to_string(),
        })
    }

    /// Whether the access is asked for by the manifest and given by the administrator.
    ///
    /// # Errors
    /// The sentence says which of the two is missing.
    pub fn check(&self, access: &Access<'_>) -> Result<(), &'static str> {
        if !self.asked.iter().any(|rule| rule.allows(access)) {
            return Err("the plugin's manifest does not ask for this right, or no grant names the plugin");
        }
        let all = self.all_requested && !access.by_name();
        if all || self.given.iter().any(|rule| rule.allows(access)) {
            Ok(())
        } else if self.all_requested {
            Err(
                "the administrator's grants have to name this right (`kube`): allRequested does not speak of it",
            )
        } else {
            Err("the administrator's grants do not give the plugin this right")
        }
    }

    /// The same with the rights of another account.
    #[must_use]
    pub fn acting_as(&self, user: String) -> Self {
        Self { account: Some(user), ..self.clone() }
    }

    /// Whether a chart may come from an address: the manifest asks for it, the configuration of the kind names it, and the
    /// administrator's grant, where it speaks of charts, has it as well. True where one of the two names the server in full.
    ///
    /// # Errors
    /// The sentence says which of them is missing.
    pub fn may_fetch(&self, binding: &[Place], wanted: &Address) -> Result<bool, &'static str> {
        if found_in(&self.charts_asked, wanted).is_none() {
            return Err("the plugin's manifest does not ask for this place, or no grant names the plugin");
        }
        let given = self.charts_given.as_deref().map(|given| found_in(given, wanted));
        let bound = found_in(binding, wanted);
        match (bound, given) {
            (_, Some(None)) => Err("the administrator's grants (`charts`) do not have this place"),
            (None, _) if !binding.is_empty() => Err("--releases does not have this place"),
            (None, None) => Err("no grant gives the plugin charts from elsewhere (`charts`)"),
            (bound, given) => Ok(bound == Some(true) || given.flatten() == Some(true)),
        }
    }

    /// Whether an HTTP request for an object in a namespace may go to a server: the manifest asks for it, and the administrator's
    /// grant has it. The grant says how far its name may lead.
    ///
    /// # Errors
    /// The sentence says which of the two is missing.
    pub fn may_connect(&self, target: &place::Target, namespace: Option<&str>) -> Result<Reach, String> {
        let asked = place::Place::found_in(&self.egress_asked, target, namespace);
        let given = place::Place::found_in(&self.egress_given, target, namespace);
        let missing = match (asked, given) {
            (Some(_), Some(reach)) => return Ok(reach),
            (None, _) => {
                "the plugin's manifest does not ask for it (`rights.egress`), or no grant names the plugin"
            }
            (_, None) => "the administrator's grants do not have it (`egress`)",
        };
        Err(format!("{target} may not be reached: {missing}"))
    }

    /// Whether a store may be used for an object in a namespace, as [`may_connect`](Self::may_connect).
    ///
    /// # Errors
    /// The sentence says what is missing.
    pub fn may_store(&self, store: &blob::place::Address, namespace: Option<&str>) -> Result<Reach, String> {
        let asked = blob::place::Place::found_in(&self.stores_asked, store, namespace);
        let given = blob::place::Place::found_in(&self.stores_given, store, namespace);
        let missing = match (asked, given) {
            (Some(_), Some(reach)) => return Ok(reach),
            (None, _) => {
                "the plugin's manifest does not ask for it (`rights.stores`), or no grant names the plugin"
            }
            (_, None) => "the administrator's grants do not have it (`stores`)",
        };
        Err(format!("{store} may not be used: {missing}"))
    }

    /// Whether a phase may be announced.
    ///
    /// # Errors
    /// The sentence says what is missing.
    pub fn may_announce(&self, phase: &str) -> Result<(), String> {
        let missing = if !has_phase(&self.announces_asked, phase) {
            "the plugin's manifest does not ask for it (`rights.announces`), or no grant names the plugin"
        } else if self.all_requested || has_phase(&self.announces_given, phase) {
            return Ok(());
        } else {
            "the administrator's grants do not have it (`announces`)"
        };
        Err(format!("{phase} may not be announced: {missing}"))
    }

    /// Whether the plugin takes part in a phase of a kind.
    pub fn takes_part(&self, phase: &str, kind: &Gvk) -> bool {
        let covered = |rules: &[HookRule]| rules.iter().any(|rule| rule.covers(phase, kind));
        covered(&self.hooks_asked) && covered(&self.hooks_given)
    }

    /// Whether it takes part in some phase of a kind.
    pub fn takes_part_in_some(&self, kind: &Gvk) -> bool {
        let about = |rules: &[HookRule]| rules.iter().any(|rule| rule.is_about(kind));
        about(&self.hooks_asked) && about(&self.hooks_given)
    }

    /// Whether it takes part in anything.
    pub fn has_hooks(&self) -> bool {
        !self.hooks_asked.is_empty() && !self.hooks_given.is_empty()
    }

    /// The account as messages name it.
    pub fn account_name(&self) -> &str {
        self.account.as_deref().unwrap_or("the host's own account")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Rule {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        Rule { api_groups: own(groups), resources: own(resources), verbs: own(verbs), ..Rule::default() }
    }

    fn access<'a>(verb: &'a str, resource: &'a str, namespace: Option<&'a str>) -> Access<'a> {
        Access { verb, group: "apps", resource, namespace, name: Some("x") }
    }

    fn manifest(rules: Vec<Rule>) -> Manifest {
        let text = "{name: a, version: 1.0.0, interface: 'pilothouse:operator@0.1.0', bindable: true}";
        let mut manifest = Manifest::parse(text).unwrap();
        manifest.rights.kube = rules;
        manifest
    }

    #[test]
    fn a_plugin_that_nobody_names_may_do_nothing() {
        let grants = Grants::new(&manifest(vec![rule(&["*"], &["*"], &["*"])]), None).unwrap();
        assert!(grants.check(&access("get", "deployments", None)).is_err());
    }

    #[test]
    fn both_the_manifest_and_the_grant_must_allow() {
        let asked = manifest(vec![rule(&["apps"], &["deployments"], &["get", "patch"])]);
        let spec = GrantSpec { kube: vec![rule(&["apps"], &["*"], &["get"])], ..GrantSpec::default() };
        let grants = Grants::new(&asked, Some(&spec)).unwrap();
        assert!(grants.check(&access("get", "deployments", None)).is_ok());
        assert!(grants.check(&access("patch", "deployments", None)).unwrap_err().contains("grants"));
        assert!(grants.check(&access("get", "daemonsets", None)).unwrap_err().contains("manifest"));
    }

    #[test]
    fn a_rule_for_a_namespace_holds_neither_elsewhere_nor_for_all_namespaces() {
        let mut only = rule(&["apps"], &["deployments"], &["list"]);
        only.namespaces = vec!["shop".to_owned()];
        assert!(only.allows(&access("list", "deployments", Some("shop"))));
        assert!(!only.allows(&access("list", "deployments", Some("bank"))));
        assert!(!only.allows(&access("list", "deployments", None)));
    }

    #[test]
    fn a_resource_does_not_stand_for_its_subresources() {
        assert!(!rule(&["apps"], &["deployments"], &["*"]).allows(&access(
            "patch",
            "deployments/scale",
            None
        )));
        assert!(rule(&["apps"], &["*/scale"], &["*"]).allows(&access("patch", "deployments/scale", None)));
        assert!(rule(&["apps"], &["*"], &["*"]).allows(&access("patch", "deployments/scale", None)));
    }

    #[test]
    fn a_way_into_containers_is_given_by_name_alone() {
        let exec = Access { group: "", ..access("create", "pods/exec", Some("shop")) };
        let may = |asks: &str, given: &[&str], all_requested| {
            let asked = manifest(vec![rule(&["*"], &[asks], &["*"])]);
            let spec =
                GrantSpec { kube: vec![rule(&["*"], given, &["*"])], all_requested, ..GrantSpec::default() };
            Grants::new(&asked, Some(&spec)).unwrap().check(&exec)
        };
        assert_eq!(may("pods/exec", &["pods/exec"], false), Ok(()));
        for wide in ["*", "*/exec", "pods", "pods/*"] {
            assert!(may(wide, &["pods/exec"], true).unwrap_err().contains("manifest"), "{wide}");
            assert!(may("pods/exec", &[wide], false).unwrap_err().contains("grants"), "{wide}");
        }
        assert!(may("pods/exec", &["*"], true).unwrap_err().contains("allRequested"));
        let asked = manifest(vec![rule(&[""], &["pods/exec"], &["create"])]);
        let all = Grants::new(&asked, Some(&GrantSpec::of_all_requested(&asked))).unwrap();
        assert_eq!(all.check(&exec), Ok(()), "where whatever is asked for is granted");
        for other in ["pods/ephemeralcontainers", "nodes/proxy"] {
            assert!(!rule(&["*"], &["*"], &["*"]).allows(&access("patch", other, None)), "{other}");
        }
        for usual in ["pods/eviction", "pods/log", "deployments/status"] {
            assert!(rule(&["*"], &["*"], &["*"]).allows(&access("patch", usual, None)), "{usual}");
        }
    }

    #[test]
    fn a_chart_comes_from_where_the_kind_may_have_it_from_and_the_grants_too() {
        let places =
            |texts: &[&str]| texts.iter().map(|text| Place::parse(text).unwrap()).collect::<Vec<_>>();
        let asked = |texts: &[&str]| {
            let mut manifest = manifest(vec![]);
            manifest.rights.charts = places(texts);
            manifest
        };
        let may = |asks: &[&str], given: Option<&[&str]>, binding: &[&str]| {
            let spec = GrantSpec { charts: given.map(places), all_requested: true, ..GrantSpec::default() };
            let grants = Grants::new(&asked(asks), Some(&spec)).unwrap();
            grants.may_fetch(&places(binding), &Address::parse("oci://r.example/charts/web").unwrap())
        };
        assert_eq!(may(&["*"], None, &["oci://r.example/charts/web"]), Ok(true));
        assert_eq!(may(&["*"], None, &["*"]), Ok(false));
        assert_eq!(may(&["*"], Some(&["oci://r.example"]), &["*"]), Ok(true));
        assert_eq!(may(&["*"], Some(&["*"]), &[]), Ok(false), "a kind of the plugin's own");
        assert!(may(&[], None, &["*"]).unwrap_err().contains("manifest"));
        assert!(may(&["*"], Some(&[]), &["*"]).unwrap_err().contains("administrator"));
        assert!(may(&["*"], Some(&["*"]), &["oci://other.example"]).unwrap_err().contains("--releases"));
        assert!(may(&["*"], None, &[]).unwrap_err().contains("no grant"));
        assert!(
            Grants::new(&asked(&["*"]), None)
                .unwrap()
                .may_fetch(&places(&["*"]), &Address::parse("oci://r.example").unwrap())
                .is_err()
        );
    }

    #[test]
    fn a_server_is_reached_where_the_manifest_asks_for_it_and_the_grant_has_it() {
        let places =
            |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<place::Place>>();
        let may = |asks: &[&str], given: &[&str]| {
            let mut manifest = manifest(vec![]);
            manifest.rights.egress = places(asks);
            let spec = GrantSpec { egress: places(given), all_requested: true, ..GrantSpec::default() };
            let target = place::Target::of(&"https://etcd.shop.svc:2379".parse().unwrap()).unwrap();
            Grants::new(&manifest, Some(&spec)).unwrap().may_connect(&target, Some("shop"))
        };
        let services = "https://*.NAMESPACE.svc:2379";
        assert_eq!(may(&[services], &[services]), Ok(Reach { private: true, loopback: false }));
        assert_eq!(may(&["https://*:*"], &[services]), Ok(Reach { private: true, loopback: false }));
        assert_eq!(
            may(&[services], &["https://*:*"]),
            Ok(Reach::default()),
            "the manifest does not say how far"
        );
        assert!(
            may(&[], &[services])
                .unwrap_err()
                .contains("https://etcd.shop.svc:2379 may not be reached: the plugin's manifest")
        );
        assert!(may(&[services], &[]).unwrap_err().contains("grants do not have it (`egress`)"));
        assert!(may(&[services], &["https://*.bank.svc:2379"]).is_err());
    }

    #[test]
    fn a_phase_is_announced_where_the_manifest_asks_for_it_and_the_grant_has_it() {
        let may = |asks: &[&str], given: &[&str], all_requested| {
            let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            let mut manifest = manifest(vec![]);
            manifest.rights.announces = own(asks);
            let spec = GrantSpec { announces: own(given), all_requested, ..GrantSpec::default() };
            Grants::new(&manifest, Some(&spec)).unwrap().may_announce("pre-upgrade")
        };
        assert_eq!(may(&["pre-upgrade"], &["*"], false), Ok(()));
        assert_eq!(may(&["*"], &[], true), Ok(()), "it costs others nothing that nobody gave them");
        assert!(
            may(&["pre-upgrade"], &["post-upgrade"], false).unwrap_err().contains("grants do not have it")
        );
        assert!(may(&["post-upgrade"], &["*"], true).unwrap_err().contains("manifest does not ask"));
    }

    #[test]
    fn a_grants_file_with_a_guard_that_would_guard_nothing_is_refused_with_the_plugin() {
        let file = |phase: &str| -> GrantsFile {
            let hooks = serde_json::json!([{"phases": [phase], "kinds": [{"kind": "Shop"}]}]);
            serde_json::from_value(serde_json::json!({"plugins": {"backup": {"hooks": hooks}}})).unwrap()
        };
        assert!(file("pre-upgrade").check().is_ok());
        let said = file("upgrade").check().unwrap_err().to_string();
        assert!(said.starts_with("plugins.backup: \"upgrade\" is no phase"), "{said}");
    }

    #[test]
    fn taking_part_in_what_others_do_is_given_by_name_alone() {
        let rule = |phase: &str| -> HookRule {
            serde_json::from_value(
                serde_json::json!({"phases": [phase], "kinds": [{"group": "*", "kind": "*"}]}),
            )
            .unwrap()
        };
        let part = |given: Vec<HookRule>, all_requested| {
            let mut manifest = manifest(vec![]);
            manifest.rights.hooks = vec![rule("pre-upgrade")];
            let spec = GrantSpec { hooks: given, all_requested, ..GrantSpec::default() };
            Grants::new(&manifest, Some(&spec))
                .unwrap()
                .takes_part("pre-upgrade", &Gvk::new("g", "v1", "Shop"))
        };
        assert!(part(vec![rule("pre-upgrade")], false));
        assert!(part(vec![rule("*")], false));
        assert!(!part(vec![], true));
        assert!(!part(vec![rule("post-upgrade")], true));
    }

    #[test]
    fn an_account_is_named_as_the_api_server_names_it() {
        let spec = GrantSpec { service_account: Some("ops/helm".to_owned()), ..GrantSpec::default() };
        let grants = Grants::new(&manifest(vec![]), Some(&spec)).unwrap();
        assert_eq!(grants.account.as_deref(), Some("system:serviceaccount:ops:helm"));
        let bad = GrantSpec { service_account: Some("helm".to_owned()), ..GrantSpec::default() };
        assert!(Grants::new(&manifest(vec![]), Some(&bad)).is_err());
    }
}
