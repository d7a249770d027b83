//! Elections in virtual time, over a lease in memory.

use std::sync::{Mutex, PoisonError};

use super::*;

/// A lease in memory that can be made to fail.
#[derive(Debug, Default)]
struct Memory {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    record: Option<Record>,
    version: u64,
    down: bool,
    hangs: bool,
    writes: usize,
}

impl Memory {
    fn with<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn holder(&self) -> String {
        self.with(|inner| inner.record.as_ref().map(|record| record.holder.clone()).unwrap_or_default())
    }

    async fn answers(&self) -> Result<(), LeaseError> {
        if self.with(|inner| inner.hangs) {
            std::future::pending::<()>().await;
        }
        if self.with(|inner| inner.down) {
            return Err(LeaseError::Api(Box::new(kube::Error::LinesCodecMaxLineLengthExceeded)));
        }
        Ok(())
    }
}

impl LeaseStore for Memory {
    async fn get(&self) -> Result<Option<Record>, LeaseError> {
        self.answers().await?;
        Ok(self.with(|inner| inner.record.clone()))
    }

    async fn put(&self, record: &Record) -> Result<Record, LeaseError> {
        self.answers().await?;
        self.with(|inner| {
            let version =
                inner.record.as_ref().map(|record| record.resource_version.clone()).unwrap_or_default();
            if version != record.resource_version {
                return Err(LeaseError::Conflict);
            }
            inner.version += 1;
            inner.writes += 1;
            let written = Record { resource_version: inner.version.to_string(), ..record.clone() };
            inner.record = Some(written.clone());
            Ok(written)
        })
    }
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

async fn lead(lease: &Arc<Memory>, name: &str) -> Leadership {
    lead_fenced(lease, name, Fence::default()).await
}

async fn lead_fenced(lease: &Arc<Memory>, name: &str, fence: Fence) -> Leadership {
    acquire(Arc::clone(lease), name, Timing::default(), fence).await
}

#[tokio::test(start_paused = true)]
async fn the_first_candidate_leads_at_once_and_renews() {
    let lease = Arc::new(Memory::default());
    let start = Instant::now();
    let leader = lead(&lease, "a").await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    sleep(seconds(60)).await;
    assert!(leader.is_held());
    assert!(lease.with(|inner| inner.writes) > 20);
    assert_eq!(lease.with(|inner| inner.record.as_ref().unwrap().transitions), 0);
}

#[tokio::test(start_paused = true)]
async fn a_second_candidate_waits_as_long_as_the_first_lives_and_takes_over_when_it_dies() {
    let lease = Arc::new(Memory::default());
    let first = lead(&lease, "a").await;
    let second = tokio::spawn({
        let lease = Arc::clone(&lease);
        async move { lead(&lease, "b").await }
    });
    sleep(seconds(120)).await;
    assert!(!second.is_finished() && lease.holder() == "a");
    drop(first);
    let died = Instant::now();
    let second = second.await.unwrap();
    assert!(second.is_held() && lease.holder() == "b");
    assert!(died.elapsed() > seconds(12) && died.elapsed() < seconds(20), "{:?}", died.elapsed());
    assert_eq!(lease.with(|inner| inner.record.as_ref().unwrap().transitions), 1);
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_within_a_few_seconds() {
    let lease = Arc::new(Memory::default());
    let first = lead(&lease, "a").await;
    let second = tokio::spawn({
        let lease = Arc::clone(&lease);
        async move { lead(&lease, "b").await }
    });
    sleep(seconds(10)).await;
    let released = Instant::now();
    first.release().await;
    assert_eq!(lease.holder(), "");
    second.await.unwrap();
    assert!(released.elapsed() < seconds(3), "{:?}", released.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_another_may_start() {
    for hangs in [false, true] {
        let lease = Arc::new(Memory::default());
        let leader = lead(&lease, "a").await;
        sleep(seconds(30)).await;
        lease.with(|inner| (inner.down, inner.hangs) = (!hangs, hangs));
        let cut = Instant::now();
        timeout(seconds(60), leader.lost()).await.expect("lost");
        // The last renewal was up to a retry period ago.
        assert!(cut.elapsed() >= seconds(8) && cut.elapsed() <= seconds(12), "{:?}", cut.elapsed());
        assert!(!leader.is_held());
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_costs_nothing() {
    let lease = Arc::new(Memory::default());
    let leader = lead(&lease, "a").await;
    for _ in 0..5 {
        lease.with(|inner| inner.down = true);
        sleep(seconds(6)).await;
        lease.with(|inner| inner.down = false);
        sleep(seconds(6)).await;
    }
    assert!(leader.is_held());
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_was_taken_is_told_at_once() {
    let lease = Arc::new(Memory::default());
    let leader = lead(&lease, "a").await;
    lease.with(|inner| {
        let record = inner.record.as_mut().unwrap();
        record.holder = "b".to_owned();
        record.resource_version = "99".to_owned();
    });
    let taken = Instant::now();
    timeout(seconds(60), leader.lost()).await.expect("lost");
    assert!(taken.elapsed() <= seconds(3), "{:?}", taken.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_leader_with_a_wrong_clock_is_respected_as_long_as_its_record_moves() {
    let lease = Arc::new(Memory::default());
    let mut election = Election::new("b", seconds(15));
    let clock: Timestamp = "1970-01-01T00:00:00Z".parse().unwrap();
    for version in 0..100 {
        let record = Record {
            resource_version: version.to_string(),
            holder: "a".to_owned(),
            duration: seconds(15),
            renewed: Some(clock),
            ..Record::default()
        };
        lease.with(|inner| inner.record = Some(record));
        assert_eq!(election.look(lease.get().await.unwrap(), Instant::now(), Timestamp::now()), Step::Wait);
        sleep(seconds(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_many_candidates_exactly_one_leads_at_any_time() {
    let lease = Arc::new(Memory::default());
    let (sender, mut leaders) = tokio::sync::mpsc::channel(8);
    for n in 0..5 {
        let (lease, sender) = (Arc::clone(&lease), sender.clone());
        tokio::spawn(async move {
            loop {
                let leader = lead(&lease, &format!("candidate-{n}")).await;
                sender.send(leader).await.unwrap();
                sleep(seconds(3600)).await;
            }
        });
    }
    for round in 0..4 {
        let leader = leaders.recv().await.unwrap();
        sleep(seconds(60)).await;
        assert!(leaders.try_recv().is_err(), "two leaders in round {round}");
        assert!(leader.is_held());
        drop(leader);
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_survives_an_api_server_that_is_away_at_the_start() {
    let lease = Arc::new(Memory::default());
    lease.with(|inner| inner.down = true);
    let candidate = tokio::spawn({
        let lease = Arc::clone(&lease);
        async move { lead(&lease, "a").await }
    });
    sleep(seconds(300)).await;
    lease.with(|inner| inner.down = false);
    assert!(timeout(seconds(5), candidate).await.unwrap().unwrap().is_held());
}

#[tokio::test(start_paused = true)]
async fn without_an_election_nothing_is_lost_until_it_is_released() {
    let leader = without_election();
    assert!(timeout(seconds(100_000), leader.lost()).await.is_err());
    leader.release().await;
}

#[test]
fn two_processes_of_one_host_have_different_identities() {
    let (one, two) = (identity("host"), identity("host"));
    assert!(one.starts_with("host_") && one != two);
}

#[tokio::test(start_paused = true)]
async fn writes_are_fenced_from_the_moment_at_which_another_may_lead() {
    let lease = Arc::new(Memory::default());
    let fence = Fence::default();
    let leader = lead_fenced(&lease, "a", fence.clone()).await;
    sleep(seconds(60)).await;
    let left = fence.left().unwrap();
    assert!(left <= Timing::default().renew_deadline && left > seconds(7), "{left:?}");
    lease.with(|inner| inner.hangs = true);
    sleep(left).await;
    assert_eq!(fence.left(), None);
    leader.lost().await;

    // Given back: the next one starts at once, so nothing may come after.
    lease.with(|inner| (inner.hangs, inner.record) = (false, None));
    let leader = lead_fenced(&lease, "b", fence.clone()).await;
    assert!(fence.left().is_some());
    leader.release().await;
    assert_eq!(fence.left(), None);
}
