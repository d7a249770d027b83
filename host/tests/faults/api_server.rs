//! What the way to the API server and the server itself do wrong.

use std::collections::HashMap;
use std::time::Duration;

use http::Method;
use pilothouse_testbed::progress::ToStderr;
use pilothouse_testbed::{Cluster, Options};
use serde_json::json;

use crate::bench::{Bench, await_that, is_possible};
use crate::host::{Host, Place};
use crate::proxy::{Asked, Fault, Proxy, first_pause, nth};
use crate::release::small;

/// A host on the sample project (and `hello`) behind a proxy.
async fn start(namespace: &str) -> Option<(Bench, Proxy, Place, Host)> {
    let bench = Bench::new(namespace).await?;
    let proxy = Proxy::start(bench.client.clone()).await;
    let place = Place::with_project(namespace, &proxy.kubeconfig()).with("--grant-requested");
    place.install("hello.wasm", &crate::bench::plugin("hello.wasm"));
    let host = place.start();
    host.await_ready().await;
    Some((bench, proxy, place, host))
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_api_server_is_gone_the_host_waits_and_goes_on_when_it_is_back() {
    if !is_possible("api-gone") {
        return;
    }
    let name = format!("test-{}-gone", std::process::id());
    let start = move || Cluster::up(&Options { name, tied: true, node: false }, &ToStderr).unwrap();
    let cluster = tokio::task::spawn_blocking(start).await.unwrap();
    // Leaked for the helpers, which know one cluster for the life of the process; stopped by hand below.
    let cluster: &'static Cluster = Box::leak(Box::new(cluster));
    let bench = Bench::on(cluster, "api-gone").await;
    bench.create_namespace().await;
    bench.prepare().await;
    let place =
        Place::with_project("api-gone", &cluster.kubeconfig_text().unwrap()).with("--grant-requested");
    place.install("hello.wasm", &crate::bench::plugin("hello.wasm"));
    let host = place.start();
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 1})).await;
    bench.make("player-stats", "game", small(1)).await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    bench.await_replicas("web", 1).await;

    tokio::task::spawn_blocking(|| cluster.kill_api_server()).await.unwrap();
    await_that("the watches have noticed", async || {
        let troubled = host.metric("pilothouse_watches", &["unavailable"]).await;
        if troubled > 0.0 { Ok(()) } else { Err("no".to_owned()) }
    })
    .await;
    assert_eq!(host.ended(), None);
    tokio::task::spawn_blocking(|| cluster.start_api_server().unwrap()).await.unwrap();
    // What happens while the watches find their way back is seen as well.
    bench.delete(&bench.path("deployments", "web")).await;
    bench.respec("player-stats", "game", small(3)).await;
    bench.await_replicas("web", 1).await;
    bench.await_revisions("game", &[(1, "superseded"), (2, "deployed")]).await;
    bench.await_replicas("game-player-stats", 3).await;
    bench.make("hellos", "late", json!({"greeting": "hi", "replicas": 2})).await;
    bench.await_replicas("late", 2).await;
    assert_eq!(host.ended(), None);
    assert_eq!(host.metric("pilothouse_plugin_faults_total", &[]).await, 0.0);
    drop(host);
    tokio::task::spawn_blocking(|| Cluster::open(cluster.name()).unwrap().down()).await.unwrap();
}

/// The faults that a single request can meet.
fn faults() -> [(&'static str, Fault); 6] {
    [
        ("cut", Fault::Cut),
        ("lost", Fault::LoseAnswer),
        ("e500", Fault::Answer(500, "InternalError")),
        ("e503", Fault::Answer(503, "ServiceUnavailable")),
        ("e409", Fault::Answer(409, "Conflict")),
        ("e429", Fault::Throttle(1)),
    ]
}

/// How many writes an install has at most, some to spare.
const WRITES: usize = 16;

/// `FAULT-NN` for each fault and each of so many writes.
fn names(writes: usize) -> impl Iterator<Item = String> {
    faults().into_iter().flat_map(move |(prefix, _)| (1..=writes).map(move |n| format!("{prefix}-{n:02}")))
}

/// For each object named `FAULT-NN`, the fault at its NN-th write.
fn each_write_once() -> impl FnMut(&Asked) -> Option<Fault> + Send + 'static {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let names: Vec<(String, usize, Fault)> = faults()
        .into_iter()
        .flat_map(|(prefix, fault)| (1..=WRITES).map(move |n| (format!("{prefix}-{n:02}"), n, fault.clone())))
        .collect();
    move |asked| {
        if !asked.writes() {
            return None;
        }
        let (name, n, fault) = names.iter().find(|(name, ..)| asked.names(name))?;
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        (*count == *n).then(|| fault.clone())
    }
}

/// Waits until a release rests on a deployed revision; all its revisions.
async fn rests(bench: &Bench, name: &str, at_least: u64) -> Vec<(u64, String)> {
    let seen = await_that(format!("{name} comes to rest"), async || {
        let revisions = bench.revisions(name).await;
        let last =
            revisions.last().is_some_and(|(number, status)| status == "deployed" && *number >= at_least);
        if last { Ok(revisions) } else { Err(format!("{revisions:?}")) }
    });
    seen.await.0
}

fn has_one_deployed(revisions: &[(u64, String)]) -> bool {
    let others = ["failed", "superseded"];
    let (last, before) = revisions.split_last().unwrap();
    last.1 == "deployed" && before.iter().all(|(_, status)| others.contains(&status.as_str()))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failed_request_anywhere_in_an_install_is_made_good() {
    let Some((bench, proxy, _place, host)) = start("api-install").await else { return };
    proxy.script(each_write_once());
    let names: Vec<String> = names(WRITES).collect();
    for name in &names {
        bench.make("player-stats", name, small(1)).await;
    }
    let mut again = Vec::new();
    for name in &names {
        bench.await_condition("player-stats", name, ("Deployed", "True"), &[]).await;
        let revisions = rests(&bench, name, 1).await;
        if revisions.len() > 1 {
            // A refusal (409 for an object of the chart) fails the revision; the next one is deployed.
            assert!(name.starts_with("e409") && has_one_deployed(&revisions), "{name}: {revisions:?}");
            again.push(name);
        }
    }
    println!("installs that needed another revision: {again:?}");
    assert_eq!(host.metric("pilothouse_plugin_faults_total", &[]).await, 0.0);
    assert_eq!(host.ended(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failed_request_anywhere_in_an_upgrade_is_made_good() {
    let Some((bench, proxy, _place, host)) = start("api-upgrade").await else { return };
    let names: Vec<String> = names(8).collect();
    for name in &names {
        bench.make("player-stats", name, small(1)).await;
    }
    for name in &names {
        bench.await_condition("player-stats", name, ("Deployed", "True"), &[]).await;
    }
    proxy.script(each_write_once());
    for name in &names {
        bench.respec("player-stats", name, json!({"replicaCount": 2, "service": {"port": 81}})).await;
    }
    let mut again = Vec::new();
    for name in &names {
        let revisions = rests(&bench, name, 2).await;
        bench.await_replicas(&format!("{name}-player-stats"), 2).await;
        if revisions.len() > 2 {
            assert!(name.starts_with("e409"), "{name}: {revisions:?}");
            again.push(name);
        }
    }
    println!("upgrades that needed another revision: {again:?}");
    for name in &names {
        let revisions = rests(&bench, name, 2).await;
        assert!(has_one_deployed(&revisions), "{name}: {revisions:?}");
    }
    assert_eq!(host.metric("pilothouse_plugin_faults_total", &[]).await, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failed_request_anywhere_in_a_declarative_reconcile_is_made_good() {
    let Some((bench, proxy, _place, host)) = start("api-hello").await else { return };
    proxy.script(each_write_once());
    let names: Vec<String> = names(7).collect();
    for name in &names {
        bench.make("hellos", name, json!({"greeting": "hi", "replicas": 3})).await;
    }
    for name in &names {
        bench.await_replicas(name, 3).await;
        await_that("the Service is there", async || bench.object("services", name).await).await;
        bench.await_condition("hellos", name, ("Ready", "False"), &["PodsStarting"]).await;
    }
    assert_eq!(host.metric("pilothouse_plugin_faults_total", &[]).await, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_watch_is_listed_anew_and_what_happened_meanwhile_is_repaired() {
    let Some((bench, proxy, _place, _host)) = start("api-gone-410").await else { return };
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 1})).await;
    bench.await_condition("hellos", "web", ("Ready", "False"), &["PodsStarting"]).await;
    // Nobody gets through until the change has happened; then every watch meets a 410, each way it can come.
    proxy.script(|asked| asked.watches().then_some(Fault::Cut));
    proxy.cut_streams();
    bench.delete(&bench.path("deployments", "web")).await;
    bench.make("hellos", "new", json!({"greeting": "hi", "replicas": 2})).await;
    proxy.heal();
    let resumes = |asked: &Asked| asked.watches() && !asked.path.contains("sendInitialEvents");
    let mut answers = 0;
    proxy.script(move |asked| {
        answers += usize::from(resumes(asked));
        let fault = if answers % 2 == 0 { Fault::Expire } else { Fault::Answer(410, "Expired") };
        (resumes(asked) && answers <= 12).then_some(fault)
    });
    bench.await_replicas("web", 1).await;
    bench.await_replicas("new", 2).await;
    // And the watches that came of it work.
    bench.delete(&bench.path("deployments", "new")).await;
    bench.await_replicas("new", 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_is_waited_out() {
    let Some((bench, proxy, _place, _host)) = start("api-429").await else { return };
    for (name, seconds) in [("short", 1), ("long", 3), ("helm", 3)] {
        let fits = move |asked: &Asked| {
            asked.method == Method::PATCH && asked.path.contains(&format!("/deployments/{name}"))
        };
        proxy.script(nth(1, Fault::Throttle(seconds), fits));
        if name == "helm" {
            bench.make("player-stats", name, small(1)).await;
            bench.await_revisions(name, &[(1, "deployed")]).await;
        } else {
            bench.make("hellos", name, json!({"greeting": "hi", "replicas": 1})).await;
            bench.await_replicas(name, 1).await;
        }
        let paused = first_pause(&proxy.seen(fits)).unwrap();
        assert!(paused >= Duration::from_secs(seconds), "{name}: asked again after {paused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rest_that_the_server_asks_for_is_kept_for_all_objects_of_the_plugin() {
    let Some((bench, proxy, _place, _host)) = start("api-rest").await else { return };
    let throttled = |asked: &Asked| asked.method == Method::PATCH && asked.path.contains("/deployments/one");
    proxy.script(nth(1, Fault::Throttle(4), throttled));
    bench.make("player-stats", "one", small(1)).await;
    await_that("the server asked for a rest", async || {
        proxy.seen(throttled).first().map(drop).ok_or_else(String::new)
    })
    .await;
    bench.make("player-stats", "two", small(1)).await;
    // The host's own requests, of the finalizer and the status, are not the plugin's.
    bench.await_revisions("two", &[(1, "deployed")]).await;
    let asked = proxy.seen(throttled).first().unwrap().at;
    let next = proxy.seen(|asked| asked.path.contains("/secrets") && asked.names("two"));
    let rested = next.first().unwrap().at - asked;
    assert!(rested >= Duration::from_secs(4), "the plugin went on after {rested:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_fails_for_a_while_is_asked_again_and_nothing_is_lost() {
    let Some((bench, proxy, _place, host)) = start("api-500").await else { return };
    bench.make("player-stats", "game", small(1)).await;
    bench.await_revisions("game", &[(1, "deployed")]).await;
    // Everything fails, reads and watches too.
    proxy.script(|_| Some(Fault::Answer(500, "InternalError")));
    proxy.cut_streams();
    bench.respec("player-stats", "game", small(2)).await;
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 1})).await;
    await_that("requests have failed", async || {
        let failed = host.metric("pilothouse_watches", &["unavailable"]).await;
        if failed >= 2.0 { Ok(()) } else { Err(failed.to_string()) }
    })
    .await;
    proxy.heal();
    bench.await_revisions("game", &[(1, "superseded"), (2, "deployed")]).await;
    bench.await_replicas("web", 1).await;
    assert_eq!(host.ended(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_never_answered_holds_up_its_own_object_only() {
    let Some((bench, proxy, _place, host)) = start("api-hang").await else { return };
    proxy.script(nth(1, Fault::Hang, |asked| {
        asked.method == Method::PATCH && asked.path.contains("/deployments/stuck")
    }));
    proxy.script(nth(1, Fault::Hang, |asked| {
        asked.method == Method::PATCH && asked.path.contains("/deployments/helm-stuck")
    }));
    bench.make("hellos", "stuck", json!({"greeting": "hi", "replicas": 1})).await;
    bench.make("player-stats", "helm-stuck", small(1)).await;
    await_that("both hang", async || {
        let hanging =
            proxy.seen(|asked| asked.path.contains("stuck") && asked.path.contains("/deployments/"));
        if hanging.len() >= 2 { Ok(()) } else { Err(format!("{}", hanging.len())) }
    })
    .await;
    bench.make("hellos", "free", json!({"greeting": "hi", "replicas": 2})).await;
    bench.make("player-stats", "helm-free", small(2)).await;
    bench.await_replicas("free", 2).await;
    bench.await_revisions("helm-free", &[(1, "deployed")]).await;
    assert!(bench.object("deployments", "stuck").await.is_err(), "it was not stuck");
    bench.await_replicas("stuck", 1).await;
    bench.await_revisions("helm-stuck", &[(1, "deployed")]).await;
    // A server that does not answer is no fault of a plugin.
    assert_eq!(host.metric("pilothouse_plugin_faults_total", &[]).await, 0.0);
}
