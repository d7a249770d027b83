//! Wishes against an API server in memory, in virtual time.

use tokio::time::{sleep, timeout};

use super::*;
use crate::controller::discovery::Discovery;
use crate::controller::watch::fake::FakeApi;
use crate::plugin::bindings::Trigger;
use crate::plugin::names::{wit_gvk, wit_ref};

struct Bench {
    api: FakeApi,
    observer: Observer,
    stream: mpsc::UnboundedReceiver<Observed>,
}

fn bench() -> Bench {
    let api = FakeApi::new(34);
    let discovery = Arc::new(Discovery::new(api.client()));
    let (observer, stream) = Observer::new(Arc::new(Watches::new(api.client(), discovery)), &[]);
    Bench { api, observer, stream }
}

fn key(kind: &str, name: &str) -> ObjectKey {
    ObjectKey::new(Arc::new(Gvk::new("", "v1", kind)), Some("a"), name)
}

fn object(name: &str) -> Watch {
    Watch { target: WatchTarget::Object(wit_ref(&key("ConfigMap", name))), trigger: Trigger::Drift }
}

fn selected() -> Watch {
    let kind = wit_gvk(&Gvk::new("", "v1", "ConfigMap"));
    Watch {
        target: WatchTarget::Selected((kind, Some("a".to_owned()), String::new())),
        trigger: Trigger::Drift,
    }
}

impl Bench {
    fn wish(&self, owner: &str, watch: &Watch, since: Instant) {
        self.observer.wish(&key("App", owner), &Arc::from("p"), std::slice::from_ref(watch), since);
    }

    /// Owner `first` wishes, and hears of everything that there is to hear.
    async fn running(&mut self, watch: &Watch) {
        self.wish("first", watch, Instant::now());
        assert_eq!(self.next_missed().await.0, "first");
        sleep(Duration::from_secs(1)).await;
        while self.stream.try_recv().is_ok() {}
    }

    /// The next change, by name.
    async fn next_change(&mut self) -> String {
        loop {
            if let Observed::Changed { event, .. } = self.next().await {
                return event.key.name.to_string();
            }
        }
    }

    async fn next_missed(&mut self) -> (String, Option<String>) {
        loop {
            if let Observed::Missed { owner, object } = self.next().await {
                return (owner.name.to_string(), object.map(|object| object.name.to_string()));
            }
        }
    }

    async fn next(&mut self) -> Observed {
        timeout(Duration::from_secs(60), self.stream.recv()).await.expect("something is heard").unwrap()
    }

    async fn nobody_missed_anything(&mut self) {
        sleep(Duration::from_secs(60)).await;
        while let Ok(observed) = self.stream.try_recv() {
            assert!(!matches!(observed, Observed::Missed { .. }), "{observed:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_happens_between_a_look_and_a_wish_on_a_running_watch_is_told() {
    for (watch, name) in [(object("x"), "x"), (selected(), "x")] {
        let mut bench = bench();
        bench.api.apply("x", 1, false);
        bench.running(&watch).await;
        let began = Instant::now();
        bench.api.delete("x", false);
        assert_eq!(bench.next_change().await, "x");
        bench.wish("second", &watch, began);
        assert_eq!(bench.next_missed().await, ("second".to_owned(), Some(name.to_owned())));
    }
}

#[tokio::test(start_paused = true)]
async fn what_happened_before_the_look_is_not_told_again() {
    let mut bench = bench();
    bench.api.apply("x", 1, false);
    bench.running(&object("x")).await;
    bench.api.apply("x", 2, false);
    assert_eq!(bench.next_change().await, "x");
    sleep(Duration::from_secs(1)).await;
    bench.wish("second", &object("x"), Instant::now());
    bench.nobody_missed_anything().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_went_before_the_first_list_of_its_watch_is_looked_at_again() {
    let mut bench = bench();
    bench.wish("first", &object("gone"), Instant::now());
    assert_eq!(bench.next_missed().await, ("first".to_owned(), Some("gone".to_owned())));
    bench.nobody_missed_anything().await;
}

#[tokio::test(start_paused = true)]
async fn a_wish_that_is_taken_back_before_the_first_list_wakes_nobody() {
    let mut bench = bench();
    bench.wish("first", &selected(), Instant::now());
    bench.observer.wish(&key("App", "first"), &Arc::from("p"), &[], Instant::now());
    bench.nobody_missed_anything().await;
}
