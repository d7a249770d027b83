//! Commands in pods that bring a database to rest and release it.

use std::collections::BTreeMap;

use backup_api::{BackupPlan, BackupStatus};
use backup_core::backup::{
    act::Command,
    command_at_hand,
    observed::{ExecSeen, PodSeen},
};
use pilothouse_sdk::{Context, Error, ExecCommand, ExecProgress, ExecState, Gvk, Kube, KubeError};
use serde_json::Value;

/// A name is given to a command once: beginning it anew has another one.
const ATTEMPT: u32 = 1;
const FIELDS: [&str; 5] =
    ["metadata.name", "metadata.uid", "metadata.labels", "status.phase", "spec.containers"];

/// Pods that commands of the plan are for, or were for. That one is gone is believed of the API server only: what was brought to rest in it
/// would not be released any more.
///
/// # Errors
/// As for any request.
pub(crate) fn pods(
    ctx: &Context,
    namespace: &str,
    plan: &BackupPlan,
    status: &BackupStatus,
) -> Result<Vec<PodSeen>, Error> {
    let kube = ctx.kube().only(FIELDS);
    let seen = selected(&kube, namespace, plan)?;
    let open = status.run.iter().flat_map(|run| &run.hooks).filter(|hook| !hook.is_over());
    let all_there = open.into_iter().all(|hook| seen.iter().any(|pod| pod.uid == hook.uid));
    if all_there { Ok(seen) } else { selected(&kube.live(), namespace, plan) }
}

fn selected(kube: &Kube, namespace: &str, plan: &BackupPlan) -> Result<Vec<PodSeen>, Error> {
    let commands = plan.quiesce.iter().flat_map(|quiesce| quiesce.pre.iter().chain(&quiesce.post));
    let selectors: Vec<_> = commands.map(|command| &command.selector).collect();
    let mut pods = Vec::new();
    for pod in kube.clone().list_ref::<Value>(Gvk::new("", "v1", "Pod"), namespace) {
        let pod = pod?;
        // That nobody hears of a node does not mean that its pods are gone.
        let runs = ["Running", "Unknown"].contains(&text(&pod, "/status/phase"));
        let pod = read(&pod);
        if runs && selectors.iter().any(|selector| selector.selects(&pod.labels)) {
            pods.push(pod);
        }
    }
    Ok(pods)
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn read(pod: &Value) -> PodSeen {
    let labels = pod.pointer("/metadata/labels").cloned().unwrap_or_default();
    let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap_or_default();
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array).into_iter().flatten();
    PodSeen {
        name: text(pod, "/metadata/name").to_owned(),
        uid: text(pod, "/metadata/uid").to_owned(),
        labels,
        containers: containers.map(|container| text(container, "/name").to_owned()).collect(),
    }
}

/// The command that was begun last.
///
/// # Errors
/// As for any request.
pub(crate) fn begun(ctx: &Context, status: &BackupStatus) -> Result<ExecSeen, Error> {
    let Some(name) = command_at_hand(status) else { return Ok(ExecSeen::Unknown) };
    Ok(ctx.kube().exec_progress(&name, ATTEMPT)?.map_or(ExecSeen::Unknown, seen))
}

/// Begins a command, or finds it.
pub(crate) fn exec(ctx: &Context, namespace: &str, command: &Command) -> ExecSeen {
    let Command { name, pod, uid, container, command, timeout } = command;
    let wanted = ExecCommand::new(namespace, pod, uid, container, command).timeout(*timeout);
    match ctx.kube().exec(name, ATTEMPT, &wanted) {
        Ok(progress) => seen(progress),
        Err(
            error @ (KubeError::Denied(_)
            | KubeError::NotFound(_)
            | KubeError::Conflict(_)
            | KubeError::Invalid(_)),
        ) => ExecSeen::Refused(error.to_string()),
        // It may have been begun: the answer got lost.
        Err(error) => ExecSeen::Unreachable(error.to_string()),
    }
}

fn seen(progress: ExecProgress) -> ExecSeen {
    match progress.state {
        ExecState::Running => ExecSeen::Running,
        ExecState::Done(code) => ExecSeen::Exited(code, last_line(&progress.output)),
        ExecState::Failed { reason, message } if reason == "Refused" => ExecSeen::Refused(message),
        ExecState::Failed { reason, message } => ExecSeen::Unreachable(format!("{reason}: {message}")),
    }
}

/// What a command said last, for people; it is cut where it is long.
fn last_line(output: &str) -> String {
    output.trim().lines().last().unwrap_or_default().chars().take(300).collect()
}

/// Forgets a command whose end was written down: the host keeps so many of an object and no more.
pub(crate) fn forget(ctx: &Context, before: &BackupStatus, now: &BackupStatus) {
    let (before, now) = (command_at_hand(before), command_at_hand(now));
    if let Some(name) = before.filter(|name| now.as_ref() != Some(name)) {
        ctx.kube().forget_exec(&name);
    }
}
