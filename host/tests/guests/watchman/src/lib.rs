//! A plugin that takes part in changes as the ConfigMap `watchman` beside them says: under the phase stands which hooks there are
//! (JSON), under `answer.HOOK` how each ends, and under `plan` how the plan does. What was done is noted in ConfigMaps.

use std::time::Duration;

use pilothouse_sdk::{
    Announced, Artefact, Context, Dynamic, Error, Gvk, HookStep, KubeError, LifecycleHook, ObjectRef,
    Outcome, Ownership, PlannedHook, Reconciler, Task, Watch, export, export_hooks,
};
use serde_json::{Value, json};

struct Nothing;

impl Reconciler for Nothing {
    type Resource = Dynamic;

    fn reconcile(&self, _: &Context, _: &Dynamic) -> Result<Outcome, Error> {
        Ok(Outcome::ready())
    }
}

struct Watchman;

#[expect(clippy::panic, reason = "so that it can be seen what becomes of it")]
impl LifecycleHook for Watchman {
    fn plan(&self, ctx: &Context, announced: &Announced) -> Result<Vec<PlannedHook>, Error> {
        let told = told(ctx, announced)?;
        match text(&told, "plan").as_str() {
            "panic" => panic!("as it was told"),
            "retry" => return Err(Error::retry("NotYet", "the plan is not ready")),
            "twice" => return Ok(vec![PlannedHook::new("same"), PlannedHook::new("same")]),
            _ => {}
        }
        let hooks: Vec<Value> = serde_json::from_str(&text(&told, &announced.phase)).unwrap_or_default();
        Ok(hooks.iter().map(planned).collect())
    }

    fn run(&self, ctx: &Context, task: &Task) -> Result<HookStep, Error> {
        let told = told(ctx, &task.announced)?;
        note(ctx, "did", task)?;
        let watch = Watch::object(watchman(&task.announced));
        match text(&told, &format!("answer.{}", task.name)).as_str() {
            "panic" => panic!("as it was told"),
            "pending" => HookStep::pending("somebody is to say done")
                .watch(watch)
                .record(&json!({"seen": task.attempt})),
            "fail" => Ok(HookStep::failed("AsTold", "it was told to fail")),
            "refuse" => Ok(HookStep::refused("AsTold", "it was told to refuse")),
            "retry" => Err(Error::retry_after(Duration::from_millis(100), "NotYet", "nothing is known yet")),
            _ => Ok(HookStep::done(vec![Artefact {
                name: "note".to_owned(),
                kind: "Note".to_owned(),
                uri: format!("note:{}/{}", task.announced.change, task.name),
                sha256: None,
                size: Some(1),
                object: None,
                details: None,
            }])),
        }
    }

    fn cancel(&self, ctx: &Context, task: &Task) -> Result<(), Error> {
        if text(&told(ctx, &task.announced)?, "cancel") == "retry" {
            return Err(Error::retry("NotYet", "it does not end"));
        }
        note(ctx, "ended", task)
    }
}

fn planned(hook: &Value) -> PlannedHook {
    let number = |name: &str, default: u64| hook[name].as_u64().unwrap_or(default);
    let is = |name: &str| hook[name] == json!(true);
    PlannedHook {
        weight: i32::try_from(hook["weight"].as_i64().unwrap_or(0)).unwrap_or(0),
        timeout: Duration::from_secs(number("timeoutSeconds", 600)),
        retries: u32::try_from(number("retries", 0)).unwrap_or(0),
        ignore_failure: is("ignore"),
        approval: is("approval"),
        ensure_post: is("ensurePost"),
        parameters: json!({"colour": hook["colour"]}),
        ..PlannedHook::new(hook["name"].as_str().unwrap_or_default())
    }
}

fn watchman(announced: &Announced) -> ObjectRef {
    let namespace = announced.subject.object.namespace.clone().unwrap_or_default();
    ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), namespace.as_str(), "watchman")
}

fn told(ctx: &Context, announced: &Announced) -> Result<Value, Error> {
    let found: Option<Value> = ctx.kube().get_ref(&watchman(announced))?;
    Ok(found.map(|object| object.get("data").cloned().unwrap_or_default()).unwrap_or_default())
}

fn text(told: &Value, name: &str) -> String {
    told[name].as_str().unwrap_or_default().to_owned()
}

/// A note that is made once, however often the hook is called for it.
fn note(ctx: &Context, what: &str, task: &Task) -> Result<(), Error> {
    let announced = &task.announced;
    let name = format!("{what}-{}-{}-{}-{}", announced.phase, announced.change, task.name, task.attempt);
    let earlier: Vec<String> =
        announced.artefacts.iter().map(|earlier| earlier.artefact.uri.clone()).collect();
    let data = json!({
        "ending": announced.ending.map(|ending| format!("{ending:?}")).unwrap_or_default(),
        "earlier": earlier.join(" "),
        "colour": task.parameters.get("colour").and_then(Value::as_str).unwrap_or_default(),
        "record": task.record.as_ref().map(Value::to_string).unwrap_or_default(),
    });
    let metadata = json!({"name": name, "namespace": announced.subject.object.namespace});
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    match ctx.kube().create(&object, Ownership::None) {
        Ok(_) | Err(KubeError::AlreadyExists(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

export!(Nothing);
export_hooks!(Watchman);
