//! Watches against an API server in memory, in virtual time.

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::fake::{FakeApi, Fault};
use super::*;

/// A server that lists in pages, and one that streams lists.
const PAGES: u32 = 30;
const STREAMS: u32 = 34;

struct Bench {
    api: FakeApi,
    watches: Watches,
    discovery: Arc<Discovery>,
}

struct Joined {
    handle: WatchHandle,
    events: mpsc::UnboundedReceiver<ObjectEvent>,
}

fn bench(minor: u32) -> Bench {
    let api = FakeApi::new(minor);
    let discovery = Arc::new(Discovery::new(api.client()));
    Bench { watches: Watches::new(api.client(), Arc::clone(&discovery)), api, discovery }
}

fn spec(group: &str, kind: &str) -> WatchSpec {
    let gvk = Arc::new(Gvk::new(group, "v1", kind));
    WatchSpec { gvk, namespace: None, labels: String::new(), fields: String::new() }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Arc::new(Gvk::new("", "v1", "ConfigMap")), Some("a"), name)
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

impl Bench {
    fn join(&self, spec: &WatchSpec, name: &str) -> Joined {
        let (sender, events) = mpsc::unbounded_channel();
        let hear = move |event| {
            let _ = sender.send(event);
        };
        let subscriber = Subscriber { name: name.to_owned(), hear: Arc::new(hear) };
        Joined { handle: self.watches.acquire(spec, subscriber), events }
    }

    async fn synced(&self) -> Joined {
        let joined = self.join(&spec("", "ConfigMap"), "test");
        timeout(seconds(60), joined.handle.synced()).await.expect("synced");
        joined
    }
}

impl Joined {
    /// The next change: name, and whether it was there before and is there after.
    async fn next(&mut self) -> (String, bool, bool) {
        let event = timeout(seconds(120), self.events.recv()).await.expect("an event").expect("a watch");
        (event.key.name.to_string(), event.before.is_some(), event.after.is_some())
    }

    fn nothing(&mut self) -> bool {
        self.events.try_recv().is_err()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.handle.keys().iter().map(|key| key.name.to_string()).collect();
        names.sort();
        names
    }

    async fn until_trouble(&self, trouble: Option<Trouble>) {
        let reached = async {
            while self.handle.trouble().map(|(trouble, _)| trouble) != trouble {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(seconds(300), reached).await.expect("the state");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_several_pages_is_cached_whole_and_changes_follow() {
    let bench = bench(PAGES);
    for name in ["a", "b", "c", "d", "e"] {
        bench.api.apply(name, 1, false);
    }
    let mut joined = bench.synced().await;
    assert_eq!(joined.names(), ["a", "b", "c", "d", "e"]);
    assert_eq!(bench.api.count(&["configmaps", "limit=500"]), 3);
    for name in ["a", "b", "c", "d", "e"] {
        assert_eq!(joined.next().await, (name.to_owned(), false, true));
    }
    bench.api.apply("c", 2, false);
    assert_eq!(joined.next().await, ("c".to_owned(), true, true));
    bench.api.delete("a", false);
    assert_eq!(joined.next().await, ("a".to_owned(), true, false));
    assert!(joined.handle.get(&key("a")).is_none());
    let text = joined.handle.get(&key("c")).unwrap().json.clone();
    let object: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!((&object["kind"], &object["data"]["spec"]), (&"ConfigMap".into(), &"2".into()));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_streams_lists_is_asked_once() {
    let bench = bench(STREAMS);
    bench.api.apply("a", 1, false);
    let joined = bench.synced().await;
    assert_eq!(joined.names(), ["a"]);
    assert_eq!(bench.api.count(&["configmaps"]), 1);
    assert_eq!(bench.api.count(&["sendInitialEvents=true"]), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_to_stream_lists_is_asked_in_pages() {
    let bench = bench(STREAMS);
    bench.api.apply("a", 1, false);
    bench.api.fail(Some(Fault { code: 422, retry_after: 0, only: "sendInitialEvents" }));
    let start = Instant::now();
    assert_eq!(bench.synced().await.names(), ["a"]);
    assert!(start.elapsed() < seconds(1));
    assert_eq!(bench.api.count(&["sendInitialEvents"]), 1);
}

#[tokio::test(start_paused = true)]
async fn two_who_ask_for_the_same_share_one_watch_and_both_hear() {
    let bench = bench(PAGES);
    bench.api.apply("a", 1, false);
    let mut first = bench.synced().await;
    let mut second = bench.join(&spec("", "ConfigMap"), "other");
    assert_eq!((first.next().await.0, second.next().await.0), ("a".to_owned(), "a".to_owned()));
    bench.api.apply("b", 1, false);
    assert_eq!((first.next().await.0, second.next().await.0), ("b".to_owned(), "b".to_owned()));
    assert_eq!(bench.api.count(&["configmaps", "watch=true"]), 1);
    assert_eq!(bench.watches.usage().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_goes_on_where_it_stood() {
    let bench = bench(PAGES);
    bench.api.apply("a", 1, false);
    let mut joined = bench.synced().await;
    joined.next().await;
    bench.api.cut(None);
    sleep(seconds(2)).await;
    bench.api.apply("a", 2, false);
    assert_eq!(joined.next().await, ("a".to_owned(), true, true));
    assert_eq!(bench.api.count(&["configmaps", "limit="]), 1);
}

#[tokio::test(start_paused = true)]
async fn after_an_expired_version_the_list_tells_what_changed_and_what_vanished() {
    for cut in ["event", "answer"] {
        let bench = bench(PAGES);
        for name in ["changes", "goes", "stays"] {
            bench.api.apply(name, 1, false);
        }
        let mut joined = bench.synced().await;
        for _ in 0..3 {
            joined.next().await;
        }
        if cut == "event" {
            bench.api.cut(Some(410));
        } else {
            bench.api.fail(Some(Fault { code: 410, retry_after: 0, only: "watch=true" }));
            bench.api.cut(None);
            sleep(Duration::from_millis(150)).await;
            bench.api.fail(None);
        }
        bench.api.apply("changes", 2, true);
        bench.api.apply("comes", 1, true);
        bench.api.delete("goes", true);
        let mut heard = [joined.next().await, joined.next().await, joined.next().await];
        heard.sort();
        assert_eq!(
            heard,
            [
                ("changes".to_owned(), true, true),
                ("comes".to_owned(), false, true),
                ("goes".to_owned(), true, false)
            ],
            "{cut}"
        );
        assert!(joined.nothing());
        assert_eq!(joined.names(), ["changes", "comes", "stays"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_is_told_tried_more_and_more_rarely_and_heals_by_itself() {
    let bench = bench(PAGES);
    bench.api.apply("a", 1, false);
    bench.api.fail(Some(Fault { code: 403, retry_after: 0, only: "configmaps" }));
    let joined = bench.join(&spec("", "ConfigMap"), "test");
    sleep(seconds(300)).await;
    let (trouble, message) = joined.handle.trouble().expect("told");
    assert_eq!((trouble, message.as_str()), (Trouble::Forbidden, "refused with 403"));
    let tries = bench.api.count(&["configmaps"]);
    assert!((50..140).contains(&tries), "{tries} tries in five minutes");
    bench.api.fail(None);
    timeout(seconds(6), joined.handle.synced()).await.expect("healed");
    assert_eq!(joined.handle.trouble(), None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_time_gets_it() {
    let bench = bench(PAGES);
    bench.api.fail(Some(Fault { code: 429, retry_after: 20, only: "configmaps" }));
    let joined = bench.join(&spec("", "ConfigMap"), "test");
    sleep(seconds(59)).await;
    assert_eq!(bench.api.count(&["configmaps"]), 3);
    joined.until_trouble(Some(Trouble::Throttled)).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_resumed_in_silence_is_no_longer_in_trouble() {
    let bench = bench(PAGES);
    let joined = bench.synced().await;
    bench.api.fail(Some(Fault { code: 503, retry_after: 0, only: "watch=true" }));
    bench.api.cut(None);
    joined.until_trouble(Some(Trouble::Unavailable)).await;
    bench.api.fail(None);
    joined.until_trouble(None).await;
}

#[tokio::test(start_paused = true)]
async fn nobody_has_to_wait_for_the_first_list_of_a_kind_that_is_not_served_and_it_is_listed_when_it_comes() {
    let bench = bench(STREAMS);
    let waits = bench.join(&spec("g", "Thing"), "test");
    assert!(!timeout(seconds(5), waits.handle.settled()).await.expect("settled without a list"));
    assert!(!waits.handle.is_synced());
    bench.api.serve_things(true);
    timeout(seconds(60), waits.handle.synced()).await.expect("synced");
    assert!(waits.handle.settled().await);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_listed_is_waited_for() {
    let bench = bench(STREAMS);
    bench.api.fail(Some(Fault { code: 403, retry_after: 0, only: "configmaps" }));
    let waits = bench.join(&spec("", "ConfigMap"), "test");
    assert!(timeout(seconds(600), waits.handle.settled()).await.is_err());
    bench.api.fail(None);
    assert!(timeout(seconds(60), waits.handle.settled()).await.expect("settled"));
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_yet_is_waited_for() {
    let bench = bench(PAGES);
    let joined = bench.join(&spec("g", "Thing"), "test");
    joined.until_trouble(Some(Trouble::NotServed)).await;
    bench.api.apply("a", 1, false);
    bench.api.serve_things(true);
    timeout(seconds(15), joined.handle.synced()).await.expect("found without a sign");
    assert_eq!(joined.names(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_definitions_wakes_a_waiting_watch_at_once() {
    let bench = bench(PAGES);
    let joined = bench.join(&spec("g", "Thing"), "test");
    joined.until_trouble(Some(Trouble::NotServed)).await;
    sleep(seconds(2)).await;
    bench.api.serve_things(true);
    bench.discovery.look_again().await;
    timeout(Duration::from_millis(500), joined.handle.synced()).await.expect("found at once");
}

#[tokio::test(start_paused = true)]
async fn the_objects_of_a_kind_that_is_no_longer_served_are_reported_as_gone() {
    let bench = bench(PAGES);
    bench.api.serve_things(true);
    bench.api.apply("a", 1, false);
    let mut joined = bench.join(&spec("g", "Thing"), "test");
    assert_eq!(joined.next().await, ("a".to_owned(), false, true));
    bench.api.serve_things(false);
    bench.api.cut(None);
    assert_eq!(joined.next().await, ("a".to_owned(), true, false));
    joined.until_trouble(Some(Trouble::NotServed)).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_nobody_holds_lingers_and_then_stops() {
    let bench = bench(PAGES);
    let joined = bench.synced().await;
    let copy = joined.handle.clone();
    drop(joined);
    sleep(LINGER * 2).await;
    assert_eq!(bench.watches.usage().len(), 1, "a copy of the handle holds it");
    drop(copy);
    sleep(LINGER / 2).await;
    let again = bench.synced().await;
    assert_eq!(bench.api.count(&["configmaps", "limit="]), 1, "the cache was still warm");
    sleep(LINGER * 2).await;
    assert_eq!(bench.watches.usage().len(), 1);
    drop(again);
    sleep(LINGER + seconds(1)).await;
    assert_eq!(bench.watches.usage().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_to_a_lingering_watch_hears_instead_of_who_left() {
    let bench = bench(PAGES);
    bench.api.apply("a", 1, false);
    let Joined { handle, events: mut left } = bench.synced().await;
    drop(handle);
    let mut back = bench.synced().await;
    assert_eq!(back.next().await, ("a".to_owned(), false, true));
    bench.api.apply("a", 2, false);
    assert_eq!(back.next().await, ("a".to_owned(), true, true));
    assert!(left.recv().await.is_some());
    assert!(left.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn metrics_show_what_is_cached_and_what_is_in_trouble() {
    let bench = bench(PAGES);
    bench.api.apply("a", 1, false);
    let _synced = bench.synced().await;
    let waits = bench.join(&spec("g", "Thing"), "test");
    waits.until_trouble(Some(Trouble::NotServed)).await;
    let mut registry = prometheus_client::registry::Registry::default();
    crate::controller::metrics::WatchCollector::register(Arc::new(bench.watches), &mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    for line in [
        r#"pilothouse_watch_objects{group="",version="v1",kind="ConfigMap"} 1"#,
        r#"pilothouse_watches{group="",version="v1",kind="ConfigMap",state="running"} 1"#,
        r#"pilothouse_watches{group="g",version="v1",kind="Thing",state="not_served"} 1"#,
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}
