//! Dependents that no watch of the host's namespaces sees: changed where they drifted, and left alone where they did not.

use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::Place;
use crate::proxy::{Asked, Proxy};
use crate::release::small;

const DEPLOYMENT: &str = "game-player-stats";

/// A write of an object: no event, no status of the owner, where what Kubernetes says of dependents may come late.
fn is_write(asked: &Asked) -> bool {
    let path = asked.path.split('?').next().unwrap_or_default();
    asked.writes() && !path.ends_with("/events") && !path.ends_with("/status")
}

fn written(proxy: &Proxy) -> Vec<String> {
    proxy.seen(is_write).iter().map(|asked| format!("{} {}", asked.method, asked.path)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn dependents_that_are_not_watched_are_written_only_when_they_drifted() {
    let Some(bench) = Bench::new("unwatched").await else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(&bench.namespace, &proxy.kubeconfig());
    let entry = "- group: charts.example.com\n  version: v1alpha1\n  kind: Player-stats\n  chart: helm-charts/player-stats\n  \
                 watchDependentResources: false\n";
    std::fs::write(place.project("watches.yaml"), entry).unwrap();
    let mut host = place.start();
    host.await_ready().await;
    bench.make("player-stats", "game", small(1)).await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    for start in ["the one that installed it", "the one after"] {
        bench.touch(&host, "game", &format!("{start} settles")).await;
        proxy.settle().await;
        // Two looks: what the first says must not be what the second undoes.
        for look in ["first", "second"] {
            proxy.forget();
            bench.touch(&host, "game", &format!("{start}, {look}")).await;
            proxy.settle().await;
            // The touch itself does not go through the proxy.
            assert_eq!(written(&proxy), [""; 0], "{start}, {look} look");
        }
        assert_eq!(bench.told("DriftCorrected").await, [""; 0], "{start}");
        host.kill();
        host = place.start();
        host.await_ready().await;
    }
    let scaled = json!({"spec": {"replicas": 7}});
    bench.merge(&bench.path("deployments", DEPLOYMENT), &scaled).await;
    bench.touch(&host, "game", "now it drifted").await;
    bench.await_replicas(DEPLOYMENT, 1).await;
    bench.await_told("DriftCorrected", &format!("Deployment unwatched/{DEPLOYMENT}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_seen_in_namespaces_other_than_those_whose_objects_are_watched() {
    let (Some(bench), Some(_)) = (Bench::new("home").await, Bench::new("abroad").await) else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(&bench.namespace, &proxy.kubeconfig());
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-abroad\n  namespace: abroad\n\
               data:\n  colour: red\n";
    std::fs::write(place.project("helm-charts/player-stats/templates/abroad.yaml"), map).unwrap();
    let host = place.start();
    host.await_ready().await;
    bench.make("player-stats", "game", small(1)).await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    let path = "/api/v1/namespaces/abroad/configmaps/game-abroad";
    bench.touch(&host, "game", "settles").await;
    proxy.settle().await;
    proxy.forget();
    bench.touch(&host, "game", "once").await;
    proxy.settle().await;
    assert_eq!(written(&proxy), [""; 0]);
    assert_eq!(bench.told("DriftCorrected").await, [""; 0]);
    bench.merge(path, &json!({"data": {"colour": "blue"}})).await;
    await_that("its colour is red again", async || {
        let map = bench.get(path).await?;
        if map["data"]["colour"] == "red" { Ok(()) } else { Err(map["data"].to_string()) }
    })
    .await;
    bench.delete(path).await;
    await_that("it is there again", async || bench.get(path).await.map(|_: Value| ())).await;
}
