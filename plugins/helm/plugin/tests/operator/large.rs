//! Releases whose records are larger than a Secret may be.

use helm_release::LARGEST_SECRET;
use pilothouse_sdk::{
    Gvk, ObjectRef,
    harness::{Cluster, every_crash},
};
use serde_json::{Value, json};

use crate::scene::{NAME, NAMESPACE, Scene, chart};

/// Text that no packing makes much smaller, without letters that mean something to YAML.
fn noise(length: usize, seed: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = seed | 1;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(LETTERS[usize::try_from(state >> 58).unwrap()])
    };
    (0..length).map(letter).collect()
}

/// So large are Secrets in most of these scenes: what has to be packed again and again need not be megabytes.
const SECRET: usize = 16 << 10;

/// A chart with as much text in its objects as no Secret of this size holds, unless the value says so.
fn large_chart(secret: usize) -> Vec<(String, String)> {
    let map = |name: &str| {
        format!(
            "{{{{ if not .Values.small }}}}apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web-{name}}}\n\
             data: {{text: {{{{ .Files.Get \"{name}.txt\" }}}}}}\n{{{{ end }}}}"
        )
    };
    let (one, two) = (map("one"), map("two"));
    let (first, second) = (noise(secret * 8 / 15, 1), noise(secret * 8 / 15, 2));
    chart(&[
        ("templates/one.yaml", &one),
        ("templates/two.yaml", &two),
        ("one.txt", &first),
        ("two.txt", &second),
    ])
}

fn scene(spec: &Value) -> Scene {
    let mut scene =
        Scene::with(spec, &large_chart(SECRET), &json!({"maxHistory": 2, "largestSecret": SECRET}));
    scene.settle();
    scene
}

fn map(name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, format!("{NAME}-{name}"))
}

/// Every chunk is one of a record, and every record has all of its chunks.
fn assert_whole(scene: &Scene, words: &str) {
    let (there, named) = scene.chunks();
    assert_eq!(there, named, "{words}");
    for entry in scene.history() {
        let stored = scene.stored(entry.revision);
        assert_eq!(stored.release.info.status, entry.status, "{words}");
    }
}

#[test]
fn a_record_larger_than_a_secret_is_chunked_and_that_is_told() {
    // With what Kubernetes takes.
    let settings = json!({"maxHistory": 2});
    let mut scene = Scene::with(&json!({"replicas": 1}), &large_chart(LARGEST_SECRET), &settings);
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    let (reason, message) = scene.truth("RecordChunked");
    assert_eq!(reason, "LargerThanASecret");
    assert!(message.contains("the helm command line does not see this revision"), "{message}");
    let (there, _) = scene.chunks();
    assert!(there.len() > 1, "{there:?}");
    assert_whole(&scene, "installed");
    assert!(scene.stored(1).release.manifest.len() > 1_100_000);
    // The host neither keeps them in its cache nor wakes anybody because of them.
    let chunk = scene.get(&ObjectRef::new(Gvk::new("", "v1", "Secret"), NAMESPACE, &there[0])).unwrap();
    assert_eq!(chunk["metadata"]["labels"], json!({"name": "web", "owner": "pilothouse", "version": "1"}));
    assert_eq!(chunk["metadata"]["ownerReferences"][0]["name"], NAME);

    for replicas in 2..5 {
        scene.set(&json!({"replicas": replicas}));
        scene.settle();
        assert_eq!(scene.replicas(), Some(replicas));
        assert_whole(&scene, "upgraded");
    }
    assert_eq!(scene.statuses(), ["superseded", "deployed"], "older ones went with their chunks");
    assert!(scene.stored(4).release.manifest.contains("replicas: 4"));

    scene.set(&json!({"small": true}));
    scene.settle();
    assert_eq!(scene.condition("RecordChunked"), None);
    assert_eq!(scene.get(&map("one")), None, "what the chunked revision had is pruned");
    assert_whole(&scene, "small");
    let (there, _) = scene.chunks();
    scene.set(&json!({"replicas": 9}));
    scene.settle();
    assert!(!there.is_empty() && scene.chunks().0.is_empty());
}

#[test]
fn a_chunked_record_is_not_written_again_when_only_its_state_changes() {
    let mut scene = scene(&json!({"replicas": 1}));
    let (chunks, _) = scene.chunks();
    let created = |scene: &Scene| {
        let writes = scene.cluster.writes();
        writes.iter().filter(|write| chunks.iter().any(|chunk| write.ends_with(chunk))).count()
    };
    assert_eq!(created(&scene), chunks.len(), "each once");
    scene.cluster.forget_calls();
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(created(&scene), 0);
    let object = scene.object();
    scene.cluster.forget_calls();
    scene.runner.wake(&object, pilothouse_sdk::Reason::Resync);
    scene.settle();
    assert!(scene.cluster.writes().is_empty(), "{:?}", scene.cluster.writes());
}

#[test]
fn one_can_go_back_to_a_chunked_revision() {
    let mut scene = scene(&json!({"replicas": 1}));
    scene.set(&json!({"replicas": 2, "small": true}));
    scene.settle();
    assert_eq!(scene.get(&map("two")), None);
    scene.ask("rollback-to", "1");
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert_eq!(scene.replicas(), Some(1));
    assert!(scene.get(&map("two")).is_some());
    scene.truth("RecordChunked");
    assert_whole(&scene, "rolled back");
}

#[test]
fn files_of_the_chart_that_nobody_needs_do_not_make_a_record_too_large() {
    let readme = noise(SECRET * 2, 3);
    let settings = json!({"largestSecret": SECRET});
    let mut scene = Scene::with(&json!({"replicas": 1}), &chart(&[("README.md", &readme)]), &settings);
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!(scene.condition("RecordChunked"), None);
    assert!(scene.chunks().0.is_empty());
    let secret = scene.get(&scene.secret(1)).unwrap();
    assert_eq!(secret["metadata"]["annotations"]["helm.pilothouse.dev/left-out"], "files");
    let chart = scene.stored(1).release.chart.unwrap();
    let chart: Value = serde_json::from_str(chart.get()).unwrap();
    assert_eq!(chart["files"], Value::Null);
    assert!(chart["templates"].as_array().unwrap().len() > 5, "they fit");
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}

#[test]
fn a_chunk_that_is_taken_away_by_hand_is_told_and_the_release_can_be_made_anew() {
    let mut scene = scene(&json!({"replicas": 1}));
    let (chunks, _) = scene.chunks();
    let chunk = ObjectRef::new(Gvk::new("", "v1", "Secret"), NAMESPACE, &chunks[0]);
    scene.cluster.kubectl().delete_ref(&chunk, &Default::default()).unwrap();
    scene.runner.restart();
    scene.settle();
    let (_, message) = scene.truth("Irreconcilable");
    assert!(message.contains("a chunk of the release record is missing or was changed"), "{message}");
    scene.cluster.kubectl().delete_ref(&scene.secret(1), &Default::default()).unwrap();
    scene.run_for(400);
    assert_eq!(scene.statuses(), ["deployed"]);
    assert_eq!(scene.condition("Irreconcilable"), None);
    assert_whole(&scene, "made anew");
}

#[test]
fn chunks_of_another_owner_of_the_name_are_left_alone() {
    let mut scene = scene(&json!({"small": true}));
    let other = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), NAMESPACE, NAME);
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": NAMESPACE}});
    scene.cluster.create([map]).unwrap();
    let stray = |name: &str, owner: &ObjectRef| {
        let owner = scene.get(owner).unwrap();
        let owner = json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": NAME,
            "uid": owner["metadata"]["uid"], "controller": true});
        json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.pilothouse.dev/chunk.v1",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"owner": "pilothouse", "name": NAME},
                "ownerReferences": [owner]}})
    };
    let ours = stray("sh.helm.release.v1.web.v9.aaaaaaaaaaaa.1", &scene.object());
    let theirs = stray("sh.helm.release.v1.web.v9.bbbbbbbbbbbb.1", &other);
    scene.cluster.create([ours, theirs]).unwrap();
    scene.set(&json!({"replicas": 3}));
    scene.settle();
    let (there, _) = scene.chunks();
    assert_eq!(there, ["sh.helm.release.v1.web.v9.bbbbbbbbbbbb.1"]);
}

fn crashes(scene: impl FnMut(u32) -> Cluster, at_least: u32) {
    let crashes = every_crash(scene);
    assert!(crashes >= at_least, "only {crashes} crashes");
}

#[test]
fn a_chunked_install_is_finished_wherever_it_was_killed() {
    crashes(
        |crash| {
            let mut scene =
                Scene::with(&json!({"replicas": 1}), &large_chart(SECRET), &json!({"largestSecret": SECRET}));
            scene.cluster.crash_after_write(crash);
            scene.settle();
            assert_eq!(scene.statuses(), ["deployed"], "crash {crash}");
            assert_whole(&scene, &format!("crash {crash}"));
            assert!(scene.get(&map("two")).is_some(), "crash {crash}");
            scene.cluster
        },
        8,
    );
}

#[test]
fn a_chunked_upgrade_that_makes_room_leaves_nothing_behind_wherever_it_was_killed() {
    crashes(
        |crash| {
            let mut scene = scene(&json!({"replicas": 1}));
            scene.set(&json!({"replicas": 2}));
            scene.settle();
            scene.set(&json!({"replicas": 3}));
            scene.cluster.crash_after_write(crash);
            scene.settle();
            // Killed after the first chunks, whoever wants something else finds them and takes them away.
            scene.set(&json!({"replicas": 4, "small": true}));
            scene.settle();
            assert_eq!(scene.statuses().last(), Some(&"deployed"), "crash {crash}");
            assert_eq!(scene.replicas(), Some(4), "crash {crash}");
            assert_whole(&scene, &format!("crash {crash}"));
            scene.cluster
        },
        10,
    );
}

#[test]
fn a_chunked_uninstall_leaves_nothing_behind_wherever_it_was_killed() {
    crashes(
        |crash| {
            let mut scene = scene(&json!({"replicas": 1}));
            scene.set(&json!({"replicas": 2}));
            scene.settle();
            scene.delete();
            scene.cluster.crash_after_write(crash);
            scene.settle();
            assert_eq!(scene.get(&scene.object()), None, "crash {crash}");
            assert!(scene.history().is_empty(), "crash {crash}");
            assert!(scene.chunks().0.is_empty(), "crash {crash}: {:?}", scene.chunks());
            assert!(scene.objects().is_empty(), "crash {crash}: {:?}", scene.objects());
            scene.cluster
        },
        10,
    );
}
