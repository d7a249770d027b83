//! Charts that lie elsewhere.

use helm_chart::archive::write_archive;
use pilothouse_sdk::{Gvk, ObjectRef, Patch};
use serde_json::{Value, json};

use crate::scene::{NAMESPACE, Scene, chart};

const REPOSITORY: &str = "oci://r.example/charts";

fn settings(more: &Value) -> Value {
    let mut chart = json!({"repository": REPOSITORY, "name": "site", "version": "^1"});
    chart.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "chart": chart })
}

/// The scene's chart of this version, as an archive.
pub(crate) fn archive(version: &str, changes: &[(&str, &str)]) -> Vec<u8> {
    let about = format!("apiVersion: v2\nname: site\nversion: {version}\nappVersion: '7'\n");
    let changes = [changes, &[("Chart.yaml", about.as_str())]].concat();
    let files = chart(&changes).into_iter().map(|(path, text)| (format!("site/{path}"), text.into_bytes()));
    write_archive(&files.collect::<Vec<_>>(), 0).unwrap()
}

fn scene(more: &Value) -> Scene {
    Scene::with(&json!({"replicas": 2}), &chart(&[]), &settings(more))
}

/// Version 1.0.0 is installed, and its objects are ready.
fn installed() -> Scene {
    let mut scene = scene(&json!({}));
    scene.cluster.chart_found(REPOSITORY, "site", "1.0.0", &archive("1.0.0", &[]));
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    scene.come_up();
    scene.cluster.forget_calls();
    scene
}

/// Status, reason and message of a condition.
fn condition(scene: &Scene, kind: &str) -> (String, String, String) {
    let found = scene.condition(kind).unwrap_or_else(|| panic!("no {kind}: {}", scene.web()["status"]));
    (found.status.as_str().to_owned(), found.reason, found.message)
}

fn says(scene: &Scene, kind: &str, status: &str, reason: &str, words: &str) {
    let found = condition(scene, kind);
    assert!(
        (found.0.as_str(), found.1.as_str()) == (status, reason) && found.2.contains(words),
        "{kind}: {found:?}"
    );
}

fn is_back(scene: &mut Scene) -> bool {
    scene.cluster.kubectl().delete_ref(&scene.deployment(), &Default::default()).unwrap();
    scene.settle();
    scene.get(&scene.deployment()).is_some()
}

#[test]
fn what_is_wished_for_is_waited_for_and_installed_when_it_is_there() {
    let mut scene = scene(&json!({"interval": "1h", "passCredentials": true}));
    scene.settle();
    assert!(scene.history().is_empty());
    says(&scene, "Ready", "False", "WaitingForChart", "fetching site ^1 of oci://r.example/charts");
    says(&scene, "ChartReady", "False", "WaitingForChart", "fetching site");
    let wish = scene.cluster.chart_wishes().pop().unwrap();
    assert_eq!((wish.version.as_str(), wish.interval.as_secs(), wish.pass_credentials), ("^1", 3600, true));
    let archive = archive("1.0.0", &[]);
    scene.cluster.chart_found(REPOSITORY, "site", "1.0.0", &archive);
    scene.settle();
    assert_eq!((scene.statuses(), scene.replicas()), (vec!["deployed"], Some(2)));
    let digest = scene.web()["status"]["release"]["chartDigest"].as_str().unwrap().to_owned();
    assert!(digest.starts_with("sha256:") && digest.len() == 71, "{digest}");
    says(
        &scene,
        "ChartReady",
        "True",
        "Fetched",
        &format!("site 1.0.0 of oci://r.example/charts/site:1.0.0 ({digest})"),
    );
    let release = &scene.web()["status"]["release"];
    assert_eq!(release["chartVersion"], "1.0.0");
    assert_eq!(release["chartSource"], "oci://r.example/charts/site:1.0.0");
    assert_eq!(release["chart"], "site-1.0.0");
}

#[test]
fn a_new_version_is_an_upgrade_and_the_same_again_is_nothing() {
    let mut scene = installed();
    let before = scene.web()["status"]["release"].clone();
    scene.cluster.chart_found(REPOSITORY, "site", "1.0.0", &archive("1.0.0", &[]));
    scene.settle();
    assert_eq!(scene.writes(), Vec::<String>::new());
    scene.cluster.chart_found(
        REPOSITORY,
        "site",
        "1.1.0",
        &archive(
            "1.1.0",
            &[("values.yaml", "image: new\nextra: true\nhooks: {}\nbroken: false\npassword: x\n")],
        ),
    );
    scene.settle();
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
    assert!(scene.get(&scene.extra()).is_some());
    let release = &scene.web()["status"]["release"];
    assert_eq!((&release["chartVersion"], &release["revision"]), (&json!("1.1.0"), &json!(2)));
    assert_ne!(release["chartDigest"], before["chartDigest"]);
}

#[test]
fn what_is_deployed_says_what_it_was_made_from_while_a_newer_chart_fails() {
    let mut scene = installed();
    let before = scene.web()["status"]["release"].clone();
    scene.cluster.chart_found(
        REPOSITORY,
        "site",
        "1.1.0",
        &archive("1.1.0", &[("templates/broken.yaml", "{{ fail \"no\" }}")]),
    );
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    says(&scene, "Irreconcilable", "True", "ReconcileError", "no");
    says(&scene, "ChartReady", "True", "Fetched", "site 1.1.0");
    assert_eq!(scene.web()["status"]["release"], before);
    assert!(is_back(&mut scene));
}

#[test]
fn a_source_that_fails_is_told_and_harms_nothing() {
    let mut scene = installed();
    scene.cluster.chart_trouble(
        REPOSITORY,
        "site",
        "Unreachable",
        "503 Service Unavailable for https://r.example/v2/",
    );
    scene.settle();
    says(&scene, "Ready", "True", "Reconciled", "");
    says(
        &scene,
        "ChartReady",
        "False",
        "Unreachable",
        "503 Service Unavailable for https://r.example/v2/; version 1.0.0, fetched before, stays",
    );
    assert!(is_back(&mut scene));
    scene.set(&json!({"replicas": 5}));
    scene.settle();
    assert_eq!(scene.replicas(), Some(5), "new values go with the chart that is here");
    scene.cluster.chart_found(REPOSITORY, "site", "1.0.0", &archive("1.0.0", &[]));
    scene.settle();
    says(&scene, "ChartReady", "True", "Fetched", "site 1.0.0");
}

#[test]
fn a_host_without_its_cache_keeps_what_is_deployed_and_waits_only_with_what_is_new() {
    let mut scene = installed();
    scene.cluster.chart_lost(REPOSITORY, "site");
    scene.runner.restart();
    scene.settle();
    says(&scene, "Ready", "True", "Reconciled", "");
    says(&scene, "ChartReady", "False", "WaitingForChart", "fetching site");
    assert_eq!(scene.writes().len(), 0, "{:?}", scene.writes());
    assert!(is_back(&mut scene));
    scene.come_up();
    scene.set(&json!({"replicas": 5}));
    scene.settle();
    says(&scene, "Ready", "False", "WaitingForChart", "fetching site");
    assert_eq!(scene.replicas(), Some(2));
    assert!(is_back(&mut scene));
    scene.settle();
    says(&scene, "Ready", "False", "WaitingForChart", "");
    scene.cluster.chart_found(REPOSITORY, "site", "1.0.0", &archive("1.0.0", &[]));
    scene.settle();
    assert_eq!((scene.replicas(), scene.statuses()), (Some(5), vec!["superseded", "deployed"]));
}

#[test]
fn a_failure_that_was_told_is_not_forgotten_while_the_chart_is_away() {
    let mut scene = installed();
    scene.set(&json!({"broken": true}));
    scene.settle();
    says(&scene, "Irreconcilable", "True", "ReconcileError", "");
    scene.cluster.chart_lost(REPOSITORY, "site");
    scene.settle();
    says(&scene, "Ready", "False", "WaitingForChart", "fetching site");
    says(&scene, "Irreconcilable", "True", "ReconcileError", "");
}

#[test]
fn what_may_not_be_fetched_is_told_with_who_says_so() {
    let mut scene = scene(&json!({}));
    scene.cluster.deny_chart(REPOSITORY, "site");
    scene.settle();
    says(&scene, "ChartReady", "False", "ChartDenied", "oci://r.example/charts/site may not be fetched");
    says(&scene, "Irreconcilable", "True", "ReconcileError", "may not be fetched");
    assert!(scene.history().is_empty());
}

#[test]
fn credentials_are_named_and_waited_for_and_not_read() {
    let mut scene = scene(&json!({"secretRef": {"name": "login"}}));
    scene.settle();
    says(&scene, "Ready", "False", "WaitingForChart", "Secret shop/login is not there");
    says(&scene, "ChartReady", "False", "InvalidCredentials", "Secret shop/login is not there");
    scene.cluster.chart_found(REPOSITORY, "site", "1.0.0", &archive("1.0.0", &[]));
    scene.cluster.create([json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": NAMESPACE}, "data": {"password": "aHVudGVyMg=="}})]).unwrap();
    scene.settle();
    assert_eq!(scene.statuses(), ["deployed"]);
    let secret = ObjectRef::new(Gvk::new("", "v1", "Secret"), NAMESPACE, "login");
    let read = scene.cluster.calls().into_iter().any(|call| call.object == secret);
    assert!(!read, "that is the host's affair");
    let wishes = scene.cluster.chart_wishes().len();
    let patch = Patch::merge(&json!({"data": {"password": "bmV3"}})).unwrap();
    scene.cluster.kubectl().patch_ref::<Value>(&secret, &patch).unwrap();
    scene.settle();
    assert!(scene.cluster.chart_wishes().len() > wishes, "a changed Secret calls who has it");
}

#[test]
fn an_archive_that_is_none_is_told_and_the_next_one_heals_it() {
    let mut scene = installed();
    scene.cluster.chart_found(REPOSITORY, "site", "1.1.0", &[0x1f, 0x8b, 1, 2]);
    scene.settle();
    says(
        &scene,
        "ChartReady",
        "False",
        "InvalidChart",
        "failed to load chart oci://r.example/charts/site:1.1.0: ",
    );
    says(&scene, "Irreconcilable", "True", "ReconcileError", "failed to load chart");
    assert!(is_back(&mut scene));
    scene.cluster.chart_found(REPOSITORY, "site", "1.2.0", &archive("1.2.0", &[]));
    scene.settle();
    assert!(scene.condition("Irreconcilable").is_none());
    assert_eq!(scene.statuses(), ["superseded", "deployed"]);
}

#[test]
fn dependencies_that_are_not_packed_are_told_in_helms_words() {
    let mut scene = scene(&json!({}));
    let about = "apiVersion: v2\nname: site\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0, repository: 'https://x.example'}]\n";
    let files = chart(&[("Chart.yaml", about)]);
    let files: Vec<_> =
        files.into_iter().map(|(path, text)| (format!("site/{path}"), text.into_bytes())).collect();
    scene.cluster.chart_found(REPOSITORY, "site", "1.0.0", &write_archive(&files, 0).unwrap());
    scene.settle();
    says(&scene, "ReleaseFailed", "True", "InstallError", "missing in charts/ directory: db");
}

#[test]
fn a_release_goes_although_its_chart_is_away() {
    let mut scene = installed();
    scene.cluster.chart_lost(REPOSITORY, "site");
    scene.runner.restart();
    scene.settle();
    scene.delete();
    scene.settle();
    assert_eq!(scene.objects(), Vec::<String>::new());
    assert!(scene.get(&scene.object()).is_none());
}

#[test]
fn at_rest_nothing_is_asked_and_nothing_written() {
    let mut scene = installed();
    scene.run_for(3000);
    let asked: Vec<String> = scene.cluster.calls().iter().map(ToString::to_string).collect();
    assert_eq!(scene.writes(), Vec::<String>::new(), "{asked:?}");
}

#[test]
fn a_rollback_says_which_chart_it_goes_back_to() {
    let mut scene = installed();
    let first = scene.web()["status"]["release"].clone();
    scene.cluster.chart_found(
        REPOSITORY,
        "site",
        "1.1.0",
        &archive(
            "1.1.0",
            &[("values.yaml", "image: new\nextra: true\nhooks: {}\nbroken: false\npassword: x\n")],
        ),
    );
    scene.settle();
    scene.ask("rollback-to", "1");
    scene.settle();
    let release = scene.web()["status"]["release"].clone();
    assert_eq!((&release["revision"], &release["chartVersion"]), (&json!(3), &json!("1.0.0")));
    assert_eq!(release["chartDigest"], first["chartDigest"]);
}
