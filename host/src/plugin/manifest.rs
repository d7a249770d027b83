//! What a plugin says about itself: `plugin.yaml` beside its source, carried as JSON inside the component.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bindings::{INTERFACE, PACKAGE};
use super::limits::LimitsSpec;
use crate::action::execute::Manager;
use crate::capability::phases::{self, HookRule};
use crate::capability::rule::Rule;
use crate::charts::places::Place;
use crate::object::Gvk;
use crate::{blob, egress};

/// Why a manifest is refused.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not YAML or JSON of the manifest's form.
    #[error("{0}")]
    Syntax(String),
    /// Written for another version of the interface.
    #[error("it is written for {found}; this host speaks {INTERFACE}")]
    Interface {
        /// What the manifest names.
        found: String,
    },
    /// A rule of the format is broken.
    #[error("{0}")]
    Invalid(String),
}

/// How instances of a plugin live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// A new instance from a prepared one for every call.
    #[default]
    Fresh,
    /// Kept warm between calls, for what a plugin caches.
    Pooled,
}

/// The instance model and when a kept instance is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstanceSpec {
    /// `fresh` or `pooled`.
    #[serde(default)]
    pub model: Model,
    /// Calls after which a kept instance is replaced (1000).
    pub max_calls: Option<u64>,
    /// MiB of linear memory after which a kept instance is replaced (half of its limit).
    #[serde(rename = "maxMemoryMiB")]
    pub max_memory_mib: Option<u64>,
}

/// A kind the plugin reconciles by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KindSpec {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// The finalizer the host keeps on objects of this kind; none when deletion needs no hook.
    pub finalizer: Option<String>,
    /// Who puts it on.
    #[serde(default)]
    pub finalizer_by: FinalizerBy,
    /// Conditions of the kind have `lastUpdateTime`, as older interfaces have it: when status, reason or message last changed.
    #[serde(default)]
    pub condition_update_time: bool,
}

/// Who puts a kind's finalizer on. The host takes it off in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FinalizerBy {
    /// The host, before the first call.
    #[default]
    Host,
    /// The plugin, where other operators have objects of the kind as well and only it knows which are its own.
    Plugin,
}

impl KindSpec {
    /// The kind without the rest.
    pub fn gvk(&self) -> Arc<Gvk> {
        Arc::new(Gvk::new(&self.group, &self.version, &self.kind))
    }
}

/// Rights a plugin asks for. It has them only where a grant gives them too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rights {
    /// Rules of the cluster's API, in RBAC's own shape.
    #[serde(default)]
    pub kube: Vec<Rule>,
    /// Places that charts may come from; `*`: all that the configuration names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<Place>,
    /// Servers it sends HTTP requests to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub egress: Vec<egress::place::Place>,
    /// Object storage it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<blob::place::Place>,
    /// Phases of changes that it announces; `*`: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub announces: Vec<String>,
    /// Phases of others' changes that it takes part in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRule>,
}

/// A plugin's description of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// Lower-case name, unique in a host; a DNS label.
    pub name: String,
    /// Version of the plugin, for people.
    pub version: String,
    /// Interface the component was built against, such as `pilothouse:operator@0.1.0`.
    pub interface: String,
    /// A sentence for people.
    #[serde(default)]
    pub description: String,
    /// Kinds it reconciles.
    #[serde(default)]
    pub kinds: Vec<KindSpec>,
    /// Whether kinds may also come from configuration (`watches.yaml`).
    #[serde(default)]
    pub bindable: bool,
    /// Finalizer for kinds that come from configuration.
    pub finalizer: Option<String>,
    /// Finalizers of earlier tools that stand for the same promise: taken over and removed with it.
    #[serde(default)]
    pub legacy_finalizers: Vec<String>,
    /// Field manager of its applies; `pilothouse-NAME` when absent.
    pub field_manager: Option<String>,
    /// Field managers of tools that it follows: what they have updated in an object becomes its own with its first apply.
    #[serde(default)]
    pub supersedes: Vec<String>,
    /// Rights it asks for.
    #[serde(default)]
    pub rights: Rights,
    /// Instance model.
    #[serde(default)]
    pub instance: InstanceSpec,
    /// Limits it asks for.
    #[serde(default)]
    pub limits: LimitsSpec,
}

impl Manifest {
    /// Reads `plugin.yaml` (JSON is YAML too) and checks it.
    ///
    /// # Errors
    /// With line and column where the text is at fault.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let manifest: Self =
            serde_saphyr::from_str(text).map_err(|error| ManifestError::Syntax(error.to_string()))?;
        manifest.check()?;
        Ok(manifest)
    }

    /// The manager named in `metadata.managedFields` for what it applies.
    pub fn manager(&self) -> Manager {
        let name = self.field_manager.clone().unwrap_or_else(|| format!("pilothouse-{}", self.name));
        Manager { name, supersedes: self.supersedes.clone() }
    }

    fn check(&self) -> Result<(), ManifestError> {
        if !is_dns_label(&self.name) {
            return Err(ManifestError::Invalid(format!(
                "name {:?} must be a DNS label: lower-case letters, digits and `-`, at most 63",
                self.name
            )));
        }
        check_interface(&self.interface)?;
        if self.kinds.is_empty() && !self.bindable && self.rights.hooks.is_empty() {
            return Err(ManifestError::Invalid(
                "it reconciles nothing: give it kinds, or `bindable: true`".to_owned(),
            ));
        }
        let checked = phases::check(&self.rights.announces, &self.rights.hooks);
        checked.map_err(|error| ManifestError::Invalid(error.to_string()))?;
        for (index, kind) in self.kinds.iter().enumerate() {
            if kind.version.is_empty() || kind.kind.is_empty() {
                return Err(ManifestError::Invalid(format!("kinds[{index}] needs a version and a kind")));
            }
            if kind.finalizer.is_none() && kind.finalizer_by == FinalizerBy::Plugin {
                return Err(ManifestError::Invalid(format!(
                    "kinds[{index}]: finalizerBy is of a finalizer: name it"
                )));
            }
            if self.kinds.iter().take(index).any(|other| other.gvk() == kind.gvk()) {
                return Err(ManifestError::Invalid(format!("kind {} stands twice", kind.gvk())));
            }
        }
        let finalizers =
            self.kinds.iter().filter_map(|k| k.finalizer.as_deref()).chain(self.finalizer.as_deref());
        for finalizer in finalizers {
            if !finalizer.contains('/') {
                return Err(ManifestError::Invalid(format!(
                    "finalizer {finalizer:?} must be of the form domain/name"
                )));
            }
        }
        Ok(())
    }
}

/// Refuses other packages and versions this host cannot serve: 0.x versions are compatible only within 0.x.
fn check_interface(found: &str) -> Result<(), ManifestError> {
    let other = || ManifestError::Interface { found: found.to_owned() };
    let (package, version) = found.split_once('@').ok_or_else(other)?;
    let ours = INTERFACE.split_once('@').map_or("", |(_, version)| version);
    if package == PACKAGE && compatible(version, ours) { Ok(()) } else { Err(other()) }
}

/// Semantic versions that a linker may join: same major, for 0.x same minor; ours may be the newer.
pub fn compatible(guest: &str, host: &str) -> bool {
    let parts = |v: &str| -> Option<(u64, u64, u64)> {
        let mut numbers = v.split('.').map(|n| n.parse::<u64>().ok());
        let version = (numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(version)
    };
    let (Some(guest), Some(host)) = (parts(guest), parts(host)) else { return false };
    if guest.0 != host.0 {
        return false;
    }
    if host.0 == 0 { guest.1 == host.1 && guest.2 <= host.2 } else { (guest.1, guest.2) <= (host.1, host.2) }
}

fn is_dns_label(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.len() <= 63
        && name.chars().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &str = "
name: hello
version: 0.1.0
interface: pilothouse:operator@0.1.0
kinds:
  - { group: hello.pilothouse.dev, version: v1alpha1, kind: Hello, finalizer: hello.pilothouse.dev/cleanup }
rights:
  kube:
    - { apiGroups: [apps], resources: [deployments], verbs: [get, patch] }
instance: { model: pooled, maxMemoryMiB: 16 }
limits: { cpuMs: 100, memoryMiB: 32 }
";

    #[test]
    fn a_manifest_is_read_with_its_rights_and_limits() {
        let manifest = Manifest::parse(HELLO).unwrap();
        assert_eq!(manifest.manager().name, "pilothouse-hello");
        assert_eq!(manifest.instance.model, Model::Pooled);
        assert_eq!(manifest.limits.memory_mib, Some(32));
        assert_eq!(manifest.rights.kube[0].resources, ["deployments"]);
    }

    #[test]
    fn json_is_read_as_well() {
        let manifest = Manifest::parse(HELLO).unwrap();
        let json = serde_json::to_string(&manifest).unwrap();
        assert_eq!(Manifest::parse(&json).unwrap(), manifest);
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_position() {
        let error = Manifest::parse("name: a\nversion: 1.0.0\nverzion: 2\n").unwrap_err().to_string();
        assert!(error.contains("verzion") && error.contains('3'), "{error}");
    }

    #[test]
    fn another_interface_version_is_refused_by_name() {
        let error = Manifest::parse(&HELLO.replace("@0.1.0", "@0.2.0")).unwrap_err().to_string();
        assert!(error.contains("pilothouse:operator@0.2.0") && error.contains("@0.1.0"), "{error}");
    }

    #[test]
    fn versions_join_only_where_semver_promises_it() {
        assert!(compatible("0.1.0", "0.1.3"));
        assert!(!compatible("0.1.4", "0.1.3"));
        assert!(!compatible("0.2.0", "0.1.0"));
        assert!(compatible("1.2.0", "1.3.0"));
        assert!(!compatible("1.4.0", "1.3.0"));
        assert!(!compatible("1.x", "1.3.0"));
    }

    #[test]
    fn who_puts_a_finalizer_on_is_one_of_two_and_there_has_to_be_one() {
        let by = |who: &str| {
            let finalizer = "finalizer: hello.pilothouse.dev/cleanup";
            Manifest::parse(&HELLO.replace(finalizer, &format!("{finalizer}, finalizerBy: {who}")))
        };
        assert_eq!(by("plugin").unwrap().kinds[0].finalizer_by, FinalizerBy::Plugin);
        let told = HELLO.replace("finalizer: hello", "conditionUpdateTime: true, finalizer: hello");
        assert!(Manifest::parse(&told).unwrap().kinds[0].condition_update_time);
        assert!(by("somebody").unwrap_err().to_string().contains("somebody"));
        let none = HELLO.replace("finalizer: hello.pilothouse.dev/cleanup", "finalizerBy: plugin");
        assert!(Manifest::parse(&none).unwrap_err().to_string().contains("kinds[0]: finalizerBy"));
    }

    #[test]
    fn a_phase_without_a_side_is_refused() {
        let text = HELLO.replace("rights:\n", "rights:\n  announces: [upgrade]\n");
        assert!(Manifest::parse(&text).unwrap_err().to_string().contains("\"upgrade\" is no phase"));
    }

    #[test]
    fn a_plugin_that_only_takes_part_in_what_others_do_needs_no_kinds() {
        let text = "{name: a, version: 1.0.0, interface: 'pilothouse:operator@0.1.0', \
            rights: {hooks: [{phases: [pre-upgrade], kinds: [{group: '*', kind: '*'}]}]}}";
        assert!(Manifest::parse(text).is_ok());
    }

    #[test]
    fn a_plugin_that_reconciles_nothing_is_refused() {
        let error =
            Manifest::parse("name: a\nversion: 1.0.0\ninterface: pilothouse:operator@0.1.0\n").unwrap_err();
        assert!(error.to_string().contains("reconciles nothing"));
    }
}
