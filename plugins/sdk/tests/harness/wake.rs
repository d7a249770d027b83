//! When the harness's host calls: changes, watches, timers, back-off.

use std::{cell::Cell, rc::Rc, time::Duration};

use crate::script::{app_ref, cluster, config_map, config_map_ref, definition, runner, spec};
use pilothouse_sdk::{
    ApplyItem, ApplyOptions, DeleteOptions, Error, Event, Gvk, ObjectRef, Outcome, Ownership, Patch, Reason,
    Watch, harness::Cluster,
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
fn a_child_that_drifts_is_put_right() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |_, _| Ok(Outcome::ready().child(&config_map("x", "1"))));
    runner.settle().unwrap();
    delete(&cluster, &config_map_ref("x"));
    assert_eq!(runner.settle().unwrap().calls, 1);
    let patch = Patch::merge(&json!({"data": {"v": "2"}})).unwrap();
    cluster.kubectl().patch_ref::<Value>(&config_map_ref("x"), &patch).unwrap();
    runner.settle().unwrap();
    assert_eq!(get(&cluster, &config_map_ref("x")).unwrap()["data"], json!({"v": "1"}));
    let unlabelled = Patch::merge(&json!({"metadata": {"labels": null}})).unwrap();
    cluster.kubectl().patch_ref::<Value>(&config_map_ref("x"), &unlabelled).unwrap();
    assert_eq!(runner.settle().unwrap().calls, 1, "a label taken off is drift too");
}

#[test]
fn a_failure_is_tried_again_with_growing_patience_and_a_change_at_once() {
    let cluster = cluster();
    let mut runner =
        runner(&cluster, |ctx, app| match spec(app, "x") {
            "" => Err(Error::retry("NotYet", format!("try {}", ctx.failures()))
                .event(Event::warning("Tried", "again"))),
            _ => Ok(Outcome::ready()),
        });
    runner.settle().unwrap();
    assert_eq!(runner.next_call(), Some(Duration::from_millis(5)));
    assert_eq!(
        runner.run_for(Duration::from_millis(35)).unwrap().calls,
        3,
        "after 5, 10 and 20 milliseconds"
    );
    assert_eq!(runner.next_call(), Some(Duration::from_millis(40)));
    let ready = cluster.condition(&app_ref(), "Ready").unwrap();
    assert_eq!((ready.reason.as_str(), ready.message.as_str()), ("NotYet", "try 3"));
    assert_eq!(cluster.events().len(), 4);
    edit(&cluster, json!({"x": "1"}));
    assert_eq!(runner.settle().unwrap().calls, 1);
    assert_eq!((runner.next_call(), cluster.condition(&app_ref(), "Reconciling")), (None, None));
}

#[test]
fn what_is_permanent_waits_for_a_change_and_what_says_when_waits_so_long() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |_, app| match spec(app, "x") {
        "later" => Err(Error::retry_after(5 * MINUTE, "Busy", "come back")),
        _ => Err(Error::permanent("Nonsense", "spec.x")
            .status(&json!({"x": 1}))
            .watch(Watch::object(config_map_ref("fix")))),
    });
    runner.settle().unwrap();
    assert_eq!(runner.next_call(), None);
    assert_eq!(cluster.condition(&app_ref(), "Stalled").unwrap().reason, "Nonsense");
    assert_eq!(get(&cluster, &app_ref()).unwrap()["status"]["x"], json!(1));
    cluster.create([config_map("fix", "")]).unwrap();
    assert_eq!(runner.settle().unwrap().calls, 1, "a failure can watch, too");
    edit(&cluster, json!({"x": "later"}));
    runner.settle().unwrap();
    assert_eq!(runner.next_call(), Some(5 * MINUTE));
}

#[test]
fn a_timer_calls_at_its_time_and_not_before() {
    let cluster = cluster();
    let calls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&calls);
    let mut runner = runner(&cluster, move |ctx, _| {
        counted.set(counted.get() + 1);
        assert!(counted.get() == 1 || ctx.reasons() == [Reason::Timer], "{:?}", ctx.reasons());
        Ok(Outcome::progressing("Waiting", "for time").requeue_after(MINUTE))
    });
    runner.run_for(MINUTE - Duration::from_secs(1)).unwrap();
    assert_eq!(calls.get(), 1);
    runner.run_for(2 * MINUTE).unwrap();
    assert_eq!(calls.get(), 3);
}

#[test]
fn watches_wake_for_what_they_name_and_nothing_else() {
    let cluster = cluster();
    let kind = || Gvk::new("", "v1", "ConfigMap");
    let mut runner = runner(&cluster, move |_, app| {
        let watch = match spec(app, "watch") {
            "object" => Watch::object(config_map_ref("x")),
            "selected" => Watch::selected(kind(), "default", "wake=yes"),
            _ => Watch::selected(Gvk::new("", "v1", "Pod"), None, "").drift_only(),
        };
        Ok(Outcome::ready().watch(watch))
    });
    let mut calls = |act: &dyn Fn()| {
        act();
        runner.settle().unwrap().calls
    };
    calls(&|| edit(&cluster, json!({"watch": "object"})));
    assert_eq!(calls(&|| cluster.create([config_map("y", "")]).unwrap()), 0);
    assert_eq!(calls(&|| cluster.create([config_map("x", "")]).unwrap()), 1);
    assert_eq!(calls(&|| delete(&cluster, &config_map_ref("x"))), 1);
    calls(&|| edit(&cluster, json!({"watch": "selected"})));
    let label = |value: Value| {
        let patch = Patch::merge(&json!({"metadata": {"labels": {"wake": value}}})).unwrap();
        cluster.kubectl().patch_ref::<Value>(&config_map_ref("y"), &patch).unwrap();
    };
    assert_eq!(
        [calls(&|| label(json!("no"))), calls(&|| label(json!("yes"))), calls(&|| label(json!(null)))],
        [0, 1, 1]
    );
    calls(&|| edit(&cluster, json!({"watch": "drift"})));
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {}});
    let pod_ref = ObjectRef::new(Gvk::new("", "v1", "Pod"), "default", "p");
    assert_eq!(calls(&|| cluster.create([&pod]).unwrap()), 1);
    assert_eq!(
        calls(&|| cluster.set_status(&pod_ref, &json!({"phase": "Running"})).unwrap()),
        0,
        "only status"
    );
    assert_eq!(calls(&|| delete(&cluster, &pod_ref)), 1);
}

#[test]
fn what_a_hook_applies_by_itself_wakes_it_only_when_others_touch_it() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |ctx, _| {
        let marked = ApplyItem::new(&config_map("x", "1"))?.ownership(Ownership::Mark);
        ctx.kube()
            .apply(&[marked], ApplyOptions { force: true, ..ApplyOptions::default() })
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Outcome::ready().watch(Watch::owned(Gvk::new("", "v1", "ConfigMap"))))
    });
    assert_eq!(runner.settle().unwrap().calls, 1);
    assert_eq!(get(&cluster, &config_map_ref("x")).unwrap()["metadata"].get("ownerReferences"), None);
    delete(&cluster, &config_map_ref("x"));
    assert_eq!(runner.settle().unwrap().calls, 1);
    assert!(get(&cluster, &config_map_ref("x")).is_some());
}

#[test]
fn a_kind_that_comes_later_heals_what_waited_for_it() {
    let cluster = cluster();
    let part = json!({"apiVersion": "example.com/v1", "kind": "Part", "metadata": {"name": "p", "namespace": "default"}});
    let mut runner = runner(&cluster, move |_, _| Ok(Outcome::ready().child(&part)));
    runner.settle().unwrap();
    let ready = cluster.condition(&app_ref(), "Ready").unwrap();
    assert_eq!(ready.reason, "KindNotServed");
    assert!(
        ready.message == "waiting for the kind example.com/v1 Part: the cluster does not serve it",
        "{ready:?}"
    );
    cluster.define(&definition("Part", "parts")).unwrap();
    runner.run_for(MINUTE).unwrap();
    assert_eq!(cluster.condition(&app_ref(), "Ready").unwrap().status.as_str(), "True");
}

#[test]
fn the_status_of_a_child_wakes_only_who_asks_for_it() {
    let deployment =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}});
    let kind = Gvk::new("apps", "v1", "Deployment");
    let reference = ObjectRef::new(kind.clone(), "default", "d");
    let calls = |watched: bool| {
        let (cluster, deployment, kind) = (cluster(), deployment.clone(), kind.clone());
        let mut runner = runner(&cluster, move |_, _| {
            let outcome = Outcome::ready().child(&deployment);
            Ok(if watched { outcome.watch(Watch::owned(kind.clone())) } else { outcome })
        });
        runner.settle().unwrap();
        cluster.set_ready(&reference).unwrap();
        runner.settle().unwrap().calls
    };
    assert_eq!((calls(false), calls(true)), (0, 1));
}

#[test]
fn an_event_neither_cuts_nor_lengthens_a_back_off() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |_, _| {
        Err(Error::retry_after(MINUTE, "Busy", "later").watch(Watch::object(config_map_ref("x"))))
    });
    runner.settle().unwrap();
    cluster.create([config_map("x", "")]).unwrap();
    assert_eq!((runner.settle().unwrap().calls, runner.next_call()), (0, Some(MINUTE)));
    assert_eq!(runner.run_for(MINUTE).unwrap().calls, 1);
}

#[test]
fn a_plugin_that_goes_round_in_circles_is_told() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |_, _| Ok(Outcome::ready().requeue_after(Duration::ZERO)));
    let error = runner.settle().unwrap_err();
    assert_eq!((*error.object, error.reasons), (app_ref(), vec![Reason::Timer]));
}
