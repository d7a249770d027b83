//! Things going wrong around a plugin: rights, budgets, failures and crashes on purpose.

use std::time::Duration;

use crate::script::{app_ref, cluster, config_map, config_map_ref, runner, spec};
use pilothouse_sdk::{
    ApplyItem, ApplyOptions, Error, Gvk, KubeError, Outcome, Ownership,
    harness::{Caller, Cluster, Fault, Limits, Verb, every_crash},
};
use serde_json::{Value, json};

fn manifest(rules: &str) -> String {
    format!(
        "name: apper\nversion: 0.1.0\ninterface: pilothouse:operator@0.1.0\nkinds:\n  - {{group: example.com, version: v1, kind: App}}\n\
         rights:\n  kube:\n    - {rules}\n"
    )
}

const CONFIG_MAPS: &str =
    r#"{apiGroups: [""], resources: [configmaps], verbs: [get, list, create, patch, delete]}"#;

fn ready(cluster: &Cluster) -> String {
    let condition = cluster.condition(&app_ref(), "Ready").unwrap();
    format!("{} {}: {}", condition.status.as_str(), condition.reason, condition.message)
}

#[test]
fn what_the_manifest_does_not_ask_for_is_denied_by_the_grants() {
    let cluster = cluster();
    let rules = r#"{apiGroups: [""], resources: [configmaps], verbs: [get]}"#;
    let mut runner = runner(&cluster, |_, _| Ok(Outcome::ready().child(&config_map("x", "1"))))
        .manifest(&manifest(rules))
        .unwrap();
    runner.settle().unwrap();
    assert_eq!(
        ready(&cluster),
        "False Forbidden: v1 ConfigMap default/x: grants may not patch configmaps \"x\" in namespace default: the plugin's \
         manifest does not ask for it"
    );
    assert_eq!(cluster.kubectl().get_ref::<Value>(&config_map_ref("x")).unwrap(), None);
}

#[test]
fn a_missing_right_names_verb_resource_and_account_and_heals_without_restart() {
    let cluster = cluster();
    cluster.forbid("create", "configmaps");
    let mut runner = runner(&cluster, |_, _| Ok(Outcome::ready().child(&config_map("x", "1"))))
        .manifest(&manifest(CONFIG_MAPS))
        .unwrap();
    runner.settle().unwrap();
    let message = ready(&cluster);
    assert!(
        message.contains("system:serviceaccount:pilothouse:apper may not create configmaps \"x\""),
        "{message}"
    );
    cluster.permit("create", "configmaps");
    runner.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(ready(&cluster), "True Reconciled: ");
}

#[test]
fn a_broken_manifest_is_refused_with_its_place() {
    let cluster = cluster();
    let error = runner(&cluster, |_, _| Ok(Outcome::ready())).manifest("name: x\nkinds: 3\n").unwrap_err();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn allowed_answers_for_the_plugins_account() {
    let cluster = cluster();
    cluster.forbid("delete", "configmaps");
    let mut runner = runner(&cluster, |ctx, _| {
        let may = |verb| ctx.kube().allowed(verb, &Gvk::new("", "v1", "ConfigMap"), "default", None);
        let unknown =
            ctx.kube().allowed("get", &Gvk::new("x.io", "v1", "Y"), None, None).unwrap_err().reason();
        Ok(Outcome::ready()
            .status(&json!({"may": [may("get")?, may("watch")?, may("delete")?], "unknown": unknown})))
    });
    runner = runner.manifest(&manifest(CONFIG_MAPS)).unwrap();
    runner.settle().unwrap();
    let app: Value = cluster.kubectl().get_ref(&app_ref()).unwrap().unwrap();
    assert_eq!(
        (&app["status"]["may"], &app["status"]["unknown"]),
        (&json!([true, false, false]), &json!("KindNotServed"))
    );
}

#[test]
fn a_hook_over_its_budget_is_told_so() {
    let cluster = cluster();
    let greedy = |limits: Limits| {
        let mut runner = runner(&cluster, |ctx, _| {
            for _ in 0..10 {
                ctx.kube().get_ref::<Value>(&app_ref())?;
                pilothouse_sdk::info!(ctx, "0123456789");
            }
            Ok(Outcome::ready())
        });
        runner = runner.limits(limits);
        cluster.forget_calls();
        runner.settle().unwrap();
        ready(&cluster)
    };
    assert_eq!(greedy(Limits::default()), "True Reconciled: ");
    let calls = greedy(Limits { host_calls: 9, ..Limits::default() });
    assert_eq!(calls, "False BudgetExhausted: the hook's budget of host calls is used up");
    let bytes = greedy(Limits { host_bytes: 1000, ..Limits::default() });
    assert_eq!(bytes, "False BudgetExhausted: the hook's budget of bytes exchanged with the host is used up");
    greedy(Limits { log_bytes: 35, ..Limits::default() });
    assert_eq!(cluster.logs().len(), 3, "further lines are dropped");
}

#[test]
fn an_answer_that_is_too_large_takes_no_effect() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |_, _| Ok(Outcome::ready().child(&config_map("x", &"y".repeat(2000)))));
    runner = runner.limits(Limits { answer_bytes: 1000, ..Limits::default() });
    runner.settle().unwrap();
    assert!(ready(&cluster).contains("PluginAnswerInvalid"), "{}", ready(&cluster));
    assert_eq!(cluster.kubectl().get_ref::<Value>(&config_map_ref("x")).unwrap(), None);
}

#[test]
fn a_fault_meets_the_requests_it_describes() {
    let cluster = cluster();
    cluster.fail(Fault::webhook("not today").verb(Verb::Create).kind("ConfigMap").nth(2).times(2));
    let mut runner = runner(&cluster, |ctx, _| {
        let create = |name: &str| {
            ctx.kube().create(&config_map(name, ""), Ownership::Reference).map_err(|error| error.reason())
        };
        let names = ["a", "b", "c", "d"].map(|name| create(name).err().unwrap_or("Ok"));
        Ok(Outcome::ready().status(&json!({"created": names})))
    });
    runner.settle().unwrap();
    let app: Value = cluster.kubectl().get_ref(&app_ref()).unwrap().unwrap();
    assert_eq!(app["status"]["created"], json!(["Ok", "Invalid", "Invalid", "Ok"]));
    let failed: Vec<_> =
        cluster.calls().iter().filter(|call| call.error.is_some()).map(ToString::to_string).collect();
    assert_eq!(
        failed,
        ["create v1 ConfigMap default/b -> Invalid", "create v1 ConfigMap default/c -> Invalid"]
    );
}

#[test]
fn a_lost_answer_has_happened_all_the_same() {
    let cluster = cluster();
    cluster.fail(Fault::lost_answer().verb(Verb::Create));
    let mut runner =
        runner(&cluster, |ctx, _| match ctx.kube().create(&config_map("x", "1"), Ownership::Reference) {
            Err(KubeError::AlreadyExists(_)) | Ok(_) => Ok(Outcome::ready()),
            Err(error) => Err(error.into()),
        });
    runner.settle().unwrap();
    assert_eq!(ready(&cluster), "False ServiceUnavailable: the request timed out");
    assert!(cluster.calls().iter().any(|call| call.changed && call.error.is_some()));
    runner.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(ready(&cluster), "True Reconciled: ");
}

#[test]
fn a_status_that_cannot_be_written_is_written_later() {
    let cluster = cluster();
    cluster.fail(Fault::conflict().caller(Caller::Host).subresource("status").times(2));
    let mut runner = runner(&cluster, |_, _| Ok(Outcome::ready().status(&json!({"x": 1}))));
    runner.settle().unwrap();
    assert_eq!(cluster.condition(&app_ref(), "Ready"), None);
    runner.run_for(Duration::from_secs(5)).unwrap();
    assert_eq!(ready(&cluster), "True Reconciled: ");
}

#[test]
fn throttling_is_waited_out() {
    let cluster = cluster();
    cluster.fail(Fault::throttled(Duration::from_secs(20)).verb(Verb::Get));
    let mut runner = runner(&cluster, |ctx, _| {
        ctx.kube().live().get_ref::<Value>(&app_ref())?;
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!(runner.next_call(), Some(Duration::from_secs(20)));
    cluster.fail(Fault::unavailable().always());
    cluster.heal();
    runner.run_for(Duration::from_secs(20)).unwrap();
    assert_eq!(ready(&cluster), "True Reconciled: ");
}

#[test]
fn declarative_children_come_right_wherever_the_host_dies() {
    let crashes = every_crash(|nth| {
        let cluster = cluster();
        let mut runner = runner(&cluster, |_, app| {
            let names = spec(app, "names").split(',').filter(|name| !name.is_empty());
            Ok(Outcome::ready()
                .children(names.map(|name| config_map(name, "1")))
                .status(&json!({"names": spec(app, "names")})))
        })
        .finalizer("example.com/app");
        cluster.edit_ref::<Value>(&app_ref(), |app| app["spec"] = json!({"names": "a,b,c"})).unwrap();
        runner.settle().unwrap();
        cluster.crash_after_write(nth);
        cluster.edit_ref::<Value>(&app_ref(), |app| app["spec"] = json!({"names": "c,d"})).unwrap();
        let settled = runner.settle().unwrap();
        assert_eq!(settled.crashes, u32::from(cluster.has_crashed()));
        let left: Vec<_> = cluster
            .objects()
            .into_iter()
            .filter(|object| object.kind.kind == "ConfigMap")
            .map(|object| object.name)
            .collect();
        assert_eq!(left, ["c", "d"], "crash {nth}");
        assert_eq!(ready(&cluster), "True Reconciled: ");
        cluster
    });
    assert_eq!(crashes, 6, "announce, apply d, delete b, delete a, settle, status");
}

#[test]
fn a_plugin_that_writes_step_by_step_can_be_crashed_between_its_steps() {
    // A plugin that is wrong: it creates with a generated name and remembers it only afterwards.
    let wrong = |ctx: &pilothouse_sdk::Context, app: &pilothouse_sdk::Dynamic| -> Result<Outcome, Error> {
        if app.value()["status"]["made"].is_string() {
            return Ok(Outcome::ready());
        }
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "run-", "namespace": "default"}});
        let made: Value = ctx.kube().create(&object, Ownership::Reference)?;
        Ok(Outcome::ready().status(&json!({"made": made["metadata"]["name"]})))
    };
    let mut most = 0;
    every_crash(|nth| {
        let cluster = cluster();
        cluster.crash_after_write(nth);
        runner(&cluster, wrong).settle().unwrap();
        most = most.max(cluster.objects().iter().filter(|object| object.kind.kind == "ConfigMap").count());
        cluster
    });
    assert_eq!(most, 2, "the harness finds it");
}

#[test]
fn many_applies_in_one_call_are_one_record_each() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |ctx, _| {
        let items = ["a", "b"].map(|name| ApplyItem::new(&config_map(name, "1")).unwrap());
        ctx.kube().apply(&items, ApplyOptions::default()).into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!(
        cluster.writes(),
        [
            "apply v1 ConfigMap default/a",
            "apply v1 ConfigMap default/b",
            "patch example.com/v1 App default/a/status"
        ]
    );
}
