//! A plugin file replaced while objects come and change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pilothouse::plugin::manifest::Manifest;
use pilothouse::plugin::package::{Package, embed};
use serde_json::{Value, json};

use crate::bench::{Bench, await_that, plugin};
use crate::host::Place;
use crate::plugin_files::replaced;

/// `hello` as somebody else built it: another version, another word in its condition.
fn another_build(version: &str, word: &str) -> Vec<u8> {
    let hello = plugin("hello.wasm");
    let manifest = Package::read(hello.clone()).unwrap().manifest;
    let manifest = Manifest { version: version.to_owned(), ..manifest };
    let changed = replaced(&hello, "PodsStarting", word);
    assert_ne!(changed, hello, "the word is not in the plugin");
    embed(&changed, &manifest).unwrap()
}

/// Why an object is not ready, and whether that is about the object as it is.
fn told(object: &Value) -> (String, bool) {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap_or_default();
    let current = ready["observedGeneration"] == object["metadata"]["generation"];
    (ready["reason"].as_str().unwrap_or_default().to_owned(), current)
}

/// Objects are made and changed until the flag is set; how many there were.
async fn stream_of_objects(bench: Bench, stop: Arc<AtomicBool>) -> usize {
    let name = |n: usize| format!("stream-{n:03}");
    let mut n = 0;
    while !stop.load(Ordering::SeqCst) {
        bench.make("hellos", &name(n), json!({"greeting": "first", "replicas": 1})).await;
        if let Some(before) = n.checked_sub(3) {
            bench.respec("hellos", &name(before), json!({"greeting": "second"})).await;
        }
        n += 1;
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    n
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_saved_while_objects_come_is_at_work_soon_and_no_reconcile_is_lost_or_fails() {
    let Some(bench) = Bench::new("swap").await else { return };
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let place = Place::new(&bench.namespace, &kubeconfig, &["hello.wasm"])
        .with("--grant-requested")
        .with_nothing_compiled();
    let host = place.start();
    host.await_ready().await;
    let stop = Arc::new(AtomicBool::new(false));
    let stream = tokio::spawn(stream_of_objects(bench.clone(), Arc::clone(&stop)));
    await_that("objects are served", async || {
        let list = bench.get(&bench.path("hellos", "")).await?;
        let served = list["items"].as_array().into_iter().flatten().filter(|o| told(o).0 == "PodsStarting");
        let served = served.count();
        if served >= 20 { Ok(()) } else { Err(format!("{served}")) }
    })
    .await;

    let next = another_build("0.2.0", "PodsSwapping");
    let saved = Instant::now();
    place.install("hello.wasm", &next);
    await_that("an object is reconciled by the new code", async || {
        let list = bench.get(&bench.path("hellos", "")).await?;
        let new = list["items"].as_array().into_iter().flatten().any(|o| told(o).0 == "PodsSwapping");
        if new { Ok(()) } else { Err("none".to_owned()) }
    })
    .await;
    println!("swap: {} ms from save to the first status by new code", saved.elapsed().as_millis());
    stop.store(true, Ordering::SeqCst);
    let objects = stream.await.unwrap();

    await_that("every object is reconciled by the new code", async || {
        let list = bench.get(&bench.path("hellos", "")).await?;
        let all = list["items"].as_array().cloned().unwrap_or_default();
        let left: Vec<_> =
            all.iter().map(told).filter(|told| *told != ("PodsSwapping".to_owned(), true)).collect();
        if left.is_empty() && all.len() == objects { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    println!("swap: {} ms until all {objects} objects were", saved.elapsed().as_millis());
    for object in bench.get(&bench.path("hellos", "")).await.unwrap()["items"].as_array().unwrap() {
        let page = bench.object("configmaps", object["metadata"]["name"].as_str().unwrap()).await.unwrap();
        assert_eq!(page["data"]["index.html"], object["spec"]["greeting"]);
    }
    assert_eq!(host.metric("pilothouse_plugin_loaded", &["hello", "0.2.0"]).await, 1.0);
    assert_eq!(host.metric("pilothouse_plugin_loaded", &["hello", "0.1.0"]).await, 0.0);
    assert_eq!(host.metric("pilothouse_plugin_faults_total", &[]).await, 0.0);
    assert_eq!(host.metric("controller_runtime_reconcile_errors_total", &["hello"]).await, 0.0);
    assert_eq!(host.metric("pilothouse_plugin_refused_total", &[]).await, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_written_bit_by_bit_is_taken_up_when_it_is_whole() {
    let Some(bench) = Bench::new("swap-slowly").await else { return };
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let place = Place::new(&bench.namespace, &kubeconfig, &["hello.wasm"])
        .with("--grant-requested")
        .with_nothing_compiled();
    let host = place.start();
    host.await_ready().await;
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 1})).await;
    bench.await_condition("hellos", "web", ("Ready", "False"), &["PodsStarting"]).await;
    // As a linker writes: in place, in pieces, some of which the host may look at.
    let next = another_build("0.3.0", "PodsPiecemeal".get(..12).unwrap());
    let file = place.path("plugins").join("hello.wasm");
    for end in (0..=8).map(|eighth| next.len() * eighth / 8) {
        std::fs::write(&file, &next[..end]).unwrap();
        bench.respec("hellos", "web", json!({"greeting": format!("{end} bytes")})).await;
    }
    bench.await_condition("hellos", "web", ("Ready", "False"), &["PodsPiecemea"]).await;
    assert_eq!(host.metric("pilothouse_plugin_loaded", &["hello"]).await, 1.0);
    assert_eq!(host.metric("controller_runtime_reconcile_errors_total", &["hello"]).await, 0.0);
}
