//! Two hosts and a lease on a real API server: one works, the other waits, and takes over when the first ends, dies or is
//! cut off.
//!
//! Needs what `faults` needs; skips aloud without it.

// Shared with the tests of faults; not everything in there is of use here.
#[path = "faults/bench.rs"]
#[expect(dead_code, reason = "written for more tests than these")]
mod bench;
#[path = "faults/host.rs"]
#[expect(dead_code, reason = "written for more tests than these")]
mod host;
#[path = "faults/proxy.rs"]
#[expect(dead_code, reason = "written for more tests than these")]
mod proxy;

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use bench::{Bench, await_that};
use host::{Host, Place};
use proxy::{Asked, Fault, Proxy};

/// controller-runtime's, which are the host's: how long others wait for a silent leader, and how often they look.
const LEASE: Duration = Duration::from_secs(15);
const RETRY: Duration = Duration::from_millis(2_400);

/// A host of its own place, seen through a proxy of its own.
struct Replica {
    place: Place,
    proxy: Proxy,
    host: Host,
}

impl Replica {
    /// Starts one and waits until its log says so.
    async fn start(bench: &Bench, says: &str) -> Self {
        let proxy = Proxy::start(bench.client.clone()).await;
        let place = Place::new(&bench.namespace, &proxy.kubeconfig(), &["hello.wasm"])
            .with("--grant-requested")
            .with("--leader-elect")
            .with(format!("--leader-election-namespace={}", bench.namespace));
        let host = place.start();
        place.await_log(&[says]).await;
        host.await_ready().await;
        Self { place, proxy, host }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.host.pid().cast_signed()).unwrap(), signal).unwrap();
    }

    /// What it wrote, its lease aside.
    fn works(&self) -> Vec<Asked> {
        self.proxy.seen(|asked| asked.writes() && !asked.path.contains("/leases"))
    }

    /// Waits until it leads; since when.
    async fn await_leading(&self) -> Instant {
        self.place.await_log(&["leading", "identity"]).await;
        Instant::now()
    }

    async fn await_end(&self) -> Option<i32> {
        let ended =
            await_that("the host ends", async || self.host.ended().ok_or_else(|| "it runs".to_owned()));
        ended.await.0.code()
    }
}

/// A leader that has made something, and one who waits.
async fn pair(namespace: &str) -> Option<(Bench, Replica, Replica)> {
    let bench = Bench::new(namespace).await?;
    let leader = Replica::start(&bench, "leading").await;
    let waiting = Replica::start(&bench, "another replica leads; waiting").await;
    bench.make("hellos", "web", json!({"greeting": "hi", "replicas": 1})).await;
    bench.await_condition("hellos", "web", ("Ready", "False"), &["PodsStarting"]).await;
    Some((bench, leader, waiting))
}

/// The lease's own words.
async fn lease(bench: &Bench) -> Value {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/pilothouse", bench.namespace);
    bench.get(&path).await.unwrap()["spec"].clone()
}

/// The second host does what there is to do from now on.
async fn assert_works(bench: &Bench, replica: &Replica) {
    bench.respec("hellos", "web", json!({"greeting": "hi", "replicas": 3})).await;
    bench.await_replicas("web", 3).await;
    assert!(!replica.works().is_empty());
    let lease = lease(bench).await;
    assert_eq!(lease["leaseTransitions"], 1, "{lease}");
    assert!(replica.place.log().contains(lease["holderIdentity"].as_str().unwrap()), "{lease}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_hosts_one_works_and_hands_over_at_once_when_it_is_told_to_end() {
    let Some((bench, first, second)) = pair("leader-term").await else { return };
    // It watches and is ready, and writes nothing.
    bench.respec("hellos", "web", json!({"greeting": "hi", "replicas": 2})).await;
    bench.await_replicas("web", 2).await;
    let written = second.proxy.seen(Asked::writes);
    assert!(written.is_empty(), "{written:?}");

    first.signal(Signal::TERM);
    assert_eq!(first.await_end().await, Some(0), "{}", first.place.log());
    let ended = Instant::now();
    let waited = second.await_leading().await - ended;
    // It looks every 2 s; the lease has not run out.
    assert!(waited < LEASE / 2, "{waited:?}");
    assert!(first.place.log().contains("the leader lease is given back"));
    assert_works(&bench, &second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_leader_dies_the_other_waits_until_the_lease_has_run_out() {
    let Some((bench, first, second)) = pair("leader-kill").await else { return };
    first.host.kill();
    let died = Instant::now();
    assert!(second.works().is_empty());
    let waited = second.await_leading().await - died;
    // The last renewal was seen a look of each of them before the end at most.
    assert!(waited > LEASE - 2 * RETRY, "{waited:?}");
    assert_works(&bench, &second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_cut_off_ends_before_another_begins() {
    let Some((bench, first, second)) = pair("leader-cut").await else { return };
    first.proxy.script(|_| Some(Fault::Hang));
    let cut = Instant::now();
    assert_eq!(first.await_end().await, Some(3), "{}", first.place.log());
    assert!(cut.elapsed() < LEASE, "{:?}", cut.elapsed());
    assert!(second.works().is_empty() && !second.place.log().contains("leading"));
    second.await_leading().await;
    assert_works(&bench, &second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_stood_still_for_longer_than_its_lease_writes_nothing_when_it_wakes() {
    let Some((bench, first, second)) = pair("leader-still").await else { return };
    // Nothing is under way: a request that was sent already could not be called back.
    first.signal(Signal::STOP);
    second.await_leading().await;
    assert_works(&bench, &second).await;
    // Much to do for whoever believes it leads: its watches have all of it waiting for them.
    for n in 0..40 {
        bench.make("hellos", &format!("late-{n}"), json!({"greeting": "hi", "replicas": 1})).await;
    }
    for n in 0..40 {
        bench.await_replicas(&format!("late-{n}"), 1).await;
    }
    first.proxy.forget();
    first.signal(Signal::CONT);
    assert_eq!(first.await_end().await, Some(3), "{}", first.place.log());
    let written = first.proxy.seen(Asked::writes);
    assert!(written.is_empty(), "{} writes beside the new leader: {written:?}", written.len());
    assert_eq!(second.host.ended(), None);
}
