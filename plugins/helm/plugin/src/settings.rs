//! What the operator of the cluster and the owner of the object set: an entry of `watches.yaml`, and annotations.

use std::time::Duration;

use helm_release::{Action, LARGEST_SECRET};
use pilothouse_sdk::{Context, Dynamic, Error, Level};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{elsewhere::Elsewhere, go_duration, options::Options, overrides::Overrides, release_spec};

/// An entry of `watches.yaml` as the host hands it on. Selector and period are the host's business. `dryRunOption`,
/// with which operator-sdk compares renderings, has nothing to choose here: what changed is seen by digests, and
/// whatever is rendered is rendered for the cluster, so that `lookup` works.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Settings {
    /// The chart.
    pub(crate) chart: ChartSetting,
    /// Values that win over the object's spec.
    #[serde(flatten)]
    pub(crate) overrides: Overrides,
    /// Hides override values in events (`--suppress-override-values`).
    #[serde(default)]
    pub(crate) suppress_override_values: bool,
    /// Whether changes of the release's objects are watched.
    #[serde(default = "yes")]
    pub(crate) watch_dependent_resources: bool,
    /// How many revisions are kept; 0: all.
    #[serde(default = "ten")]
    pub(crate) max_history: u32,
    /// How long a hook may run, as Go writes durations; without it, as long as objects may take to be ready; 0: as long as
    /// it takes.
    #[serde(default)]
    pub(crate) hook_timeout: Option<String>,
    /// Bytes that a Secret may have. Kubernetes says how many; tests say less, so that large records need no megabytes.
    #[serde(default = "largest_secret")]
    pub(crate) largest_secret: usize,
    /// What operator-sdk does not know.
    #[serde(default)]
    pub(crate) release: Options,
    /// Name of the release, of a `Release` that says it; else the object's.
    #[serde(skip)]
    pub(crate) release_name: Option<String>,
    /// Values of a `Release`; of other kinds the whole specification is.
    #[serde(skip)]
    pub(crate) values: Option<Value>,
}

/// What the settings of every kind have.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Kind {
    /// The rest stands in the object's own specification.
    from_spec: bool,
    suppress_override_values: bool,
}

/// Where the chart is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum ChartSetting {
    /// An asset of the host.
    Asset(String),
    /// In a registry or a repository.
    Elsewhere(Elsewhere),
}

fn yes() -> bool {
    true
}

fn largest_secret() -> usize {
    LARGEST_SECRET
}

fn ten() -> u32 {
    10
}

impl Settings {
    /// Reads them.
    pub(crate) fn read(ctx: &Context, object: &Dynamic) -> Result<Self, Error> {
        let kind: Result<Kind, Error> = ctx.binding();
        let settings = match &kind {
            Ok(kind) if kind.from_spec => {
                release_spec::read(object, kind.suppress_override_values).and_then(Self::checked)
            }
            _ => ctx.binding().and_then(Self::checked),
        };
        match settings {
            // What is wrong with them must not hold an object that is to go.
            Err(_) if object.is_deleting() && kind.is_ok_and(|kind| kind.from_spec) => {
                Ok(release_spec::readable(object))
            }
            Err(_) if object.is_deleting() => Ok(Self::readable(ctx.binding().unwrap_or_default())),
            settings => settings,
        }
    }

    /// What can be read of an entry some of which cannot. Nothing that takes a release away needs the chart.
    fn readable(mut entry: Map<String, Value>) -> Self {
        let mut settings = Self { chart: ChartSetting::Asset(String::new()), ..release_spec::bare() };
        if let Some(Value::Object(options)) = entry.remove("release") {
            settings.release = Options::readable(options);
        }
        if let Some(chart) = entry.remove("chart").and_then(|chart| serde_json::from_value(chart).ok()) {
            settings.chart = chart;
        }
        if let Some(watches) = entry.get("watchDependentResources").and_then(Value::as_bool) {
            settings.watch_dependent_resources = watches;
        }
        settings.with_readable_timeout(entry.get("hookTimeout"))
    }

    /// With this `hookTimeout`, if it is one.
    pub(crate) fn with_readable_timeout(self, timeout: Option<&Value>) -> Self {
        let text = timeout.and_then(Value::as_str).filter(|text| go_duration::parse(text).is_some());
        Self { hook_timeout: text.map(str::to_owned).or(self.hook_timeout), ..self }
    }

    fn checked(self) -> Result<Self, Error> {
        self.hook_timeout(Action::Install)?;
        self.release.check()?;
        Ok(self)
    }

    /// How long a hook of an operation may run. None: as long as it takes.
    pub(crate) fn hook_timeout(&self, action: Action) -> Result<Option<Duration>, Error> {
        let limit = match &self.hook_timeout {
            None => self.release.timeout_of(action)?,
            Some(text) => go_duration::parse(text).ok_or_else(|| {
                let message = format!("hookTimeout {text:?} is not a duration such as 5m");
                Error::permanent("InvalidConfiguration", message)
            })?,
        };
        Ok(Some(limit).filter(|limit| !limit.is_zero()))
    }
}

const PREFIX: &str = "helm.sdk.operatorframework.io/";
/// The annotation that asks for a way back.
pub(crate) const ROLLBACK_TO: &str = "helm.pilothouse.dev/rollback-to";
/// Of annotations that operator-sdk does not know.
const OWN_PREFIX: &str = "helm.pilothouse.dev/";

/// Something that is said of each operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PerOperation<T> {
    /// Of installations.
    pub(crate) install: T,
    /// Of upgrades.
    pub(crate) upgrade: T,
    /// Of uninstallations.
    pub(crate) uninstall: T,
}

/// operator-sdk's annotations on the custom resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Annotations {
    /// `upgrade-force`: objects whose change is refused because a field is immutable are deleted and made anew. Helm
    /// sends them whole instead, which such fields refuse as well; taking fields over from others, which that was
    /// good for, is what server-side apply does anyway.
    pub(crate) upgrade_force: bool,
    /// `rollback-force`: the same on the way back. operator-sdk's default is true; here only who asks for it has
    /// objects deleted.
    pub(crate) rollback_force: bool,
    /// `uninstall-wait`: the object stays until everything of the release is gone.
    pub(crate) uninstall_wait: bool,
    /// `install-disable-hooks` and so on, of helm-operator-plugins.
    pub(crate) disable_hooks: PerOperation<bool>,
    /// `install-description` and so on, of helm-operator-plugins.
    pub(crate) descriptions: PerOperation<Option<String>>,
    /// `helm.pilothouse.dev/rollback-to`: a revision, and after an `@` whatever tells this request from the last one.
    pub(crate) rollback_to: Option<String>,
    /// `helm.pilothouse.dev/force-at`: with each new value the release is upgraded even if nothing changed.
    pub(crate) force_at: Option<String>,
    /// `helm.pilothouse.dev/reset-at`: with each new value former failures are forgotten.
    pub(crate) reset_at: Option<String>,
    /// `helm.pilothouse.dev/test-at`: with each new value what is deployed is tested.
    pub(crate) test_at: Option<String>,
    /// `helm.pilothouse.dev/suspend`: nothing is done until it is taken off.
    pub(crate) suspend: bool,
    reconcile_period: Result<Option<Duration>, String>,
}

impl Annotations {
    /// Reads them. A truth value that is none is logged and left at its default.
    pub(crate) fn read(ctx: &Context, object: &Dynamic) -> Self {
        let all = object.value().pointer("/metadata/annotations");
        let at = |name: &str| all?.get(name)?.as_str();
        let text = |name: &str| at(&format!("{PREFIX}{name}"));
        let own = |name: &str| at(&format!("{OWN_PREFIX}{name}")).map(str::to_owned);
        let truth_at = |name: &str, default: bool| match at(name) {
            None | Some("") => default,
            Some(word) => parse_bool(word).unwrap_or_else(|| {
                let message = format_args!("annotation {name} is not a truth value; taken as {default}");
                ctx.log(Level::Warn, message, &[("value", &word)]);
                default
            }),
        };
        let truth = |name: &str, default: bool| truth_at(&format!("{PREFIX}{name}"), default);
        let period = text("reconcile-period").map(|word| {
            go_duration::parse(word).ok_or_else(|| {
                format!("annotation {PREFIX}reconcile-period: {word:?} is not a duration such as 1m30s")
            })
        });
        Self {
            upgrade_force: truth("upgrade-force", false),
            rollback_force: truth("rollback-force", false),
            uninstall_wait: truth("uninstall-wait", false),
            disable_hooks: PerOperation {
                install: truth("install-disable-hooks", false),
                upgrade: truth("upgrade-disable-hooks", false),
                uninstall: truth("uninstall-disable-hooks", false),
            },
            descriptions: PerOperation {
                install: text("install-description").map(str::to_owned),
                upgrade: text("upgrade-description").map(str::to_owned),
                uninstall: text("uninstall-description").map(str::to_owned),
            },
            rollback_to: own("rollback-to"),
            force_at: own("force-at"),
            reset_at: own("reset-at"),
            test_at: own("test-at"),
            suspend: truth_at(&format!("{OWN_PREFIX}suspend"), false),
            reconcile_period: period.transpose().map(|period| period.filter(|period| !period.is_zero())),
        }
    }

    /// The revision to go back to, and the words of the request.
    ///
    /// # Errors
    /// Permanent, when it is no number.
    pub(crate) fn way_back(&self) -> Result<Option<(u32, &str)>, Error> {
        let words = self.rollback_to.as_deref().filter(|words| !words.is_empty());
        let Some(words) = words else { return Ok(None) };
        let revision = words.split('@').next().unwrap_or_default().trim();
        let revision = revision.parse().map_err(|_| {
            let message = format!("annotation {ROLLBACK_TO}: {revision:?} is not the number of a revision");
            Error::permanent("InvalidAnnotation", message)
        })?;
        Ok(Some((revision, words)))
    }

    /// `reconcile-period`.
    ///
    /// # Errors
    /// Permanent, when it is no duration, as for operator-sdk.
    pub(crate) fn reconcile_period(&self) -> Result<Option<Duration>, Error> {
        self.reconcile_period.clone().map_err(|message| Error::permanent("InvalidAnnotation", message))
    }
}

/// Go's `strconv.ParseBool`.
fn parse_bool(word: &str) -> Option<bool> {
    match word {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_entry_does_not_say_has_operator_sdks_default() {
        let settings: Settings = serde_json::from_str(r#"{"chart": "charts/web", "selector": {}}"#).unwrap();
        assert!(settings.watch_dependent_resources);
        assert_eq!(settings.max_history, 10);
        assert_eq!(settings.hook_timeout(Action::Upgrade).unwrap(), Some(Duration::from_mins(5)), "Helm's");
        assert!(serde_json::from_str::<Settings>("{}").is_err(), "a chart is needed");
    }

    #[test]
    fn a_hook_timeout_is_a_go_duration() {
        let settings = |timeout: &str| {
            let text = format!(r#"{{"chart": "c", "hookTimeout": "{timeout}"}}"#);
            serde_json::from_str::<Settings>(&text).unwrap().hook_timeout(Action::Upgrade)
        };
        assert_eq!(settings("5m").unwrap(), Some(Duration::from_mins(5)));
        assert_eq!(settings("0s").unwrap(), None);
        let of_release: Settings =
            serde_json::from_str(r#"{"chart": "c", "release": {"timeout": "90s"}}"#).unwrap();
        assert_eq!(of_release.hook_timeout(Action::Upgrade).unwrap(), Some(Duration::from_secs(90)));
        assert!(settings("soon").unwrap_err().message().contains("\"soon\""));
    }

    #[test]
    fn truth_values_are_those_of_go() {
        assert_eq!(parse_bool("True"), Some(true));
        assert_eq!(parse_bool("0"), Some(false));
        assert_eq!(parse_bool("yes"), None);
    }
}
