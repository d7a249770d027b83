//! The rules of what runs pods.

use serde_json::Value;

use crate::{
    Health, Odd, conditions,
    field::{count, integer, kind, text},
};

/// "Deployment: 1 of 3 pods are available".
fn pods(object: &Value, have: i64, want: i64, what: &str) -> Health {
    let noun = if want == 1 { "pod is" } else { "pods are" };
    Health::InProgress(format!("{}: {have} of {want} {noun} {what}", kind(object)))
}

fn too_many(object: &Value, have: i64, want: i64) -> Health {
    let surplus = have.saturating_sub(want);
    let what = if surplus == 1 { "pod too many is" } else { "pods too many are" };
    Health::InProgress(format!("{}: {surplus} {what} still there", kind(object)))
}

pub(crate) fn deployment(object: &Value) -> Result<Health, Odd> {
    // A controller that is given no deadline does not tell of progress; its default for "none" is the largest i32.
    let deadline = integer(object, "spec.progressDeadlineSeconds");
    let mut progressing = deadline.is_none_or(|seconds| seconds == i64::from(i32::MAX));
    let mut available = false;
    for condition in conditions::of(object)? {
        match condition.kind {
            "Progressing" if condition.reason == "ProgressDeadlineExceeded" => {
                let told =
                    if condition.message.is_empty() { "it waits no longer" } else { condition.message };
                return Ok(Health::Failed(format!(
                    "{}: its deadline for progress has passed: {told}",
                    kind(object)
                )));
            }
            "Progressing" if condition.status == "True" && condition.reason == "NewReplicaSetAvailable" => {
                progressing = true;
            }
            "Available" if condition.status == "True" => available = true,
            _ => {}
        }
    }
    Ok(deployed(object).unwrap_or_else(|| match (progressing, available) {
        (false, _) => {
            Health::InProgress(format!("{}: its newest ReplicaSet is not available yet", kind(object)))
        }
        (true, false) => Health::InProgress(format!("{}: it is not available yet", kind(object))),
        (true, true) => Health::Current,
    }))
}

/// What the numbers of a deployment lack.
fn deployed(object: &Value) -> Option<Health> {
    let want = integer(object, "spec.replicas").unwrap_or(1);
    let there = count(object, "status.replicas");
    let updated = count(object, "status.updatedReplicas");
    let ready = count(object, "status.readyReplicas");
    let available = count(object, "status.availableReplicas");
    if want > there {
        Some(pods(object, there, want, "there"))
    } else if want > updated {
        Some(pods(object, updated, want, "updated"))
    } else if there > want {
        Some(too_many(object, there, want))
    } else if updated > available {
        Some(pods(object, available, updated, "available"))
    } else if want > ready {
        Some(pods(object, ready, want, "ready"))
    } else {
        None
    }
}

pub(crate) fn stateful_set(object: &Value) -> Health {
    // With OnDelete it is people who replace the pods: there is nothing to wait for.
    if text(object, "spec.updateStrategy.type") == Some("OnDelete") {
        return Health::Current;
    }
    let want = integer(object, "spec.replicas").unwrap_or(1);
    let there = count(object, "status.replicas");
    let ready = count(object, "status.readyReplicas");
    if want > there {
        return pods(object, there, want, "there");
    }
    if want > ready {
        return pods(object, ready, want, "ready");
    }
    if there > want {
        return too_many(object, there, want);
    }
    // kstatus takes -1 for "no partition".
    match integer(object, "spec.updateStrategy.rollingUpdate.partition").filter(|&partition| partition != -1)
    {
        Some(partition) => partly(object, want.saturating_sub(partition)),
        None => rolled_out(object, want),
    }
}

/// Only the pods from the partition upwards are to be updated.
fn partly(object: &Value, want: i64) -> Health {
    let updated = count(object, "status.updatedReplicas");
    if updated < want { pods(object, updated, want, "updated (of its partition)") } else { Health::Current }
}

fn rolled_out(object: &Value, want: i64) -> Health {
    let current = count(object, "status.currentReplicas");
    if want > current {
        return pods(object, current, want, "of the current revision");
    }
    let (now, next) = (text(object, "status.currentRevision"), text(object, "status.updateRevision"));
    if now.unwrap_or_default() != next.unwrap_or_default() {
        return Health::InProgress(format!("{}: its update is not rolled out yet", kind(object)));
    }
    Health::Current
}

pub(crate) fn daemon_set(object: &Value) -> Result<Health, Odd> {
    // The controller always writes both; that generations may be missing is only for kinds that have none.
    let unseen = |what| Ok(Health::InProgress(format!("{}: {what}", kind(object))));
    if crate::field::strict_integer(object, "metadata.generation")?.is_none() {
        return unseen("it has no generation yet");
    }
    if crate::field::strict_integer(object, "status.observedGeneration")?.is_none() {
        return unseen("its controller has not seen it yet");
    }
    let want = match integer(object, "status.desiredNumberScheduled") {
        None | Some(-1) => return unseen("its controller has not counted the nodes yet"),
        Some(want) => want,
    };
    let lacks = [
        ("currentNumberScheduled", "there"),
        ("updatedNumberScheduled", "updated"),
        ("numberAvailable", "available"),
        ("numberReady", "ready"),
    ];
    for (field, what) in lacks {
        let have = count(object, &format!("status.{field}"));
        if want > have {
            return Ok(pods(object, have, want, what));
        }
    }
    Ok(Health::Current)
}

pub(crate) fn replica_set(object: &Value) -> Result<Health, Odd> {
    for condition in conditions::of(object)? {
        if condition.is("ReplicaFailure", "True") {
            let told = condition.told("see its events");
            return Ok(Health::InProgress(format!("{}: pods cannot be created: {told}", kind(object))));
        }
    }
    let want = integer(object, "spec.replicas").unwrap_or(1);
    let lacks = [
        ("fullyLabeledReplicas", "there with all labels"),
        ("availableReplicas", "available"),
        ("readyReplicas", "ready"),
    ];
    for (field, what) in lacks {
        let have = count(object, &format!("status.{field}"));
        if want > have {
            return Ok(pods(object, have, want, what));
        }
    }
    let there = count(object, "status.replicas");
    Ok(if there > want { too_many(object, there, want) } else { Health::Current })
}

/// A job that runs is current: kstatus waits for its start, not for its end ([`crate::finished`] does).
pub(crate) fn job(object: &Value) -> Result<Health, Odd> {
    for condition in conditions::of(object)? {
        if condition.is("Complete", "True") {
            return Ok(Health::Current);
        }
        if condition.is("Failed", "True") {
            return Ok(Health::Failed(job_failed(object, &condition)));
        }
    }
    Ok(match text(object, "status.startTime") {
        None | Some("") => Health::InProgress(format!("{}: it has not started yet", kind(object))),
        Some(_) => Health::Current,
    })
}

/// "Job: it failed after 3 failed pods: Job has reached the specified backoff limit (BackoffLimitExceeded)".
pub(crate) fn job_failed(object: &Value, condition: &conditions::Condition<'_>) -> String {
    let failed = count(object, "status.failed");
    let noun = if failed == 1 { "pod" } else { "pods" };
    let told = condition.told("no reason is given");
    format!("{}: it failed after {failed} failed {noun}: {told}", kind(object))
}
