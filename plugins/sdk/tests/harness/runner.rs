//! What the harness's host does with an answer: children, status, finalizer, instances.

use std::{cell::Cell, time::Duration};

use crate::script::{app_kind, app_ref, cluster, config_map, config_map_ref, finalizing, runner, spec};
use pilothouse_sdk::{
    Condition, DeleteOptions, Error, Finalized, Gvk, ObjectRef, Outcome, Patch, Watch, harness::Cluster,
};
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_secs(60);

fn edit(cluster: &Cluster, spec: Value) {
    cluster.edit_ref::<Value>(&app_ref(), |app| app["spec"] = spec).unwrap();
}

fn get(cluster: &Cluster, object: &ObjectRef) -> Option<Value> {
    cluster.kubectl().get_ref(object).unwrap()
}

fn delete(cluster: &Cluster, object: &ObjectRef) {
    assert!(cluster.kubectl().delete_ref(object, &DeleteOptions::default()).unwrap());
}

#[test]
fn an_object_is_reconciled_once_and_left_alone_until_it_changes() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |ctx, app| {
        Ok(Outcome::ready().status(&json!({"saw": spec(app, "x"), "why": format!("{:?}", ctx.reasons())})))
    });
    assert_eq!(runner.settle().unwrap().calls, 1);
    assert_eq!(runner.settle().unwrap().calls, 0, "its own status is no reason");
    edit(&cluster, json!({"x": "1"}));
    assert_eq!(runner.settle().unwrap().calls, 1);
    assert_eq!(get(&cluster, &app_ref()).unwrap()["status"]["why"], json!("[Changed]"));
    cluster.set_status(&app_ref(), &json!({"other": 1})).unwrap();
    assert_eq!(runner.settle().unwrap().calls, 0, "nor is somebody else's");
}

#[test]
fn children_belong_to_their_owner_and_go_when_they_leave_the_set() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |_, app| {
        Ok(Outcome::ready().children(
            spec(app, "names").split(',').filter(|n| !n.is_empty()).map(|name| config_map(name, "1")),
        ))
    });
    edit(&cluster, json!({"names": "x,y"}));
    runner.settle().unwrap();
    let (child, app) = (get(&cluster, &config_map_ref("x")).unwrap(), get(&cluster, &app_ref()).unwrap());
    assert_eq!(child["metadata"]["ownerReferences"][0]["uid"], app["metadata"]["uid"]);
    assert_eq!(runner.children(&app_ref()), [config_map_ref("x"), config_map_ref("y")]);
    edit(&cluster, json!({"names": "y"}));
    runner.settle().unwrap();
    assert_eq!(
        (get(&cluster, &config_map_ref("x")), runner.children(&app_ref())),
        (None, vec![config_map_ref("y")])
    );
    edit(&cluster, json!({"names": ""}));
    runner.settle().unwrap();
    assert_eq!(get(&cluster, &config_map_ref("y")), None);
}

#[test]
fn an_outcome_without_children_leaves_former_ones_alone() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |_, app| {
        let outcome = Outcome::ready();
        Ok(if spec(app, "x").is_empty() { outcome.child(&config_map("x", "1")) } else { outcome })
    });
    runner.settle().unwrap();
    edit(&cluster, json!({"x": "1"}));
    runner.settle().unwrap();
    assert!(get(&cluster, &config_map_ref("x")).is_some());
}

#[test]
fn a_set_with_the_same_child_twice_is_refused_as_a_whole() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |_, _| {
        Ok(Outcome::ready().child(&config_map("x", "1")).child(&config_map("x", "2")))
    });
    runner.settle().unwrap();
    assert_eq!(get(&cluster, &config_map_ref("x")), None);
    let stalled = cluster.condition(&app_ref(), "Stalled").unwrap();
    assert!(stalled.message.contains("v1 ConfigMap default/x stands twice"), "{stalled:?}");
}

#[test]
fn the_state_becomes_the_conditions_of_kstatus() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |_, app| {
        Ok(match spec(app, "state") {
            "ready" => Outcome::ready().drop_condition("Extra"),
            "stalled" => Outcome::stalled("NoSpace", "buy a disk"),
            _ => Outcome::progressing("Waiting", "for pods")
                .condition(Condition::new("Extra", true).reason("Why")),
        })
    });
    let kinds = |runner: &mut pilothouse_sdk::harness::Runner, state: &str| {
        edit(&cluster, json!({"state": state}));
        runner.settle().unwrap();
        let live = get(&cluster, &app_ref()).unwrap();
        let conditions = live["status"]["conditions"].as_array().unwrap().clone();
        conditions
            .iter()
            .map(|c| format!("{}={}", c["type"].as_str().unwrap(), c["status"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&mut runner, "progressing"), ["Ready=False", "Reconciling=True", "Extra=True"]);
    cluster.advance(MINUTE);
    assert_eq!(kinds(&mut runner, "stalled"), ["Ready=False", "Extra=True", "Stalled=True"]);
    let live = get(&cluster, &app_ref()).unwrap();
    let ready = &live["status"]["conditions"][0];
    assert_eq!(ready["lastTransitionTime"], json!("2026-01-01T00:00:00Z"), "still False");
    assert_eq!((&ready["reason"], &ready["observedGeneration"]), (&json!("NoSpace"), &json!(3)));
    assert_eq!(kinds(&mut runner, "ready"), ["Ready=True"]);
    assert_eq!(
        get(&cluster, &app_ref()).unwrap()["status"]["conditions"][0]["lastTransitionTime"],
        json!("2026-01-01T00:01:00Z")
    );
}

#[test]
fn a_status_is_a_merge_patch_and_never_takes_conditions() {
    let cluster = cluster();
    cluster.set_status(&app_ref(), &json!({"kept": 1, "gone": 1})).unwrap();
    let mut runner = runner(&cluster, |_, _| {
        Ok(Outcome::ready().status(&json!({"gone": null, "new": 1, "conditions": []})))
    });
    runner.settle().unwrap();
    let status = get(&cluster, &app_ref()).unwrap()["status"].clone();
    assert_eq!((&status["kept"], status.get("gone"), &status["new"]), (&json!(1), None, &json!(1)));
    assert!(cluster.condition(&app_ref(), "Ready").is_some());
}

#[test]
fn a_finalizer_is_there_before_the_first_call_and_goes_after_the_last() {
    let cluster = cluster();
    let finalize = |ctx: &pilothouse_sdk::Context, app: &pilothouse_sdk::Dynamic| {
        assert!(app.is_deleting());
        let left: Option<Value> = ctx.kube().get_ref(&config_map_ref("held"))?;
        Ok(match left {
            Some(_) => Finalized::waiting(
                Outcome::progressing("Waiting", "for held").watch(Watch::object(config_map_ref("held"))),
            ),
            None => Finalized::Done,
        })
    };
    let reconcile = |_: &pilothouse_sdk::Context, app: &pilothouse_sdk::Dynamic| {
        assert_eq!(app.value()["metadata"]["finalizers"], json!(["example.com/app"]));
        let elsewhere = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "far", "namespace": "kube-system"}});
        Ok(Outcome::ready().child(&elsewhere))
    };
    cluster.create([config_map("held", "")]).unwrap();
    let mut runner = finalizing(&cluster, reconcile, finalize).finalizer("example.com/app");
    runner.settle().unwrap();
    delete(&cluster, &app_ref());
    runner.settle().unwrap();
    assert_eq!(cluster.condition(&app_ref(), "Reconciling").unwrap().message, "for held");
    delete(&cluster, &config_map_ref("held"));
    runner.settle().unwrap();
    assert_eq!(get(&cluster, &app_ref()), None);
    let far = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), "kube-system", "far");
    assert_eq!(get(&cluster, &far), None, "no owner reference reaches there: the host deletes it");
}

#[test]
fn without_a_finalizer_nobody_is_called_for_a_deletion() {
    let cluster = cluster();
    let mut runner = finalizing(
        &cluster,
        |_, _| Ok(Outcome::ready().child(&config_map("x", "1"))),
        |_, _| unreachable!("no finalizer"),
    );
    runner.settle().unwrap();
    delete(&cluster, &app_ref());
    assert_eq!(runner.settle().unwrap().calls, 0);
    assert_eq!(get(&cluster, &config_map_ref("x")), None, "collected");
}

#[test]
fn a_finalizer_of_an_earlier_tool_is_taken_over() {
    let cluster = cluster();
    let manifest = "name: apper\nlegacyFinalizers: [old-finalizer]\nkinds:\n  - {group: example.com, version: v1, kind: App, finalizer: example.com/app}\n";
    let old = Patch::merge(&json!({"metadata": {"finalizers": ["old-finalizer", "other/x"]}})).unwrap();
    cluster.kubectl().patch_ref::<Value>(&app_ref(), &old).unwrap();
    let mut runner = runner(&cluster, |_, _| Ok(Outcome::ready())).manifest(manifest).unwrap();
    runner.settle().unwrap();
    assert_eq!(
        get(&cluster, &app_ref()).unwrap()["metadata"]["finalizers"],
        json!(["other/x", "example.com/app"])
    );
    delete(&cluster, &app_ref());
    runner.settle().unwrap();
    assert_eq!(get(&cluster, &app_ref()).unwrap()["metadata"]["finalizers"], json!(["other/x"]));
}

#[test]
fn a_restarted_host_calls_for_every_object_and_forgets_nothing_it_wrote() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |ctx, app| {
        let x = Outcome::ready().status(&json!({"why": format!("{:?}", ctx.reasons())}));
        Ok(if spec(app, "gone").is_empty() {
            x.child(&config_map("x", "1"))
        } else {
            x.children(Vec::<Value>::new())
        })
    });
    runner.settle().unwrap();
    runner.restart();
    edit(&cluster, json!({"gone": "yes"}));
    runner.settle().unwrap();
    assert_eq!(get(&cluster, &config_map_ref("x")), None, "the inventory survived");
    assert_eq!(get(&cluster, &app_ref()).unwrap()["status"]["why"], json!("[Start, Changed]"));
}

#[test]
fn only_a_pooled_instance_keeps_what_it_knows() {
    let count = |pooled: bool| {
        let cluster = cluster();
        let make = || {
            let calls = Cell::new(0);
            let reconcile = move |_: &pilothouse_sdk::Context, _: &pilothouse_sdk::Dynamic| {
                calls.set(calls.get() + 1);
                Ok(Outcome::ready().status(&json!({"calls": calls.get()})))
            };
            pilothouse_sdk::Plugin::new().with(Closure(reconcile))
        };
        let mut runner = pilothouse_sdk::harness::Runner::new(&cluster, make).kind(app_kind(), None);
        if pooled {
            runner = runner.pooled();
        }
        runner.settle().unwrap();
        edit(&cluster, json!({"x": "1"}));
        runner.settle().unwrap();
        get(&cluster, &app_ref()).unwrap()["status"]["calls"].clone()
    };
    assert_eq!((count(false), count(true)), (json!(1), json!(2)));
}

struct Closure<F>(F);

impl<F: Fn(&pilothouse_sdk::Context, &pilothouse_sdk::Dynamic) -> Result<Outcome, Error> + 'static>
    pilothouse_sdk::Reconciler for Closure<F>
{
    type Resource = pilothouse_sdk::Dynamic;

    fn reconcile(&self, ctx: &pilothouse_sdk::Context, object: &Self::Resource) -> Result<Outcome, Error> {
        (self.0)(ctx, object)
    }
}
