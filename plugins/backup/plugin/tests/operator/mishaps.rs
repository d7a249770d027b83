//! Every request of a backup, a restore and a hook failing or losing its answer, and the host dying after every write.

use std::{cell::RefCell, rc::Rc};

use backup_core::manifest::merge;
use pilothouse_sdk::{
    Artefact,
    harness::{Caller, Fault, StoreFault, every_crash},
};
use serde_json::{Value, json};

use crate::{
    quiesce::{Database, database, hooks, pod},
    scene::{End, Scene, announced, cluster_subject, database_subject, of_database, of_etcd, undoing},
};

/// Half an hour is more than any back-off.
const LONG: u64 = 1800;

/// One way of taking backups.
struct Way {
    subject: Value,
    plan: Value,
}

fn ways() -> [Way; 2] {
    let all = json!({"verification": {"level": "Restore"}});
    [
        Way { subject: cluster_subject(), plan: of_etcd(&json!({})) },
        Way { subject: database_subject(), plan: of_database(&merge(hooks(), &all)) },
    ]
}

fn scene(way: &Way) -> (Scene, Rc<RefCell<Database>>) {
    let mut scene = Scene::new();
    let database = database(&scene.cluster);
    pod(&scene.cluster, "db-0");
    let group = way.subject["apiVersion"].as_str().unwrap().split_once('/').map_or("", |(group, _)| group);
    let subject = json!({"apiGroup": group, "kind": way.subject["kind"], "name": way.subject["name"]});
    let subjects = json!({"subjects": [subject]});
    scene.create("BackupPolicy", "p", &merge(way.plan.clone(), &subjects));
    scene.play(2);
    (scene, database)
}

/// An upgrade with its backup, and its undoing with the restore. What has to be so in the end is checked.
fn upgrade_and_back(way: &Way, scene: &mut Scene, database: &RefCell<Database>, word: &str) {
    let before = scene.actors.data.clone();
    let artefacts = guard(way, scene, word);
    assert!(database.borrow().frozen.is_empty(), "{word}: at rest though its hook is done");
    scene.actors.data = b"spoilt".to_vec();
    let undone = undoing("post-rollback", "back", (&way.subject, "v2", &artefacts));
    let change = planned(scene, &undone);
    match scene.carry_out(&change, LONG) {
        End::Done(_) => assert_eq!(scene.actors.data, before, "{word}: done without the data"),
        other => panic!("{word}: {other:?}"),
    }
    scene.play(200);
    scene.check(word);
    assert!(database.borrow().frozen.is_empty(), "{word}: left at rest");
    scene.nothing_is_left(word);
}

fn planned(scene: &mut Scene, announced: &pilothouse_sdk::Announced) -> crate::scene::Change {
    for _ in 0..10 {
        if let Ok(change) = scene.plan(announced.clone()) {
            return change;
        }
        scene.play(1);
    }
    panic!("there is no plan");
}

/// The hook before the upgrade.
fn guard(way: &Way, scene: &mut Scene, word: &str) -> Vec<Artefact> {
    let change = planned(scene, &announced("pre-upgrade", "v2", &way.subject));
    match scene.carry_out(&change, LONG) {
        End::Done(artefacts) => {
            let name = &artefacts[0].name;
            assert!(scene.backup(name).1, "{word}: done without a verified backup");
            assert_eq!(scene.artefact(name).unwrap(), scene.actors.data, "{word}");
            artefacts
        }
        other => panic!("{word}: {other:?}"),
    }
}

#[test]
fn an_upgrade_and_its_undoing_come_to_their_ends_wherever_the_host_dies() {
    for way in ways() {
        let crashes = every_crash(|nth| {
            let (mut scene, database) = scene(&way);
            scene.cluster.crash_after_write(nth);
            upgrade_and_back(&way, &mut scene, &database, &format!("crash {nth}"));
            scene.cluster
        });
        assert!(crashes > 30, "{crashes}");
    }
}

/// Every request of the plugin, one after the other, meets this.
fn every_request(fault: &dyn Fn() -> Fault) {
    for way in ways() {
        let (mut calm, database) = scene(&way);
        calm.cluster.forget_calls();
        upgrade_and_back(&way, &mut calm, &database, "calm");
        let requests = calm.cluster.calls().iter().filter(|call| call.caller == Caller::Plugin).count();
        assert!(requests > 50, "{requests}");
        for nth in 1..=requests {
            let (mut scene, database) = scene(&way);
            scene.cluster.fail(fault().caller(Caller::Plugin).nth(u32::try_from(nth).unwrap()));
            upgrade_and_back(&way, &mut scene, &database, &format!("request {nth}"));
        }
    }
}

#[test]
fn an_upgrade_and_its_undoing_come_to_their_ends_whichever_request_fails() {
    every_request(&Fault::unavailable);
}

#[test]
fn an_upgrade_and_its_undoing_come_to_their_ends_whichever_answer_gets_lost() {
    every_request(&Fault::lost_answer);
}

#[test]
fn an_upgrade_and_its_undoing_come_to_their_ends_whenever_the_storage_fails() {
    for way in ways() {
        for operation in ["head", "get", "put", "delete"] {
            for second in 0..40 {
                let (mut scene, database) = scene(&way);
                let change = planned(&mut scene, &announced("pre-upgrade", "v2", &way.subject));
                let _ = scene.carry_out(&change, second);
                scene.cluster.fail_store(StoreFault::unavailable().operation(operation));
                upgrade_and_back(&way, &mut scene, &database, &format!("{operation} in second {second}"));
            }
        }
    }
}
