//! Fields of a chart that a real API server does not know.

use serde_json::{Value, json};

use crate::bench::Bench;
use crate::host::Place;
use crate::release::small;

/// One beside the spec, one in it, one in a list.
const MISSPELT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: { name: misspelt }
specs: { replicas: 7 }
spec:
  replica: 7
  replicas: 0
  selector: { matchLabels: { app: misspelt } }
  template:
    metadata: { labels: { app: misspelt } }
    spec:
      containers:
      - { name: one, image: busybox, livenesProbe: { exec: { command: [\"true\"] } } }
";

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_the_server_does_not_know_are_left_out_and_told() {
    let Some(bench) = Bench::new("undeclared").await else { return };
    let place = Place::with_project(&bench.namespace, &bench.cluster.kubeconfig_text().unwrap());
    std::fs::write(place.project("helm-charts/player-stats/templates/misspelt.yaml"), MISSPELT).unwrap();
    let _host = place.start();
    bench.make("player-stats", "web", small(1)).await;
    bench.await_revisions("web", &[(1, "deployed")]).await;
    let made = bench.object("deployments", "misspelt").await.unwrap();
    assert_eq!(made["spec"]["replicas"], json!(0));
    assert_eq!((&made["specs"], &made["spec"]["replica"]), (&Value::Null, &Value::Null));
    bench.await_told("UnknownFields", "livenesProbe").await;
    let told = bench.told("UnknownFields").await.join(" ");
    assert!(told.contains("specs") && told.contains("spec.replica"), "{told}");
}
