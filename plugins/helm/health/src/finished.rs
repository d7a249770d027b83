//! The end of what is waited for until it ends: hooks, and jobs on request.

use serde_json::Value;

use crate::{Health, Odd, conditions, field, generic, kinds, workload};

/// [`crate::health`], but a job or a pod is only current when it has run to a good end, and failed after a bad one.
/// This is how Helm waits for hooks, and for jobs with `--wait-for-jobs`.
#[must_use]
pub fn finished(object: &Value) -> Health {
    match kinds::of(object) {
        ("batch", "Job") => ended(object, job).unwrap_or(Health::Unknown),
        ("", "Pod") => ended(object, |pod, _| Ok(pod_end(pod))).unwrap_or(Health::Unknown),
        _ => crate::health(object),
    }
}

type Conditions<'a> = [conditions::Condition<'a>];

/// A good or bad end that has been reached counts also while the object is being deleted.
fn ended(
    object: &Value,
    end: impl for<'a> Fn(&'a Value, &Conditions<'a>) -> Result<Health, Odd>,
) -> Result<Health, Odd> {
    match end(object, &conditions::of(object)?)? {
        Health::InProgress(_) if generic::judge(object)? == Some(Health::Terminating) => {
            Ok(Health::Terminating)
        }
        ended => Ok(ended),
    }
}

fn job(object: &Value, conditions: &Conditions<'_>) -> Result<Health, Odd> {
    for condition in conditions {
        if condition.is("Complete", "True") {
            return Ok(Health::Current);
        }
        if condition.is("Failed", "True") {
            return Ok(Health::Failed(workload::job_failed(object, condition)));
        }
    }
    let done = field::count(object, "status.succeeded");
    let want =
        field::integer(object, "spec.completions").or_else(|| field::integer(object, "spec.parallelism"));
    let want = want.unwrap_or(1);
    let noun = if want == 1 { "pod has" } else { "pods have" };
    Ok(Health::InProgress(format!("Job: {done} of {want} {noun} completed")))
}

fn pod_end(object: &Value) -> Health {
    match field::text(object, "status.phase").unwrap_or_default() {
        "Succeeded" => Health::Current,
        "Failed" => {
            let told = field::text(object, "status.message").or_else(|| field::text(object, "status.reason"));
            Health::Failed(format!("Pod: it failed: {}", told.unwrap_or("a container ended with an error")))
        }
        "" => Health::InProgress("Pod: nothing is known of its phase yet".to_owned()),
        phase => Health::InProgress(format!("Pod: it has not ended yet (phase {phase})")),
    }
}
