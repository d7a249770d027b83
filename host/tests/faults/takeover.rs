//! Releases that other tools made are taken over in place.

use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::Place;
use crate::proxy::Proxy;

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
