//! What a call says about where the release stands: operator-sdk's conditions, and the host's states.

use std::time::Duration;

use helm_release::decision::NEVER;
use jiff::{SignedDuration, Timestamp};
use pilothouse_sdk::{Condition, Error, Event, ObjectRef, Outcome, Trigger, Watch, WatchTarget};
use serde_json::{Value, json};

use crate::{
    apply::{Changed, listed},
    call::Call,
    lifecycle::HOOK_FAILED,
    measures::State,
    readiness::trigger,
    releases::Prepared,
    store::secret_kind,
};

/// The condition that tells what differs from the release and is left as it is.
pub(crate) const DRIFTED: &str = "Drifted";
/// So many objects are listed in status: it has to stay small enough to be stored.
const MOST_LISTED: usize = 2000;

/// What a failure is about: which condition tells it, with which of operator-sdk's reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concern {
    Install,
    Upgrade,
    Reconcile,
    Uninstall,
}

impl Concern {
    fn condition(self) -> (&'static str, &'static str) {
        match self {
            Self::Install => ("ReleaseFailed", "InstallError"),
            Self::Upgrade => ("ReleaseFailed", "UpgradeError"),
            Self::Reconcile => ("Irreconcilable", "ReconcileError"),
            Self::Uninstall => ("ReleaseFailed", "UninstallError"),
        }
    }

    /// operator-sdk's reason.
    pub(crate) fn reason(self) -> &'static str {
        self.condition().1
    }

    /// The condition that tells of a failure.
    pub(crate) fn failed(self, message: &str) -> Condition {
        let (kind, reason) = self.condition();
        Condition::new(kind, true).reason(reason).message(message)
    }
}

/// Reasons of failures that pass by themselves and are nobody's fault: no condition of the release tells of them.
const PASSING: [&str; 5] =
    ["TooManyRequests", "ServiceUnavailable", "Conflict", "ReleaseMoved", "RequestFailed"];
/// After so many in a row they are told all the same.
const TOLD_AFTER: u32 = 3;

/// Whether a failure passes by itself.
pub(crate) fn is_passing(error: &Error) -> bool {
    PASSING.contains(&error.reason())
}

/// Adds the condition that tells of a failure, unless it passes by itself.
pub(crate) fn explain(error: Error, concern: Concern) -> Error {
    let error = error.condition(Condition::new("Initialized", true));
    if is_passing(&error) {
        return error;
    }
    let bounds = match error.reason() {
        "BudgetExhausted" => {
            " (limits.hostCalls and limits.hostMiB of the plugin bound what one call may ask)"
        }
        _ => "",
    };
    let condition = concern.failed(&format!("{}{bounds}", error.message()));
    error.condition(condition)
}

/// The reason of the host's conditions while a kind is not served.
pub(crate) const WAITING_FOR_KIND: &str = "WaitingForKind";

/// Something that has to happen before the call can go on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pause {
    /// UpperCamelCase.
    pub(crate) reason: &'static str,
    /// What is waited for.
    pub(crate) message: String,
    /// What to be woken by.
    pub(crate) watches: Vec<Watch>,
    /// When to look again whatever happened.
    pub(crate) until: Option<Timestamp>,
}

impl Call<'_> {
    /// Tells of a failure that should pass by itself and does not, and of the time that a call has.
    pub(crate) fn told_when_it_stays(&self, error: Error, concern: Concern) -> Error {
        let failures = self.ctx().failures();
        if !is_passing(&error) || failures < TOLD_AFTER {
            return error;
        }
        let words = format!(
            "{}; {} calls in a row did not come to their end, of which each has {} s (limits.wallMs of the plugin)",
            error.message(),
            failures + 1,
            self.ctx().deadline().as_secs()
        );
        error.condition(concern.failed(&words))
    }

    /// The release is deployed as wanted.
    pub(crate) fn deployed(&self, prepared: &Prepared, inputs: &str, by_hand: Option<&str>) -> Outcome {
        self.stands_at(State::Deployed);
        let outcome =
            self.state_of(prepared).drop_condition("ReleaseFailed").drop_condition("Irreconcilable");
        let outcome = match by_hand {
            None => outcome.drop_condition("ManualRevision"),
            Some(description) => outcome.condition(manual_revision(prepared.revision, description)),
        };
        let outcome = self.settled(outcome, prepared, inputs);
        match self.annotations().reconcile_period() {
            // What objects on their way are waited for may end sooner.
            Ok(Some(period)) => outcome.requeue_within(period),
            Ok(None) | Err(_) => outcome,
        }
    }

    /// Tells what differs from the release and is left as it is.
    pub(crate) fn drifted(&self, outcome: Outcome, prepared: &Prepared, differing: &[Changed]) -> Outcome {
        if differing.is_empty() {
            return outcome.drop_condition(DRIFTED);
        }
        let message = format!("differs from revision {}: {}", prepared.revision, listed(differing));
        let told = self.object().value().pointer("/status/conditions").and_then(Value::as_array);
        let told = told.into_iter().flatten().find(|known| known["type"] == DRIFTED);
        if told.is_none_or(|known| known["message"] != message.as_str()) {
            self.ctx().publish(&Event::warning("DriftDetected", &message));
        }
        outcome.condition(Condition::new(DRIFTED, true).reason("DriftDetected").message(message))
    }

    /// The release is deployed, but not as wanted: an attempt failed and will be made again at `until`.
    pub(crate) fn held(
        &self,
        prepared: Option<&Prepared>,
        concern: Concern,
        message: &str,
        until: Timestamp,
    ) -> Outcome {
        self.stands_at(State::Failed);
        let next = if until == NEVER {
            "it is not tried again until something else is wanted or the annotation helm.pilothouse.dev/reset-at changes"
                .to_owned()
        } else {
            format!("the next attempt is due at {}", until.strftime("%Y-%m-%dT%H:%M:%SZ"))
        };
        let outcome = Outcome::stalled(concern.reason(), format!("{message}; {next}"));
        let mut outcome = outcome.condition(concern.failed(message));
        if until != NEVER {
            outcome = outcome.requeue_after(self.wait(until));
        }
        match prepared {
            Some(prepared) => self.settled(outcome.drop_condition("Irreconcilable"), prepared, ""),
            None => self.watched(outcome.condition(Condition::new("Initialized", true)), None),
        }
    }

    pub(crate) fn settled(&self, outcome: Outcome, prepared: &Prepared, inputs: &str) -> Outcome {
        let reason = if prepared.is_installation { "InstallSuccessful" } else { "UpgradeSuccessful" };
        let outcome = outcome
            .condition(Condition::new("Initialized", true))
            .condition(Condition::new("Deployed", true).reason(reason).message(&prepared.notes));
        let outcome = match &prepared.tests {
            None => outcome.drop_condition("TestSuccess"),
            Some(Ok(())) => outcome.condition(Condition::new("TestSuccess", true).reason("TestSucceeded")),
            Some(Err(message)) => {
                outcome.condition(Condition::new("TestSuccess", false).reason("TestFailed").message(message))
            }
        };
        let outcome = match prepared.chunks {
            0 => outcome.drop_condition("RecordChunked"),
            chunks => outcome.condition(chunked(prepared.revision, chunks)),
        };
        let outcome = match self.status(prepared, inputs) {
            Some(status) => outcome.status(&status),
            None => outcome,
        };
        self.watched(outcome, Some(prepared))
    }

    /// Something has to happen first.
    pub(crate) fn paused(&self, pause: Pause, prepared: Option<&Prepared>) -> Outcome {
        self.stands_at(State::Pending);
        let expected = self.expected_until(&pause);
        let stays = pause.reason == HOOK_FAILED || expected.is_some_and(|until| until <= self.now());
        let mut outcome = if stays {
            Outcome::stalled(pause.reason, pause.message)
        } else {
            Outcome::progressing(pause.reason, pause.message)
        };
        outcome = outcome.condition(Condition::new("Initialized", true));
        outcome = pause.watches.into_iter().fold(outcome, Outcome::watch);
        let expected = expected.filter(|until| *until > self.now());
        if let Some(until) = pause.until.into_iter().chain(expected).min() {
            outcome = outcome.requeue_after(self.wait(until));
        }
        self.watched(outcome, prepared)
    }

    /// Until when what is waited for is expected to come by itself; none: for ever. That is told, and waited for all the same.
    fn expected_until(&self, pause: &Pause) -> Option<Timestamp> {
        if pause.reason != WAITING_FOR_KIND {
            return None;
        }
        let conditions = self.object().value().pointer("/status/conditions").and_then(Value::as_array);
        let told = conditions
            .into_iter()
            .flatten()
            .find(|known| known["type"] == "Ready" && known["reason"] == WAITING_FOR_KIND);
        let since = told.and_then(|told| told["lastTransitionTime"].as_str()?.parse().ok());
        let patience = SignedDuration::try_from(self.settings().release.timeout().ok()?).ok()?;
        since.unwrap_or(self.now()).checked_add(patience).ok()
    }

    /// Adds what the release is woken by: its records, and its objects unless the entry does not want that.
    pub(crate) fn watched(&self, outcome: Outcome, prepared: Option<&Prepared>) -> Outcome {
        self.watches(prepared).into_iter().fold(outcome, Outcome::watch)
    }

    /// The same for a failure.
    pub(crate) fn watched_failure(&self, error: Error, prepared: Option<&Prepared>) -> Error {
        self.watches(prepared).into_iter().fold(error, Error::watch)
    }

    pub(crate) fn watches(&self, prepared: Option<&Prepared>) -> Vec<Watch> {
        let mut kinds = vec![secret_kind()];
        if self.settings().watch_dependent_resources {
            kinds.extend(prepared.map(Prepared::kinds).unwrap_or_default());
        }
        kinds.sort_unstable();
        kinds.dedup();
        let watch = |kind| {
            let trigger = if kind == secret_kind() { Trigger::Drift } else { trigger(&kind) };
            Watch { target: WatchTarget::Owned(kind), trigger }
        };
        kinds.into_iter().map(watch).chain(self.other_watches()).collect()
    }

    /// What status says of the release, unless it says so already. `inputs` empty: what was wanted last stays noted.
    fn status(&self, prepared: &Prepared, inputs: &str) -> Option<Value> {
        let known = self.object().value().get("status");
        let text = |pointer: &str| known.and_then(|status| status.pointer(pointer)).and_then(Value::as_str);
        let revision = known.and_then(|status| status.pointer("/release/revision")).and_then(Value::as_u64);
        let same_manifest = text("/deployedRelease/manifest") == prepared.manifest.as_deref();
        if revision == Some(u64::from(prepared.revision))
            && (inputs.is_empty() || text("/release/inputs") == Some(inputs))
            && text("/deployedRelease/name") == Some(&self.owner().release)
            && same_manifest
            && known.and_then(|status| status.get("inventory")).is_some()
        {
            return None;
        }
        let mut release = json!({
            "revision": prepared.revision,
            "chart": prepared.chart,
            "appVersion": prepared.app_version,
            // Null takes away what another source left.
            "chartDigest": prepared.origin.as_ref().map(|origin| &origin.digest),
            "chartVersion": prepared.origin.as_ref().map(|origin| &origin.version),
            "chartSource": prepared.origin.as_ref().map(|origin| &origin.location),
        });
        if let (Value::Object(fields), false) = (&mut release, inputs.is_empty()) {
            fields.insert("inputs".into(), inputs.into());
        }
        Some(json!({
            "deployedRelease": {"name": self.owner().release, "manifest": prepared.manifest},
            "release": release,
            "inventory": inventory(prepared),
        }))
    }

    pub(crate) fn wait(&self, until: Timestamp) -> Duration {
        let wait = until.duration_since(self.now());
        Duration::try_from(wait).unwrap_or_default().max(Duration::from_secs(1))
    }
}

/// The objects of a release, for people and tools that look for them.
fn inventory(prepared: &Prepared) -> Value {
    let entry = |reference: &ObjectRef| {
        let mut entry = json!({
            "apiVersion": reference.kind.api_version(),
            "kind": reference.kind.kind,
            "name": reference.name,
        });
        if let (Value::Object(fields), Some(namespace)) = (&mut entry, &reference.namespace) {
            fields.insert("namespace".into(), namespace.as_str().into());
        }
        entry
    };
    prepared.references.iter().take(MOST_LISTED).map(entry).collect()
}

fn chunked(revision: u32, chunks: usize) -> Condition {
    let message = format!(
        "the record of revision {revision} is larger than a Secret may be and lies in {chunks} more of them: the helm command \
         line does not see this revision"
    );
    Condition::new("RecordChunked", true).reason("LargerThanASecret").message(message)
}

fn manual_revision(revision: u32, description: &str) -> Condition {
    let message = format!(
        "revision {revision} was made by hand ({description}); it stays until the spec of this object or the chart changes"
    );
    Condition::new("ManualRevision", true).reason("ChangedByHand").message(message)
}
