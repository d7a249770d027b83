//! Values that a chart refuses, told in Helm's own words.

use serde_json::{Value, json};

use crate::bench::Bench;
use crate::host::{Host, Place};
use crate::release::small;
use crate::watches_file::gone;

const SCHEMA: &str = r#"{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "properties": {
    "replicaCount": { "type": "integer", "minimum": 0, "maximum": 5 },
    "service": { "type": "object", "properties": { "port": { "type": "integer" } } }
  }
}
"#;

async fn start(namespace: &str) -> Option<(Bench, Place, Host)> {
    let bench = Bench::new(namespace).await?;
    let place = Place::with_project(namespace, &bench.cluster.kubeconfig_text().unwrap());
    std::fs::write(place.project("helm-charts/player-stats/values.schema.json"), SCHEMA).unwrap();
    let host = place.start();
    Some((bench, place, host))
}

/// What the real helm says to these values: the part after `Error: `, without what a terminal adds.
async fn words_of_helm(bench: &Bench, place: &Place, values: &Value) -> String {
    let file = place.path("values.json");
    std::fs::write(&file, values.to_string()).unwrap();
    let (chart, file) = (place.project("helm-charts/player-stats"), file.display().to_string());
    let refused = bench
        .helm(&["template", "release", &chart.display().to_string(), "--values", &file])
        .await
        .unwrap_err();
    let text = refused.split_once("Error: ").unwrap().1;
    text.split("\n\nUse --debug").next().unwrap().trim().to_owned()
}

fn with(values: Value, more: Value) -> Value {
    let mut values = values;
    values.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    values
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_break_the_schema_are_told_in_helms_words_and_the_release_stays_as_it_is() {
    let Some((bench, place, _host)) = start("values-schema").await else { return };
    bench.make("player-stats", "schema", small(1)).await;
    bench.await_revisions("schema", &[(1, "deployed")]).await;
    let before = bench.object("deployments", "schema-player-stats").await.unwrap();
    for wrong in [
        json!({"replicaCount": "many"}),
        json!({"replicaCount": 6}),
        json!({"replicaCount": 1.5, "service": {"port": "http"}}),
    ] {
        let values = with(small(1), wrong.clone());
        let words = words_of_helm(&bench, &place, &values).await;
        bench.respec("player-stats", "schema", wrong).await;
        // Helm tells the faults of one schema in an order of chance.
        let lines: Vec<&str> = words.lines().collect();
        bench.await_condition("player-stats", "schema", ("Irreconcilable", "True"), &lines).await;
    }
    let after = bench.object("deployments", "schema-player-stats").await.unwrap();
    // Kubernetes' own controller writes its status at any time.
    let writers = |object: &Value| -> Vec<Value> {
        let all = object["metadata"]["managedFields"].as_array().unwrap().iter();
        all.filter(|entry| entry["manager"] != "kube-controller-manager").cloned().collect()
    };
    assert_eq!((&after["spec"], writers(&after)), (&before["spec"], writers(&before)));
    assert_eq!(bench.history("schema").await, [(1, "deployed".to_owned())]);
    bench.await_condition("player-stats", "schema", ("Deployed", "True"), &[]).await;

    bench.respec("player-stats", "schema", json!({"replicaCount": 2, "service": null})).await;
    bench.await_revisions("schema", &[(1, "superseded"), (2, "deployed")]).await;
    gone(&bench, "player-stats", "schema", "Irreconcilable").await;
    bench.await_condition("player-stats", "schema", ("Deployed", "True"), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_break_the_template_are_told_in_helms_words_and_heal_when_mended() {
    let Some((bench, place, _host)) = start("values-template").await else { return };
    let wrong = json!({"service": {"type": "Wrong", "port": 80}});
    let words = words_of_helm(&bench, &place, &with(small(1), wrong.clone())).await;
    // A release that never was: nothing is stored for it.
    bench.make("player-stats", "never", with(small(1), wrong.clone())).await;
    bench
        .await_condition("player-stats", "never", ("ReleaseFailed", "True"), &["InstallError", &words])
        .await;
    assert_eq!(bench.revisions("never").await, []);
    bench.respec("player-stats", "never", json!({"service": {"type": "ClusterIP"}})).await;
    bench.await_revisions("never", &[(1, "deployed")]).await;
    gone(&bench, "player-stats", "never", "ReleaseFailed").await;

    // A release that is there: it stays.
    bench.respec("player-stats", "never", wrong).await;
    bench.await_condition("player-stats", "never", ("Irreconcilable", "True"), &[&words]).await;
    assert_eq!(bench.history("never").await, [(1, "deployed".to_owned())]);
    bench.respec("player-stats", "never", json!({"service": {"type": "ClusterIP", "port": 81}})).await;
    bench.await_revisions("never", &[(1, "superseded"), (2, "deployed")]).await;
    let service = bench.object("services", "never-player-stats").await.unwrap();
    assert_eq!(service["spec"]["ports"][0]["port"], 81);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deployed_is_kept_repaired_while_its_values_are_wrong() {
    let Some((bench, _place, _host)) = start("values-drift").await else { return };
    bench.make("player-stats", "drift", small(2)).await;
    bench.await_revisions("drift", &[(1, "deployed")]).await;
    bench.respec("player-stats", "drift", json!({"replicaCount": "many"})).await;
    bench.await_condition("player-stats", "drift", ("Irreconcilable", "True"), &["replicaCount"]).await;
    let path = bench.path("deployments", "drift-player-stats");
    bench.merge(&path, &json!({"spec": {"replicas": 4}})).await;
    bench.await_replicas("drift-player-stats", 2).await;
}
