//! A whole life of a backup, with the host dying after every write, every request failing once, every answer lost once, and the store
//! and the member failing at every moment.

use std::{cell::Cell, rc::Rc, time::Duration};

use pilothouse_sdk::{
    DeleteOptions, HttpError, HttpErrorKind,
    harness::{Cluster, Fault, HttpAnswer, StoreFault, every_crash},
};
use serde_json::{Value, json};

use crate::{
    backup::{STORE, answer, cluster, reference, runner, snapshot, status},
    trial::{list, listens, play, runs},
};

/// Ways of taking backups: once and by the hash, once and tried, again and again with two that are kept.
fn ways() -> [Value; 3] {
    [
        json!({"timeoutInSecond": 60}),
        json!({"verification": "Restore", "deleteWithObject": true}),
        json!({"verification": "Restore", "backupIntervalInSecond": 1800, "maxBackups": 2, "deleteWithObject": true}),
    ]
}

fn repeats(way: &Value) -> bool {
    !way["maxBackups"].is_null()
}

/// The life of a backup up to its end, with what `prepare` does to it just before it begins.
fn taken(way: &Value, prepare: impl FnOnce(&Cluster)) -> Cluster {
    taken_with(way, 0, prepare)
}

/// The same, with what `prepare` does to it in that second.
fn taken_with(way: &Value, second: u32, prepare: impl FnOnce(&Cluster)) -> Cluster {
    let (cluster, _member) = cluster(way);
    listens(&cluster);
    let mut runner = runner(&cluster);
    if repeats(way) {
        for number in 1..=4 {
            cluster.store(STORE, &format!("etcd/daily_v{number}_2020-01-01-00:00:0{number}"), "older");
        }
        runner.run_for(Duration::from_secs(1795)).unwrap();
    }
    play(&cluster, &mut runner, second, &runs(1_000_000_007));
    prepare(&cluster);
    play(&cluster, &mut runner, 150, &runs(1_000_000_007));
    cluster
}

/// What has to be so in the end.
fn check(way: &Value, cluster: &Cluster, word: &str) {
    let (told, keys) = (status(cluster), cluster.stored_keys(STORE));
    assert_eq!((&told["succeeded"], &told["etcdRevision"]), (&json!(true), &json!(7)), "{word}: {told}");
    for over in ["run", "Reason", "discarded", "surplus"] {
        assert!(told[over].is_null(), "{word}: {told}");
    }
    let key = told["artifact"]["uri"].as_str().unwrap().strip_prefix(STORE).unwrap().trim_start_matches('/');
    assert_eq!(cluster.stored(STORE, key), Some(snapshot(7)), "{word}: {keys:?}");
    assert_eq!(told["verified"].as_str(), Some(way["verification"].as_str().unwrap_or("Hash")), "{word}");
    if repeats(way) {
        assert_eq!((keys.len(), &keys[0][..14]), (2, "etcd/daily_v4_"), "{word}: {keys:?}");
    } else {
        assert_eq!(keys, ["etcd/daily"], "{word}");
    }
    assert_eq!((list(cluster, "Pod").len(), list(cluster, "Service").len()), (0, 0), "{word}");
}

/// Every request of the plugin and of the host, one after the other, meets this.
fn every_request(fault: &dyn Fn() -> Fault) {
    for way in ways() {
        let calm = taken(&way, Cluster::forget_calls);
        check(&way, &calm, "calm");
        let requests = calm.calls().len();
        assert!(requests > 4, "{requests}");
        for nth in 1..=requests {
            let word = format!("{way}, request {nth}");
            let cluster = taken(&way, |cluster| cluster.fail(fault().nth(u32::try_from(nth).unwrap())));
            check(&way, &cluster, &word);
        }
    }
}

#[test]
fn a_backup_comes_to_its_end_wherever_the_host_dies() {
    for way in ways() {
        let crashes = every_crash(|nth| {
            let cluster = taken(&way, |cluster| cluster.crash_after_write(nth));
            check(&way, &cluster, &format!("{way}, crash {nth}"));
            cluster
        });
        assert!(crashes >= 3, "{crashes}");
    }
}

#[test]
fn a_backup_comes_to_its_end_whichever_request_fails() {
    every_request(&Fault::unavailable);
}

#[test]
fn a_backup_comes_to_its_end_whichever_answer_gets_lost() {
    every_request(&Fault::lost_answer);
}

#[test]
fn a_backup_comes_to_its_end_whichever_write_meets_somebody_elses() {
    every_request(&Fault::conflict);
}

#[test]
fn a_backup_comes_to_its_end_whenever_the_store_fails() {
    for way in ways() {
        for operation in ["head", "get", "put", "delete", "list"] {
            for (lost, second) in [false, true].into_iter().flat_map(|lost| (0..12).map(move |at| (lost, at)))
            {
                let fault = StoreFault::unavailable().operation(operation);
                let fault = if lost { fault.after_commit() } else { fault };
                let cluster = taken_with(&way, second, |cluster| cluster.fail_store(fault));
                let word = format!("{way}, {operation} in second {second}, answer lost: {lost}");
                check(&way, &cluster, &word);
            }
        }
    }
}

/// The life of a backup in which this request to a member fails, and how many there were.
fn unanswered(way: &Value, nth: u32) -> (Cluster, u32) {
    let asked = Rc::new(Cell::new(0));
    let counted = Rc::clone(&asked);
    let cluster = taken(way, |cluster| {
        cluster.serve("http://*.default.svc:2379", move |request, _| {
            asked.set(asked.get() + 1);
            if asked.get() == nth {
                return Err(HttpError::new(HttpErrorKind::Unreachable, "nobody"));
            }
            if request.url.ends_with("/cgi-bin/snapshot") {
                return Ok(HttpAnswer::new(if request.body == snapshot(7) { 200 } else { 422 }, ""));
            }
            answer(request, 7, false)
        });
    });
    (cluster, counted.get())
}

#[test]
fn a_backup_comes_to_its_end_whichever_request_to_a_member_fails() {
    for way in ways() {
        let (_, requests) = unanswered(&way, 0);
        assert!(requests >= 2, "{way}: the status and the snapshot, and {requests} were asked for");
        for nth in 1..=requests {
            let (cluster, asked) = unanswered(&way, nth);
            check(&way, &cluster, &format!("{way}, request {nth}"));
            assert!(asked >= nth, "{way}: there was no request {nth}");
        }
    }
}

/// The object is deleted and its backups with it.
fn deleted(way: &Value, prepare: impl FnOnce(&Cluster)) -> Cluster {
    let cluster = taken(way, |_| ());
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(1)).unwrap();
    prepare(&cluster);
    cluster.kubectl().delete_ref(&reference(), &DeleteOptions::default()).unwrap();
    runner.run_for(Duration::from_mins(10)).unwrap();
    cluster
}

#[test]
fn backups_go_with_their_object_whatever_happens_meanwhile() {
    for way in ways().into_iter().skip(1) {
        let gone = |cluster: &Cluster, word: &str| {
            assert_eq!(cluster.kubectl().get_ref::<Value>(&reference()).unwrap(), None, "{way}, {word}");
            assert_eq!(cluster.stored_keys(STORE), [""; 0], "{way}, {word}");
        };
        let calm = deleted(&way, Cluster::forget_calls);
        gone(&calm, "calm");
        for nth in 1..=u32::try_from(calm.calls().len()).unwrap() {
            for (fault, word) in [(Fault::unavailable(), "fails"), (Fault::lost_answer(), "is not answered")]
            {
                let cluster = deleted(&way, |cluster| cluster.fail(fault.nth(nth)));
                gone(&cluster, &format!("request {nth} {word}"));
            }
        }
        let crashes = every_crash(|nth| {
            let cluster = deleted(&way, |cluster| cluster.crash_after_write(nth));
            gone(&cluster, &format!("crash {nth}"));
            cluster
        });
        assert!(crashes >= 1, "{crashes}");
    }
}
