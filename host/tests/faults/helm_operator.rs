//! The move from the real helm-operator and back: releases stay where they are, and pods run on.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use pilothouse_testbed::binaries::HELM_OPERATOR;
use pilothouse_testbed::progress::ToStderr;
use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::Place;
use crate::proxy::Proxy;
use crate::release::{small, with_backup};

/// What the sample's chart does not have: state, objects of the cluster, and what stays.
const MORE: &str = r#"apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ .Release.Name }}-store
spec:
  replicas: 0
  serviceName: {{ .Release.Name }}-store
  selector: { matchLabels: { app: store } }
  template:
    metadata: { labels: { app: store } }
    spec:
      containers: [{ name: store, image: "registry.example/store:1", resources: { limits: { cpu: 1000m, memory: 1024Mi } } }]
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .Release.Namespace }}-{{ .Release.Name }}
rules: [{ apiGroups: [""], resources: [pods], verbs: [get] }]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-kept
  annotations: { helm.sh/resource-policy: keep }
data: { made: "by {{ .Release.Name }}" }
"#;

/// A running helm-operator of a project; ends with the test, its log is printed when the test fails.
struct HelmOperator {
    child: Child,
    log: PathBuf,
}

impl HelmOperator {
    async fn start(bench: &Bench, place: &Place) -> Self {
        let program = tokio::task::spawn_blocking(|| HELM_OPERATOR.find(&ToStderr).unwrap()).await.unwrap();
        let log = place.path("helm-operator.log");
        let file = std::fs::File::options().create(true).append(true).open(&log).unwrap();
        let child = Command::new(program)
            .current_dir(place.path("project"))
            .args(["run", "--reconcile-period=2s", "--max-concurrent-reconciles=4"])
            .args(["--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .env("KUBECONFIG", bench.cluster.kubeconfig())
            .env("WATCH_NAMESPACE", &bench.namespace)
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Self { child, log }
    }
}

impl Drop for HelmOperator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let tail: Vec<&str> = log.lines().rev().take(40).collect();
            eprintln!("{}", tail.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
    }
}

impl Bench {
    /// What makes an object the one it was: its identity, and whether what its pods are made of was changed.
    async fn identities(&self, release: &str) -> BTreeMap<String, (Value, Value)> {
        let mut found = BTreeMap::new();
        let mut collections =
            vec![("clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterroles".to_owned())];
        for resource in ["deployments", "statefulsets", "services", "serviceaccounts", "configmaps"] {
            collections.push((resource, self.path(resource, "")));
        }
        for (resource, collection) in collections {
            let list = self.get(&collection).await.unwrap();
            for object in list["items"].as_array().into_iter().flatten() {
                let metadata = &object["metadata"];
                let is_of = |name: &str, value: &str| {
                    metadata["annotations"][format!("meta.helm.sh/{name}")] == value
                };
                if is_of("release-name", release) && is_of("release-namespace", &self.namespace) {
                    let template = object.pointer("/spec/template").cloned().unwrap_or_default();
                    let name = metadata["name"].as_str().unwrap();
                    found.insert(format!("{resource}/{name}"), (metadata["uid"].clone(), template));
                }
            }
        }
        found
    }

    async fn await_deployed(&self, release: &str) {
        self.await_condition("player-stats", release, ("Deployed", "True"), &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_of_the_real_helm_operator_are_taken_over_in_place_and_go_back() {
    let Some(bench) = Bench::new("moving").await else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(&bench.namespace, &proxy.kubeconfig());
    std::fs::write(place.project("helm-charts/player-stats/templates/more.yaml"), MORE).unwrap();

    let theirs = HelmOperator::start(&bench, &place).await;
    bench.make("player-stats", "game", small(1)).await;
    bench.await_deployed("game").await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    drop(theirs);
    let before = bench.identities("game").await;
    assert!(before.len() >= 6, "{before:?}");

    let host = place.start();
    host.await_ready().await;
    await_that("the release is taken over", async || {
        let status = bench.object("player-stats", "game").await?["status"].clone();
        if status["release"]["revision"] == 1 { Ok(()) } else { Err(format!("it says {status}")) }
    })
    .await;
    assert_eq!(bench.history("game").await, [(1, "deployed".to_owned())]);
    assert_eq!(bench.identities("game").await, before, "something was made anew or its pods were changed");
    bench.respec("player-stats", "game", json!({"replicaCount": 2})).await;
    bench.await_revisions("game", &[(1, "superseded"), (2, "deployed")]).await;
    bench.await_replicas("game-player-stats", 2).await;
    assert_eq!(bench.identities("game").await, before);
    bench.make("player-stats", "made-here", small(1)).await;
    bench.await_revisions("made-here", &[(1, "deployed")]).await;
    bench.await_condition("player-stats", "made-here", ("Deployed", "True"), &[]).await;
    let made_here = bench.identities("made-here").await;
    drop(host);

    let _theirs = HelmOperator::start(&bench, &place).await;
    for (release, replicas) in [("game", 2), ("made-here", 1)] {
        // Drift that it repairs: then it has looked at the release. Helm 3 spells manifests another way than Helm 4, so that it
        // first makes the same once more, as the next revision.
        let deployment = format!("{release}-player-stats");
        bench.merge(&bench.path("deployments", &deployment), &json!({"spec": {"replicas": 7}})).await;
        bench.await_replicas(&deployment, replicas).await;
        let (latest, status) = bench.history(release).await.pop().unwrap();
        assert_eq!(status, "deployed", "{release}: {latest}");
        bench.respec("player-stats", release, json!({"replicaCount": 4})).await;
        bench.await_replicas(&deployment, 4).await;
        await_that("the next revision is deployed", async || {
            let last = bench.history(release).await.pop().unwrap();
            if last == (latest + 1, "deployed".to_owned()) { Ok(()) } else { Err(format!("{last:?}")) }
        })
        .await;
    }
    assert_eq!(bench.identities("game").await, before);
    assert_eq!(bench.identities("made-here").await, made_here);
    for release in ["game", "made-here"] {
        bench.delete(&bench.path("player-stats", release)).await;
        await_that(format!("{release} is gone"), async || {
            let mut left = bench.identities(release).await;
            left.retain(|name, _| !name.ends_with("-kept"));
            let object = bench.object("player-stats", release).await.is_ok();
            if left.is_empty() && !object { Ok(()) } else { Err(format!("{object} {left:?}")) }
        })
        .await;
        bench.object("configmaps", &format!("{release}-kept")).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_over_which_the_real_helm_operator_died_is_finished() {
    let Some(bench) = Bench::new("died").await else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(&bench.namespace, &proxy.kubeconfig());
    let theirs = HelmOperator::start(&bench, &place).await;
    bench.make("player-stats", "game", with_backup(1)).await;
    bench.await_deployed("game").await;
    // Nobody runs the pod of the hook before the upgrade, so it waits.
    bench.respec("player-stats", "game", json!({"replicaCount": 2})).await;
    bench.await_revisions("game", &[(1, "deployed"), (2, "pending-upgrade")]).await;
    drop(theirs);
    let before = bench.identities("game").await;
    let _node = bench.node();
    let host = place.start();
    host.await_ready().await;
    bench.await_replicas("game-player-stats", 2).await;
    await_that("a revision is deployed", async || {
        let last = bench.history("game").await.pop().unwrap();
        if last.1 == "deployed" && last.0 > 2 { Ok(()) } else { Err(format!("{last:?}")) }
    })
    .await;
    bench.await_deployed("game").await;
    let identity = |found: &BTreeMap<String, (Value, Value)>| {
        found.iter().map(|(name, (uid, _))| (name.clone(), uid.clone())).collect::<Vec<_>>()
    };
    assert_eq!(identity(&bench.identities("game").await), identity(&before));
}
