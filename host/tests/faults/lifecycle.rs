//! One plugin announces what it does, another takes part: runs on a real API server, with everything that comes in between.

use std::sync::atomic::Ordering;

use http::Method;
use serde_json::{Value, json};

use crate::bench::{Bench, await_that};
use crate::host::{Host, Place};
use crate::proxy::Proxy;
use crate::release::small;

struct Stage {
    bench: Bench,
    place: Place,
}

impl Stage {
    /// A namespace in which the ConfigMap `watchman` says what the hooks do.
    async fn new(namespace: &str, told: Value) -> Option<Self> {
        let bench = Bench::new(namespace).await?;
        let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
        let stage = Self::on(bench, &kubeconfig);
        stage.tell(told).await;
        Some(stage)
    }

    fn on(bench: Bench, kubeconfig: &str) -> Self {
        let place = Place::new(&bench.namespace, kubeconfig, &["announcer.wasm", "watchman.wasm"])
            .with("--grant-requested");
        Self { bench, place }
    }

    async fn tell(&self, told: Value) {
        let metadata = json!({"name": "watchman", "namespace": self.bench.namespace});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": told});
        self.bench.create(&self.bench.path("configmaps", ""), &object).await;
    }

    /// Changes a line of what the hooks are told.
    async fn tell_now(&self, name: &str, value: &str) {
        self.bench.merge(&self.bench.path("configmaps", "watchman"), &json!({"data": {name: value}})).await;
    }

    async fn runs(&self) -> Vec<Value> {
        let list = self.bench.get(&self.bench.path("lifecycleruns", "")).await.unwrap();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// The run of a phase and a change, once it is as it should be.
    async fn await_run(&self, phase: &str, change: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let seen = await_that(format!("{phase} of {change}"), async || {
            let runs = self.runs().await;
            let found =
                runs.iter().find(|run| run["spec"]["phase"] == phase && run["spec"]["change"] == change);
            match found {
                Some(run) if holds(run) => Ok(run.clone()),
                other => {
                    Err(other.map_or_else(|| "it is not there".to_owned(), |run| run["status"].to_string()))
                }
            }
        });
        seen.await.0
    }

    async fn await_state(&self, phase: &str, change: &str, state: &str) -> Value {
        self.await_run(phase, change, |run| run["status"]["state"] == state).await
    }

    /// The version that the object notes, once nothing is left to be told of it.
    async fn await_version(&self, name: &str, version: u64) -> Value {
        let seen = await_that(format!("{name} is at {version}"), async || {
            let object = self.bench.object("changes", name).await?;
            let status = &object["status"];
            let at_rest = status["version"] == version && status["telling"].is_null();
            if at_rest { Ok(object) } else { Err(status.to_string()) }
        });
        seen.await.0
    }

    async fn note(&self, name: &str) -> Option<Value> {
        self.bench.object("configmaps", name).await.ok()
    }

    async fn annotate(&self, run: &Value, name: &str, value: &str) {
        let path = self.bench.path("lifecycleruns", run["metadata"]["name"].as_str().unwrap());
        let annotations = json!({format!("lifecycle.pilothouse.dev/{name}"): value});
        self.bench.merge(&path, &json!({"metadata": {"annotations": annotations}})).await;
    }

    async fn start(&self) -> Host {
        let host = self.place.start();
        host.await_ready().await;
        host
    }
}

fn hooks(hooks: &Value) -> String {
    hooks.to_string()
}

fn hook_states(run: &Value) -> Vec<(String, String)> {
    let hooks = run["status"]["hooks"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    hooks.iter().map(|hook| (text(&hook["name"]), text(&hook["state"]))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_waits_for_its_hooks_in_their_order_and_tells_its_end() {
    let told = json!({
        "pre-upgrade": hooks(&json!([{"name": "second", "weight": 5}, {"name": "first", "weight": -5}])),
        "post-upgrade": hooks(&json!([{"name": "after"}])),
        "answer.second": "pending",
    });
    let Some(stage) = Stage::new("lifecycle-order", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    let run = stage
        .await_run("pre-upgrade", "v1", |run| {
            run["status"]["state"] == "Running" && run["status"]["hooks"][1]["state"] == "Running"
        })
        .await;
    assert_eq!(
        hook_states(&run),
        [("first".into(), "Succeeded".into()), ("second".into(), "Running".into())]
    );
    assert_eq!(run["spec"]["details"], json!({"from": 0, "to": 1}));
    stage
        .bench
        .await_condition(
            "changes",
            "shop",
            ("Ready", "False"),
            &["Announced", "watchman/second", "somebody is to say done"],
        )
        .await;
    let object = stage.bench.object("changes", "shop").await.unwrap();
    assert!(
        object["status"]["version"].is_null(),
        "the change has begun without its hook: {}",
        object["status"]
    );

    stage.tell_now("answer.second", "done").await;
    let object = stage.await_version("shop", 1).await;
    assert_eq!(object["status"]["artefacts"], json!(["note:v1/first", "note:v1/second"]));
    let post = stage.await_state("post-upgrade", "v1", "Succeeded").await;
    assert_eq!(post["spec"]["ending"], "Succeeded");
    let note = stage.note("did-post-upgrade-v1-after-1").await.unwrap();
    assert_eq!(note["data"]["earlier"], "note:v1/first note:v1/second");
    assert_eq!(note["data"]["ending"], "Succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_whose_hook_fails_is_not_begun_until_somebody_has_it_tried_again_or_passed_over() {
    let told = json!({"pre-upgrade": hooks(&json!([{"name": "guard"}])), "answer.guard": "fail"});
    let Some(stage) = Stage::new("lifecycle-fails", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    let run = stage.await_state("pre-upgrade", "v1", "Failed").await;
    stage
        .bench
        .await_condition(
            "changes",
            "shop",
            ("Stalled", "True"),
            &["HookFailed", "it was told to fail", "lifecycle.pilothouse.dev/retry"],
        )
        .await;

    stage.annotate(&run, "retry", "jo: another try").await;
    let run = stage
        .await_run("pre-upgrade", "v1", |run| {
            run["status"]["audit"][0]["action"] == "Retry" && run["status"]["state"] == "Failed"
        })
        .await;
    stage.bench.await_condition("changes", "shop", ("Stalled", "True"), &["HookFailed"]).await;

    stage.annotate(&run, "skip", "guard").await;
    await_that("a word without a reason is taken off and not followed", async || {
        let run = stage.await_state("pre-upgrade", "v1", "Failed").await;
        let said = run.pointer("/metadata/annotations").cloned().unwrap_or_default();
        if said.get("lifecycle.pilothouse.dev/skip").is_none() { Ok(()) } else { Err(said.to_string()) }
    })
    .await;
    stage.annotate(&run, "skip", "guard: the store is being moved").await;
    stage.await_version("shop", 1).await;
    let run = stage.await_state("pre-upgrade", "v1", "Succeeded").await;
    let audit = run["status"]["audit"].as_array().unwrap();
    let last = audit.last().unwrap();
    assert_eq!((&last["action"], &last["reason"]), (&json!("Skip"), &json!("the store is being moved")));
    assert_eq!(last["hooks"], "watchman/guard");
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_time_outs_and_failures_that_do_not_matter_end_as_they_were_planned() {
    let told = json!({
        "pre-upgrade": hooks(&json!([
            {"name": "late", "weight": 1, "timeoutSeconds": 1, "ignore": true},
            {"name": "may-fail", "weight": 2, "ignore": true},
            {"name": "asked-again", "weight": 3},
        ])),
        "answer.late": "pending", "answer.may-fail": "refuse", "answer.asked-again": "retry",
    });
    let Some(stage) = Stage::new("lifecycle-ends", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    let waits = |run: &Value| run["status"]["hooks"][2]["message"] == "nothing is known yet";
    let run = stage.await_run("pre-upgrade", "v1", waits).await;
    let reasons: Vec<&Value> = (0..2).map(|index| &run["status"]["hooks"][index]["reason"]).collect();
    assert_eq!(reasons, ["TimedOut", "AsTold"]);
    assert_eq!(
        hook_states(&run)[..2],
        [("late".into(), "Ignored".into()), ("may-fail".into(), "Ignored".into())]
    );
    assert!(stage.note("ended-pre-upgrade-v1-late-1").await.is_some(), "it was not told to end");
    stage.tell_now("answer.asked-again", "done").await;
    stage.await_version("shop", 1).await;
    assert_eq!(
        stage.await_state("pre-upgrade", "v1", "Succeeded").await["status"]["hooks"][2]["attempts"],
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_traps_or_breaks_the_contract_holds_up_its_change_and_nothing_else() {
    let told = json!({"pre-upgrade": hooks(&json!([{"name": "guard"}])), "plan": "panic"});
    let Some(stage) = Stage::new("lifecycle-traps", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    let says = |words: &'static str| {
        move |run: &Value| run["status"]["message"].as_str().unwrap_or_default().contains(words)
    };
    stage.await_run("pre-upgrade", "v1", says("trapped")).await;
    stage.tell_now("plan", "twice").await;
    stage.await_run("pre-upgrade", "v1", says("two have it")).await;
    stage.tell_now("plan", "").await;
    stage.await_version("shop", 1).await;

    stage.tell_now("answer.guard", "panic").await;
    stage.bench.respec("changes", "shop", json!({"version": 2})).await;
    stage.await_run("pre-upgrade", "v2", says("trapped")).await;
    stage.tell_now("answer.guard", "done").await;
    stage.await_version("shop", 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_needs_a_person_begins_when_one_says_so() {
    let told = json!({"pre-upgrade": hooks(&json!([{"name": "window", "approval": true}]))});
    let Some(stage) = Stage::new("lifecycle-approval", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    let run = stage.await_state("pre-upgrade", "v1", "AwaitingApproval").await;
    assert!(stage.note("did-pre-upgrade-v1-window-1").await.is_none());
    stage.annotate(&run, "approve", "jo: the window is open").await;
    stage.await_version("shop", 1).await;
    let run = stage.await_state("pre-upgrade", "v1", "Succeeded").await;
    assert_eq!(run["status"]["audit"][0]["reason"], "jo: the window is open");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_hands_over_what_was_made_before_the_change_that_it_undoes() {
    let told = json!({
        "pre-upgrade": hooks(&json!([{"name": "guard"}])),
        "pre-rollback": hooks(&json!([{"name": "find"}])),
        "post-rollback": hooks(&json!([{"name": "restore"}])),
    });
    let Some(stage) = Stage::new("lifecycle-rollback", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    for version in [1, 2, 3] {
        stage.bench.respec("changes", "shop", json!({"version": version})).await;
        stage.await_version("shop", version).await;
    }
    stage.bench.respec("changes", "shop", json!({"version": 2, "suffix": "-again"})).await;
    stage.await_version("shop", 2).await;
    let found = stage.note("did-pre-rollback-v2-again-find-1").await.unwrap();
    assert_eq!(
        found["data"]["earlier"], "note:v3/guard",
        "the newest is not the one that belongs to it by chance"
    );
    let restored = stage.note("did-post-rollback-v2-again-restore-1").await.unwrap();
    assert_eq!(restored["data"]["earlier"], "note:v3/guard note:v2-again/find");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_before_a_change_is_ended_after_it_whatever_becomes_of_it() {
    let ensured = |colour: &str| {
        hooks(
            &json!([{"name": "freeze", "ensurePost": true, "colour": colour}, {"name": "guard", "weight": 1}]),
        )
    };
    let told = json!({"pre-upgrade": ensured("red"), "answer.guard": "done"});
    let Some(stage) = Stage::new("lifecycle-ensured", told).await else { return };
    let _host = stage.start().await;

    // The change fails, and the plugin plans nothing for the time after it.
    stage.bench.make("changes", "shop", json!({"version": 1, "fail": true})).await;
    stage.await_state("post-upgrade", "v1", "Succeeded").await;
    let thawed = stage.note("did-post-upgrade-v1-freeze-1").await.unwrap();
    assert_eq!((&thawed["data"]["ending"], &thawed["data"]["colour"]), (&json!("Failed"), &json!("red")));

    // A hook fails, and the change is not begun: nobody announces its end.
    stage.tell_now("answer.guard", "fail").await;
    stage.tell_now("pre-upgrade", &ensured("blue")).await;
    stage.bench.respec("changes", "shop", json!({"version": 2, "fail": false})).await;
    let post = stage.await_state("post-upgrade", "v2", "Succeeded").await;
    assert_eq!(
        (&post["spec"]["ending"], &post["spec"]["announcedBy"]),
        (&json!("Failed"), &json!("pilothouse"))
    );
    assert_eq!(stage.note("did-post-upgrade-v2-freeze-1").await.unwrap()["data"]["colour"], "blue");

    // Another change takes its place while a hook is at work.
    stage.tell_now("answer.guard", "pending").await;
    stage.bench.respec("changes", "shop", json!({"version": 3})).await;
    stage.await_run("pre-upgrade", "v3", |run| run["status"]["hooks"][1]["state"] == "Running").await;
    stage.tell_now("answer.guard", "done").await;
    stage.bench.respec("changes", "shop", json!({"version": 4})).await;
    stage.await_version("shop", 4).await;

    // The object goes away between the two phases.
    stage.tell_now("answer.guard", "pending").await;
    stage.bench.respec("changes", "shop", json!({"version": 5, "silent": true})).await;
    stage.await_run("pre-upgrade", "v5", |run| run["status"]["hooks"][1]["state"] == "Running").await;
    stage.bench.delete(&stage.bench.path("changes", "shop")).await;
    stage.tell_now("answer.guard", "done").await;
    let post = stage.await_state("post-upgrade", "v5", "Succeeded").await;
    assert_eq!(post["spec"]["ending"], "Abandoned");
    assert!(stage.note("did-post-upgrade-v5-freeze-1").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_makes_way_for_another_ends_its_hooks_first() {
    let told = json!({
        "pre-upgrade": hooks(&json!([{"name": "guard", "ensurePost": true}])), "answer.guard": "pending", "cancel": "retry",
    });
    let Some(stage) = Stage::new("lifecycle-superseded", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    stage.await_run("pre-upgrade", "v1", |run| run["status"]["hooks"][0]["state"] == "Running").await;
    stage.bench.respec("changes", "shop", json!({"version": 2})).await;
    stage
        .await_run("pre-upgrade", "v1", |run| {
            run["spec"]["supersededBy"] == "v2" && run["status"]["hooks"][0]["state"] == "Cancelling"
        })
        .await;
    stage
        .await_run("pre-upgrade", "v2", |run| {
            run["status"]["message"].as_str().unwrap_or_default().contains("brought to its end first")
        })
        .await;
    assert!(stage.note("did-pre-upgrade-v2-guard-1").await.is_none(), "two changes of one object at once");
    stage.tell_now("cancel", "").await;
    stage.await_state("post-upgrade", "v1", "Running").await;
    stage.tell_now("answer.guard", "done").await;
    stage.await_version("shop", 2).await;
    assert_eq!(stage.await_state("post-upgrade", "v1", "Succeeded").await["spec"]["ending"], "Abandoned");

    // What was taken back and is wanted again is made anew: what was done for it is of another day.
    stage.tell_now("answer.guard", "pending").await;
    stage.bench.respec("changes", "shop", json!({"version": 3})).await;
    let first =
        stage.await_run("pre-upgrade", "v3", |run| run["status"]["hooks"][0]["state"] == "Running").await;
    stage.bench.respec("changes", "shop", json!({"version": 4})).await;
    stage.await_run("pre-upgrade", "v3", |run| run["spec"]["supersededBy"] == "v4").await;
    stage.bench.respec("changes", "shop", json!({"version": 3})).await;
    stage.bench.await_condition("changes", "shop", ("Ready", "False"), &["is being taken back"]).await;
    stage.tell_now("answer.guard", "done").await;
    stage.await_version("shop", 3).await;
    let second = stage.await_state("pre-upgrade", "v3", "Succeeded").await;
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_plugin_is_to_guard_waits_while_it_is_not_at_work() {
    let told = json!({"pre-upgrade": hooks(&json!([{"name": "guard"}]))});
    let Some(bench) = Bench::new("lifecycle-absent").await else { return };
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let mut stage = Stage::on(bench, &kubeconfig);
    let grants = "plugins:\n  announcer: {allRequested: true}\n  watchman:\n    allRequested: true\n    hooks: [{phases: [pre-upgrade], kinds: [{group: test.pilothouse.dev, kind: Change}]}]\n";
    std::fs::write(stage.place.path("grants.yaml"), grants).unwrap();
    stage.place = Place::new(&stage.bench.namespace, &kubeconfig, &["announcer.wasm"]);
    std::fs::write(stage.place.path("grants.yaml"), grants).unwrap();
    let flag = format!("--grants={}", stage.place.path("grants.yaml").display());
    stage.place = stage.place.with(flag);
    stage.tell(told).await;
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    stage.bench.await_condition("changes", "shop", ("Ready", "False"), &["Announced"]).await;
    assert!(stage.bench.object("changes", "shop").await.unwrap()["status"]["version"].is_null());
    // People can speak all the same.
    stage.bench.make("changes", "other", json!({"version": 1})).await;
    let of_other = async |holds: &dyn Fn(&Value) -> bool| {
        await_that("the run of the other object", async || {
            let runs = stage.runs().await;
            let run = runs.into_iter().find(|run| run["spec"]["subject"]["name"] == "other");
            run.clone().filter(|run| holds(run)).ok_or_else(|| format!("{run:?}"))
        })
        .await
        .0
    };
    let says =
        |run: &Value| run["status"]["message"].to_string().contains("plugin watchman, which takes part");
    let run = of_other(&says).await;
    stage.annotate(&run, "skip", "*: it does not come today").await;
    stage.await_version("other", 1).await;
    // It comes while the host runs.
    stage.place.install("watchman.wasm", &crate::bench::plugin("watchman.wasm"));
    stage.await_version("shop", 1).await;
    assert!(stage.note("did-pre-upgrade-v1-guard-1").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_may_die_after_any_write_of_a_change_and_every_hook_has_done_its_part_once() {
    let Some(bench) = Bench::new("lifecycle-crash").await else { return };
    let proxy = Proxy::start(bench.client.clone()).await;
    let stage = Stage::on(bench, &proxy.kubeconfig());
    stage
        .tell(json!({
            "pre-upgrade": hooks(&json!([{"name": "freeze", "ensurePost": true}, {"name": "guard", "weight": 1}])),
            "post-upgrade": hooks(&json!([{"name": "after"}])),
        }))
        .await;
    for n in 1.. {
        let name = format!("shop-{n}");
        let (host, killed) = stage.place.start_to_be_killed(&proxy, n, |_| true);
        stage.bench.make("changes", &name, json!({"version": 1})).await;
        let change = await_that(format!("{name} is done, or the host is dead"), async || {
            if killed.load(Ordering::SeqCst) {
                return Ok(true);
            }
            let object = stage.bench.object("changes", &name).await?;
            let at_rest = object["status"]["version"] == 1 && object["status"]["telling"].is_null();
            if at_rest { Ok(false) } else { Err(object["status"].to_string()) }
        });
        let was_killed = change.await.0;
        proxy.heal();
        drop(host);
        let host = stage.place.start();
        stage.await_version(&name, 1).await;
        let runs = stage.runs().await;
        let own: Vec<&Value> =
            runs.iter().filter(|run| run["spec"]["subject"]["name"] == name.as_str()).collect();
        assert_eq!(own.len(), 2, "{name}: {own:?}");
        for run in own {
            assert_eq!(run["status"]["state"], "Succeeded", "{name}: {run}");
            for hook in run["status"]["hooks"].as_array().unwrap() {
                assert_eq!(hook["attempts"], 1, "{name}: {run}");
                assert_eq!(hook["artefacts"].as_array().map(Vec::len), Some(1), "{name}: {run}");
            }
        }
        drop(host);
        for note in [
            "did-pre-upgrade-v1-freeze-1",
            "did-pre-upgrade-v1-guard-1",
            "did-post-upgrade-v1-after-1",
            "did-post-upgrade-v1-freeze-1",
        ] {
            let path = stage.bench.path("configmaps", note);
            assert!(
                stage.bench.ask(Method::DELETE, &path, "application/json", &Value::Null).await.is_ok(),
                "{name}: {note} was not done"
            );
        }
        if !was_killed {
            println!("lifecycle: {n} writes of a change");
            assert!(n > 8, "there must have been more writes than {n}");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_waits_for_those_who_take_part_in_its_changes() {
    let Some(bench) = Bench::new("lifecycle-release").await else { return };
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let place = Place::with_project(&bench.namespace, &kubeconfig).with("--grant-requested");
    place.install("watchman.wasm", &crate::bench::plugin("watchman.wasm"));
    let _node = bench.node();
    let stage = Stage { bench, place };
    let guard = hooks(&json!([{"name": "guard"}]));
    stage.tell(json!({"pre-upgrade": guard, "pre-delete": guard, "answer.guard": "pending"})).await;
    let _host = stage.start().await;
    stage.bench.make("player-stats", "stats", small(1)).await;
    let deployed = async |revision: u64| {
        await_that(format!("revision {revision} is deployed"), async || {
            let revisions = stage.bench.revisions("stats").await;
            let there = revisions.last() == Some(&(revision, "deployed".to_owned()));
            if there { Ok(()) } else { Err(format!("{revisions:?}")) }
        })
        .await;
    };
    deployed(1).await;
    stage.bench.respec("player-stats", "stats", small(2)).await;
    let waits = ("Reconciling", "True");
    stage.bench.await_condition("player-stats", "stats", waits, &["WaitingForHooks", "watchman/guard"]).await;
    assert_eq!(stage.bench.revisions("stats").await.len(), 1, "the upgrade has begun");
    stage.tell_now("answer.guard", "done").await;
    deployed(2).await;
    let upgrade = stage.runs().await.into_iter().find(|run| run["spec"]["phase"] == "pre-upgrade").unwrap();
    let change = upgrade["spec"]["change"].as_str().unwrap();
    assert_eq!(stage.await_state("post-upgrade", change, "Succeeded").await["spec"]["ending"], "Succeeded");
    assert_eq!(upgrade["spec"]["details"]["release"], "stats");

    stage.tell_now("answer.guard", "pending").await;
    stage.bench.delete(&stage.bench.path("player-stats", "stats")).await;
    stage.bench.await_condition("player-stats", "stats", waits, &["WaitingForHooks"]).await;
    assert!(
        stage.bench.object("deployments", "stats-player-stats").await.is_ok()
            || !stage.bench.revisions("stats").await.is_empty()
    );
    stage.tell_now("answer.guard", "done").await;
    await_that("the object is gone", async || match stage.bench.object("player-stats", "stats").await {
        Ok(object) => Err(object["status"].to_string()),
        Err(_) => Ok(()),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_after_it_was_brought_to_its_end_begins_again() {
    let told = json!({
        "pre-upgrade": hooks(&json!([{"name": "freeze", "ensurePost": true}, {"name": "guard", "weight": 1}])), "answer.guard": "fail",
    });
    let Some(stage) = Stage::new("lifecycle-again", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    let thawed = stage.await_state("post-upgrade", "v1", "Succeeded").await;
    assert_eq!(thawed["spec"]["ending"], "Failed");
    let run = stage.await_state("pre-upgrade", "v1", "Failed").await;
    stage.bench.delete(&stage.bench.path("configmaps", "did-pre-upgrade-v1-freeze-1")).await;
    stage.annotate(&run, "skip", "guard: not today").await;
    stage.await_version("shop", 1).await;
    assert!(stage.note("did-pre-upgrade-v1-freeze-1").await.is_some(), "it was thawed and not frozen again");
    let after = stage.await_state("post-upgrade", "v1", "Succeeded").await;
    assert_eq!(after["spec"]["ending"], "Succeeded");
    assert_ne!(after["metadata"]["uid"], thawed["metadata"]["uid"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_taken_back_is_brought_to_its_end_and_made_anew_when_it_is_wanted_again() {
    let told = json!({"pre-upgrade": hooks(&json!([{"name": "freeze", "ensurePost": true}, {"name": "guard", "weight": 1}]))});
    let Some(stage) = Stage::new("lifecycle-withdrawn", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    stage.await_version("shop", 1).await;
    stage.tell_now("answer.guard", "pending").await;
    stage.bench.respec("changes", "shop", json!({"version": 2})).await;
    let first =
        stage.await_run("pre-upgrade", "v2", |run| run["status"]["hooks"][1]["state"] == "Running").await;
    stage.bench.respec("changes", "shop", json!({"version": 1})).await;
    let post = stage.await_state("post-upgrade", "v2", "Succeeded").await;
    assert_eq!(post["spec"]["ending"], "Abandoned");
    assert!(stage.note("ended-pre-upgrade-v2-guard-1").await.is_some());
    stage.tell_now("answer.guard", "done").await;
    stage.bench.respec("changes", "shop", json!({"version": 2})).await;
    stage.await_version("shop", 2).await;
    let second = stage.await_state("pre-upgrade", "v2", "Succeeded").await;
    assert_ne!(first["metadata"]["uid"], second["metadata"]["uid"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_takes_part_in_waits_for_those_who_do_in_the_change_before() {
    let Some(bench) = Bench::new("lifecycle-way").await else { return };
    let kubeconfig = bench.cluster.kubeconfig_text().unwrap();
    let mut stage = Stage::on(bench, &kubeconfig);
    let grants = "plugins:\n  announcer: {allRequested: true}\n  watchman:\n    allRequested: true\n    hooks: [{phases: [pre-upgrade, post-upgrade], kinds: [{group: '*', kind: Change}]}]\n";
    std::fs::write(stage.place.path("grants.yaml"), grants).unwrap();
    let flag = format!("--grants={}", stage.place.path("grants.yaml").display());
    stage.place = stage.place.with(flag);
    let guard = hooks(&json!([{"name": "guard", "ensurePost": true}]));
    stage.tell(json!({"pre-upgrade": guard, "answer.guard": "pending", "cancel": "retry"})).await;
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    stage.await_run("pre-upgrade", "v1", |run| run["status"]["hooks"][0]["state"] == "Running").await;
    stage.bench.delete(&stage.bench.path("changes", "shop")).await;
    stage
        .bench
        .await_condition("changes", "shop", ("Ready", "False"), &["is brought to its end first"])
        .await;
    stage.tell_now("answer.guard", "done").await;
    stage.tell_now("cancel", "").await;
    await_that("the object is gone", async || match stage.bench.object("changes", "shop").await {
        Ok(object) => Err(object["status"].to_string()),
        Err(_) => Ok(()),
    })
    .await;
    assert_eq!(stage.await_state("post-upgrade", "v1", "Succeeded").await["spec"]["ending"], "Abandoned");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_was_given_up_by_hand_is_not_begun_until_somebody_takes_it_up() {
    let told = json!({"pre-upgrade": hooks(&json!([{"name": "guard", "ensurePost": true}])), "answer.guard": "pending"});
    let Some(stage) = Stage::new("lifecycle-given-up", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    let run =
        stage.await_run("pre-upgrade", "v1", |run| run["status"]["hooks"][0]["state"] == "Running").await;
    stage.tell_now("answer.guard", "done").await;
    stage.annotate(&run, "abandon", "jo: not this week").await;
    stage.bench.await_condition("changes", "shop", ("Stalled", "True"), &["it was given up by hand"]).await;
    stage.await_state("post-upgrade", "v1", "Succeeded").await;
    assert!(stage.bench.object("changes", "shop").await.unwrap()["status"]["version"].is_null());
    stage.annotate(&run, "retry", "jo: this week after all").await;
    stage.await_version("shop", 1).await;
    let run = stage.await_state("pre-upgrade", "v1", "Succeeded").await;
    let actions: Vec<&Value> =
        run["status"]["audit"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
    assert_eq!(actions, ["Abandon", "Retry"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_somebody_made_for_an_object_elsewhere_is_left_alone() {
    let told = json!({"post-rollback": hooks(&json!([{"name": "restore"}]))});
    let Some(stage) = Stage::new("lifecycle-forged", told).await else { return };
    let _host = stage.start().await;
    stage.bench.make("changes", "shop", json!({"version": 1})).await;
    let object = stage.await_version("shop", 1).await;
    let subject = json!({"apiVersion": "test.pilothouse.dev/v1", "kind": "Change", "name": "shop",
        "namespace": stage.bench.namespace, "uid": object["metadata"]["uid"]});
    let spec = json!({"subject": subject, "phase": "post-rollback", "change": "v0", "announcedBy": "me", "ending": "Succeeded"});
    let run = json!({"apiVersion": "lifecycle.pilothouse.dev/v1alpha1", "kind": "LifecycleRun",
        "metadata": {"name": "mine", "namespace": stage.bench.namespace}, "spec": spec});
    stage.bench.create(&stage.bench.path("lifecycleruns", ""), &run).await;
    stage.place.await_log(&["LifecycleRun", "mine", "left alone"]).await;
    assert!(stage.bench.object("lifecycleruns", "mine").await.unwrap()["status"].is_null());
    assert!(stage.note("did-post-rollback-v0-restore-1").await.is_none());
}
