//! Two hundred releases: they come to rest, and at rest nothing is written.

use std::time::Instant;

use futures::{StreamExt as _, stream};
use http::Method;
use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::{Host, Place};
use crate::proxy::{Asked, Proxy};
use crate::release::with_backup;

const MANY: usize = 200;

fn name(n: usize) -> String {
    format!("game-{n:03}")
}

/// Changes anything at all, events included. Questions about rights are no changes.
fn changes(asked: &Asked) -> bool {
    asked.method != Method::GET && !asked.path.contains("subjectaccessreviews")
}

async fn at_rest(bench: &Bench) -> Result<(), String> {
    let list = bench.get(&bench.path("player-stats", "")).await?;
    let ready = |object: &&Value| {
        object["status"]["conditions"].as_array().into_iter().flatten().any(|condition| {
            condition["type"] == "Deployed"
                && condition["status"] == "True"
                && condition["observedGeneration"] == object["metadata"]["generation"]
        })
    };
    let ready = list["items"].as_array().into_iter().flatten().filter(ready).count();
    if ready == MANY { Ok(()) } else { Err(format!("{ready} are ready")) }
}

/// Whether Kubernetes' own controllers have nothing to tell any more; without a node no pod gets further than being there.
async fn pods_are_there(bench: &Bench) -> Result<(), String> {
    for kind in ["deployments", "statefulsets"] {
        let list = bench.get(&bench.path(kind, "")).await?;
        let is_done = |object: &&Value| {
            let status = &object["status"];
            status["observedGeneration"] == object["metadata"]["generation"]
                && status["replicas"] == object["spec"]["replicas"]
        };
        let all = list["items"].as_array().cloned().unwrap_or_default();
        let done = all.iter().filter(is_done).count();
        if done < all.len() {
            return Err(format!("{done} of {} {kind}", all.len()));
        }
    }
    Ok(())
}

/// Waits until every object was reconciled once more than now; the answer is what was written meanwhile.
async fn one_more_round(host: &Host, proxy: &Proxy, reconciled: f64) -> Vec<String> {
    at_leisure(host, reconciled).await;
    proxy.seen(changes).iter().map(|asked| format!("{} {}", asked.method, asked.path)).collect()
}

/// Waits until every object was reconciled once more than so often and nothing is to be done; how often it was.
async fn at_leisure(host: &Host, reconciled: f64) -> f64 {
    let leisure = await_that("every object was reconciled again", async || {
        let now = host.metric("controller_runtime_reconcile_total", &["helm"]).await;
        let waiting = host.metric("workqueue_depth", &["helm"]).await;
        let busy = host.metric("controller_runtime_active_workers", &["helm"]).await;
        let done = now >= reconciled + MANY as f64 && waiting == 0.0 && busy == 0.0;
        if done { Ok(now) } else { Err(format!("{now} reconciles, {waiting} waiting")) }
    });
    leisure.await.0
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_releases_come_to_rest_and_then_nothing_is_written() {
    let Some(bench) = Bench::new("many").await else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(&bench.namespace, &proxy.kubeconfig());
    let host = place.start();
    host.await_ready().await;
    let started = Instant::now();
    let (made, of) = (&bench, 1..=MANY);
    stream::iter(of)
        .for_each_concurrent(8, |n| async move { made.make("player-stats", &name(n), with_backup(1)).await })
        .await;
    let created = started.elapsed();
    await_that("all are ready", async || at_rest(&bench).await).await;
    let (took, requests) = (started.elapsed(), proxy.seen(|_| true).len());
    println!(
        "{MANY} releases: created in {:.1} s, at rest after {:.1} s, {requests} requests ({:.1} each), {} KiB PSS\n{}",
        created.as_secs_f64(),
        took.as_secs_f64(),
        requests as f64 / MANY as f64,
        host.pss_kib(),
        proxy.tally()
    );
    assert_eq!(host.metric("pilothouse_plugin_faults_total", &[]).await, 0.0);
    for n in [1, MANY / 2, MANY] {
        assert_eq!(bench.history(&name(n)).await, [(1, "deployed".to_owned())]);
    }

    // While the cluster makes pods, there is something to tell.
    await_that("the pods are there", async || pods_are_there(&bench).await).await;
    // Touched, every object is reconciled; there is nothing to do.
    let before = at_leisure(&host, 0.0).await;
    proxy.settle().await;
    proxy.forget();
    for n in 1..=MANY {
        let touch = json!({"metadata": {"annotations": {"touched": "yes"}}});
        bench.merge(&bench.path("player-stats", &name(n)), &touch).await;
    }
    let written = one_more_round(&host, &proxy, before).await;
    assert_eq!(written, [""; 0], "nothing was to be written");
    let asked = proxy.seen(|asked| !asked.watches());
    println!("touched and reconciled again: {} requests", asked.len());
    // Each kept instance of the plugin may meet a release for the first time; that costs no request either.
    let first = asked.first().map(|asked| format!("{} {}", asked.method, asked.path));
    assert_eq!((asked.len(), first), (0, None), "nothing was to be asked");

    // A host that starts finds everything as it should be.
    host.kill();
    proxy.forget();
    let started = Instant::now();
    let host = place.start();
    host.await_ready().await;
    let written = one_more_round(&host, &proxy, 0.0).await;
    println!(
        "restart: all reconciled after {:.1} s, {} requests\n{}",
        started.elapsed().as_secs_f64(),
        proxy.seen(|_| true).len(),
        proxy.tally()
    );
    assert_eq!(written, [""; 0], "nothing was to be written after a restart");
}
