//! The objects of hooks in the cluster.

use helm_release::{Hook, HookState, Operation, Stored};
use pilothouse_sdk::{ApplyItem, ApplyOptions, DeleteOptions, Error, Gvk, KubeError, ObjectRef, Propagation};
use serde_json::Value;

use crate::{
    apply::is_refusal,
    call::Call,
    decorate::HOOK_RUN,
    drive::hook_of,
    objects::{self, Object},
};

/// How much of a failed hook's log is shown.
const LOG_BYTES: u32 = 2048;
const LOG_LINES: usize = 10;

impl Call<'_> {
    /// The objects of a hook. One that cannot be read is refused when it is started, so here it has none.
    pub(crate) fn hook_objects(&self, hook: &Hook) -> Result<Vec<Object>, Error> {
        Ok(self.parse_hook(hook)?.unwrap_or_default())
    }

    fn parse_hook(&self, hook: &Hook) -> Result<Result<Vec<Object>, String>, Error> {
        let parsed = objects::parse(&hook.manifest, &self.owner().namespace, &*self.kinds()?);
        Ok(parsed
            .map_err(|error| format!("unable to build kubernetes object for hook {}: {error}", hook.path)))
    }

    /// Looks at a hook for its operation, and when it fails or its time is over also at what it wrote.
    pub(crate) fn look_for(&self, operation: &mut Operation, place: usize, run: &str) -> Result<(), Error> {
        let Some(hook) = hook_of(operation, place) else { return Ok(()) };
        let state = self.look_at_hook(hook, run)?;
        let tells_why = match state {
            HookState::Running { .. } | HookState::Terminating => operation.is_overdue(place),
            HookState::Failing | HookState::Failed(_) => true,
            HookState::Absent | HookState::Other | HookState::Succeeded => false,
        };
        if tells_why {
            let lines = self.last_lines(hook);
            operation.heard(lines);
        }
        operation.seen(state);
        Ok(())
    }

    /// How a hook's objects stand. `run`: which of its runs is meant; none: any.
    fn look_at_hook(&self, hook: &Hook, run: &str) -> Result<HookState, Error> {
        let mut state = HookState::Succeeded;
        let mut found_any = false;
        for object in self.hook_objects(hook)? {
            let found: Option<Value> = match self.kube().clone().live().get_ref(&object.reference) {
                Ok(found) => found,
                Err(KubeError::UnknownKind(_) | KubeError::NotFound(_)) => None,
                Err(error) => {
                    return Err(Error::from(error).context(format_args!("looking at hook {object}")));
                }
            };
            found_any |= found.is_some();
            let next = found.map_or(HookState::Absent, |found| state_of(&found, run));
            state = worse(state, next);
        }
        Ok(if found_any { state } else { HookState::Absent })
    }

    /// Creates a hook's objects. The inner error is a refusal that asking again does not heal.
    pub(crate) fn start_hook(
        &self,
        stored: &Stored,
        hook: &Hook,
        run: &str,
    ) -> Result<Result<(), String>, Error> {
        let objects = match self.parse_hook(hook)? {
            Ok(objects) => objects,
            Err(message) => return Ok(Err(message)),
        };
        let chart = stored.release.chart_name().unwrap_or_default().name;
        for object in objects {
            let name = object.to_string();
            let reference = object.reference.clone();
            let (value, ownership) = self.owner().hook_object(object, &chart, run);
            let done = if hook.runs_to_completion() {
                self.create_run(&value, ownership, &reference, run)
            } else {
                let item = ApplyItem::json(value.to_string()).ownership(ownership);
                let options = ApplyOptions { force: true, ..ApplyOptions::default() };
                self.send(&[item], options).pop().unwrap_or_else(no_answer).map(drop)
            };
            match done {
                Ok(()) => {}
                Err(error) if is_refusal(&error) || matches!(error, KubeError::UnknownKind(_)) => {
                    return Ok(Err(error.to_string()));
                }
                Err(error) => return Err(Error::from(error).context(format_args!("creating hook {name}"))),
            }
        }
        Ok(Ok(()))
    }

    /// Creates what runs to completion. It may be there already, of this very run: then the answer to its creation was
    /// lost.
    fn create_run(
        &self,
        value: &Value,
        ownership: pilothouse_sdk::Ownership,
        reference: &ObjectRef,
        run: &str,
    ) -> Result<(), KubeError> {
        match self.kube().create(value, ownership) {
            Ok(_) => Ok(()),
            Err(error @ KubeError::AlreadyExists(_)) => {
                let found: Option<Value> = self.kube().clone().live().get_ref(reference)?;
                if found.is_some_and(|found| is_run(&found, run)) { Ok(()) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }

    /// Asks for deletion of a hook's objects. True: none is left.
    pub(crate) fn remove_hook(&self, hook: &Hook) -> Result<bool, Error> {
        let options = DeleteOptions { propagation: Propagation::Background, ..DeleteOptions::default() };
        let mut gone = true;
        for object in self.hook_objects(hook)? {
            let explain = |error| Error::from(error).context(format_args!("deleting hook {object}"));
            match self.kube().delete_ref(&object.reference, &options) {
                Ok(false) | Err(KubeError::UnknownKind(_) | KubeError::NotFound(_)) => continue,
                Ok(true) => {}
                Err(error) => return Err(explain(error)),
            }
            let left: Option<Value> = self
                .kube()
                .clone()
                .live()
                .only(["metadata.uid"])
                .get_ref(&object.reference)
                .map_err(explain)?;
            gone &= left.is_none();
        }
        Ok(gone)
    }

    /// The last lines that a failed hook wrote, for people; nothing when they cannot be had.
    fn last_lines(&self, hook: &Hook) -> String {
        let Ok(Some(object)) = self.hook_objects(hook).map(|objects| objects.into_iter().next()) else {
            return String::new();
        };
        let namespace = object.reference.namespace.clone().unwrap_or_default();
        let pod = match hook.kind.as_str() {
            "Pod" => self.kube().get_ref(&object.reference).ok().flatten(),
            _ => self.newest_pod(&namespace, &object.reference.name),
        };
        let Some(pod) = pod else { return String::new() };
        let name = text(&pod, "/metadata/name");
        let container = telling_container(&pod);
        let log = self.kube().logs(&namespace, name, container, LOG_BYTES).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines.get(lines.len().saturating_sub(LOG_LINES)..).unwrap_or_default();
        if last.is_empty() {
            return String::new();
        }
        let whose = match container {
            Some(container) if containers(&pod, "containers").count() > 1 => format!("of {container} "),
            _ => String::new(),
        };
        format!("; its log {whose}ends with:\n{}", last.join("\n"))
    }

    fn newest_pod(&self, namespace: &str, job: &str) -> Option<Value> {
        let pods = self.kube().list_ref::<Value>(Gvk::new("", "v1", "Pod"), namespace);
        let pods = pods.labels(format!("job-name={job}")).all().ok()?;
        pods.into_iter().max_by_key(|pod| text(pod, "/metadata/creationTimestamp").to_owned())
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn containers<'p>(pod: &'p Value, list: &str) -> impl Iterator<Item = &'p Value> {
    pod.get("spec").and_then(|spec| spec.get(list)).and_then(Value::as_array).into_iter().flatten()
}

/// The container whose log says why a pod failed: the one that failed first. Without any, the one that kubectl would show.
/// None: the only one there is.
fn telling_container(pod: &Value) -> Option<&str> {
    let ended = |status: &Value| {
        ["/state/terminated", "/lastState/terminated"].into_iter().find_map(|state| {
            let state = status.pointer(state)?;
            let failed = state.get("exitCode").and_then(Value::as_i64).is_some_and(|code| code != 0);
            failed.then(|| text(state, "/finishedAt").to_owned())
        })
    };
    // Sidecars that are init containers are stopped after the others, whatever they answer to that.
    let failed = ["containerStatuses", "initContainerStatuses"].into_iter().find_map(|list| {
        let statuses = pod.get("status")?.get(list)?.as_array()?;
        let failed = statuses.iter().filter_map(|status| Some((ended(status)?, text(status, "/name"))));
        failed.min().map(|(_, name)| name)
    });
    let shown = || {
        let annotations = pod.pointer("/metadata/annotations");
        annotations?.get("kubectl.kubernetes.io/default-container")?.as_str()
    };
    let first = || containers(pod, "containers").next().map(|container| text(container, "/name"));
    failed.or_else(shown).or_else(first).filter(|name| !name.is_empty())
}

fn no_answer<T>() -> Result<T, KubeError> {
    Err(KubeError::Malformed("the host did not answer for the object".to_owned()))
}

fn is_run(object: &Value, run: &str) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(HOOK_RUN)).and_then(Value::as_str) == Some(run)
}

/// How one object of a hook stands (Helm's `waitForJob`, `waitForPodSuccess`).
fn state_of(object: &Value, run: &str) -> HookState {
    let deleting = object.pointer("/metadata/deletionTimestamp").is_some();
    if !is_run(object, run) {
        return if deleting { HookState::Terminating } else { HookState::Other };
    }
    let state = match object.get("kind").and_then(Value::as_str) {
        Some("Job") => job_state(object),
        Some("Pod") => pod_state(object),
        _ => HookState::Succeeded,
    };
    match state {
        HookState::Running { .. } | HookState::Failing if deleting => HookState::Terminating,
        state => state,
    }
}

fn job_state(job: &Value) -> HookState {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
    let text = |condition: &Value, field: &str| {
        condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut is_failing = false;
    for condition in conditions.into_iter().flatten().filter(|condition| text(condition, "status") == "True")
    {
        match text(condition, "type").as_str() {
            "Complete" => return HookState::Succeeded,
            // It is going to have failed once its pods have ended. They may still be at work, and only until then say why.
            "FailureTarget" => is_failing = true,
            "Failed" => {
                let name = job.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                let (reason, message) = (text(condition, "reason"), text(condition, "message"));
                return HookState::Failed(format!("job {name} failed: {reason}: {message}"));
            }
            _ => {}
        }
    }
    if is_failing {
        return HookState::Failing;
    }
    let count = |field: &str| job.pointer(field).and_then(Value::as_u64);
    HookState::Running { busy: count("/status/ready").or_else(|| count("/status/active")).unwrap_or(0) > 0 }
}

fn pod_state(pod: &Value) -> HookState {
    let text = |field: &str| pod.pointer(field).and_then(Value::as_str).unwrap_or_default();
    match text("/status/phase") {
        "Succeeded" => HookState::Succeeded,
        "Failed" => {
            HookState::Failed(format!("pod {} failed: {}", text("/metadata/name"), text("/status/message")))
        }
        phase => HookState::Running { busy: phase == "Running" },
    }
}

/// Of several objects of one hook, the one that decides.
fn worse(a: HookState, b: HookState) -> HookState {
    let rank = |state: &HookState| match state {
        HookState::Failed(_) => 0,
        HookState::Failing => 1,
        HookState::Other => 2,
        HookState::Terminating => 3,
        HookState::Absent => 4,
        HookState::Running { busy: true } => 5,
        HookState::Running { busy: false } => 6,
        HookState::Succeeded => 7,
    };
    if rank(&b) < rank(&a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn job(status: &Value) -> Value {
        json!({"kind": "Job", "metadata": {"name": "b", "annotations": {HOOK_RUN: "r"}}, "status": status})
    }

    #[test]
    fn a_job_is_judged_by_its_conditions() {
        let conditions = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status, "reason": "BackoffLimitExceeded", "message": "m"}]});
        assert_eq!(state_of(&job(&conditions("Complete", "True")), "r"), HookState::Succeeded);
        let failed = HookState::Failed("job b failed: BackoffLimitExceeded: m".to_owned());
        assert_eq!(state_of(&job(&conditions("Failed", "True")), "r"), failed);
        assert_eq!(state_of(&job(&conditions("FailureTarget", "True")), "r"), HookState::Failing);
        assert_eq!(
            state_of(&job(&conditions("SuccessCriteriaMet", "True")), "r"),
            HookState::Running { busy: false }
        );
        assert_eq!(state_of(&job(&conditions("Failed", "False")), "r"), HookState::Running { busy: false });
    }

    #[test]
    fn a_job_is_busy_when_a_pod_of_it_is_ready() {
        assert_eq!(
            state_of(&job(&json!({"active": 1, "ready": 0})), "r"),
            HookState::Running { busy: false }
        );
        assert_eq!(state_of(&job(&json!({"active": 1, "ready": 1})), "r"), HookState::Running { busy: true });
        assert_eq!(state_of(&job(&json!({"active": 1})), "r"), HookState::Running { busy: true });
    }

    #[test]
    fn a_pod_is_judged_by_its_phase_and_anything_else_by_being_there() {
        let pod = |phase: &str| json!({"kind": "Pod", "metadata": {"name": "p", "annotations": {HOOK_RUN: "r"}}, "status": {"phase": phase}});
        assert_eq!(state_of(&pod("Succeeded"), "r"), HookState::Succeeded);
        assert!(matches!(state_of(&pod("Failed"), "r"), HookState::Failed(_)));
        assert_eq!(state_of(&pod("Pending"), "r"), HookState::Running { busy: false });
        let map = json!({"kind": "ConfigMap", "metadata": {"annotations": {HOOK_RUN: "r"}}});
        assert_eq!(state_of(&map, "r"), HookState::Succeeded);
    }

    #[test]
    fn another_run_is_told_apart_and_so_is_one_that_is_going() {
        assert_eq!(state_of(&job(&Value::Null), "another"), HookState::Other);
        let mut going = job(&Value::Null);
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(state_of(&going, "another"), HookState::Terminating);
        assert_eq!(state_of(&going, "r"), HookState::Terminating);
    }

    #[test]
    fn of_several_objects_the_failed_one_decides() {
        let failed = HookState::Failed("x".into());
        assert_eq!(worse(HookState::Running { busy: true }, failed.clone()), failed);
        assert_eq!(worse(HookState::Succeeded, HookState::Absent), HookState::Absent);
    }
}
