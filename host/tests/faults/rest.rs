//! A release at rest costs the API server nothing, and is not trusted to be at rest when it is not.

use serde_json::json;

use crate::bench::{Bench, await_that};
use crate::host::{Host, Place};
use crate::proxy::{Asked, Proxy};
use crate::release::small;

/// What a reconciliation asks: neither watches, nor which kinds are served, which is asked whenever a definition moves
/// (those of the tests beside this one do).
pub(crate) fn is_asked(asked: &Asked) -> bool {
    !asked.watches() && !["/api", "/apis"].contains(&&*asked.path)
}

impl Bench {
    /// Has the object reconciled once more, without any reason to do something.
    pub(crate) async fn touch(&self, host: &Host, release: &str, value: &str) {
        let before = host.metric("controller_runtime_reconcile_total", &["helm"]).await;
        let touch = json!({"metadata": {"annotations": {"touched": value}}});
        self.merge(&self.path("player-stats", release), &touch).await;
        await_that("it is reconciled", async || {
            let now = host.metric("controller_runtime_reconcile_total", &["helm"]).await;
            let busy = host.metric("controller_runtime_active_workers", &["helm"]).await;
            if now > before && busy == 0.0 { Ok(()) } else { Err(format!("{now} reconciles")) }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_at_rest_is_reconciled_without_a_single_request() {
    let Some(bench) = Bench::new("rest").await else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(&bench.namespace, &proxy.kubeconfig());
    let host = place.start();
    host.await_ready().await;
    // The first one teaches the host what the cluster serves.
    for release in ["first", "game"] {
        proxy.settle().await;
        proxy.forget();
        bench.make("player-stats", release, small(1)).await;
        bench.await_condition("player-stats", release, ("Deployed", "True"), &[]).await;
    }
    bench.touch(&host, "game", "once").await;
    proxy.settle().await;
    let install = proxy.seen(|asked| is_asked(asked) && !asked.path.contains("/events"));
    let first_record = install.iter().position(|asked| asked.writes() && asked.path.contains("/secrets"));
    println!(
        "an install: {} requests, {first_record:?} before its first record\n{}",
        install.len(),
        proxy.tally()
    );

    proxy.forget();
    for value in ["a", "b", "c"] {
        bench.touch(&host, "game", value).await;
    }
    let asked: Vec<String> =
        proxy.seen(is_asked).iter().map(|asked| format!("{} {}", asked.method, asked.path)).collect();
    assert_eq!(asked, [""; 0], "nothing was to be asked");

    // What is not at rest is looked at first, and then repaired.
    let scaled = json!({"spec": {"replicas": 7}});
    bench.merge(&bench.path("deployments", "game-player-stats"), &scaled).await;
    bench.await_replicas("game-player-stats", 1).await;
    let records = |asked: &Asked| asked.path.contains("/secrets?") && !asked.watches();
    assert!(!proxy.seen(records).is_empty(), "the records were not looked at before the repair");
}
