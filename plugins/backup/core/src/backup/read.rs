//! Kubernetes' objects as tasks.

use backup_api::names;
use serde_json::Value;

use super::{
    act::Role,
    observed::{Product, TaskSeen},
};
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
        let writes = text(job, "/metadata/labels/backup.pilothouse.dev~1role") == Role::Dump.word();
        return if writes { product(pods) } else { TaskSeen::Succeeded(Product::default()) };
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

/// The `EtcdRestore` of a cluster; `label` is the name of the attempt that is to have made it.
pub fn etcd_restore(object: Option<&Value>, label: &str) -> TaskSeen {
    let Some(object) = object else { return TaskSeen::Absent };
    if !text(object, "/metadata/deletionTimestamp").is_empty() {
        return TaskSeen::Leaving;
    }
    let labels = object.pointer("/metadata/labels");
    let owner = labels.and_then(|labels| labels.get(names::label::RESTORE)).and_then(Value::as_str);
    if owner != Some(label) {
        let why =
            "there is another EtcdRestore of the cluster, which may be at work: delete it when it is over";
        return TaskSeen::Failed(why.to_owned());
    }
    match (flag(object, "/status/succeeded"), text(object, "/status/state")) {
        (true, _) => TaskSeen::Succeeded(Product::default()),
        (false, "Failed") => TaskSeen::Failed(format!("EtcdRestore: {}", text(object, "/status/reason"))),
        (false, state) => TaskSeen::Running(format!("the etcd plugin restores: {state}")),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn dump(status: Value) -> Value {
        json!({"metadata": {"labels": {"backup.pilothouse.dev/role": "dump"}}, "status": status})
    }

    fn pod(phase: &str, transfer: Value, dump: Value) -> Value {
        json!({"status": {"phase": phase, "containerStatuses": [
            {"name": "dump", "state": dump}, {"name": "transfer", "state": transfer}]}})
    }

    fn ended(code: i64, message: &str) -> Value {
        json!({"terminated": {"exitCode": code, "reason": "Error", "message": message}})
    }

    #[test]
    fn a_job_is_done_when_its_transfer_tells_size_and_hash() {
        let sha256 = "ab".repeat(32);
        let told = format!("{{\"size\": 7, \"sha256\": \"{sha256}\"}}");
        let complete = dump(json!({"conditions": [{"type": "Complete", "status": "True"}]}));
        let of = |message: &str| job(Some(&complete), &[pod("Succeeded", ended(0, message), ended(0, ""))]);
        assert_eq!(
            of(&told),
            TaskSeen::Succeeded(Product { size: 7, sha256: sha256.clone(), version: None })
        );
        for odd in ["", "done", "{\"size\": 7}", "{\"size\": 7, \"sha256\": \"ab\"}"] {
            assert!(matches!(of(odd), TaskSeen::Failed(_)), "{odd}");
        }
        // What the database's container says is not believed.
        let lies = job(Some(&complete), &[pod("Succeeded", ended(0, ""), ended(0, &told))]);
        assert!(matches!(lies, TaskSeen::Failed(_)));
    }

    #[test]
    fn one_container_that_fails_fails_the_job_at_once() {
        let running = dump(json!({"active": 1}));
        let pods = [pod("Running", json!({"running": {}}), ended(2, "connecting\nAccess denied"))];
        let TaskSeen::Failed(why) = job(Some(&running), &pods) else { panic!("it goes on") };
        assert_eq!(why, "container dump ended with 2 (Error): Access denied");
    }

    #[test]
    fn what_a_pod_waits_for_is_told() {
        let waits = json!({"waiting": {"reason": "ErrImagePull", "message": "no such image"}});
        let seen = job(Some(&dump(json!({}))), &[pod("Pending", waits, json!({}))]);
        assert_eq!(
            seen,
            TaskSeen::Running("container transfer waits: ErrImagePull: no such image".to_owned())
        );
        let unscheduled = json!({"status": {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]}});
        let TaskSeen::Running(why) = job(Some(&dump(json!({}))), &[unscheduled]) else { panic!("it fails") };
        assert!(why.contains("0/3 nodes"));
    }

    #[test]
    fn a_job_that_is_gone_lingers_with_its_pods() {
        let alive = pod("Running", json!({"running": {}}), json!({"running": {}}));
        assert_eq!(job(None, &[alive]), TaskSeen::Leaving);
        assert_eq!(job(None, &[pod("Failed", json!({}), json!({}))]), TaskSeen::Absent);
        assert_eq!(job(None, &[]), TaskSeen::Absent);
        let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(job(Some(&deleted), &[]), TaskSeen::Leaving);
        let late = dump(
            json!({"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "m"}]}),
        );
        assert!(matches!(job(Some(&late), &[]), TaskSeen::Failed(_)));
    }

    #[test]
    fn objects_of_others_tell_how_they_stand() {
        let etcd = json!({"status": {"succeeded": true, "artefact": {"size": 9, "sha256": "x", "etcdVersion": "3.6.1"}}});
        let TaskSeen::Succeeded(product) = etcd_backup(Some(&etcd)) else { panic!("not done") };
        assert_eq!((product.size, product.version.as_deref()), (9, Some("3.6.1")));
        assert!(matches!(etcd_backup(Some(&json!({"status": {"Reason": "no space"}}))), TaskSeen::Failed(_)));
        assert!(matches!(etcd_backup(Some(&json!({}))), TaskSeen::Running(_)));
        assert_eq!(etcd_backup(None), TaskSeen::Absent);
        let others = json!({"metadata": {"labels": {}}, "status": {"succeeded": true}});
        assert!(matches!(etcd_restore(Some(&others), "r-restore-1"), TaskSeen::Failed(_)));
        let ours = json!({"metadata": {"labels": {"backup.pilothouse.dev/restore": "r-restore-1"}}, "status": {"succeeded": true}});
        assert!(matches!(etcd_restore(Some(&ours), "r-restore-1"), TaskSeen::Succeeded(_)));
    }

    #[test]
    fn snapshots_are_done_when_all_of_them_are() {
        let ready = json!({"status": {"readyToUse": true, "restoreSize": "1Gi"}});
        assert!(matches!(snapshots(2, &[ready.clone(), json!({})]), TaskSeen::Running(_)));
        assert_eq!(
            snapshots(2, std::slice::from_ref(&ready)),
            TaskSeen::Absent,
            "the other one is to be created"
        );
        let TaskSeen::Succeeded(product) = snapshots(2, &[ready.clone(), ready]) else { panic!("not done") };
        assert_eq!(product.size, 2 << 30);
        let failed = json!({"status": {"error": {"message": "quota"}}});
        assert!(matches!(snapshots(1, &[failed]), TaskSeen::Failed(_)));
    }
}
