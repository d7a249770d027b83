//! A restore with the host dying after every write, with each request failing and each answer lost, and with people who delete it or
//! make it anew while it is carried out.

use pilothouse_sdk::harness::{Caller, Cluster, Fault, every_crash};
use serde_json::{Value, json};

use crate::{restore::etcd, stage::Stage};

/// More than any back-off.
const LONG: u32 = 300;

/// What has to be so in the end: the cluster has one member, whose data is the backup.
fn is_restored(stage: &Stage, word: &str) {
    let (restore, cluster) = (stage.status("EtcdRestore"), stage.status("EtcdCluster"));
    assert_eq!(
        (&restore["succeeded"], &restore["state"]),
        (&json!(true), &json!("Succeeded")),
        "{word}: {restore}"
    );
    assert_eq!(cluster["record"]["restored"], stage.uid("EtcdRestore"), "{word}: {cluster}");
    is_well(stage, true, word);
}

fn is_well(stage: &Stage, has_backup: bool, word: &str) {
    let cluster = stage.status("EtcdCluster");
    assert_eq!(
        (&cluster["phase"], &cluster["record"]["change"]),
        (&json!("Running"), &Value::Null),
        "{word}: {cluster}"
    );
    let pods = stage.pods();
    assert_eq!(pods.len(), 1, "{word}: {cluster}");
    let member = &cluster["members"]["ready"][0];
    assert_eq!(*member, pods[0]["metadata"]["name"], "{word}: {cluster}");
    assert_eq!(stage.has_backup(member.as_str().unwrap()), has_backup, "{word}: {cluster}");
}

/// A restore to its end, with something that goes wrong from its beginning on.
fn restored(exists: bool, goes_wrong: impl FnOnce(&Cluster), word: &str) -> Cluster {
    let mut stage = Stage::new(exists);
    stage.cluster.forget_calls();
    goes_wrong(&stage.cluster);
    stage.ask();
    end(&mut stage);
    is_restored(&stage, &format!("exists {exists}, {word}"));
    stage.cluster
}

#[test]
fn a_restore_comes_to_its_end_wherever_the_host_dies() {
    for exists in [true, false] {
        let crashes = every_crash(|nth| {
            restored(exists, |cluster| cluster.crash_after_write(nth), &format!("crash {nth}"))
        });
        assert!(crashes >= 8, "{crashes} places where it can die");
    }
}

/// Every request of the plugin, one after the other, meets this.
fn every_request(fault: &dyn Fn() -> Fault) {
    for exists in [true, false] {
        let calm = restored(exists, |_| {}, "calm");
        let requests = calm.calls().iter().filter(|call| call.caller == Caller::Plugin).count();
        assert!(requests > 30, "{requests}");
        for nth in 1..=u32::try_from(requests).unwrap() {
            let fault = fault().caller(Caller::Plugin).nth(nth);
            restored(exists, |cluster| cluster.fail(fault), &format!("request {nth}"));
        }
    }
}

#[test]
fn a_restore_comes_to_its_end_whichever_request_fails() {
    every_request(&Fault::unavailable);
}

#[test]
fn a_restore_comes_to_its_end_whichever_answer_gets_lost() {
    every_request(&Fault::lost_answer);
}

/// Plays on until the restore is over, and what is left of it is cleaned up.
fn end(stage: &mut Stage) {
    for _ in 0..LONG {
        if stage.status("EtcdRestore")["succeeded"] == true && stage.is_ready() {
            break;
        }
        stage.play(1);
    }
}

/// An operator of before told what it had found by other names, which the definitions of today drop.
#[test]
fn a_restore_of_which_the_status_is_forgotten_is_looked_at_anew_and_not_given_up() {
    for exists in [true, false] {
        for second in 0..SECONDS {
            let mut stage = Stage::new(exists);
            stage.ask();
            stage.play(second);
            let mut status = stage.status("EtcdRestore");
            if status["state"] != "Seeding" {
                continue;
            }
            status["artifact"] = Value::Null;
            stage.cluster.set_status(&etcd("EtcdRestore", "example"), &status).unwrap();
            end(&mut stage);
            is_restored(&stage, &format!("exists {exists}, forgotten in second {second}"));
        }
    }
}

/// How many seconds a restore takes, and then some.
const SECONDS: u32 = 25;

#[test]
fn a_restore_that_is_deleted_holds_its_cluster_up_in_no_phase() {
    for exists in [true, false] {
        for second in 0..SECONDS {
            let word = format!("exists {exists}, deleted in second {second}");
            let mut stage = Stage::new(exists);
            stage.ask();
            stage.play(second);
            stage.withdraw();
            stage.play(60);
            let restored = stage.status("EtcdCluster")["record"]["restored"].is_string();
            is_well(&stage, restored, &word);
        }
    }
}

#[test]
fn a_restore_that_is_made_anew_is_carried_out_in_whatever_phase_the_one_before_was() {
    for exists in [true, false] {
        for second in 0..SECONDS {
            let mut stage = Stage::new(exists);
            stage.ask();
            stage.play(second);
            stage.withdraw();
            stage.ask();
            end(&mut stage);
            is_restored(&stage, &format!("exists {exists}, made anew in second {second}"));
        }
    }
}
