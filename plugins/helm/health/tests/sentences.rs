//! What people read.

use helm_health::{Health, finished, has_status, health, health_at};
use serde_json::{Value, json};

fn sentence(object: Value) -> String {
    health(&object).sentence().unwrap_or_else(|| panic!("{object} has no sentence")).to_owned()
}

#[test]
fn a_deployment_says_how_many_of_its_pods_are_available() {
    let status = json!({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 1, "availableReplicas": 1});
    let deployment =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3}, "status": status});
    assert_eq!(sentence(deployment), "Deployment: 1 of 3 pods are available");
}

#[test]
fn one_pod_is_told_of_as_one() {
    let one = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "status": {"replicas": 1}});
    assert_eq!(sentence(one), "StatefulSet: 0 of 1 pod is ready");
    let two = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": {"replicas": 1},
        "status": {"replicas": 2, "fullyLabeledReplicas": 2, "availableReplicas": 2, "readyReplicas": 2}});
    assert_eq!(sentence(two), "ReplicaSet: 1 pod too many is still there");
}

#[test]
fn a_deadline_that_has_passed_is_a_failure_with_the_controllers_words() {
    let late = json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
        "message": "ReplicaSet \"web-7c\" has timed out progressing."});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "status": {"conditions": [late]}});
    let told =
        "Deployment: its deadline for progress has passed: ReplicaSet \"web-7c\" has timed out progressing.";
    assert_eq!(health(&deployment), Health::Failed(told.to_owned()));
}

#[test]
fn a_generation_that_nobody_has_seen_is_named() {
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"generation": 4},
        "status": {"observedGeneration": 3}});
    assert_eq!(sentence(thing), "Thing: its controller has seen generation 3 of 4");
}

#[test]
fn a_pod_names_the_image_it_cannot_get_and_the_container_that_crashes() {
    let waits = json!({"name": "app", "state": {"waiting": {"reason": "ImagePullBackOff",
        "message": "Back-off pulling image \"nginx:nope\""}}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Pending", "containerStatuses": [waits]}});
    assert_eq!(
        sentence(pod),
        "Pod: container app waits: Back-off pulling image \"nginx:nope\" (ImagePullBackOff)"
    );
    let crashes = json!({"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff"}}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running", "containerStatuses": [crashes]}});
    assert_eq!(
        health(&pod),
        Health::Failed("Pod: container app crashes again and again (CrashLoopBackOff)".to_owned())
    );
}

#[test]
fn a_pod_that_is_being_started_in_the_usual_way_is_just_pending() {
    let creating = json!({"name": "app", "state": {"waiting": {"reason": "ContainerCreating"}}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Pending", "containerStatuses": [creating]}});
    assert_eq!(sentence(pod), "Pod: it is pending");
}

#[test]
fn a_young_pod_may_look_for_a_node_and_an_old_one_has_failed() {
    let none =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "1970-01-01T00:01:00Z"},
        "status": {"phase": "Pending", "conditions": [none]}});
    assert_eq!(health_at(&pod, 74), Health::InProgress("Pod: no node has been found for it yet".to_owned()));
    let failed = Health::Failed("Pod: no node takes it: 0/3 nodes".to_owned());
    assert_eq!(health_at(&pod, 75), failed);
    assert_eq!(health(&pod), failed);
}

#[test]
fn an_api_service_without_its_server_is_in_progress_where_kstatus_sees_nothing() {
    let lost = json!({"type": "Available", "status": "False", "reason": "MissingEndpoints", "message": "no endpoints"});
    let service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "status": {"conditions": [lost]}});
    assert_eq!(sentence(service), "APIService: no endpoints (MissingEndpoints)");
    let fine = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "status": {"conditions": [{"type": "Available", "status": "True"}]}});
    assert_eq!(health(&fine), Health::Current);
}

#[test]
fn a_hook_has_finished_only_at_its_end() {
    let job = |status: Value| json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 2}, "status": status});
    let running = job(json!({"startTime": "2026-01-01T00:00:00Z", "succeeded": 1}));
    assert_eq!(health(&running), Health::Current);
    assert_eq!(finished(&running), Health::InProgress("Job: 1 of 2 pods have completed".to_owned()));
    let failed = job(json!({"failed": 3, "conditions": [
        {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "limit reached"}]}));
    let told = "Job: it failed after 3 failed pods: limit reached (BackoffLimitExceeded)";
    assert_eq!(finished(&failed), Health::Failed(told.to_owned()));
    assert_eq!(
        finished(&job(json!({"conditions": [{"type": "Complete", "status": "True"}]}))),
        Health::Current
    );

    let pod = |phase: &str| json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": phase}});
    assert_eq!(finished(&pod("Succeeded")), Health::Current);
    assert_eq!(
        finished(&pod("Failed")),
        Health::Failed("Pod: it failed: a container ended with an error".to_owned())
    );
    assert!(matches!(finished(&pod("Running")), Health::InProgress(_)));
    assert_eq!(finished(&json!({"apiVersion": "v1", "kind": "ConfigMap"})), Health::Current);
}

#[test]
fn an_end_counts_although_the_hook_is_being_deleted() {
    let job = |status: Value| {
        json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": status})
    };
    assert_eq!(
        finished(&job(json!({"conditions": [{"type": "Complete", "status": "True"}]}))),
        Health::Current
    );
    assert_eq!(finished(&job(json!({"active": 1}))), Health::Terminating);
    assert_eq!(finished(&job(json!({"conditions": "none"}))), Health::Unknown);
}

#[test]
fn only_kinds_without_a_telling_status_are_said_to_have_none() {
    let none = [
        ("", "ConfigMap"),
        ("", "Secret"),
        ("", "ServiceAccount"),
        ("rbac.authorization.k8s.io", "Role"),
        ("networking.k8s.io", "Ingress"),
        ("batch", "CronJob"),
    ];
    for (group, kind) in none {
        assert!(!has_status(group, kind), "{group}/{kind}");
    }
    let some = [
        ("apps", "Deployment"),
        ("", "Pod"),
        ("batch", "Job"),
        ("example.com", "Secret"),
        ("", "Service"),
        ("policy", "PodDisruptionBudget"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ];
    for (group, kind) in some {
        assert!(has_status(group, kind), "{group}/{kind}");
    }
}

#[test]
fn what_is_no_object_is_unknown() {
    for value in [json!(null), json!(1), json!("Pod"), json!([]), json!([{"kind": "Pod"}])] {
        assert_eq!(health(&value), Health::Unknown, "{value}");
        assert_eq!(finished(&value), Health::Unknown, "{value}");
    }
}
