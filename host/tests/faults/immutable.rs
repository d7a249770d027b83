//! Fields that a real API server does not let anybody change.

use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::Place;
use crate::release::small;

/// Each of them refuses in words of its own.
const FIXED: &str = "apiVersion: v1
kind: ConfigMap
metadata: { name: fixed }
immutable: true
data: { colour: {{ .Values.colour }} }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: fixed }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Values.colour }} }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: fixed }
spec:
  replicas: 0
  selector: { matchLabels: { colour: {{ .Values.colour }} } }
  template:
    metadata: { labels: { colour: {{ .Values.colour }} } }
    spec: { containers: [{ name: one, image: busybox }] }
";
const KINDS: [&str; 3] = ["configmaps", "rolebindings", "deployments"];

impl Bench {
    async fn uids(&self) -> Vec<Value> {
        let mut uids = Vec::new();
        for kind in KINDS {
            uids.push(self.object(kind, "fixed").await.unwrap()["metadata"]["uid"].clone());
        }
        uids
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_changed_is_told_and_made_anew_by_force() {
    let Some(bench) = Bench::new("immutable").await else { return };
    let place = Place::with_project(&bench.namespace, &bench.cluster.kubeconfig_text().unwrap());
    std::fs::write(place.project("helm-charts/player-stats/templates/fixed.yaml"), FIXED).unwrap();
    let _host = place.start();
    let mut values = small(1);
    values["colour"] = json!("red");
    bench.make("player-stats", "web", values).await;
    bench.await_revisions("web", &[(1, "deployed")]).await;
    let before = bench.uids().await;

    bench.respec("player-stats", "web", json!({"colour": "blue"})).await;
    let words = ["UpgradeError", "immutable"];
    bench.await_condition("player-stats", "web", ("ReleaseFailed", "True"), &words).await;
    assert_eq!(bench.history("web").await, [(1, "deployed".to_owned())]);
    assert_eq!(bench.uids().await, before, "nothing of the release was touched");

    let force = json!({"metadata": {"annotations": {"helm.sdk.operatorframework.io/upgrade-force": "true"}}});
    bench.merge(&bench.path("player-stats", "web"), &force).await;
    bench.await_revisions("web", &[(1, "superseded"), (2, "deployed")]).await;
    let after = bench.uids().await;
    assert!(before.iter().zip(&after).all(|(before, after)| before != after), "{before:?} {after:?}");
    await_that("all are what was asked for", async || {
        let map = bench.object("configmaps", "fixed").await?["data"]["colour"].clone();
        let role = bench.object("rolebindings", "fixed").await?["roleRef"]["name"].clone();
        let labels = bench.object("deployments", "fixed").await?["spec"]["selector"]["matchLabels"].clone();
        let seen = json!([map, role, labels]);
        if seen == json!(["blue", "blue", {"colour": "blue"}]) { Ok(()) } else { Err(seen.to_string()) }
    })
    .await;
}
