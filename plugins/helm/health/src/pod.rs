//! The rules of pods.

use serde_json::Value;

use crate::{Health, Odd, conditions, field, time};

/// How long a pod may look for a node before it counts as failed.
const SCHEDULE_WINDOW: i64 = 15;

pub(crate) fn pod(object: &Value, now: Option<i64>) -> Result<Health, Odd> {
    let conditions = conditions::of(object)?;
    match field::text(object, "status.phase").unwrap_or_default() {
        // Either way it has run to its end and will not change; `finished` tells one from the other.
        "Succeeded" | "Failed" => Ok(Health::Current),
        "Running" if conditions.iter().any(|condition| condition.is("Ready", "True")) => Ok(Health::Current),
        "Running" => running(object),
        "Pending" => {
            let unscheduled = conditions.iter().find(|condition| condition.is("PodScheduled", "False"));
            Ok(match unscheduled {
                Some(condition) if condition.reason == "Unschedulable" => {
                    unschedulable(object, condition.message, now)
                }
                _ => in_progress(waiting(object).as_deref().unwrap_or("it is pending")),
            })
        }
        "" => Ok(in_progress("nothing is known of its phase yet")),
        _ => Err(Odd),
    }
}

fn in_progress(what: &str) -> Health {
    Health::InProgress(format!("Pod: {what}"))
}

fn running(object: &Value) -> Result<Health, Odd> {
    // Where kstatus would stop for a list that is none, nothing can be said either.
    match field::at(object, "status.containerStatuses")? {
        None | Some(Value::Array(_)) => {}
        Some(_) => return Err(Odd),
    }
    let crashing: Vec<&str> = statuses(object, "containerStatuses")
        .filter(|status| waits_for(status) == Some("CrashLoopBackOff"))
        .filter_map(|status| field::text(status, "name"))
        .collect();
    if !crashing.is_empty() {
        let noun = if crashing.len() == 1 { "container" } else { "containers" };
        let (names, what) = (crashing.join(", "), if crashing.len() == 1 { "crashes" } else { "crash" });
        return Ok(Health::Failed(format!("Pod: {noun} {names} {what} again and again (CrashLoopBackOff)")));
    }
    Ok(in_progress(waiting(object).as_deref().unwrap_or("it is running but not ready")))
}

fn unschedulable(object: &Value, message: &str, now: Option<i64>) -> Health {
    let created = field::text(object, "metadata.creationTimestamp").and_then(time::seconds);
    if let (Some(now), Some(created)) = (now, created)
        && now.saturating_sub(SCHEDULE_WINDOW) < created
    {
        return in_progress("no node has been found for it yet");
    }
    let told = if message.is_empty() { "Unschedulable" } else { message };
    Health::Failed(format!("Pod: no node takes it: {told}"))
}

fn statuses<'a>(object: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    let statuses = object.get("status").and_then(|status| status.get(list));
    statuses.and_then(Value::as_array).into_iter().flatten()
}

fn waits_for(status: &Value) -> Option<&str> {
    field::text(status, "state.waiting.reason")
}

/// What the first container with trouble waits for: an image that cannot be pulled, a Secret that is not there.
fn waiting(object: &Value) -> Option<String> {
    // These are on the way to a running container, not trouble.
    const USUAL: [&str; 2] = ["ContainerCreating", "PodInitializing"];
    let all = statuses(object, "initContainerStatuses").chain(statuses(object, "containerStatuses"));
    all.filter_map(|status| Some((status, waits_for(status).filter(|reason| !USUAL.contains(reason))?)))
        .next()
        .map(|(status, reason)| {
            let name = field::text(status, "name").unwrap_or_default();
            match field::text(status, "state.waiting.message") {
                Some(message) if !message.is_empty() => {
                    format!("container {name} waits: {message} ({reason})")
                }
                _ => format!("container {name} waits: {reason}"),
            }
        })
}
