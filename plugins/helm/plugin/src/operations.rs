//! What an entry says of its operations: installations, upgrades, ways back, uninstallations and tests.

use std::time::Duration;

use helm_release::{Action, Remedy, Tests, Undo};
use pilothouse_sdk::{Error, Propagation};
use serde::Deserialize;

use crate::{go_duration, options::Options};

/// The wait after a failure that is left as it is, when nobody says.
const RETRY_INTERVAL: Duration = Duration::from_mins(5);

/// Installations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Install {
    /// Without hooks.
    pub(crate) disable_hooks: bool,
    /// Without waiting for objects.
    pub(crate) disable_wait: bool,
    /// In place of the release's.
    pub(crate) timeout: Option<String>,
    /// What becomes of the definitions in the chart's `crds/`; `Create` when nobody says.
    pub(crate) crds: Option<Definitions>,
    /// Whether a failure is taken away.
    pub(crate) strategy: Strategy,
    /// What follows a failure.
    pub(crate) remediation: InstallRemediation,
}

/// Upgrades.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Upgrade {
    /// Without hooks.
    pub(crate) disable_hooks: bool,
    /// Without waiting for objects.
    pub(crate) disable_wait: bool,
    /// In place of the release's.
    pub(crate) timeout: Option<String>,
    /// What becomes of the definitions in the chart's `crds/`; `Skip` when nobody says.
    pub(crate) crds: Option<Definitions>,
    /// Whether a failure is undone.
    pub(crate) strategy: Strategy,
    /// What follows a failure.
    pub(crate) remediation: UpgradeRemediation,
}

/// Ways back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Rollback {
    /// Without hooks.
    pub(crate) disable_hooks: bool,
    /// Without waiting for objects.
    pub(crate) disable_wait: bool,
    /// In place of the release's.
    pub(crate) timeout: Option<String>,
}

/// Uninstallations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Uninstall {
    /// Without hooks.
    pub(crate) disable_hooks: bool,
    /// False: the object stays until everything of the release is gone, as with the annotation `uninstall-wait`.
    pub(crate) disable_wait: Option<bool>,
    /// In place of the release's, for hooks.
    pub(crate) timeout: Option<String>,
    /// What becomes of what objects of the release own.
    pub(crate) deletion_propagation: DeletionPropagation,
}

/// The chart's tests (`helm.sh/hook: test`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Test {
    /// They run after each installation and upgrade.
    pub(crate) enable: bool,
    /// Their failure is told and is not the operation's.
    pub(crate) ignore_failures: bool,
    /// In place of the release's, for tests that are asked for.
    pub(crate) timeout: Option<String>,
}

/// What becomes of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Definitions {
    /// Nothing.
    Skip,
    /// Those that are not there are created.
    Create,
    /// Those that are there become what the chart says as well.
    CreateReplace,
}

/// Whether what a failure left is undone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Strategy {
    /// Whether it is.
    pub(crate) name: StrategyName,
    /// The wait before the same is tried again, where it is left.
    pub(crate) retry_interval: Option<String>,
}

/// Whether what a failure left is undone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum StrategyName {
    /// As `remediation` says.
    #[default]
    RemediateOnFailure,
    /// It is left, and the same is tried again over it, for ever.
    RetryOnFailure,
}

/// What follows a failed installation: it is taken away and made again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct InstallRemediation {
    /// How often the same is tried again, -1 for ever; without a number, for ever as well.
    pub(crate) retries: Option<i32>,
    /// False: the last attempt is not taken away.
    pub(crate) remediate_last_failure: Option<bool>,
    /// In place of the tests' own `ignoreFailures`.
    pub(crate) ignore_test_failures: Option<bool>,
}

/// What follows a failed upgrade: it is undone and made again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct UpgradeRemediation {
    /// How often the same is tried again, -1 for ever; without a number, for ever as well.
    pub(crate) retries: Option<i32>,
    /// False: the last attempt is not undone.
    pub(crate) remediate_last_failure: Option<bool>,
    /// In place of the tests' own `ignoreFailures`.
    pub(crate) ignore_test_failures: Option<bool>,
    /// How it is undone.
    pub(crate) strategy: WayOut,
}

/// How a failed upgrade is undone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WayOut {
    /// By going back.
    #[default]
    Rollback,
    /// By uninstalling the release, which is installed anew then.
    Uninstall,
}

/// What becomes of what deleted objects own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DeletionPropagation {
    /// It goes after them.
    #[default]
    Background,
    /// It goes before them.
    Foreground,
    /// It stays.
    Orphan,
}

impl From<DeletionPropagation> for Propagation {
    fn from(propagation: DeletionPropagation) -> Self {
        match propagation {
            DeletionPropagation::Background => Self::Background,
            DeletionPropagation::Foreground => Self::Foreground,
            DeletionPropagation::Orphan => Self::Orphan,
        }
    }
}

impl Strategy {
    /// The wait before the same is tried again; none: what a failure left is undone.
    fn interval(&self) -> Result<Option<Duration>, Error> {
        let refused = |message: String| Error::permanent("InvalidConfiguration", message);
        let interval = match &self.retry_interval {
            None => RETRY_INTERVAL,
            Some(text) if self.name == StrategyName::RemediateOnFailure => {
                let message = format!("retryInterval {text:?} is for the strategy RetryOnFailure");
                return Err(refused(message));
            }
            Some(text) => go_duration::parse(text)
                .filter(|interval| !interval.is_zero())
                .ok_or_else(|| refused(format!("retryInterval {text:?} is not a duration such as 5m")))?,
        };
        Ok((self.name == StrategyName::RetryOnFailure).then_some(interval))
    }

    fn remedy(&self, retries: Option<i32>, last: Option<bool>, undo: Undo) -> Result<Remedy, Error> {
        Ok(match self.interval()? {
            Some(interval) => {
                Remedy { retries: None, interval: Some(interval), undo: Undo::Nothing, undoes_last: false }
            }
            None => Remedy {
                retries: retries.and_then(|retries| u32::try_from(retries).ok()),
                interval: None,
                undo,
                undoes_last: last.unwrap_or(true),
            },
        })
    }
}

impl Options {
    /// What follows a failed installation.
    ///
    /// # Errors
    /// Permanent, with the place.
    pub(crate) fn install_remedy(&self) -> Result<Remedy, Error> {
        let Install { strategy, remediation, .. } = &self.install;
        let remedy = strategy.remedy(remediation.retries, remediation.remediate_last_failure, Undo::PutBack);
        remedy.map_err(|error| error.context("release.install.strategy"))
    }

    /// What follows a failed upgrade.
    ///
    /// # Errors
    /// Permanent, with the place.
    pub(crate) fn upgrade_remedy(&self) -> Result<Remedy, Error> {
        let Upgrade { strategy, remediation, .. } = &self.upgrade;
        let undo = match remediation.strategy {
            WayOut::Rollback => Undo::PutBack,
            WayOut::Uninstall => Undo::Uninstall,
        };
        let remedy = strategy.remedy(remediation.retries, remediation.remediate_last_failure, undo);
        remedy.map_err(|error| error.context("release.upgrade.strategy"))
    }

    /// What the tests after an operation mean for it; none: there are none.
    pub(crate) fn tests_after(&self, action: Action) -> Option<Tests> {
        let ignored = match action {
            Action::Install => self.install.remediation.ignore_test_failures,
            Action::Upgrade => self.upgrade.remediation.ignore_test_failures,
            Action::Rollback | Action::Uninstall | Action::Test => None,
        };
        let ignored = ignored.unwrap_or(self.test.ignore_failures);
        self.test.enable.then_some(if ignored { Tests::Told } else { Tests::Required })
    }

    /// Whether an operation comes to its end only when its objects are ready.
    pub(crate) fn waits(&self, action: Action) -> bool {
        let off = match action {
            Action::Install => self.install.disable_wait,
            Action::Upgrade => self.upgrade.disable_wait,
            Action::Rollback => self.rollback.disable_wait,
            Action::Uninstall | Action::Test => false,
        };
        self.wait && !off
    }

    /// How long an operation may wait: for its objects, and for each of its hooks where nothing else is said of those.
    ///
    /// # Errors
    /// Permanent, when it is no duration.
    pub(crate) fn timeout_of(&self, action: Action) -> Result<Duration, Error> {
        let (place, own) = match action {
            Action::Install => ("install", &self.install.timeout),
            Action::Upgrade => ("upgrade", &self.upgrade.timeout),
            Action::Rollback => ("rollback", &self.rollback.timeout),
            Action::Uninstall => ("uninstall", &self.uninstall.timeout),
            Action::Test => ("test", &self.test.timeout),
        };
        let Some(text) = own else { return self.timeout() };
        go_duration::parse(text).ok_or_else(|| {
            let message = format!("release.{place}.timeout {text:?} is not a duration such as 5m");
            Error::permanent("InvalidConfiguration", message)
        })
    }

    /// Refuses what would only be found out when an operation begins.
    ///
    /// # Errors
    /// Permanent, with the place.
    pub(crate) fn check_operations(&self) -> Result<(), Error> {
        for action in [Action::Install, Action::Upgrade, Action::Rollback, Action::Uninstall, Action::Test] {
            self.timeout_of(action)?;
        }
        self.install_remedy()?;
        self.upgrade_remedy().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn without_a_word_failures_are_undone_and_repeated_for_ever() {
        for text in [
            "{}",
            r#"{"install": {"remediation": {"retries": -1}}, "upgrade": {"remediation": {"retries": -1}}}"#,
        ] {
            assert_eq!(options(text).install_remedy().unwrap(), Remedy::default());
            assert_eq!(options(text).upgrade_remedy().unwrap(), Remedy::default());
        }
    }

    #[test]
    fn retry_on_failure_leaves_what_failed_and_counts_nothing() {
        let text = r#"{"upgrade": {"strategy": {"name": "RetryOnFailure"}, "remediation": {"retries": 2}}}"#;
        let remedy = options(text).upgrade_remedy().unwrap();
        assert_eq!((remedy.retries, remedy.undo), (None, Undo::Nothing));
        assert_eq!(remedy.interval, Some(Duration::from_mins(5)));
        let soon =
            options(r#"{"install": {"strategy": {"name": "RetryOnFailure", "retryInterval": "30s"}}}"#);
        assert_eq!(soon.install_remedy().unwrap().interval, Some(Duration::from_secs(30)));
    }

    #[test]
    fn what_does_not_fit_together_is_told_with_its_place() {
        for (text, said) in [
            (
                r#"{"upgrade": {"strategy": {"retryInterval": "1m"}}}"#,
                "release.upgrade.strategy: retryInterval",
            ),
            (r#"{"install": {"strategy": {"name": "RetryOnFailure", "retryInterval": "0s"}}}"#, "\"0s\""),
            (r#"{"rollback": {"timeout": "soon"}}"#, "release.rollback.timeout \"soon\""),
        ] {
            let error = options(text).check_operations().unwrap_err();
            assert!(error.message().contains(said), "{error}");
        }
    }

    #[test]
    fn each_operation_can_have_its_own_time_and_need_not_wait() {
        let options =
            options(r#"{"wait": true, "timeout": "1m", "rollback": {"timeout": "2m", "disableWait": true}}"#);
        assert_eq!(options.timeout_of(Action::Upgrade).unwrap(), Duration::from_mins(1));
        assert_eq!(options.timeout_of(Action::Rollback).unwrap(), Duration::from_mins(2));
        assert!(options.waits(Action::Upgrade) && !options.waits(Action::Rollback));
    }
}
