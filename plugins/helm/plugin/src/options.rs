//! How a release is kept beyond what operator-sdk knows: `release` of an entry of `watches.yaml`. Names are those of Flux's
//! HelmRelease where it has the same.

use std::time::Duration;

use helm_post_render::LabelSelector;
use pilothouse_sdk::Error;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    go_duration,
    operations::{Install, Rollback, Test, Uninstall, Upgrade},
};

/// How long objects may take to be ready when nobody says.
const TIMEOUT: Duration = Duration::from_mins(5);

/// How a release is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Options {
    /// Nothing is done and no drift repaired until this is false again. Deletion is carried out all the same.
    pub(crate) suspend: bool,
    /// An operation has come to its end only when all objects are ready; those that are not in time are its failure.
    pub(crate) wait: bool,
    /// How long objects may take to be ready, as Go writes durations.
    pub(crate) timeout: Option<String>,
    /// What happens to differences between the release and the cluster.
    pub(crate) drift_detection: DriftDetection,
    /// Values out of ConfigMaps and Secrets.
    pub(crate) values_from: Vec<ValuesSource>,
    /// Patches and images, as `helm-post-render` reads them.
    pub(crate) post_renderers: Value,
    /// Labels and annotations of all objects.
    pub(crate) common_metadata: Value,
    /// What has to be ready before something is installed or upgraded.
    pub(crate) depends_on: Vec<Dependency>,
    /// Installations.
    pub(crate) install: Install,
    /// Upgrades.
    pub(crate) upgrade: Upgrade,
    /// Ways back.
    pub(crate) rollback: Rollback,
    /// Uninstallations.
    pub(crate) uninstall: Uninstall,
    /// The chart's tests.
    pub(crate) test: Test,
}

/// What happens to differences between the release and the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct DriftDetection {
    /// Whether they are repaired.
    pub(crate) mode: DriftMode,
    /// Which are left alone.
    pub(crate) ignore: Vec<IgnoreRule>,
}

/// Whether differences are repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DriftMode {
    /// At once.
    #[default]
    Enabled,
    /// They are told and left.
    Warn,
    /// Nobody looks.
    Disabled,
    /// At once, and what others added is taken away as well.
    Strict,
}

/// Fields that are somebody else's to change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct IgnoreRule {
    /// JSON pointers.
    pub(crate) paths: Vec<String>,
    /// In which objects; without it, in all.
    #[serde(default)]
    pub(crate) target: Target,
}

/// Which objects are meant. What is not said fits all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Target {
    /// Group of the API; a regular expression for all of it, as the other names are.
    pub(crate) group: String,
    /// Version of the API.
    pub(crate) version: String,
    /// Kind.
    pub(crate) kind: String,
    /// Name.
    pub(crate) name: String,
    /// Namespace.
    pub(crate) namespace: String,
    /// Selector of labels, as kubectl writes it.
    pub(crate) label_selector: String,
    /// The same for annotations.
    pub(crate) annotation_selector: String,
}

/// Another object that has to be ready first.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Dependency {
    /// `group/version`; with the kind left out, those of the object itself.
    pub(crate) api_version: Option<String>,
    /// Kind.
    pub(crate) kind: Option<String>,
    /// Name.
    pub(crate) name: String,
    /// Namespace; the object's own when nobody says.
    pub(crate) namespace: Option<String>,
    /// A condition in CEL over `dep` and `self`; without it, `Ready` has to be true of what the object wants now.
    pub(crate) ready_expr: Option<String>,
}

/// Values out of another object in the namespace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ValuesSource {
    /// What it is.
    pub(crate) kind: Source,
    /// Its name.
    pub(crate) name: String,
    /// Which of its entries; `values.yaml` when nobody says.
    pub(crate) values_key: Option<String>,
    /// Where the entry belongs among the values, as `--set` has it; without it, it is a file of values.
    pub(crate) target_path: Option<String>,
    /// Whether it may be missing.
    #[serde(default)]
    pub(crate) optional: bool,
    /// Whether what goes to `targetPath` is text whatever it looks like.
    #[serde(default)]
    pub(crate) literal: bool,
}

/// Kinds that hold values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Source {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

impl Source {
    /// The kind.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

impl Options {
    /// Refuses what would only be found out where it is used.
    ///
    /// # Errors
    /// Permanent, with the place.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.timeout()?;
        self.check_operations()?;
        for rule in &self.drift_detection.ignore {
            let Target { group, version, kind, name, namespace, .. } = &rule.target;
            for pattern in [group, version, kind, name, namespace] {
                regex::Regex::new(pattern).map_err(|error| {
                    let message =
                        format!("release.driftDetection.ignore: {pattern:?} is no pattern: {error}");
                    Error::permanent("InvalidConfiguration", message)
                })?;
            }
            for selector in [&rule.target.label_selector, &rule.target.annotation_selector] {
                LabelSelector::parse(selector).map_err(|error| {
                    let message =
                        format!("release.driftDetection.ignore: {selector:?} is no selector: {error}");
                    Error::permanent("InvalidConfiguration", message)
                })?;
            }
        }
        Ok(())
    }

    /// What can be read of options some of which cannot.
    pub(crate) fn readable(options: Map<String, Value>) -> Self {
        let mut kept = Map::new();
        let mut found = Self::default();
        for (name, value) in options {
            let more: Map<_, _> = kept.clone().into_iter().chain([(name, value)]).collect();
            let read = serde_json::from_value::<Self>(Value::Object(more.clone())).ok();
            if let Some(read) = read.filter(|read| read.check().is_ok()) {
                (kept, found) = (more, read);
            }
        }
        found
    }

    /// What is done to rendered objects, as `helm-post-render` reads it; none: nothing.
    pub(crate) fn post_rendering(&self) -> Option<Value> {
        let parts = [("postRenderers", &self.post_renderers), ("commonMetadata", &self.common_metadata)];
        let set = parts.into_iter().filter(|(_, value)| !value.is_null());
        let spec: Map<_, _> = set.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        (!spec.is_empty()).then_some(Value::Object(spec))
    }

    /// How long objects may take to be ready.
    ///
    /// # Errors
    /// Permanent, when it is no duration.
    pub(crate) fn timeout(&self) -> Result<Duration, Error> {
        let Some(text) = &self.timeout else { return Ok(TIMEOUT) };
        go_duration::parse(text).ok_or_else(|| {
            let message = format!("release.timeout {text:?} is not a duration such as 5m");
            Error::permanent("InvalidConfiguration", message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_misspelt_is_told_with_what_there_is() {
        let error = serde_json::from_str::<Options>(r#"{"driftDetection": {"mod": "warn"}}"#).unwrap_err();
        assert!(error.to_string().starts_with("unknown field `mod`, expected `mode` or `ignore`"), "{error}");
        assert!(serde_json::from_str::<Options>(r#"{"install": {"crds": "Keep"}}"#).is_err());
    }

    #[test]
    fn a_timeout_is_a_go_duration_and_five_minutes_when_nobody_says() {
        let options = |text: &str| serde_json::from_str::<Options>(text).unwrap();
        assert_eq!(options("{}").timeout().unwrap(), Duration::from_mins(5));
        assert_eq!(options(r#"{"timeout": "90s"}"#).timeout().unwrap(), Duration::from_secs(90));
        assert!(options(r#"{"timeout": "soon"}"#).timeout().unwrap_err().message().contains("\"soon\""));
    }
}
