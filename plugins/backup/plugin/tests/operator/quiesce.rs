//! Databases that are brought to rest while they are read: whatever happens, they are released.

use std::{cell::RefCell, rc::Rc, time::Duration};

use pilothouse_sdk::{
    Gvk, ObjectRef,
    harness::{Cluster, ExecAnswer, Fault as HostFault, Verb, every_crash},
};
use serde_json::{Value, json};

use crate::{
    actors::Fate,
    scene::{NAMESPACE, Scene, database_subject, of_database},
};

/// The pods that are at rest, and what the next commands of a list answer.
#[derive(Debug, Default)]
pub(crate) struct Database {
    pub(crate) frozen: Vec<String>,
    pub(crate) freezes: Vec<ExecAnswer>,
    pub(crate) thaws: Vec<ExecAnswer>,
}

pub(crate) fn hooks() -> Value {
    let hook = |word: &str| json!([{"selector": {"matchLabels": {"app": "db"}}, "container": "db", "command": [word], "timeout": "10s"}]);
    json!({"quiesce": {"pre": hook("freeze"), "post": hook("thaw")}})
}

pub(crate) fn pod(cluster: &Cluster, name: &str) -> ObjectRef {
    let metadata = json!({"name": name, "namespace": NAMESPACE, "labels": {"app": "db"}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "db", "image": "db"}]}});
    cluster.create([pod]).unwrap();
    let pod = ObjectRef::new(Gvk::new("", "v1", "Pod"), NAMESPACE, name);
    cluster.set_status(&pod, &json!({"phase": "Running"})).unwrap();
    pod
}

/// The database that runs in the pods.
pub(crate) fn database(cluster: &Cluster) -> Rc<RefCell<Database>> {
    let database = Rc::new(RefCell::new(Database::default()));
    let played = Rc::clone(&database);
    cluster.on_exec(move |call| {
        let mut database = played.borrow_mut();
        let (pod, thaws) = (call.command.pod.clone(), call.command.arguments == ["thaw"]);
        let answers = if thaws { &mut database.thaws } else { &mut database.freezes };
        let well = || ExecAnswer::exit(0).after(Duration::from_secs(1));
        let answer = if answers.is_empty() { well() } else { answers.remove(0) };
        // A command whose end is not heard may have done its work.
        if answer != ExecAnswer::exit(1) {
            database.frozen.retain(|frozen| *frozen != pod);
            if !thaws {
                database.frozen.push(pod);
            }
        }
        answer
    });
    database
}

fn scene(fates: &[Fate], change: &Value) -> (Scene, Rc<RefCell<Database>>) {
    let mut scene = Scene::new();
    let database = database(&scene.cluster);
    pod(&scene.cluster, "db-0");
    scene.actors.fate("dump", fates);
    let plan = of_database(&backup_core::manifest::merge(hooks(), change));
    scene.back_up("b", &database_subject(), &plan);
    (scene, database)
}

fn commands(scene: &Scene) -> Vec<String> {
    scene
        .cluster
        .commands()
        .iter()
        .map(|call| format!("{} {}", call.command.arguments[0], call.command.pod))
        .collect()
}

#[test]
fn a_database_is_at_rest_while_it_is_read_and_no_longer() {
    let (mut scene, database) = scene(&[Fate::Hangs], &json!({"retries": 0, "timeout": "1m"}));
    scene.runner.settle().unwrap();
    assert_eq!(scene.backup("b").0, "Quiescing");
    scene.play(5);
    assert_eq!(scene.backup("b").0, "Running");
    assert_eq!(database.borrow().frozen, ["db-0"]);
    scene.play(80);
    assert_eq!(scene.backup("b").0, "Failed");
    assert!(database.borrow().frozen.is_empty());
    assert_eq!(commands(&scene), ["freeze db-0", "thaw db-0"]);
    scene.nothing_is_left("late");
}

#[test]
fn of_two_backups_of_the_same_pods_the_second_waits_until_the_first_has_released_them() {
    let (mut scene, database) = scene(&[], &json!({}));
    scene.back_up("a", &database_subject(), &of_database(&hooks()));
    scene.play(4);
    scene.back_up("c", &database_subject(), &of_database(&hooks()));
    scene.play(90);
    for name in ["a", "b", "c"] {
        assert_eq!(scene.backup(name).0, "Completed", "{:?}", scene.backup(name));
    }
    assert_eq!(commands(&scene), ["freeze db-0", "thaw db-0"].repeat(3));
    assert!(database.borrow().frozen.is_empty());
}

#[test]
fn a_backup_with_commands_is_completed_and_counts_them() {
    let (mut scene, database) = scene(&[], &json!({}));
    pod(&scene.cluster, "db-1");
    scene.play(60);
    let status = scene.status("Backup", "b");
    assert_eq!(
        (&status["phase"], &status["hooks"]),
        (&json!("Completed"), &json!({"attempted": 4, "failed": 0}))
    );
    assert!(database.borrow().frozen.is_empty());
    assert_eq!(commands(&scene), ["freeze db-0", "freeze db-1", "thaw db-0", "thaw db-1"]);
}

#[test]
fn a_command_that_fails_ends_the_attempt_and_what_was_at_rest_is_released() {
    let (mut scene, database) = scene(&[], &json!({"retries": 0}));
    pod(&scene.cluster, "db-1");
    let no = || ExecAnswer::exit(1).output("no such table\n");
    database.borrow_mut().freezes = vec![ExecAnswer::exit(0), no()];
    scene.play(60);
    let (phase, _, message) = scene.backup("b");
    assert!(
        phase == "Failed" && message.contains("in pod db-1: it ended with 1: no such table"),
        "{phase}: {message}"
    );
    assert!(!database.borrow().frozen.contains(&"db-0".to_owned()));
    assert!(commands(&scene).contains(&"thaw db-0".to_owned()));
}

#[test]
fn a_command_that_releases_is_tried_until_it_does() {
    let (mut scene, database) = scene(&[], &json!({}));
    database.borrow_mut().thaws = vec![
        ExecAnswer::exit(1),
        ExecAnswer::fails("ConnectionLost", "cut"),
        ExecAnswer::never(),
        ExecAnswer::exit(1),
    ];
    scene.play(120);
    assert_eq!(scene.backup("b").0, "Completed", "{:?}", scene.backup("b"));
    assert!(database.borrow().frozen.is_empty());
    assert_eq!(scene.status("Backup", "b")["hooks"]["failed"], 0);
}

#[test]
fn a_command_that_never_releases_is_told_and_counts_against_the_backup() {
    let (mut scene, database) = scene(&[], &json!({"retries": 0}));
    database.borrow_mut().thaws = vec![ExecAnswer::exit(1); 30];
    scene.play(900);
    let (phase, _, message) = scene.backup("b");
    assert!(phase == "Failed" && message.contains("may still be at rest"), "{phase}: {message}");
    assert!(scene.cluster.events().iter().any(|told| told.event.reason == "ReleaseFailed"));
}

#[test]
fn more_commands_than_the_host_keeps_of_an_object_are_run_one_after_the_other() {
    let (mut scene, _) = scene(&[], &json!({}));
    for number in 1..12 {
        pod(&scene.cluster, &format!("db-{number}"));
    }
    scene.play(120);
    assert_eq!(scene.backup("b").0, "Completed", "{:?}", scene.backup("b"));
    assert_eq!(commands(&scene).len(), 24);
}

#[test]
fn without_the_right_to_run_commands_nothing_is_read_and_the_right_is_named() {
    let (mut scene, _) = scene(&[], &json!({"retries": 0}));
    scene.cluster.forbid("create", "pods/exec");
    scene.play(20);
    assert!(scene.backup("b").2.contains("pods/exec"), "{:?}", scene.backup("b"));
    scene.cluster.permit("create", "pods/exec");
    scene.play(120);
    assert_eq!(scene.backup("b").0, "Failed");
    assert!(commands(&scene).iter().all(|command| command == "thaw db-0"), "{:?}", commands(&scene));
}

#[test]
fn a_pod_that_is_gone_has_nothing_to_be_released() {
    let (mut scene, _) = scene(&[Fate::Hangs], &json!({"retries": 0, "timeout": "1m"}));
    scene.play(5);
    let gone = ObjectRef::new(Gvk::new("", "v1", "Pod"), NAMESPACE, "db-0");
    scene.cluster.kubectl().delete_ref(&gone, &Default::default()).unwrap();
    scene.play(90);
    assert_eq!(scene.backup("b").0, "Failed");
    assert_eq!(commands(&scene), ["freeze db-0"]);
}

#[test]
fn a_database_is_released_though_its_backup_is_deleted() {
    let (mut scene, database) = scene(&[Fate::Hangs], &json!({}));
    scene.play(5);
    assert_eq!(database.borrow().frozen, ["db-0"]);
    scene.delete("Backup", "b");
    scene.play(20);
    assert!(database.borrow().frozen.is_empty());
    assert!(scene.get("Backup", "b").is_none());
}

#[test]
fn a_database_is_released_wherever_the_host_dies() {
    for fate in [Fate::Well, Fate::Fails] {
        let crashes = every_crash(|nth| {
            let (mut scene, database) = scene(&[fate; 3], &json!({"retries": 1}));
            scene.cluster.crash_after_write(nth);
            scene.play(200);
            assert!(database.borrow().frozen.is_empty(), "crash {nth}: {:?}", scene.backup("b"));
            let expected = if fate == Fate::Well { "Completed" } else { "Failed" };
            assert_eq!(scene.backup("b").0, expected, "crash {nth}: {:?}", scene.backup("b"));
            scene.check("crash");
            scene.nothing_is_left(&format!("crash {nth}"));
            scene.cluster
        });
        assert!(crashes > 15, "{crashes}");
    }
}

#[test]
fn a_database_is_released_though_answers_get_lost() {
    for nth in 1..=2 {
        let (mut scene, database) = scene(&[], &json!({}));
        scene.cluster.fail(HostFault::lost_answer().verb(Verb::Exec).nth(nth));
        scene.play(200);
        assert!(database.borrow().frozen.is_empty(), "{nth}");
        assert_eq!(scene.backup("b").0, "Completed", "{nth}: {:?}", scene.backup("b"));
    }
}
