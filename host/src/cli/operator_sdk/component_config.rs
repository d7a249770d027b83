//! The file of `--config`: controller-runtime's ControllerManagerConfig, as projects of operator-sdk 1.6 to 1.3x have it.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::Idle;
use crate::cli::run::{RunArgs, go_bool};
use crate::listen::Address;
use crate::watches_file::go_duration;

/// The kind that the file has to be of, where it says one.
const KIND: &str = "ControllerManagerConfig";

/// A file that cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ConfigError {
    /// The file.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

/// A file, taken apart: each scalar with the fields that lead to it.
#[derive(Debug)]
pub(super) struct ComponentConfig {
    path: String,
    fields: Vec<(String, String)>,
}

/// Reads a file.
///
/// # Errors
/// When it cannot be read or is of another kind.
pub(super) fn read(path: &Path) -> Result<ComponentConfig, ConfigError> {
    let failed = |message: String| ConfigError { path: path.display().to_string(), message };
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let document: Value = serde_saphyr::from_str(&text).map_err(|error| failed(error.to_string()))?;
    match document.get("kind").and_then(Value::as_str) {
        Some(KIND) => {}
        kind => return Err(failed(format!("kind {:?} is not {KIND}", kind.unwrap_or_default()))),
    }
    let mut fields = Vec::new();
    collect("", &document, &mut fields);
    Ok(ComponentConfig { path: path.display().to_string(), fields })
}

fn collect(name: &str, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                collect(&name, value, fields);
            }
        }
        Value::Null => {}
        Value::String(text) => fields.push((name.to_owned(), text.clone())),
        other => fields.push((name.to_owned(), other.to_string())),
    }
}

impl ComponentConfig {
    /// Fills in what flags and variables leave open; the answer is what has no effect.
    ///
    /// # Errors
    /// Names the field whose value makes no sense.
    pub(super) fn apply(&self, args: &mut RunArgs) -> Result<Vec<Idle>, ConfigError> {
        let failed = |message| ConfigError { path: self.path.clone(), message };
        let mut idle = Vec::new();
        for (name, value) in &self.fields {
            // An empty text is controller-runtime's way to say nothing.
            if value.is_empty() {
                continue;
            }
            match take(args, name, value) {
                Ok(None) => {}
                Ok(Some(why)) => idle.push(Idle::new(format!("{}: {name}", self.path), why)),
                Err(message) => return Err(failed(format!("{name}: {message}"))),
            }
        }
        args.leader_timing.check().map_err(|message| failed(format!("leaderElection: {message}")))?;
        Ok(idle)
    }
}

/// Takes one field; why it has no effect, if it has none.
fn take(args: &mut RunArgs, name: &str, value: &str) -> Result<Option<&'static str>, String> {
    let text = || value.to_owned();
    match name {
        "apiVersion" | "kind" => {}
        _ if name.starts_with("metadata.") => {}
        "metrics.bindAddress" => set(&mut args.metrics_bind_address, || address(value))?,
        "health.healthProbeBindAddress" => set(&mut args.health_probe_bind_address, || address(value))?,
        "leaderElection.leaderElect" => set(&mut args.leader_elect, || go_bool(value))?,
        "leaderElection.resourceName" => set(&mut args.leader_election_id, || Ok(text()))?,
        "leaderElection.resourceNamespace" => set(&mut args.leader_election_namespace, || Ok(text()))?,
        "leaderElection.leaseDuration" => args.leader_timing.lease_duration = duration(value)?,
        "leaderElection.renewDeadline" => args.leader_timing.renew_deadline = duration(value)?,
        "leaderElection.retryPeriod" => args.leader_timing.retry_period = duration(value)?,
        "gracefulShutDown" => set(&mut args.grace_period, || duration(value))?,
        "cacheNamespace" if args.namespace.iter().all(|given| given.trim().is_empty()) => {
            args.namespace = vec![text()];
        }
        "cacheNamespace" => {}
        _ => return Ok(why_idle(name, value)),
    }
    Ok(None)
}

fn why_idle(name: &str, value: &str) -> Option<&'static str> {
    match (name, value) {
        ("leaderElection.resourceLock", "leases")
        | ("health.readinessEndpointName", "/readyz")
        | ("health.livenessEndpointName", "/healthz") => None,
        ("leaderElection.resourceLock", _) => Some("the leader's lock is always a Lease"),
        ("syncPeriod", _) => Some("--reconcile-period says when objects are reconciled again"),
        _ if name.starts_with("health.") => Some("the probes are /readyz and /healthz"),
        _ if name.starts_with("webhook.") => Some("the host serves no webhooks"),
        _ if name.starts_with("controller.") => {
            Some("--max-concurrent-reconciles is for all kinds together, the rest is not to be set")
        }
        _ => Some("the host knows no such field"),
    }
}

/// Flags and variables win: the value is not even looked at then.
fn set<T>(flag: &mut Option<T>, value: impl FnOnce() -> Result<T, String>) -> Result<(), String> {
    if flag.is_none() {
        *flag = Some(value()?);
    }
    Ok(())
}

fn address(text: &str) -> Result<Address, String> {
    text.parse().map_err(|error: crate::listen::AddressError| error.to_string())
}

fn duration(text: &str) -> Result<Duration, String> {
    go_duration(text).ok_or_else(|| format!("{text:?} is no duration such as 15s"))
}
