//! Strict mode on a real API server: what others add goes, what is not theirs to add or ours to take stays.

use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::{Host, Place};
use crate::proxy::Proxy;
use crate::release::small;
use crate::rest::is_asked;

const SETTINGS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-settings\ndata:\n  colour: red\n";

const SCALER: &str = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  maxReplicas: 9\n  \
                      scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ .Release.Name }}-player-stats}\n";

const WATCHES: &str = "- group: charts.example.com\n  version: v1alpha1\n  kind: Player-stats\n  chart: helm-charts/player-stats\n  \
                       release:\n    driftDetection:\n      mode: strict\n      ignore:\n      - paths: [/metadata/annotations/a~1note]\n";

const DEPLOYMENT: &str = "game-player-stats";

async fn start(namespace: &str) -> Option<(Bench, Proxy, Place, Host)> {
    let bench = Bench::new(namespace).await?;
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(namespace, &proxy.kubeconfig());
    std::fs::write(place.project("watches.yaml"), WATCHES).unwrap();
    for (name, text) in [("settings", SETTINGS), ("scaler", SCALER)] {
        std::fs::write(place.project(&format!("helm-charts/player-stats/templates/{name}.yaml")), text)
            .unwrap();
    }
    let host = place.start();
    host.await_ready().await;
    bench.make("player-stats", "game", small(1)).await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    Some((bench, proxy, place, host))
}

impl Bench {
    async fn in_namespace(&self, arguments: &[&str]) {
        let namespace = format!("--namespace={}", self.namespace);
        self.kubectl(&[arguments, &[&namespace]].concat()).await.unwrap();
    }

    /// Waits until there is nothing at a place of an object.
    async fn await_gone(&self, resource: &str, name: &str, pointer: &str) {
        await_that(format!("{resource}/{name} has no {pointer}"), async || {
            match self.object(resource, name).await?.pointer(pointer) {
                None => Ok(()),
                Some(there) => Err(format!("it has {there}")),
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_add_goes_and_at_rest_nothing_is_asked() {
    let Some((bench, proxy, _place, host)) = start("strict").await else { return };
    proxy.settle().await;

    bench.merge(&bench.path("configmaps", "game-settings"), &json!({"data": {"size": "xl"}})).await;
    bench.await_gone("configmaps", "game-settings", "/data/size").await;
    let settings = bench.object("configmaps", "game-settings").await.unwrap();
    assert_eq!(settings["data"], json!({"colour": "red"}));

    let deployment = format!("deployment/{DEPLOYMENT}");
    bench.in_namespace(&["label", &deployment, "tier=front"]).await;
    bench.await_gone("deployments", DEPLOYMENT, "/metadata/labels/tier").await;
    bench.await_told("DriftCorrected", "(kubectl-label: .metadata.labels.tier)").await;

    bench.in_namespace(&["set", "env", &deployment, "DEBUG=1"]).await;
    let restarted = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";
    bench.in_namespace(&["rollout", "restart", &deployment]).await;
    bench.await_gone("deployments", DEPLOYMENT, restarted).await;
    await_that("the variable is gone", async || {
        let template = bench.object("deployments", DEPLOYMENT).await?["spec"]["template"].to_string();
        if template.contains("DEBUG") { Err(template) } else { Ok(()) }
    })
    .await;

    // Another applier, whose whole text is an addition.
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "game-settings", "namespace": bench.namespace, "annotations": {"painter": "x"}}, "data": {"shape": "round"}});
    let path = format!("{}?fieldManager=painter", bench.path("configmaps", "game-settings"));
    bench.ask(http::Method::PATCH, &path, "application/apply-patch+yaml", &applied).await.unwrap();
    bench.await_gone("configmaps", "game-settings", "/data/shape").await;
    bench.await_gone("configmaps", "game-settings", "/metadata/annotations/painter").await;

    // The Deployment's controller notes on it which revision it is, each time.
    await_that("the Deployment's controller is through", async || {
        let deployment = bench.object("deployments", DEPLOYMENT).await?;
        let seen = &deployment["status"]["observedGeneration"];
        if *seen == deployment["metadata"]["generation"] { Ok(()) } else { Err(seen.to_string()) }
    })
    .await;
    bench.touch(&host, "game", "once more").await;
    proxy.settle().await;
    proxy.forget();
    for value in ["a", "b", "c"] {
        bench.touch(&host, "game", value).await;
    }
    // Events of what was corrected may come a little later.
    let asked: Vec<String> = proxy
        .seen(|asked| is_asked(asked) && !asked.path.ends_with("/events"))
        .iter()
        .map(|asked| format!("{} {}", asked.method, asked.path))
        .collect();
    assert_eq!(asked, [""; 0], "nothing was to be asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kubernetes_or_an_autoscaler_wrote_and_what_a_rule_names_stays() {
    let Some((bench, proxy, place, host)) = start("strict-stays").await else { return };
    let revision = "/metadata/annotations/deployment.kubernetes.io~1revision";
    await_that("the Deployment's controller was there", async || {
        let deployment = bench.object("deployments", DEPLOYMENT).await?;
        let there = deployment.pointer(revision).is_some()
            && deployment.pointer("/status/observedGeneration").is_some();
        if there { Ok(()) } else { Err(deployment["status"].to_string()) }
    })
    .await;
    bench.in_namespace(&["scale", &format!("deployment/{DEPLOYMENT}"), "--replicas=4"]).await;
    bench
        .in_namespace(&["annotate", &format!("deployment/{DEPLOYMENT}"), "a/note=mine", "b/note=gone"])
        .await;
    bench.await_gone("deployments", DEPLOYMENT, "/metadata/annotations/b~1note").await;
    let status = json!({"status": {"conditions": [{"type": "Exposed", "status": "True", "reason": "Told", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    bench.merge(&format!("{}/status", bench.path("services", DEPLOYMENT)), &status).await;
    proxy.settle().await;
    bench.touch(&host, "game", "once").await;
    proxy.settle().await;
    let check = async || {
        let deployment = bench.object("deployments", DEPLOYMENT).await.unwrap();
        assert_eq!(deployment["spec"]["replicas"], 4, "{deployment}");
        assert!(deployment.pointer(revision).is_some());
        assert_eq!(deployment["metadata"]["annotations"]["a/note"], "mine");
        assert!(deployment.pointer("/status/observedGeneration").and_then(Value::as_u64).is_some());
        let service = bench.object("services", DEPLOYMENT).await.unwrap();
        assert_eq!(service["status"]["conditions"][0]["type"], "Exposed");
        assert!(service["spec"]["clusterIP"].is_string(), "defaults are nobody's");
    };
    check().await;
    proxy.forget();
    bench.touch(&host, "game", "twice").await;
    assert_eq!(proxy.seen(is_asked).len(), 0, "{}", proxy.tally());

    // Whoever comes next applies everything once, changes nothing, and rests as well.
    host.kill();
    proxy.forget();
    let host = place.start();
    host.await_ready().await;
    bench.touch(&host, "game", "third").await;
    proxy.settle().await;
    check().await;
    proxy.forget();
    bench.touch(&host, "game", "fourth").await;
    assert_eq!(proxy.seen(is_asked).len(), 0, "{}", proxy.tally());
}
