//! Releases of many objects, and an API server that takes its time: every call has to bring them further.

use std::time::Duration;

use pilothouse_sdk::harness::Limits;
use serde_json::{Value, json};

use crate::scene::{Scene, chart};

const MAPS: &str = "{{ range $at := until (int .Values.maps) }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ $.Release.Name }}-{{ $at }}}
data: {replicas: {{ $.Values.replicas | quote }}}
{{ end }}";

fn scene(spec: &Value) -> Scene {
    Scene::with(spec, &chart(&[("templates/maps.yaml", MAPS)]), &json!({}))
}

#[test]
fn a_large_release_comes_to_its_ends_at_a_slow_api_server() {
    let mut scene = scene(&json!({"maps": 200, "replicas": 1}));
    // In the time of one call not even half of the objects can be asked for one after the other.
    scene.cluster.answer_after(Duration::from_millis(100));
    scene.run_for(300);
    assert_eq!(scene.statuses(), ["deployed"], "{}", scene.web()["status"]);
    scene.set(&json!({"replicas": 2}));
    scene.run_for(300);
    assert_eq!(scene.statuses(), ["superseded", "deployed"], "{}", scene.web()["status"]);
    assert_eq!(scene.replicas(), Some(2));
    scene.set(&json!({"maps": 20}));
    scene.run_for(300);
    assert_eq!(scene.statuses().last(), Some(&"deployed"));
    assert_eq!(scene.objects().iter().filter(|object| object.contains("ConfigMap")).count(), 20);
    scene.set(&json!({"maps": 200}));
    scene.run_for(300);
    scene.delete();
    scene.run_for(300);
    assert_eq!(scene.get(&scene.object()), None);
    assert!(scene.objects().is_empty(), "{:?}", scene.objects());
}

#[test]
fn an_api_server_that_does_not_answer_in_the_time_of_a_call_is_told_with_that_time() {
    let mut scene = scene(&json!({"maps": 1}));
    scene.cluster.answer_after(Duration::from_secs(11));
    scene.run_for(120);
    let (reason, message) = scene.truth("Irreconcilable");
    assert_eq!(reason, "ReconcileError");
    assert!(
        message.contains("calls in a row did not come to their end, of which each has 10 s (limits.wallMs"),
        "{message}"
    );
    scene.cluster.answer_after(Duration::ZERO);
    scene.run_for(600);
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!(scene.condition("Irreconcilable"), None);
}

#[test]
fn a_release_that_asks_for_more_than_a_call_may_is_told_with_the_limit() {
    let mut scene = scene(&json!({"maps": 40}));
    scene.runner = scene.runner.limits(Limits { host_calls: 30, ..Limits::default() });
    scene.settle();
    scene.run_for(30);
    let told = scene.web()["status"]["conditions"].to_string();
    assert!(told.contains("limits.hostCalls"), "{told}");
}
