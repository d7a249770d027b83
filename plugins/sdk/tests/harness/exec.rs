//! Commands in containers, and evictions.

use std::{cell::RefCell, rc::Rc, time::Duration};

use pilothouse_sdk::{
    Context, Error, EvictOptions, ExecCommand, ExecState, Gvk, KubeError, ObjectRef, Outcome,
    harness::{Cluster, ExecAnswer, Fault, Runner, Verb, every_crash},
};
use serde_json::{Value, json};

use crate::script::{self, app_ref};

const MANIFEST: &str = "
name: backup
version: 0.1.0
kinds: [{ group: example.com, version: v1, kind: App }]
rights:
  kube:
    - { apiGroups: [''], resources: [pods], verbs: [get] }
    - { apiGroups: [''], resources: [pods/exec, pods/eviction], verbs: [create] }
";

fn pod() -> ObjectRef {
    ObjectRef::new(Gvk::new("", "v1", "Pod"), "default", "db-0")
}

fn cluster() -> Cluster {
    let cluster = script::cluster();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0", "namespace": "default"},
        "spec": {"containers": [{"name": "db", "image": "db"}]}});
    cluster.create([pod]).unwrap();
    cluster
}

fn uid(cluster: &Cluster) -> String {
    let pod: Option<Value> = cluster.kubectl().get_ref(&pod()).unwrap();
    pod.unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn freeze(uid: &str) -> ExecCommand {
    ExecCommand::new("default", "db-0", uid, "db", ["fsfreeze", "--freeze", "/data"])
}

fn runner(cluster: &Cluster, hook: impl Fn(&Context) -> Result<Outcome, Error> + 'static) -> Runner {
    script::runner(cluster, move |ctx, _| hook(ctx)).manifest(MANIFEST).unwrap()
}

/// A host whose plugin asks for one command, and what it was told each time.
fn asking(
    cluster: &Cluster,
    attempt: impl Fn(&[ExecState]) -> u32 + 'static,
) -> (Runner, Rc<RefCell<Vec<ExecState>>>) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (sink, uid) = (Rc::clone(&seen), uid(cluster));
    let runner = runner(cluster, move |ctx| {
        let attempt = attempt(&sink.borrow());
        let progress = ctx.kube().exec("freeze", attempt, &freeze(&uid))?;
        sink.borrow_mut().push(progress.state.clone());
        match progress.state {
            ExecState::Done(0) => Ok(Outcome::ready()),
            ExecState::Running => Ok(Outcome::progressing("Freezing", "")),
            _ => Ok(Outcome::progressing("Again", "").requeue_after(Duration::from_secs(1))),
        }
    });
    (runner, seen)
}

fn reason(cluster: &Cluster) -> String {
    cluster.condition(&app_ref(), "Ready").unwrap().reason
}

#[test]
fn a_command_runs_behind_the_call_and_the_object_is_called_at_its_end() {
    let cluster = cluster();
    cluster.on_exec(|call| {
        assert_eq!(call.command.arguments, ["fsfreeze", "--freeze", "/data"]);
        ExecAnswer::exit(0).output("frozen").after(Duration::from_secs(5))
    });
    let (mut runner, seen) = asking(&cluster, |_| 1);
    runner.run_for(Duration::from_secs(4)).unwrap();
    assert_eq!(*seen.borrow(), [ExecState::Running]);
    runner.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(*seen.borrow(), [ExecState::Running, ExecState::Done(0)]);
    let begun = cluster.commands();
    assert_eq!((begun.len(), begun[0].object.clone(), begun[0].name.as_str()), (1, app_ref(), "freeze"));
    assert!(cluster.writes().contains(&"exec v1 Pod default/db-0/exec".to_owned()), "{:?}", cluster.writes());
}

#[test]
fn a_command_that_takes_too_long_is_given_up_and_another_attempt_begins_anew() {
    let cluster = cluster();
    cluster.on_exec(|call| match call.attempt {
        0 => ExecAnswer::never(),
        1 => ExecAnswer::exit(0).after(Duration::from_secs(30)),
        2 => ExecAnswer::fails("ConnectionLost", "cut"),
        3 => ExecAnswer::exit(3),
        _ => ExecAnswer::exit(0).after(Duration::from_secs(29)),
    });
    let ended = |seen: &[ExecState]| seen.iter().filter(|state| **state != ExecState::Running).count();
    let (mut runner, seen) = asking(&cluster, move |seen| u32::try_from(ended(seen)).unwrap());
    let began = cluster.now();
    runner.run_for(Duration::from_secs(29)).unwrap();
    assert_eq!(ended(&seen.borrow()), 0);
    runner.run_for(Duration::from_secs(91)).unwrap();
    assert_eq!(cluster.now().duration_since(began).unwrap(), Duration::from_secs(120));
    let words: Vec<String> = seen
        .borrow()
        .iter()
        .filter_map(|state| match state {
            ExecState::Running => None,
            ExecState::Done(code) => Some(code.to_string()),
            ExecState::Failed { reason, .. } => Some(reason.clone()),
        })
        .collect();
    assert_eq!(words, ["TimedOut", "TimedOut", "ConnectionLost", "3", "0"]);
    assert_eq!(cluster.commands().len(), 5);
}

#[test]
fn another_pod_of_the_name_and_one_that_is_gone_get_no_command() {
    let cluster = cluster();
    cluster.on_exec(|_| ExecAnswer::exit(0));
    let mut runner = runner(&cluster, |ctx| {
        let error = ctx.kube().exec("freeze", 0, &freeze("of-the-one-before")).unwrap_err();
        assert!(
            matches!(&error, KubeError::Conflict(status) if status.message.contains("another one")),
            "{error}"
        );
        let gone = ExecCommand { pod: "db-1".to_owned(), ..freeze("u") };
        assert!(ctx.kube().exec("freeze", 0, &gone).unwrap_err().is_not_found());
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!((reason(&cluster).as_str(), cluster.commands().len()), ("Reconciled", 0));
}

#[test]
fn without_the_right_in_manifest_and_cluster_nothing_is_run_or_evicted() {
    let refused = |manifest: &str, forbidden: bool| {
        let cluster = cluster();
        if forbidden {
            cluster.forbid("create", "pods/exec");
            cluster.forbid("create", "pods/eviction");
        }
        let uid = uid(&cluster);
        let hook = move |ctx: &Context, _: &_| {
            let error = ctx.kube().exec("freeze", 0, &freeze(&uid)).unwrap_err();
            assert!(matches!(error, KubeError::Denied(_)), "{error}");
            let error = ctx.kube().evict("default", "db-0", &EvictOptions::default()).unwrap_err();
            assert!(matches!(error, KubeError::Denied(_)), "{error}");
            Ok(Outcome::ready())
        };
        script::runner(&cluster, hook).manifest(manifest).unwrap().settle().unwrap();
        assert_eq!((reason(&cluster).as_str(), cluster.commands().len()), ("Reconciled", 0));
        assert!(cluster.kubectl().get_ref::<Value>(&pod()).unwrap().is_some());
    };
    refused(MANIFEST, true);
    refused(&MANIFEST.replace("pods/exec, pods/eviction", "pods/log"), false);
}

#[test]
fn a_manifest_that_asks_for_everything_has_not_asked_for_commands() {
    for everything in ["'*'", "'*/exec'"] {
        let cluster = cluster();
        let uid = uid(&cluster);
        let hook = move |ctx: &Context, _: &_| {
            let error = ctx.kube().exec("freeze", 0, &freeze(&uid)).unwrap_err();
            assert!(matches!(error, KubeError::Denied(_)), "{error}");
            Ok(Outcome::ready())
        };
        let manifest = MANIFEST.replace("pods/exec, pods/eviction", everything);
        script::runner(&cluster, hook).manifest(&manifest).unwrap().settle().unwrap();
        assert_eq!((reason(&cluster).as_str(), cluster.commands().len()), ("Reconciled", 0));
    }
}

#[test]
fn what_a_command_did_outlives_the_host_and_the_command_is_run_again() {
    let runs = Rc::new(RefCell::new(0));
    let counter = Rc::clone(&runs);
    let crashes = every_crash(|nth| {
        let cluster = cluster();
        let frozen = Rc::new(RefCell::new(0));
        let disk = Rc::clone(&frozen);
        cluster.on_exec(move |_| {
            *disk.borrow_mut() += 1;
            ExecAnswer::exit(0).after(Duration::from_secs(1))
        });
        let (mut runner, seen) = asking(&cluster, |_| 1);
        cluster.crash_after_write(nth);
        runner.run_for(Duration::from_secs(10)).unwrap();
        assert_eq!(seen.borrow().last(), Some(&ExecState::Done(0)));
        // Nobody heard of the first one when the host died right after it, or before it had ended.
        assert_eq!(*frozen.borrow(), cluster.commands().len());
        *counter.borrow_mut() += *frozen.borrow();
        cluster
    });
    assert!(crashes >= 2, "{crashes}");
    assert!(*runs.borrow() > usize::try_from(crashes + 1).unwrap(), "it was run again after a crash");
}

#[test]
fn an_answer_that_got_lost_takes_no_command_back() {
    let cluster = cluster();
    cluster.on_exec(|_| ExecAnswer::exit(0));
    cluster.fail(Fault::lost_answer().verb(Verb::Exec));
    let (mut runner, seen) = asking(&cluster, |_| 1);
    runner.run_for(Duration::from_secs(10)).unwrap();
    assert_eq!(*seen.borrow(), [ExecState::Done(0)]);
    assert_eq!(cluster.commands().len(), 1);
}

#[test]
fn a_command_that_is_forgotten_begins_anew_and_so_many_run_at_once() {
    let cluster = cluster();
    cluster.on_exec(|_| ExecAnswer::never());
    let uid = uid(&cluster);
    let mut runner = runner(&cluster, move |ctx| {
        let kube = ctx.kube();
        for name in 0..8 {
            kube.exec(&name.to_string(), 0, &freeze(&uid))?;
        }
        let error = kube.exec("one more", 0, &freeze(&uid)).unwrap_err();
        assert_eq!(error, KubeError::Throttled(Duration::from_secs(1)));
        assert_eq!(kube.exec_progress("3", 0)?.unwrap().state, ExecState::Running);
        kube.forget_exec("3");
        assert_eq!((kube.exec_progress("3", 0)?, kube.exec_progress("4", 1)?), (None, None));
        kube.exec("one more", 0, &freeze(&uid))?;
        kube.forget_exec("one more");
        kube.exec("3", 0, &freeze(&uid))?;
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!((reason(&cluster).as_str(), cluster.commands().len()), ("Reconciled", 10));
}

#[test]
fn a_person_at_a_command_line_runs_nothing_in_containers() {
    let cluster = cluster();
    let runner = runner(&cluster, |_| Ok(Outcome::ready()));
    let kube = pilothouse_sdk::Kube::new(runner.command_host(&app_ref()).unwrap());
    let error = kube.exec("freeze", 0, &freeze(&uid(&cluster))).unwrap_err();
    assert!(matches!(error, KubeError::Denied(_)), "{error}");
}

#[test]
fn an_eviction_waits_for_the_disruption_budget_and_is_for_one_pod() {
    let cluster = cluster();
    let uid = uid(&cluster);
    cluster.fail(Fault::disruption_budget());
    let mut runner = runner(&cluster, move |ctx| {
        let evict = |uid: &str| {
            let options = EvictOptions { uid: Some(uid.to_owned()), grace_period: Some(Duration::ZERO) };
            ctx.kube().evict("default", "db-0", &options)
        };
        let refused = evict(&uid).unwrap_err();
        assert!(matches!(&refused, KubeError::Conflict(status) if status.code == 429), "{refused}");
        assert!(evict("of-the-one-before").unwrap_err().is_conflict());
        assert!(evict(&uid)? && !evict(&uid)?);
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!(reason(&cluster), "Reconciled");
    assert_eq!(cluster.kubectl().get_ref::<Value>(&pod()).unwrap(), None);
}
