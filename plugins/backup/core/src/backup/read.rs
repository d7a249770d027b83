//! Kubernetes' objects as tasks.

use backup_api::names;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    act::Role,
    observed::{Product, TaskSeen},
};
use crate::naming;

/// How long a Job may be without a pod before that is told.
const PODLESS: SignedDuration = SignedDuration::from_secs(90);

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
    if let Some(why) = pods.iter().find_map(failed_pod) {
        return TaskSeen::Failed(why);
    }
    if let Some(failed) = condition("Failed") {
        let (reason, message) = (text(failed, "/reason"), text(failed, "/message"));
        return TaskSeen::Failed(format!("the Job failed: {reason}: {message}"));
    }
    if let Some(why) = pods.iter().find_map(stuck_container) {
        return TaskSeen::Stuck(why);
    }
    TaskSeen::Running(pods.iter().find_map(waiting).unwrap_or_else(|| "the Job is running".to_owned()))
}

/// The message of the last of these events. They come by their names, which tell nothing of their times.
pub fn last_said(events: &[Value]) -> Option<String> {
    let times = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    let told_at = |event: &&Value| -> Option<Timestamp> {
        times.iter().find_map(|path| event.pointer(path)?.as_str()?.parse().ok())
    };
    Some(events.iter().max_by_key(told_at)?.pointer("/message")?.as_str()?.to_owned())
}

/// How a Job stands that runs and of which no pod is seen. One that gets none for long is refused by somebody: a quota, the rules for
/// pods, a webhook. `refusal`: what the Job's controller said last.
pub fn without_pod(job: &Value, now: Timestamp, refusal: Option<&str>) -> TaskSeen {
    let suspended = list(job, "/status/conditions")
        .any(|it| text(it, "/type") == "Suspended" && text(it, "/status") == "True");
    if suspended {
        return TaskSeen::Running("the Job is suspended".to_owned());
    }
    let has_any = job.pointer("/status/active").and_then(Value::as_u64).is_some_and(|active| active > 0);
    let created: Option<Timestamp> = text(job, "/metadata/creationTimestamp").parse().ok();
    let waits = created.map_or(SignedDuration::ZERO, |created| now.duration_since(created));
    if has_any || waits < PODLESS {
        return TaskSeen::Running("the Job is running".to_owned());
    }
    let name = text(job, "/metadata/name");
    let said = refusal.map_or_else(|| format!(": see kubectl describe job {name}"), last_line);
    TaskSeen::Stuck(format!(
        "the Job {name} gets no pod, since a quota, a rule for pods or a webhook refuses it{said}"
    ))
}

fn statuses(pod: &Value) -> impl Iterator<Item = &Value> {
    list(pod, "/status/initContainerStatuses").chain(list(pod, "/status/containerStatuses"))
}

/// Why a pod failed, if it did: its containers in the order of their ends, for the others failed by the first, or the pod itself, which a
/// node may have put out before any container could say something.
fn failed_pod(pod: &Value) -> Option<String> {
    let mut failed: Vec<(&str, String)> = statuses(pod).filter_map(failed_container).collect();
    failed.sort_by(|a, b| a.0.cmp(b.0));
    if !failed.is_empty() {
        let words: Vec<String> = failed.into_iter().map(|(_, why)| why).collect();
        return Some(words.join("; "));
    }
    let (reason, message) = (text(pod, "/status/reason"), text(pod, "/status/message"));
    (text(pod, "/status/phase") == "Failed")
        .then(|| format!("its pod failed ({reason}){}", last_line(message)))
}

/// When a container ended, and how, if it did not end well.
fn failed_container(status: &Value) -> Option<(&str, String)> {
    let ended = status.pointer("/state/terminated")?;
    let code = ended.get("exitCode").and_then(Value::as_i64).filter(|code| *code != 0)?;
    let (name, reason) = (text(status, "/name"), text(ended, "/reason"));
    let said = last_line(&own_words(text(ended, "/message")));
    Some((text(ended, "/finishedAt"), format!("container {name} ended with {code} ({reason}){said}")))
}

/// What the host's image leaves is `{"reason","message"}`; databases leave plain text.
fn own_words(said: &str) -> String {
    let told: Option<Value> = serde_json::from_str(said).ok();
    told.as_ref()
        .map(|told| text(told, "/message"))
        .filter(|told| !told.is_empty())
        .unwrap_or(said)
        .to_owned()
}

/// The last line of what a container said, for people; it is cut where it is long.
fn last_line(said: &str) -> String {
    let line: String = said.trim().lines().last().unwrap_or_default().chars().take(300).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

/// What keeps a container from beginning and may never pass, such as an image that is nowhere.
fn stuck_container(pod: &Value) -> Option<String> {
    statuses(pod).find_map(|status| {
        let waiting = status.pointer("/state/waiting")?;
        let reason = text(waiting, "/reason");
        let usual = ["PodInitializing", "ContainerCreating", ""];
        (!usual.contains(&reason)).then(|| {
            format!("container {} waits: {reason}: {}", text(status, "/name"), text(waiting, "/message"))
        })
    })
}

/// What a pod waits for that comes with time.
fn waiting(pod: &Value) -> Option<String> {
    let unscheduled = list(pod, "/status/conditions")
        .find(|it| text(it, "/type") == "PodScheduled" && text(it, "/status") == "False")?;
    Some(format!("its pod waits for a node: {}", text(unscheduled, "/message")))
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
        let size = object.pointer("/status/artifact/size").and_then(Value::as_u64).unwrap_or_default();
        let sha256 = text(object, "/status/artifact/sha256").to_owned();
        let version =
            Some(text(object, "/status/artifact/etcdVersion").to_owned()).filter(|it| !it.is_empty());
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
    if objects.len() < expected {
        return TaskSeen::Partly;
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
        assert_eq!(seen, TaskSeen::Stuck("container transfer waits: ErrImagePull: no such image".to_owned()));
        let unscheduled = json!({"status": {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]}});
        let TaskSeen::Running(why) = job(Some(&dump(json!({}))), &[unscheduled]) else { panic!("it fails") };
        assert!(why.contains("0/3 nodes"));
    }

    #[test]
    fn a_job_that_gets_no_pod_is_told_after_a_while_in_the_words_of_its_controller() {
        let job = |status: Value| {
            let metadata = json!({"name": "b-dump-1", "creationTimestamp": "2026-01-01T00:00:00Z"});
            json!({"metadata": metadata, "status": status})
        };
        let at = |job: &Value, time: &str| {
            without_pod(job, format!("2026-01-01T00:{time}Z").parse().unwrap(), Some("exceeded quota: small"))
        };
        assert!(matches!(at(&job(json!({})), "01:00"), TaskSeen::Running(_)));
        let TaskSeen::Stuck(why) = at(&job(json!({})), "02:00") else { panic!("nobody is told") };
        assert!(why.contains("b-dump-1") && why.ends_with("exceeded quota: small"), "{why}");
        assert!(
            matches!(at(&job(json!({"active": 1})), "02:00"), TaskSeen::Running(_)),
            "it is not seen yet"
        );
        let suspended = json!({"conditions": [{"type": "Suspended", "status": "True"}]});
        assert!(matches!(at(&job(suspended), "59:00"), TaskSeen::Running(_)), "a queue may hold it for long");
    }

    #[test]
    fn the_container_that_failed_first_is_named_first_in_its_own_words() {
        let at = |time: &str, code: i64, message: &str| {
            let mut ended = ended(code, message);
            ended["terminated"]["finishedAt"] = json!(time);
            ended
        };
        let cut = r#"{"reason": "Unavailable", "message": "the stream was cut"}"#;
        let pods = [pod("Failed", at("2026-01-01T00:00:01Z", 1, cut), at("2026-01-01T00:00:02Z", 141, ""))];
        let TaskSeen::Failed(why) = job(Some(&dump(json!({}))), &pods) else { panic!("it goes on") };
        assert_eq!(
            why,
            "container transfer ended with 1 (Error): the stream was cut; container dump ended with 141 (Error)"
        );
    }

    #[test]
    fn a_pod_that_its_node_put_out_failed_though_no_container_says_so() {
        let out = json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}});
        let TaskSeen::Failed(why) = job(Some(&dump(json!({}))), &[out]) else { panic!("it goes on") };
        assert_eq!(why, "its pod failed (Evicted): The node was low on memory.");
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
        let etcd = json!({"status": {"succeeded": true, "artifact": {"size": 9, "sha256": "x", "etcdVersion": "3.6.1"}}});
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
    fn the_last_event_is_the_last_by_its_time_and_not_by_its_name() {
        let event = |message: &str, minute: u32| json!({"message": message, "lastTimestamp": format!("2026-01-01T00:0{minute}:00Z")});
        let newer =
            json!({"message": "newest", "lastTimestamp": null, "eventTime": "2026-01-01T00:05:00.000001Z"});
        assert_eq!(last_said(&[event("new", 2), event("old", 1)]).as_deref(), Some("new"));
        assert_eq!(last_said(&[newer, event("new", 2)]).as_deref(), Some("newest"));
        assert_eq!(last_said(&[]), None);
    }

    #[test]
    fn snapshots_are_done_when_all_of_them_are() {
        let ready = json!({"status": {"readyToUse": true, "restoreSize": "1Gi"}});
        assert!(matches!(snapshots(2, &[ready.clone(), json!({})]), TaskSeen::Running(_)));
        assert_eq!(
            snapshots(2, std::slice::from_ref(&ready)),
            TaskSeen::Partly,
            "the other one is to be created"
        );
        let TaskSeen::Succeeded(product) = snapshots(2, &[ready.clone(), ready]) else { panic!("not done") };
        assert_eq!(product.size, 2 << 30);
        let failed = json!({"status": {"error": {"message": "quota"}}});
        assert!(matches!(snapshots(1, &[failed]), TaskSeen::Failed(_)));
    }
}
