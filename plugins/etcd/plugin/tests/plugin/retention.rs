//! Backups that are not kept any more: however many there are, the oldest go first, and none that is kept goes with them.

use std::time::Duration;

use pilothouse_sdk::{
    BlobErrorKind,
    harness::{Cluster, StoreFault, every_crash},
};
use serde_json::json;

use crate::backup::{Member, STORE, cluster, reference, runner, status};

/// So many older backups, and one that repeats and keeps three. None has the revision that the member has.
fn with_older(count: usize) -> (Cluster, Member) {
    let (cluster, member) = cluster(&json!({"backupIntervalInSecond": 600, "maxBackups": 3}));
    for number in 0..count {
        cluster.store(STORE, &older(number), "older");
    }
    *member.revision.borrow_mut() = 5_000;
    (cluster, member)
}

/// Keys whose order as text is not that of their age.
fn older(number: usize) -> String {
    let (hour, minute, second) = (number / 3600, number / 60 % 60, number % 60);
    format!("etcd/daily_v{}_2020-01-01-{hour:02}:{minute:02}:{second:02}", 10 + number)
}

#[test]
fn far_more_backups_than_one_call_can_delete_are_deleted_in_the_end() {
    let (cluster, _member) = with_older(1_200);
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_mins(11)).unwrap();
    let keys = cluster.stored_keys(STORE);
    let kept = [older(1_198), older(1_199)];
    assert_eq!(keys.len(), 3, "{}", status(&cluster));
    assert!(kept.iter().all(|key| keys.contains(key)), "{keys:?}");
    assert!(keys.iter().any(|key| key.contains("_v5000_")), "{keys:?}");
    assert!(status(&cluster)["surplus"].is_null());
}

#[test]
fn the_oldest_go_first_and_what_could_not_be_deleted_is_tried_again_before_the_next_backup() {
    let (cluster, _member) = with_older(200);
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(599)).unwrap();
    cluster.fail_store(StoreFault::new(BlobErrorKind::Denied, "locked").operation("delete").times(54));
    runner.run_for(Duration::from_secs(4)).unwrap();
    let told = status(&cluster);
    assert_eq!((&told["succeeded"], &told["surplus"]), (&json!(true), &json!(true)), "{told}");
    let keys = cluster.stored_keys(STORE);
    assert_eq!(keys.len(), 155, "those that cannot be deleted hold up no others");
    assert!((0..4).all(|number| keys.contains(&older(number))) && !keys.contains(&older(4)), "{keys:?}");
    runner.run_for(Duration::from_mins(2)).unwrap();
    assert_eq!(cluster.stored_keys(STORE).len(), 3);
    let said: Vec<String> = cluster.logs().into_iter().map(|line| line.message).collect();
    let mut gone: Vec<String> = Vec::new();
    for said in &said {
        let key = said.strip_suffix(" is not kept any more").map(|key| format!("etcd/{key}"));
        gone.extend(key.filter(|key| !gone.contains(key)));
    }
    assert_eq!(gone, (0..198).map(older).collect::<Vec<_>>());
    assert!(status(&cluster)["surplus"].is_null());
}

#[test]
fn a_store_that_does_not_let_backups_go_holds_up_no_backup() {
    let (cluster, member) = with_older(5);
    cluster.fail_store(StoreFault::new(BlobErrorKind::Denied, "locked").operation("delete").times(1_000));
    let mut runner = runner(&cluster);
    for revision in [6_000, 7_000] {
        *member.revision.borrow_mut() = revision;
        runner.run_for(Duration::from_secs(602)).unwrap();
        let told = status(&cluster);
        assert_eq!((&told["succeeded"], &told["etcdRevision"]), (&json!(true), &json!(revision)), "{told}");
    }
    assert_eq!(cluster.stored_keys(STORE).len(), 7);
    assert!(cluster.condition(&reference(), "Stalled").is_none());
}

#[test]
fn wherever_the_host_dies_only_the_oldest_are_gone_and_in_the_end_all_that_are_not_kept() {
    let crashes = every_crash(|nth| {
        let (cluster, _member) = with_older(60);
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_secs(599)).unwrap();
        cluster.crash_after_write(nth);
        runner.run_for(Duration::from_mins(3)).unwrap();
        let keys = cluster.stored_keys(STORE);
        assert_eq!(keys.len(), 3, "crash {nth}: {keys:?}");
        assert!(keys.contains(&older(59)) && keys.contains(&older(58)), "crash {nth}: {keys:?}");
        cluster
    });
    assert!(crashes >= 60, "{crashes} places where it can die");
}
