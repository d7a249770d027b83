//! What plugins may not do, and what they do that nobody may: told on the object, and nobody else is harmed.

use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::{Host, Place};

/// A host with `misbehave`, granted ConfigMaps of its own namespace, and `hello`.
async fn start(namespace: &str) -> Option<(Bench, Place, Host)> {
    let bench = Bench::new(namespace).await?;
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let place = Place::new(namespace, &kubeconfig, &["hello.wasm", "misbehave.wasm"]);
    let rule = json!({
        "apiGroups": ["*"], "resources": ["configmaps", "secrets"], "verbs": ["*"], "namespaces": [namespace],
    });
    let grants = json!({"plugins": {"misbehave": {"kube": [rule]}, "hello": {"allRequested": true}}});
    std::fs::write(place.path("grants.yaml"), grants.to_string()).unwrap();
    let place = {
        let file = place.path("grants.yaml").display().to_string();
        place.with(format!("--grants={file}"))
    };
    let host = place.start();
    Some((bench, place, host))
}

fn object(api_version: &str, kind: &str, namespace: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "child", "namespace": namespace}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_beyond_the_grants_is_refused_by_name_and_nothing_is_written() {
    let Some((bench, _place, _host)) = start("rights-children").await else { return };
    let cases = [
        ("abroad", object("v1", "ConfigMap", "default"), ["patch configmaps", "default/child", "grants"]),
        ("unasked", object("v1", "Secret", &bench.namespace), ["patch secrets", "/child", "manifest"]),
        (
            "group",
            object("apps/v1", "Deployment", &bench.namespace),
            ["patch deployments", "/child", "manifest"],
        ),
    ];
    for (name, child, words) in cases {
        bench.make("misbehaves", name, json!({"do": "children", "objects": [child]})).await;
        bench.await_condition("misbehaves", name, ("Ready", "False"), &words).await;
        bench.await_condition("misbehaves", name, ("Ready", "False"), &["Forbidden", "misbehave"]).await;
    }
    for path in ["/api/v1/namespaces/default/configmaps/child".to_owned(), bench.path("secrets", "child")] {
        assert!(bench.get(&path).await.unwrap_err().contains("not found"), "{path}");
    }
    // What it may do, it does, also for the object that was refused before.
    let fine = object("v1", "ConfigMap", &bench.namespace);
    bench.respec("misbehaves", "abroad", json!({"objects": [fine]})).await;
    bench.await_condition("misbehaves", "abroad", ("Ready", "True"), &[]).await;
    bench.object("configmaps", "child").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_beyond_the_grants_is_denied_to_the_plugin_itself() {
    let Some((bench, _place, _host)) = start("rights-apply").await else { return };
    let objects = [
        object("v1", "ConfigMap", "default"),
        object("v1", "Secret", &bench.namespace),
        object("rbac.authorization.k8s.io/v1", "Role", &bench.namespace),
        object("v1", "ConfigMap", &bench.namespace),
    ];
    bench.make("misbehaves", "apply", json!({"do": "apply", "objects": objects})).await;
    let answers = await_that("the plugin says what it was told", async || {
        let object = bench.object("misbehaves", "apply").await?;
        let answers = object.pointer("/status/answers").and_then(Value::as_array).cloned();
        answers.ok_or_else(|| object["status"].to_string())
    });
    let answers: Vec<String> = answers.await.0.iter().map(ToString::to_string).collect();
    for (answer, words) in answers.iter().zip([
        ["Denied", "patch", "configmaps", "grants"],
        ["Denied", "patch", "secrets", "manifest"],
        ["Denied", "patch", "roles", "manifest"],
        ["Ok", "Applied", "uid", ""],
    ]) {
        let lower = answer.to_lowercase();
        assert!(words.iter().all(|word| lower.contains(&word.to_lowercase())), "{answer} without {words:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_without_any_grant_may_nothing_and_says_so() {
    let Some(bench) = Bench::new("rights-none").await else { return };
    let place = Place::new(&bench.namespace, &bench.cluster.kubeconfig_text().unwrap(), &["hello.wasm"]);
    let _host = place.start();
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 1})).await;
    bench
        .await_condition("hellos", "web", ("Ready", "False"), &["Forbidden", "get", "deployments", "grant"])
        .await;
    assert!(bench.object("deployments", "web").await.unwrap_err().contains("not found"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_misdeed_stands_on_its_object_with_plugin_and_revision_and_harms_nobody_else() {
    let Some((bench, _place, host)) = start("rights-misdeeds").await else { return };
    let misdeeds = [
        ("trap", "PluginTrapped"),
        ("loop", "PluginCpuExceeded"),
        ("allocate", "PluginMemoryExceeded"),
        ("recurse", "PluginTrapped"),
        ("bad-status", "PluginAnswerInvalid"),
        ("bad-child", "PluginAnswerInvalid"),
        ("large-answer", "PluginAnswerInvalid"),
    ];
    for (what, _) in misdeeds {
        bench.make("misbehaves", what, json!({"do": what})).await;
    }
    bench.make("misbehaves", "nameless", json!({"do": "children", "objects": [{"kind": "ConfigMap"}]})).await;
    bench.make("misbehaves", "log-flood", json!({"do": "log-flood"})).await;
    for (what, reason) in misdeeds {
        bench.await_condition("misbehaves", what, ("Ready", "False"), &[reason, "misbehave 0.1.0 ("]).await;
    }
    let words = ["PluginAnswerInvalid", "misbehave 0.1.0 (", "children[0]"];
    bench.await_condition("misbehaves", "nameless", ("Ready", "False"), &words).await;
    assert!(host.metric("pilothouse_plugin_faults_total", &["misbehave"]).await >= 7.0);
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 2})).await;
    bench.await_replicas("web", 2).await;
    assert_eq!(host.metric("pilothouse_plugin_faults_total", &["hello"]).await, 0.0);
    assert_eq!(host.ready().await, Ok(()));
    // Mended, an object is served at once, whatever it did before.
    bench.respec("misbehaves", "trap", json!({"do": "nothing"})).await;
    bench.await_condition("misbehaves", "trap", ("Ready", "True"), &[]).await;
}
