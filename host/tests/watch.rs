//! Watches, discovery and leader election against a real kube-apiserver.

#[path = "watch/bench.rs"]
mod bench;

use std::sync::Arc;
use std::time::Duration;

use bench::{Bench, cluster, eventually, ordinary, undisturbed};
use pilothouse::cluster::fence::Fence;
use pilothouse::controller::leader::{self, Timing};
use pilothouse::controller::watch::Trouble;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn an_object_whose_label_is_taken_off_arrives_as_a_deletion() {
    let _others = ordinary().await;
    let bench = Bench::new("labels").await;
    bench.apply(bench.config_map("a", &json!({"tied": "yes"}))).await;
    bench.apply(bench.config_map("b", &json!({}))).await;
    let mut watch = bench.join(&bench.spec("", "v1", "ConfigMap", "tied=yes"));
    watch.synced().await;
    assert_eq!(watch.next().await, ("a".to_owned(), false, true));
    bench.merge("a", json!({"metadata": {"labels": {"tied": null}}})).await;
    assert_eq!(watch.next().await, ("a".to_owned(), true, false));
    bench.merge("b", json!({"metadata": {"labels": {"tied": "yes"}}})).await;
    assert_eq!(watch.next().await, ("b".to_owned(), false, true));
    assert_eq!(watch.names(), ["b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_cached_as_it_is_but_without_what_only_managers_read() {
    let _others = ordinary().await;
    let bench = Bench::new("text").await;
    let applied = bench.apply(bench.config_map("a", &json!({}))).await;
    let watch = bench.join(&bench.spec("", "v1", "ConfigMap", ""));
    watch.synced().await;
    let key = bench.key("", "v1", "ConfigMap", "a");
    let cached = watch.handle.get(&key).expect("cached");
    let object: serde_json::Value = serde_json::from_slice(&cached.json).unwrap();
    assert_eq!((&object["apiVersion"], &object["kind"]), (&json!("v1"), &json!("ConfigMap")));
    assert_eq!(object["data"], applied["data"]);
    assert!(applied["metadata"]["managedFields"].is_array() && object["metadata"]["managedFields"].is_null());
    let version = applied["metadata"]["resourceVersion"].as_str().unwrap();
    assert_eq!(&*cached.resource_version, version);
    let changed = bench.merge("a", json!({"data": {"x": "2"}})).await;
    let version = changed["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    eventually("the cache has seen the write", || watch.handle.is_fresh_enough(&key, &version)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_survives_a_crash_of_the_api_server_and_misses_nothing() {
    let _alone = undisturbed().await;
    let bench = Bench::new("crash").await;
    for name in ["goes", "stays"] {
        bench.apply(bench.config_map(name, &json!({}))).await;
    }
    let mut watch = bench.join(&bench.spec("", "v1", "ConfigMap", ""));
    watch.synced().await;
    watch.skip(&["goes", "stays"]).await;
    let cluster = cluster();
    tokio::task::block_in_place(|| cluster.kill_api_server());
    eventually("the trouble is told", || watch.trouble() == Some(Trouble::Unavailable)).await;
    tokio::task::block_in_place(|| cluster.start_api_server()).expect("the API server comes back");
    bench.retry_until_served().await;
    bench.delete("goes").await;
    bench.apply(bench.config_map("comes", &json!({}))).await;
    let mut heard = [watch.next().await, watch.next().await];
    heard.sort();
    assert_eq!(heard, [("comes".to_owned(), false, true), ("goes".to_owned(), true, false)]);
    assert_eq!(watch.trouble(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_comes_later_wakes_the_watch_that_waits_and_its_end_clears_it() {
    let _others = ordinary().await;
    let bench = Bench::new("later").await;
    let following = tokio::spawn(Arc::clone(&bench.discovery).follow());
    let mut watch = bench.join(&bench.spec("later.test", "v1", "Later", ""));
    eventually("the watch waits", || watch.trouble() == Some(Trouble::NotServed)).await;
    bench.define("later.test", "Later", "laters").await;
    watch.synced().await;
    bench.create(bench.custom("later.test", "Later", "one")).await;
    assert_eq!(watch.next().await, ("one".to_owned(), false, true));
    bench.undefine("laters.later.test").await;
    assert_eq!(watch.next().await, ("one".to_owned(), true, false));
    eventually("the watch waits again", || watch.trouble() == Some(Trouble::NotServed)).await;
    following.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_objects_are_cached_as_text_and_little_more() {
    let _others = ordinary().await;
    let bench = Bench::new("thousand").await;
    let text = "x".repeat(2000);
    let mut sent = 0;
    for names in (0..1000).collect::<Vec<_>>().chunks(50) {
        let maps: Vec<_> = names
            .iter()
            .map(|n| {
                let mut map = bench.config_map(&format!("m{n}"), &json!({"many": "yes"}));
                map["data"] = json!({"text": text});
                map
            })
            .collect();
        sent += maps.iter().map(|map| map.to_string().len()).sum::<usize>();
        futures::future::join_all(maps.into_iter().map(|map| bench.create(map))).await;
    }
    let watch = bench.join(&bench.spec("", "v1", "ConfigMap", "many=yes"));
    watch.synced().await;
    let usage = bench.usage();
    assert_eq!(usage.objects, 1000);
    assert!(usage.bytes > sent && usage.bytes < sent + 1000 * 600, "{} bytes for {sent}", usage.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_who_ask_for_the_same_are_one_watch_for_the_api_server() {
    let _others = ordinary().await;
    let bench = Bench::new("shared").await;
    bench.define("shared.test", "Shared", "shareds").await;
    let spec = bench.spec("shared.test", "v1", "Shared", "");
    let (mut first, mut second) = (bench.join(&spec), bench.join(&spec));
    first.synced().await;
    second.synced().await;
    bench.create(bench.custom("shared.test", "Shared", "one")).await;
    assert_eq!((first.next().await.0, second.next().await.0), ("one".to_owned(), "one".to_owned()));
    assert_eq!(bench.watches_at_the_server("shareds").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_is_named_and_heals_when_it_is_granted() {
    let _others = ordinary().await;
    let admin = Bench::new("rights").await;
    let bench = admin.as_user("watcher").await;
    let watch = bench.join(&bench.spec("", "v1", "ConfigMap", ""));
    eventually("the refusal is told", || watch.trouble() == Some(Trouble::Forbidden)).await;
    let (_, message) = watch.handle.trouble().expect("told");
    assert!(message.contains("watcher") && message.contains("configmaps"), "{message}");
    admin.grant("watcher", "configmaps").await;
    watch.synced().await;
    assert_eq!(watch.trouble(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_api_service_hides_no_kind_of_others() {
    let _others = ordinary().await;
    let bench = Bench::new("dead").await;
    bench.register_dead_service("v1.dead.test", "dead.test").await;
    bench.define("alive.test", "Alive", "alives").await;
    let gvk = pilothouse::object::Gvk::new("alive.test", "v1", "Alive");
    let resource = bench.resolved(&gvk).await;
    assert_eq!((resource.plural.as_str(), resource.namespaced), ("alives", true));
    assert!(bench.discovery.supports(&gvk, "watch"));
    let version = bench.discovery.version().await.expect("a version");
    assert!(version.is_at_least(1, 27), "{version:?}");
    bench.unregister("v1.dead.test").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_passes_from_one_replica_to_the_next() {
    let _others = ordinary().await;
    let bench = Bench::new("lease").await;
    let timing = Timing {
        lease_duration: Duration::from_secs(3),
        renew_deadline: Duration::from_secs(2),
        retry_period: Duration::from_millis(300),
    };
    let lease = || leader::kube_lease(bench.client.clone(), &bench.namespace, "host");
    let first = leader::acquire(lease(), "one", timing, Fence::default()).await;
    assert_eq!(bench.lease_holder("host").await, "one");
    let second = tokio::spawn(leader::acquire(lease(), "two", timing, Fence::default()));
    first.release().await;
    let second = second.await.expect("the second leads");
    assert!(second.is_held());
    assert_eq!(bench.lease_holder("host").await, "two");
    // The second dies without a word: its lease runs out.
    drop(second);
    let third = leader::acquire(lease(), "three", timing, Fence::default()).await;
    assert!(third.is_held());
}
