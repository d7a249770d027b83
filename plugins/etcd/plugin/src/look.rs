//! What is there: objects of Kubernetes as the core wants them, and what etcd says.

use std::collections::BTreeMap;

use etcd_api::{Record, names::annotation};
use etcd_core::{
    manifest,
    naming::Place,
    observed::{Claim, Cluster, Observed, Pod, PodPhase, VOLUME_UNREACHABLE, View},
    spec::Plan,
    tls::Tls,
};
use jiff::{SignedDuration, Timestamp};
use pilothouse_sdk::{Context, Error, Gvk, Kube, KubeError, Outcome};
use serde_json::Value;

use crate::{
    budget::Budget,
    gateway::Gateway,
    members::{self, Members},
    object::ClusterObject,
    restore, secrets,
};

/// What a pod is read for. The rest of it stays outside.
const POD_FIELDS: [&str; 3] = ["metadata", "spec.containers", "status"];

/// Everything that was seen, and who is to be asked for changes.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) cluster: Cluster,
    pub(crate) observed: Observed,
    pub(crate) speaker: Option<String>,
    /// It is not there yet, and its first data is to be a backup that cannot be had, or not yet.
    pub(crate) held_back: Option<Outcome>,
}

/// Looks at the objects of a cluster and asks its members.
///
/// # Errors
/// What the API server answered, or which Secret may not be used.
pub(crate) fn look(ctx: &Context, object: &ClusterObject, record: Record, view: View) -> Result<Seen, Error> {
    let kube = match view {
        View::Cached => ctx.kube(),
        View::Live => ctx.kube().live(),
    };
    let cluster = object.cluster();
    let list = |kube: &Kube, kind: &str| -> Result<Vec<Value>, KubeError> {
        let selector = manifest::selector(&cluster.name);
        kube.list_ref(Gvk::new("", "v1", kind), cluster.namespace.as_str()).labels(selector).all()
    };
    let pods = list(&kube.clone().only(POD_FIELDS), "Pod")?;
    let claims = list(&kube, "PersistentVolumeClaim")?;
    let services = list(&kube, "Service")?;
    let tls = Plan::of(&cluster).map(|plan| plan.tls).unwrap_or_default();
    let place = Place { cluster: &cluster.name, namespace: &cluster.namespace };
    // What Secrets, restores and members would say changes nothing any more, and members that end do not answer.
    let (secrets, pending) = match cluster.deleting {
        true => (BTreeMap::new(), restore::Pending::Nothing),
        false => (secrets::look(&ctx.certificates(), place, &tls)?, restore::pending(&kube, &cluster)?),
    };
    let Members { etcd, speaker } = match cluster.deleting {
        true => Members::silent(&pods, "it is being deleted"),
        false => ask(ctx, place, &tls, &pods, &record),
    };
    let observed = Observed {
        view,
        announced: object.was_announced(),
        pods: pods.iter().map(|object| pod(object, &cluster.uid)).collect(),
        claims: claims.iter().map(|object| claim(object, &cluster.uid)).collect(),
        services: services.iter().map(service).collect(),
        secrets,
        restore: pending.clone().order(),
        etcd,
        record,
        ..Observed::default()
    };
    let begun = !observed.record.members.is_empty() || observed.record.cluster_id.is_some();
    let is_new = !begun && !observed.announced && !cluster.deleting;
    let again = !cluster.deleting && pending.is_again(observed.record.change.as_ref());
    let held_back = pending.holds_back().filter(|_| is_new || again);
    Ok(Seen { cluster, observed, speaker, held_back })
}

fn ask(ctx: &Context, place: Place<'_>, tls: &Tls, pods: &[Value], record: &Record) -> Members {
    let http = ctx.http();
    // Without it nobody answers, and why is what each of them is told to have answered.
    match secrets::introduce(&http, place, tls) {
        Ok(()) => {
            let gateway = Gateway { http, place, secure: tls.clients() };
            members::ask(&gateway, &Budget::new(ctx), pods, record)
        }
        Err(error) => Members::silent(pods, &error.to_string()),
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer).parse().ok()
}

fn annotated<'a>(object: &'a Value, name: &str) -> &'a str {
    let annotations = object.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(name)).and_then(Value::as_str).unwrap_or_default()
}

fn is_owned(object: &Value, owner: &str) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().any(|reference| {
        text(reference, "/uid") == owner && reference.get("controller").and_then(Value::as_bool) == Some(true)
    })
}

fn pod(object: &Value, owner: &str) -> Pod {
    let ready = condition(object, "Ready");
    let created = time(object, "/metadata/creationTimestamp").unwrap_or_default();
    Pod {
        name: text(object, "/metadata/name").to_owned(),
        uid: text(object, "/metadata/uid").to_owned(),
        owned: is_owned(object, owner),
        phase: phase(object),
        ready: ready.is_some_and(|ready| text(ready, "/status") == "True"),
        ready_since: ready.and_then(|ready| time(ready, "/lastTransitionTime")).unwrap_or(created),
        terminating: terminating(object),
        version: annotated(object, annotation::VERSION).to_owned(),
        image: text(object, "/spec/containers/0/image").to_owned(),
        digest: annotated(object, annotation::DIGEST).to_owned(),
        waiting: waiting(object),
    }
}

fn phase(object: &Value) -> PodPhase {
    match text(object, "/status/phase") {
        "Running" => PodPhase::Running,
        "Succeeded" => PodPhase::Succeeded,
        "Failed" => PodPhase::Failed,
        "Unknown" => PodPhase::Unknown,
        _ => PodPhase::Pending,
    }
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array)?;
    conditions.iter().find(|condition| text(condition, "/type") == kind)
}

/// Since when it is being deleted. The timestamp says when it is to be gone: the time it was given lies before.
fn terminating(object: &Value) -> Option<Timestamp> {
    let end = time(object, "/metadata/deletionTimestamp")?;
    let grace = object.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    Some(end.saturating_sub(SignedDuration::from_secs(grace)).unwrap_or(end))
}

/// Why a container does not run, or why there is no node for the pod; not what every start goes through.
fn waiting(object: &Value) -> Option<String> {
    let passing = ["ContainerCreating", "PodInitializing", ""];
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let containers = statuses.iter().filter_map(|pointer| object.pointer(pointer)?.as_array()).flatten();
    let reason = containers
        .map(|status| text(status, "/state/waiting/reason"))
        .find(|reason| !passing.contains(reason));
    let unscheduled =
        condition(object, "PodScheduled").filter(|scheduled| text(scheduled, "/status") == "False");
    let placed = |scheduled| match is_on_no_node(text(scheduled, "/message")) {
        true => VOLUME_UNREACHABLE,
        false => text(scheduled, "/reason"),
    };
    reason.or_else(|| unscheduled.map(placed)).map(str::to_owned)
}

/// Does the scheduler say that no node has the pod's volume? It counts nodes by what speaks against each of them: `0/3 nodes are
/// available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 node(s) had volume node affinity conflict.`
/// A node that is full, cordoned or silent may be the one with the volume.
fn is_on_no_node(message: &str) -> bool {
    const ELSEWHERE: [&str; 2] =
        ["volume node affinity conflict", "didn't match PersistentVolume's node affinity"];
    let Some((_, against)) = message.split_once(" nodes are available: ") else { return false };
    let against = against.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let elsewhere = |why: &str| ELSEWHERE.iter().any(|words| why.ends_with(words));
    // No pod was ever on those. Any other taint may be of today, and on the very node with the volume.
    const RESERVED: [&str; 2] = [
        "untolerated taint {node-role.kubernetes.io/control-plane",
        "untolerated taint {node-role.kubernetes.io/master",
    ];
    let reserved = |why: &str| RESERVED.iter().any(|words| why.contains(words));
    let mut whys = against.split(", ");
    whys.clone().any(elsewhere) && whys.all(|why| elsewhere(why) || reserved(why))
}

fn claim(object: &Value, owner: &str) -> Claim {
    Claim {
        name: text(object, "/metadata/name").to_owned(),
        uid: text(object, "/metadata/uid").to_owned(),
        owned: is_owned(object, owner),
        terminating: object.pointer("/metadata/deletionTimestamp").is_some(),
        lost: text(object, "/status/phase") == "Lost",
        storage: text(object, "/spec/resources/requests/storage").to_owned(),
        digest: annotated(object, annotation::DIGEST).to_owned(),
    }
}

fn service(object: &Value) -> (String, BTreeMap<String, String>) {
    let selector = object.pointer("/spec/selector").and_then(Value::as_object);
    let pairs = selector.into_iter().flatten();
    let pairs = pairs.filter_map(|(label, value)| Some((label.clone(), value.as_str()?.to_owned())));
    (text(object, "/metadata/name").to_owned(), pairs.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_read_for_what_the_core_asks() {
        let object = json!({
            "metadata": {
                "name": "example-a", "uid": "p", "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {"etcd.version": "3.6.16", "etcd.database.coreos.com/digest": "d"},
                "ownerReferences": [{"uid": "u", "controller": true}],
            },
            "spec": {"containers": [{"name": "etcd", "image": "quay.io/coreos/etcd:v3.6.16"}]},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:01:00Z"},
            ]},
        });
        let seen = pod(&object, "u");
        assert!(seen.owned && seen.ready && !pod(&object, "other").owned);
        assert_eq!(seen.ready_since.to_string(), "2026-01-01T00:01:00Z");
        assert_eq!((seen.version.as_str(), seen.digest.as_str()), ("3.6.16", "d"));
        assert_eq!(seen.image, "quay.io/coreos/etcd:v3.6.16");
        assert_eq!((seen.waiting, seen.terminating), (None, None));
    }

    #[test]
    fn a_pod_is_being_deleted_since_it_was_asked_and_not_since_its_time_is_up() {
        let metadata = json!({"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30});
        let since = terminating(&json!({"metadata": metadata})).unwrap();
        assert_eq!(since.to_string(), "2026-01-01T00:00:00Z");
    }

    #[test]
    fn what_holds_a_pod_up_is_told_and_an_ordinary_start_is_not() {
        let with = |reason: &str| json!({"status": {"containerStatuses": [{"state": {"waiting": {"reason": reason}}}]}});
        assert_eq!(waiting(&with("ImagePullBackOff")).as_deref(), Some("ImagePullBackOff"));
        assert_eq!(waiting(&with("ContainerCreating")), None);
        let conditions = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]);
        assert_eq!(waiting(&json!({"status": {"conditions": conditions}})).as_deref(), Some("Unschedulable"));
    }

    #[test]
    fn a_volume_is_out_of_reach_if_every_node_says_that_it_is_elsewhere() {
        let why = |message: &str| {
            let conditions = json!([
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message},
            ]);
            waiting(&json!({"status": {"conditions": conditions}})).unwrap()
        };
        let gone = [
            "0/2 nodes are available: 2 node(s) had volume node affinity conflict. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            "0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 node(s) had volume node affinity conflict.",
            "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        ];
        for message in gone {
            assert_eq!(why(message), VOLUME_UNREACHABLE, "{message}");
        }
        let there = [
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had volume node affinity conflict.",
            "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) had volume node affinity conflict.",
            "0/3 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 2 node(s) had volume node affinity conflict.",
            "0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 Insufficient memory.",
            "0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/infra: }, 2 node(s) had volume node affinity conflict.",
            "running PreBind plugin failed",
        ];
        for message in there {
            assert_eq!(why(message), "Unschedulable", "{message}");
        }
    }
}
