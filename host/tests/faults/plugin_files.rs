//! Plugin files that are none: refused with a reason, and what was at work goes on.

use pilothouse::plugin::manifest::Manifest;
use pilothouse::plugin::package::{Package, embed};
use serde_json::json;

use crate::bench::{Bench, await_that, plugin};
use crate::host::Place;

fn manifest() -> Manifest {
    Package::read(plugin("hello.wasm")).unwrap().manifest
}

/// The bytes with every occurrence of one text replaced by another of the same length.
pub(crate) fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(from.len()).position(|window| window == from.as_bytes()) {
        bytes[at + found..at + found + from.len()].copy_from_slice(to.as_bytes());
        at += found + from.len();
    }
    bytes
}

/// Files in the order in which they are tried, each with the reason it is refused for.
fn bad_files() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    const EMPTY_COMPONENT: [u8; 8] = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];
    let hello = plugin("hello.wasm");
    let other_import = replaced(&hello, "pilothouse:operator/kube@0.1.0", "pilothouse:operator/kube@0.9.0");
    let without_section = replaced(&hello, "pilothouse:manifest", "somebody12:manifest");
    vec![
        ("empty", "NotWasm", Vec::new()),
        ("text", "NotWasm", b"no plugin".to_vec()),
        ("a core module", "CoreModule", b"\0asm\x01\0\0\0".to_vec()),
        ("cut off in the middle", "Damaged", hello[..hello.len() / 2].to_vec()),
        ("cut off at the end", "Damaged", hello[..hello.len() - 1].to_vec()),
        ("no manifest", "ManifestInvalid", without_section),
        ("another manifest version", "ManifestInvalid", replaced(&hello, "operator@0.1.0", "operator@0.9.0")),
        ("another interface version", "InterfaceMismatch", other_import),
        ("no reconciler", "ExportMissing", embed(&EMPTY_COMPONENT, &manifest()).unwrap()),
        ("code that does not validate", "CompileFailed", broken_code(&hello)),
    ]
}

/// A component whose sections can be read and whose code does not validate.
fn broken_code(hello: &[u8]) -> Vec<u8> {
    // The first function body that ends as most do, `end` (0x0b), made to end in an unknown opcode.
    let mut bytes = hello.to_vec();
    let code = code_section(hello);
    bytes[code.end - 1] = 0xff;
    bytes
}

/// The largest code section of the component's modules.
fn code_section(component: &[u8]) -> std::ops::Range<usize> {
    // Binary format of modules: the id of the code section.
    const CODE: u8 = 10;
    let mut largest = 0..0;
    for payload in wasmparser::Parser::new(0).parse_all(component) {
        if let Some((CODE, range)) = payload.unwrap().as_section() {
            let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
            if range.len() > largest.len() {
                largest = range;
            }
        }
    }
    assert!(!largest.is_empty());
    largest
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_plugin_is_refused_by_reason_and_the_old_code_goes_on() {
    let Some(bench) = Bench::new("plugin-files").await else { return };
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let place = Place::new(&bench.namespace, &kubeconfig, &["hello.wasm"]).with("--grant-requested");
    let host = place.start();
    host.await_ready().await;
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 0})).await;
    bench.await_replicas("web", 0).await;
    for (index, (what, reason, bytes)) in bad_files().into_iter().enumerate() {
        let before = host.metric("pilothouse_plugin_refused_total", &[reason]).await;
        place.install("hello.wasm", &bytes);
        await_that(format!("{what} is refused as {reason}"), async || {
            let now = host.metric("pilothouse_plugin_refused_total", &[reason]).await;
            if now > before { Ok(()) } else { Err(place.log()) }
        })
        .await;
        place.await_log(&["plugin refused", reason]).await;
        assert_eq!(host.ready().await, Ok(()), "{what}");
        assert!(host.metric("pilothouse_plugin_loaded", &["hello", "0.1.0"]).await >= 1.0, "{what}");
        let replicas = u64::try_from(index).unwrap() + 1;
        bench.respec("hellos", "web", json!({"replicas": replicas})).await;
        bench.await_replicas("web", replicas).await;
    }
    // The same file as before is whole again: nothing was lost.
    place.install("hello.wasm", &plugin("hello.wasm"));
    bench.respec("hellos", "web", json!({"replicas": 20})).await;
    bench.await_replicas("web", 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_file_of_the_same_name_or_the_same_kind_does_not_displace_the_first() {
    let Some(bench) = Bench::new("plugin-twice").await else { return };
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let place = Place::new(&bench.namespace, &kubeconfig, &["hello.wasm"]).with("--grant-requested");
    let host = place.start();
    host.await_ready().await;
    let named = |name: &str, version: &str| {
        let manifest = Manifest { name: name.to_owned(), version: version.to_owned(), ..manifest() };
        embed(&plugin("hello.wasm"), &manifest).unwrap()
    };
    place.install("second.wasm", &named("hello", "0.2.0"));
    place.await_log(&["plugin refused", "NameTaken", "second.wasm"]).await;
    place.install("third.wasm", &named("other", "0.2.0"));
    place.await_log(&["plugin refused", "KindTaken", "third.wasm"]).await;
    assert_eq!(host.metric("pilothouse_plugin_loaded", &["0.2.0"]).await, 0.0);
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 3})).await;
    bench.await_replicas("web", 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_at_the_start_is_refused_and_the_others_come_up() {
    let Some(bench) = Bench::new("plugin-start").await else { return };
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let place = Place::new(&bench.namespace, &kubeconfig, &["hello.wasm"])
        .with("--grant-requested")
        .with("--pod-name=host-0")
        .with(format!("--pod-namespace={}", bench.namespace));
    place.install("a-broken.wasm", b"\0asm but no more");
    let host = place.start();
    host.await_ready().await;
    place.await_log(&["plugin refused", "a-broken.wasm", "Damaged"]).await;
    await_that("events about the host's pod tell of both", async || {
        let events = bench.get(&bench.path("events", "")).await?;
        let of_pod = events["items"].as_array().into_iter().flatten().filter(|event| {
            event["involvedObject"]["kind"] == "Pod" && event["involvedObject"]["name"] == "host-0"
        });
        let told: Vec<String> =
            of_pod.map(|event| format!("{}: {}", event["reason"], event["message"])).collect();
        let has = |words: [&str; 2]| told.iter().any(|text| words.iter().all(|word| text.contains(word)));
        let both =
            has(["PluginRefused", "a-broken.wasm: Damaged"]) && has(["PluginActivated", "hello 0.1.0"]);
        if both { Ok(()) } else { Err(format!("{told:?}")) }
    })
    .await;
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 1})).await;
    bench.await_replicas("web", 1).await;
}
