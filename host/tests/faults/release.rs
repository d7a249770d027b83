//! Helm releases as the cluster and the real helm see them, and the node that a control plane lacks.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::bench::{Bench, await_that};

/// Values of a release without volumes and hooks.
pub(crate) fn small(replicas: u64) -> Value {
    json!({"replicaCount": replicas, "store": {"persistence": {"enabled": false}}})
}

/// Values of a release whose upgrades run a backup before.
pub(crate) fn with_backup(replicas: u64) -> Value {
    json!({"replicaCount": replicas, "store": {"persistence": {"enabled": true, "size": "1Gi"}}})
}

impl Bench {
    /// Revisions and their states, by the labels of their records.
    pub(crate) async fn revisions(&self, release: &str) -> Vec<(u64, String)> {
        let selector = format!("owner=helm,name={release}").replace('=', "%3D").replace(',', "%2C");
        let list = self.get(&format!("{}?labelSelector={selector}", self.path("secrets", ""))).await.unwrap();
        let mut revisions: Vec<(u64, String)> = list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|secret| {
                let label = |name: &str| secret["metadata"]["labels"][name].as_str().unwrap_or_default();
                (label("version").parse().unwrap(), label("status").to_owned())
            })
            .collect();
        revisions.sort();
        revisions
    }

    /// Waits until the release has exactly these revisions.
    pub(crate) async fn await_revisions(&self, release: &str, wanted: &[(u64, &str)]) -> Duration {
        let seen = await_that(format!("release {release} is {wanted:?}"), async || {
            let now = self.revisions(release).await;
            let same = now.iter().map(|(n, status)| (*n, status.as_str())).eq(wanted.iter().copied());
            if same { Ok(()) } else { Err(format!("it is {now:?}")) }
        });
        seen.await.1
    }

    /// What the real `helm history` says: revisions and states.
    pub(crate) async fn history(&self, release: &str) -> Vec<(u64, String)> {
        let text = self.helm(&["history", release, "--output=json"]).await.unwrap();
        let history: Value = serde_json::from_str(&text).unwrap();
        let entry = |entry: &Value| {
            (entry["revision"].as_u64().unwrap(), entry["status"].as_str().unwrap().to_owned())
        };
        history.as_array().unwrap().iter().map(entry).collect()
    }

    /// What a node would do to the pods of Jobs in the namespace, until the answer is dropped: they succeed.
    pub(crate) fn node(&self) -> Node {
        let bench = self.clone();
        Node(tokio::spawn(async move {
            loop {
                bench.let_jobs_succeed().await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }))
    }

    async fn let_jobs_succeed(&self) {
        let pods = self.get(&format!("{}?labelSelector=job-name", self.path("pods", ""))).await;
        let Ok(pods) = pods else { return };
        for pod in pods["items"].as_array().into_iter().flatten() {
            if pod["status"]["phase"] == "Pending" {
                let path = self.path("pods", pod["metadata"]["name"].as_str().unwrap_or_default());
                let status = json!({"status": {"phase": "Succeeded"}});
                let kind = "application/merge-patch+json";
                let _ = self.ask(http::Method::PATCH, &format!("{path}/status"), kind, &status).await;
            }
        }
    }
}

/// Ends with the test.
pub(crate) struct Node(JoinHandle<()>);

impl Drop for Node {
    fn drop(&mut self) {
        self.0.abort();
    }
}
