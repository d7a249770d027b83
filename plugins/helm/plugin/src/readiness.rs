//! Whether the objects of a release are ready, and what is missing.

use helm_health::{Health, has_status, health_at};
use jiff::{SignedDuration, Timestamp};
use pilothouse_sdk::{Gvk, Kube, KubeError, ObjectRef, Outcome, Trigger};
use serde_json::Value;

use crate::{call::Call, releases::Prepared};

/// The reason of the host's conditions while objects are on their way.
pub(crate) const WAITING_FOR_READINESS: &str = "WaitingForReadiness";
/// The reason when they do not get there.
pub(crate) const NOT_READY: &str = "NotReady";
/// So often objects on their way are looked at where nobody tells of their changes.
pub(crate) const LOOK_AT_WAITING: SignedDuration = SignedDuration::from_secs(10);
/// So often objects that will not get there are.
const LOOK_AT_FAILED: SignedDuration = SignedDuration::from_secs(30);
/// So long caches may not know what an operation created.
const FRESH: SignedDuration = SignedDuration::from_mins(1);
/// So many objects are named.
const MOST_NAMED: usize = 5;

/// How the objects of a release stand together: sentences that name those which are not ready.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Readiness {
    /// On their way.
    waiting: Vec<String>,
    /// They will not get there without help.
    failed: Vec<String>,
}

impl Readiness {
    /// For an operation that waits: none when nothing is missing.
    ///
    /// # Errors
    /// What will not be ready without help.
    pub(crate) fn verdict(&self) -> Result<Option<String>, String> {
        if !self.failed.is_empty() {
            return Err(sentence(&self.failed));
        }
        Ok((!self.waiting.is_empty()).then(|| sentence(&self.waiting)))
    }
}

impl Readiness {
    fn is_missing_something(&self) -> bool {
        !self.waiting.is_empty() && self.failed.is_empty()
    }
}

fn sentence(parts: &[String]) -> String {
    let named = parts.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join("; ");
    match parts.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// Which changes of objects of a kind matter.
pub(crate) fn trigger(kind: &Gvk) -> Trigger {
    // An autoscaler writes down what it measures every few seconds, and is as ready as ever.
    let is_loud = kind.kind == "HorizontalPodAutoscaler";
    if has_status(&kind.group, &kind.kind) && !is_loud { Trigger::Any } else { Trigger::Drift }
}

impl Call<'_> {
    /// Looks at the objects, in the host's caches.
    ///
    /// # Errors
    /// What the cluster refuses.
    pub(crate) fn readiness(&self, prepared: &Prepared) -> Result<Readiness, KubeError> {
        self.readiness_in(self.kube(), prepared)
    }

    /// The same for an operation that ends when nothing is missing: caches may still have what was before it, so what they
    /// say is asked of the API server before it is believed.
    ///
    /// # Errors
    /// What the cluster refuses.
    pub(crate) fn readiness_of_operation(&self, prepared: &Prepared) -> Result<Readiness, KubeError> {
        let cached = self.readiness(prepared)?;
        if cached.is_missing_something() {
            return Ok(cached);
        }
        self.readiness_in(&self.kube().clone().live(), prepared)
    }

    fn readiness_in(&self, kube: &Kube, prepared: &Prepared) -> Result<Readiness, KubeError> {
        let mut readiness = Readiness::default();
        for (at, reference) in prepared.references.iter().enumerate() {
            if !has_status(&reference.kind.group, &reference.kind.kind) {
                continue;
            }
            let mut found = there(kube, reference)?;
            if found.is_none() && prepared.exceptions.get(&at).is_some_and(|exception| exception.expires) {
                // Caches may not have heard of it yet.
                if self.is_fresh(prepared) {
                    found = there(&kube.clone().live(), reference)?;
                }
                if found.is_none() {
                    continue;
                }
            }
            let health = found.map(|found| health_at(&found, self.now().as_second()));
            let name = format!("{} {}", reference.kind.kind, reference.name);
            match health {
                None => readiness.waiting.push(format!("{name} is not there")),
                Some(Health::Terminating) => readiness.waiting.push(format!("{name} is being deleted")),
                Some(Health::InProgress(why)) => {
                    readiness.waiting.push(named(&name, &reference.kind.kind, &why));
                }
                Some(Health::Failed(why)) => readiness.failed.push(named(&name, &reference.kind.kind, &why)),
                Some(Health::Current | Health::Unknown) => {}
            }
        }
        Ok(readiness)
    }

    /// Whether a revision was deployed so lately that caches may not have its objects.
    fn is_fresh(&self, prepared: &Prepared) -> bool {
        let began = prepared.last_deployed.unwrap_or(Timestamp::MIN);
        self.now().duration_since(began) < FRESH
    }

    /// The state of the owner of a release that is deployed as wanted.
    pub(crate) fn state_of(&self, prepared: &Prepared) -> Outcome {
        // Whoever may not look at an object has said so where it was applied.
        let Ok(readiness) = self.readiness(prepared) else { return Outcome::ready() };
        if !readiness.failed.is_empty() {
            let all = [readiness.failed, readiness.waiting].concat();
            return self.stalled(sentence(&all));
        }
        if readiness.waiting.is_empty() {
            return Outcome::ready();
        }
        let missing = sentence(&readiness.waiting);
        match self.patience_ends(prepared).filter(|end| *end > self.now()) {
            Some(end) => {
                let look = self.wait(self.next_look(end, LOOK_AT_WAITING));
                Outcome::progressing(WAITING_FOR_READINESS, missing).requeue_after(look)
            }
            None => self.stalled(missing),
        }
    }

    fn stalled(&self, missing: String) -> Outcome {
        let outcome = Outcome::stalled(NOT_READY, missing);
        if self.settings().watch_dependent_resources {
            return outcome;
        }
        outcome.requeue_after(self.wait(self.next_look(Timestamp::MAX, LOOK_AT_FAILED)))
    }

    /// When to look at objects again: at the time given, or sooner where nobody tells of their changes.
    pub(crate) fn next_look(&self, until: Timestamp, often: SignedDuration) -> Timestamp {
        if self.settings().watch_dependent_resources {
            return until;
        }
        self.now().checked_add(often).map_or(until, |soon| soon.min(until))
    }

    /// Until when objects may take to be ready: counted from the operation, or from when they were it for the last time.
    fn patience_ends(&self, prepared: &Prepared) -> Option<Timestamp> {
        let conditions = self.object().value().pointer("/status/conditions").and_then(Value::as_array);
        let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
        let lost = match ready {
            Some(ready) if ready["status"] == "True" => Some(self.now()),
            Some(ready) => ready["lastTransitionTime"].as_str().and_then(|time| time.parse().ok()),
            None => None,
        };
        let began = prepared.last_deployed.into_iter().chain(lost).max()?;
        let patience = self.settings().release.timeout().ok()?;
        began.checked_add(SignedDuration::try_from(patience).ok()?).ok()
    }
}

/// The object; none: it is not there, or nobody serves its kind.
fn there(kube: &Kube, reference: &ObjectRef) -> Result<Option<Value>, KubeError> {
    match kube.get_ref(reference) {
        Err(KubeError::UnknownKind(_) | KubeError::NotFound(_)) => Ok(None),
        answer => answer,
    }
}

/// A sentence about a kind with the name in it.
fn named(name: &str, kind: &str, why: &str) -> String {
    match why.strip_prefix(kind) {
        Some(rest) => format!("{name}{rest}"),
        None => format!("{name}: {why}"),
    }
}
