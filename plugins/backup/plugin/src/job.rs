//! Jobs and their pods.

use backup_core::backup::{observed::TaskSeen, read};
use jiff::Timestamp;
use pilothouse_sdk::{Context, Gvk, Kube, KubeError, ObjectRef, Watch};
use serde_json::Value;

/// Kubernetes' own label of a Job's pods.
const LABEL: &str = "batch.kubernetes.io/job-name";

fn reference(namespace: &str, name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("batch", "v1", "Job"), namespace, name)
}

fn pods() -> Gvk {
    Gvk::new("", "v1", "Pod")
}

/// How a Job stands. That it is not there is believed of the API server only: one that was just created would be left behind.
pub(crate) fn look(ctx: &Context, namespace: &str, name: &str) -> TaskSeen {
    let kube = ctx.kube().only(["metadata", "status"]);
    let seen = match found(&kube, namespace, name) {
        Ok((None, _)) => found(&kube.live(), namespace, name),
        seen => seen,
    };
    match seen {
        Ok((job, pods)) => match (read::job(job.as_ref(), &pods), job) {
            (TaskSeen::Running(_), Some(job)) if pods.is_empty() => without_pod(ctx, &job, (namespace, name)),
            (seen, _) => seen,
        },
        Err(error) => TaskSeen::Unknown(error.to_string()),
    }
}

/// The refusal is asked for when there is one: events are many.
fn without_pod(ctx: &Context, job: &Value, (namespace, name): (&str, &str)) -> TaskSeen {
    let now = Timestamp::try_from(ctx.now()).unwrap_or_default();
    match read::without_pod(job, now, None) {
        TaskSeen::Stuck(_) => read::without_pod(job, now, refusal(ctx, namespace, name).as_deref()),
        seen => seen,
    }
}

/// What the Job's controller said last, as far as that may be read.
fn refusal(ctx: &Context, namespace: &str, name: &str) -> Option<String> {
    let events = ctx.kube().live().list_ref::<Value>(Gvk::new("", "v1", "Event"), namespace);
    let fields = format!("involvedObject.kind=Job,involvedObject.name={name},reason=FailedCreate");
    let events = events.fields(fields).all().ok()?;
    read::last_said(&events)
}

fn found(kube: &Kube, namespace: &str, name: &str) -> Result<(Option<Value>, Vec<Value>), KubeError> {
    let job = kube.get_ref(&reference(namespace, name))?;
    let pods = kube.clone().list_ref(pods(), namespace).labels(format!("{LABEL}={name}")).all()?;
    Ok((job, pods))
}

/// What tells of a Job.
pub(crate) fn watches(namespace: &str, name: &str) -> Vec<Watch> {
    let pods = Watch::selected(pods(), namespace, format!("{LABEL}={name}"));
    vec![Watch::object(reference(namespace, name)), pods]
}
