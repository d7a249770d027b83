//! Kubernetes' objects as tasks.

use serde_json::Value;

use super::observed::{Product, TaskSeen};
use crate::naming;

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn flag(value: &Value, path: &str) -> bool {
    value.pointer(path).and_then(Value::as_bool).unwrap_or_default()
}

fn list<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

/// A Job with the pods that carry its name.
pub fn job(job: Option<&Value>, pods: &[Value]) -> TaskSeen {
    let alive = pods.iter().any(|pod| !["Succeeded", "Failed"].contains(&text(pod, "/status/phase")));
    let Some(job) = job else { return if alive { TaskSeen::Leaving } else { TaskSeen::Absent } };
    if !text(job, "/metadata/deletionTimestamp").is_empty() {
        return TaskSeen::Leaving;
    }
    let condition = |kind: &str| {
        list(job, "/status/conditions").find(|it| text(it, "/type") == kind && text(it, "/status") == "True")
    };
    if condition("Complete").is_some() {
        return product(pods);
    }
    // A container that failed decides: the other one would wait for it in vain.
    if let Some(why) = pods.iter().find_map(failed_container) {
        return TaskSeen::Failed(why);
    }
    if let Some(failed) = condition("Failed") {
        let (reason, message) = (text(failed, "/reason"), text(failed, "/message"));
        return TaskSeen::Failed(format!("the Job failed: {reason}: {message}"));
    }
    TaskSeen::Running(pods.iter().find_map(waiting).unwrap_or_else(|| "the Job is running".to_owned()))
}

fn statuses(pod: &Value) -> impl Iterator<Item = &Value> {
    list(pod, "/status/initContainerStatuses").chain(list(pod, "/status/containerStatuses"))
}

fn failed_container(pod: &Value) -> Option<String> {
    statuses(pod).find_map(|status| {
        let ended = status.pointer("/state/terminated")?;
        let code = ended.get("exitCode").and_then(Value::as_i64).filter(|code| *code != 0)?;
        let (name, reason) = (text(status, "/name"), text(ended, "/reason"));
        let said = last_line(text(ended, "/message"));
        Some(format!("container {name} ended with {code} ({reason}){said}"))
    })
}

/// The last line of what a container said, for people; it is cut where it is long.
fn last_line(said: &str) -> String {
    let line: String = said.trim().lines().last().unwrap_or_default().chars().take(300).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

/// Why a pod does not begin, if it says so.
fn waiting(pod: &Value) -> Option<String> {
    let of_container = statuses(pod).find_map(|status| {
        let waiting = status.pointer("/state/waiting")?;
        let reason = text(waiting, "/reason");
        let usual = ["PodInitializing", "ContainerCreating", ""];
        (!usual.contains(&reason)).then(|| {
            format!("container {} waits: {reason}: {}", text(status, "/name"), text(waiting, "/message"))
        })
    });
    of_container.or_else(|| {
        let unscheduled = list(pod, "/status/conditions")
            .find(|it| text(it, "/type") == "PodScheduled" && text(it, "/status") == "False")?;
        Some(format!("its pod waits for a node: {}", text(unscheduled, "/message")))
    })
}

/// What the container `transfer` told of its end. The database's container cannot write there.
fn product(pods: &[Value]) -> TaskSeen {
    let told = pods.iter().flat_map(statuses).find_map(|status| {
        let ended = status.pointer("/state/terminated").filter(|_| text(status, "/name") == "transfer")?;
        let told: Value = serde_json::from_str(text(ended, "/message")).ok()?;
        let size = told.get("size").and_then(Value::as_u64)?;
        let sha256 = Some(text(&told, "/sha256")).filter(|sha256| naming::is_sha256(sha256))?;
        Some(Product { size, sha256: sha256.to_owned(), version: None })
    });
    match told {
        Some(product) => TaskSeen::Succeeded(product),
        None => TaskSeen::Failed("the Job ended without a word of size and hash".to_owned()),
    }
}

/// An `EtcdBackup` that takes one snapshot.
pub fn etcd_backup(object: Option<&Value>) -> TaskSeen {
    let Some(object) = object else { return TaskSeen::Absent };
    if !text(object, "/metadata/deletionTimestamp").is_empty() {
        return TaskSeen::Leaving;
    }
    if flag(object, "/status/succeeded") {
        let size = object.pointer("/status/artefact/size").and_then(Value::as_u64).unwrap_or_default();
        let sha256 = text(object, "/status/artefact/sha256").to_owned();
        let version =
            Some(text(object, "/status/artefact/etcdVersion").to_owned()).filter(|it| !it.is_empty());
        return TaskSeen::Succeeded(Product { size, sha256, version });
    }
    match text(object, "/status/Reason") {
        "" => TaskSeen::Running("the etcd plugin takes a snapshot".to_owned()),
        why => TaskSeen::Failed(format!("EtcdBackup: {why}")),
    }
}

/// VolumeSnapshots, as many as there are to be.
pub fn snapshots(expected: usize, objects: &[Value]) -> TaskSeen {
    if objects.is_empty() {
        return TaskSeen::Absent;
    }
    if objects.iter().any(|object| !text(object, "/metadata/deletionTimestamp").is_empty()) {
        return TaskSeen::Leaving;
    }
    let failed = objects.iter().find(|object| !text(object, "/status/error/message").is_empty());
    if let Some(failed) = failed {
        let (name, why) = (text(failed, "/metadata/name"), text(failed, "/status/error/message"));
        return TaskSeen::Failed(format!(
            "VolumeSnapshot {name}: {}",
            last_line(why).trim_start_matches(": ")
        ));
    }
    // Some of them may not have been created yet: creating them again does no harm.
    if objects.len() < expected {
        return TaskSeen::Absent;
    }
    let ready = objects.iter().filter(|object| flag(object, "/status/readyToUse")).count();
    if ready < expected {
        return TaskSeen::Running(format!("{ready} of {expected} snapshots are ready"));
    }
    let sizes =
        objects.iter().map(|object| text(object, "/status/restoreSize").parse::<backup_api::Quantity>());
    let size = sizes.filter_map(Result::ok).fold(0_u64, |sum, size| sum.saturating_add(size.0));
    TaskSeen::Succeeded(Product { size, ..Product::default() })
}
