//! How a Kubernetes object stands, by the rules of kstatus (`pkg/kstatus/status` of cli-utils), which Helm 4 and Flux
//! wait by, and in sentences that say what is waited for. Pure: an object goes in, a verdict comes out.
//!
//! The verdict is kstatus's. Two differences are meant: an `APIService` whose server does not answer is in progress
//! (kstatus knows no rule for it and calls it current), and what kstatus refuses to judge is [`Health::Unknown`].

mod conditions;
mod field;
mod finished;
mod generic;
mod kinds;
mod pod;
mod resource;
mod time;
mod workload;

use serde_json::Value;

pub use crate::{finished::finished, kinds::has_status};

/// How an object stands. The sentences begin with the kind; the caller adds the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It is as its spec wants it to be.
    Current,
    /// It is on its way; the sentence says what is missing.
    InProgress(String),
    /// It will not come to what its spec wants without help; the sentence says why.
    Failed(String),
    /// It is being deleted.
    Terminating,
    /// It is of a shape that nobody can judge.
    Unknown,
}

impl Health {
    /// Whether it is [`Health::Current`].
    #[must_use]
    pub fn is_current(&self) -> bool {
        matches!(self, Self::Current)
    }

    /// The sentence, for those that have one.
    #[must_use]
    pub fn sentence(&self) -> Option<&str> {
        match self {
            Self::InProgress(sentence) | Self::Failed(sentence) => Some(sentence),
            Self::Current | Self::Terminating | Self::Unknown => None,
        }
    }
}

/// Says how an object stands, given with its status.
///
/// A pod that no node takes has failed, however young it is; [`health_at`] lets it wait a little, as kstatus does.
#[must_use]
pub fn health(object: &Value) -> Health {
    judge(object, None).unwrap_or(Health::Unknown)
}

/// [`health`], with the time in seconds since 1970: a pod is given 15 seconds to find a node.
#[must_use]
pub fn health_at(object: &Value, now: i64) -> Health {
    judge(object, Some(now)).unwrap_or(Health::Unknown)
}

/// What kstatus answers with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Odd;

fn judge(object: &Value, now: Option<i64>) -> Result<Health, Odd> {
    if !object.is_object() {
        return Err(Odd);
    }
    if let Some(decided) = generic::judge(object)? {
        return Ok(decided);
    }
    let (group, kind) = kinds::of(object);
    match (group, kind) {
        ("apps" | "extensions", "Deployment") => workload::deployment(object),
        ("apps", "StatefulSet") => Ok(workload::stateful_set(object)),
        ("apps" | "extensions", "DaemonSet") => workload::daemon_set(object),
        ("apps" | "extensions", "ReplicaSet") => workload::replica_set(object),
        ("batch", "Job") => workload::job(object),
        ("", "Pod") => pod::pod(object, now),
        ("", "PersistentVolumeClaim") => Ok(resource::volume_claim(object)),
        ("", "Service") => Ok(resource::service(object)),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => resource::definition(object),
        ("apiregistration.k8s.io", "APIService") => resource::api_service(object),
        // What is current as soon as it is there: whatever `Ready` condition it may have does not count.
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") | ("policy", "PodDisruptionBudget") => {
            Ok(Health::Current)
        }
        _ => generic::ready_condition(object),
    }
}
