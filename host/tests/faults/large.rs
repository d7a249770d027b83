//! Records larger than a Secret may be, beside the real helm.

use serde_json::{Value, json};

use crate::bench::{Bench, await_that, root};
use crate::host::Place;
use crate::release::small;

/// Text that no packing makes much smaller.
fn noise(length: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(LETTERS[usize::try_from(state >> 58).unwrap()])
    };
    (0..length).map(letter).collect()
}

fn sample_chart() -> String {
    root().join("charts/samples/player-stats-operator/helm-charts/player-stats").display().to_string()
}

impl Bench {
    async fn annotate(&self, release: &str, name: &str, value: &Value) {
        let patch = json!({"metadata": {"annotations": {name: value}}});
        self.merge(&self.path("player-stats", release), &patch).await;
    }

    /// The Secrets of the release, chunks included.
    async fn record_names(&self, release: &str) -> Vec<String> {
        let selector = format!("{}?labelSelector=name%3D{release}", self.path("secrets", ""));
        let list = self.get(&selector).await.unwrap();
        let name = |secret: &Value| secret["metadata"]["name"].as_str().unwrap().to_owned();
        list["items"].as_array().unwrap().iter().map(name).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_without_the_files_of_its_chart_is_still_one_that_helm_works_with() {
    let Some(bench) = Bench::new("large-files").await else { return };
    let place = Place::with_project(&bench.namespace, &bench.cluster.kubeconfig_text().unwrap());
    std::fs::write(place.project("helm-charts/player-stats/manual.txt"), noise(2_000_000)).unwrap();
    let host = place.start();
    host.await_ready().await;
    bench.make("player-stats", "game", small(1)).await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    let record = bench.object("secrets", "sh.helm.release.v1.game.v1").await.unwrap();
    assert_eq!(record["metadata"]["annotations"]["helm.pilothouse.dev/left-out"], "files");
    bench.respec("player-stats", "game", small(2)).await;
    bench.await_revisions("game", &[(1, "superseded"), (2, "deployed")]).await;
    let conditions = bench.object("player-stats", "game").await.unwrap()["status"]["conditions"].clone();
    assert!(!conditions.to_string().contains("RecordChunked"), "{conditions}");

    for (arguments, told) in [
        (&["list"][..], "player-stats-"),
        (&["history", "game"], "Upgrade complete"),
        (&["status", "game"], "STATUS: deployed"),
        (&["get", "manifest", "game"], "kind: Deployment"),
        (&["get", "values", "game", "--all"], "pullPolicy: IfNotPresent"),
        (&["get", "hooks", "game"], "---"),
        (&["get", "notes", "game"], "NOTES"),
        (&["get", "metadata", "game"], "CHART: player-stats"),
        (&["get", "all", "game", "--revision", "1"], "kind: Deployment"),
    ] {
        let said = bench.helm(arguments).await.unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        assert!(said.contains(told) || arguments[1] == "hooks", "{arguments:?}: {said}");
    }
    bench.helm(&["rollback", "game", "1"]).await.unwrap();
    bench.await_revisions("game", &[(1, "superseded"), (2, "superseded"), (3, "deployed")]).await;
    bench.await_replicas("game-player-stats", 1).await;
    bench.await_condition("player-stats", "game", ("ManualRevision", "True"), &["revision 3"]).await;
    // Reused are the values of revision 3, whose record has its chart without files.
    let upgrade = ["upgrade", "game", &sample_chart(), "--reuse-values", "--set", "replicaCount=3"];
    bench.helm(&upgrade).await.unwrap();
    let values = bench.helm(&["get", "values", "game", "--output=json"]).await.unwrap();
    let values: Value = serde_json::from_str(&values).unwrap();
    let mut expected = small(3);
    expected["store"]["persistence"] = json!({"enabled": false});
    assert_eq!(values["replicaCount"], 3);
    assert_eq!(values["store"]["persistence"]["enabled"], expected["store"]["persistence"]["enabled"]);
    bench.await_replicas("game-player-stats", 3).await;
    bench.helm(&["test", "game"]).await.unwrap();
}

/// A chart whose objects alone are larger than a Secret when the value says so.
fn enlarge(place: &Place) {
    for name in ["one", "two"] {
        let map = format!(
            "{{{{ if .Values.large }}}}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{{{ .Release.Name }}}}-{name}\n\
             data:\n  text: {{{{ .Files.Get \"{name}.txt\" }}}}\n{{{{ end }}}}\n"
        );
        let chart = place.project("helm-charts/player-stats");
        std::fs::write(chart.join(format!("templates/{name}.yaml")), map).unwrap();
        std::fs::write(chart.join(format!("{name}.txt")), noise(800_000)).unwrap();
    }
}

fn large(replicas: u64, large: bool) -> Value {
    let mut values = small(replicas);
    values["large"] = json!(large);
    values
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_larger_even_so_is_out_of_helms_sight_and_in_nobodys_way() {
    let Some(bench) = Bench::new("large-chunks").await else { return };
    let place = Place::with_project(&bench.namespace, &bench.cluster.kubeconfig_text().unwrap());
    enlarge(&place);
    let host = place.start();
    host.await_ready().await;
    bench.make("player-stats", "game", large(1, false)).await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    bench.respec("player-stats", "game", large(2, true)).await;
    bench.await_revisions("game", &[(1, "superseded"), (2, "deployed")]).await;
    bench.await_condition("player-stats", "game", ("RecordChunked", "True"), &["revision 2"]).await;
    assert!(bench.record_names("game").await.len() > 3);
    bench.object("configmaps", "game-two").await.unwrap();

    // Helm sees what it can read, and whoever upgrades by hand is stopped by the number that is taken.
    assert_eq!(bench.history("game").await, [(1, "superseded".to_owned())]);
    bench.helm(&["list"]).await.unwrap();
    assert!(bench.helm(&["get", "manifest", "game", "--revision", "2"]).await.is_err());
    let refused = bench.helm(&["upgrade", "game", &sample_chart(), "--reuse-values"]).await.unwrap_err();
    assert!(refused.contains("exists"), "{refused}");
    assert_eq!(bench.revisions("game").await, [(1, "superseded".to_owned()), (2, "deployed".to_owned())]);

    // Whoever comes next reads it, repairs what drifted, and goes on.
    host.kill();
    let scaled = json!({"spec": {"replicas": 7}});
    bench.merge(&bench.path("deployments", "game-player-stats"), &scaled).await;
    let host = place.start();
    host.await_ready().await;
    bench.await_replicas("game-player-stats", 2).await;
    bench.respec("player-stats", "game", large(3, false)).await;
    bench.await_revisions("game", &[(1, "superseded"), (2, "superseded"), (3, "deployed")]).await;
    await_that("what only the chunked revision had is gone", async || {
        match bench.object("configmaps", "game-two").await {
            Ok(_) => Err("it is there".to_owned()),
            Err(_) => Ok(()),
        }
    })
    .await;
    assert_eq!(bench.history("game").await, [(1, "superseded".to_owned()), (3, "deployed".to_owned())]);

    // And back to it, with our own annotation.
    bench.annotate("game", "helm.pilothouse.dev/rollback-to", &json!("2")).await;
    bench.await_condition("player-stats", "game", ("RecordChunked", "True"), &["revision 4"]).await;
    bench.object("configmaps", "game-two").await.unwrap();
    bench.delete(&bench.path("player-stats", "game")).await;
    await_that("nothing is left of the release", async || {
        let left = bench.record_names("game").await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
}
