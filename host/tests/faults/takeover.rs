//! Releases that other tools made are taken over in place.

use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::Place;
use crate::proxy::Proxy;
use crate::release::small;

#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_tool_wrote_goes_when_the_release_does_not_have_it_any_more() {
    let Some(bench) = Bench::new("takeover").await else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(&bench.namespace, &proxy.kubeconfig());
    let chart = place.path("project/helm-charts/player-stats").display().to_string();
    // As Helm 3 and operator-sdk do it: no server-side apply.
    let values = "store.persistence.enabled=false,resources.limits.cpu=1";
    bench.helm(&["install", "game", &chart, "--server-side=false", "--set", values]).await.unwrap();
    let uid = bench.object("deployments", "game-player-stats").await.unwrap()["metadata"]["uid"].clone();
    let host = place.start();
    host.await_ready().await;
    bench.make("player-stats", "game", json!({"store": {"persistence": {"enabled": false}}})).await;
    bench.await_revisions("game", &[(1, "superseded"), (2, "deployed")]).await;
    await_that("the limit is gone", async || {
        let deployment = bench.object("deployments", "game-player-stats").await?;
        assert_eq!(deployment["metadata"]["uid"], uid, "it was made anew");
        let limits = deployment.pointer("/spec/template/spec/containers/0/resources/limits").cloned();
        if limits.is_none() { Ok(()) } else { Err(format!("it is {limits:?}")) }
    })
    .await;
    let fields = bench.object("deployments", "game-player-stats").await.unwrap();
    let fields = fields["metadata"]["managedFields"].clone();
    let is_left = |entry: &Value| {
        entry["manager"] == "helm" && entry["operation"] == "Update" && entry.get("subresource").is_none()
    };
    assert!(!fields.as_array().unwrap().iter().any(is_left), "{fields}");
}

impl Bench {
    /// Messages of events with this reason.
    pub(crate) async fn told(&self, reason: &str) -> Vec<String> {
        let events = self.get(&self.path("events", "")).await.unwrap();
        let events = events["items"].as_array().cloned().unwrap_or_default();
        let events = events.iter().filter(|event| event["reason"] == reason);
        events.map(|event| event["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits for an event with this reason whose message has the words.
    pub(crate) async fn await_told(&self, reason: &str, words: &str) {
        await_that(format!("an event {reason} says {words:?}"), async || {
            let told = self.told(reason).await;
            if told.iter().any(|message| message.contains(words)) { Ok(()) } else { Err(format!("{told:?}")) }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_a_field_taken_away_is_named_and_a_second_request_is_made_only_then() {
    let Some(bench) = Bench::new("conflicts").await else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(&bench.namespace, &proxy.kubeconfig());
    let host = place.start();
    host.await_ready().await;
    bench.make("player-stats", "game", small(1)).await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    proxy.settle().await;
    let applies = |proxy: &Proxy| {
        let asked = proxy.seen(|asked| asked.method == "PATCH" && asked.path.contains("/deployments/"));
        asked.iter().map(|asked| asked.path.contains("force=true")).collect::<Vec<_>>()
    };
    proxy.forget();
    bench
        .kubectl(&["scale", "deployment/game-player-stats", "--replicas=4", "--namespace", &bench.namespace])
        .await
        .unwrap();
    bench.await_replicas("game-player-stats", 1).await;
    bench
        .await_told("DriftCorrected", "Deployment conflicts/game-player-stats (kubectl: .spec.replicas)")
        .await;
    proxy.settle().await;
    assert_eq!(applies(&proxy).last(), Some(&true), "{}", proxy.tally());

    // A deleted field is in nobody's way.
    proxy.forget();
    let label = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}});
    bench.merge(&bench.path("deployments", "game-player-stats"), &label).await;
    await_that("the label is back", async || {
        let deployment = bench.object("deployments", "game-player-stats").await?;
        let label = deployment["metadata"]["labels"]["app.kubernetes.io/managed-by"].clone();
        if label == "Helm" { Ok(()) } else { Err(label.to_string()) }
    })
    .await;
    proxy.settle().await;
    assert!(!applies(&proxy).contains(&true), "{}", proxy.tally());

    // Another applier's field, until a revision of the chart has it too.
    let label = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "game-player-stats", "namespace": bench.namespace, "labels": {"tier": "front"}}});
    std::fs::write(place.path("label.json"), label.to_string()).unwrap();
    let file = place.path("label.json").display().to_string();
    bench.kubectl(&["apply", "--server-side", "--field-manager=painter", "-f", &file]).await.unwrap();
    let template = place.project("helm-charts/player-stats/templates/deployment.yaml");
    let text = std::fs::read_to_string(&template).unwrap();
    let (head, tail) = text.split_once("  labels:\n").unwrap();
    std::fs::write(&template, format!("{head}  labels:\n    tier: back\n{tail}")).unwrap();
    let says = "revision 2 took fields of others over: apps/v1 Deployment conflicts/game-player-stats (painter: .metadata.labels.tier)";
    bench.await_told("FieldsTakenOver", says).await;
}
