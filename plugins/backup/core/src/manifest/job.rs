//! Jobs.

use backup_api::{BackupPlan, Encryption, Fragment, JobStrategy, Level, Output, PodJob, names};
use serde_json::{Value, json};

use super::{
    ManifestError, Order, job_format,
    pod::{Pod, Way},
    preset::{self, END, READ, RUN_FILE, RUN_INPUT, RUN_STREAM, TELL},
};
use crate::{backup::Role, naming};

/// What a Job that puts data back is made from.
pub(crate) struct JobOrder<'a> {
    pub(crate) namespace: &'a str,
    /// Name of the `Restore`.
    pub(crate) restore: &'a str,
    /// Name of the Job and of its Secret.
    pub(crate) name: &'a str,
    pub(crate) job: &'a JobStrategy,
    pub(crate) encryption: Option<&'a Encryption>,
    pub(crate) sha256: &'a str,
    pub(crate) size: u64,
    pub(crate) host_image: &'a str,
    pub(crate) seconds: u64,
}

/// The Job that writes the data out.
pub(super) fn dump(order: &Order<'_>, job: &JobStrategy) -> Result<Value, ManifestError> {
    let known = job.preset.map(preset::known);
    parameters(job, known.as_ref().is_some_and(|known| known.port.is_some()))?;
    let body = match (&known, job.output) {
        (Some(known), _) => known.dump,
        (None, Output::Stream) => RUN_STREAM,
        (None, Output::File) => RUN_FILE,
    };
    let name = naming::task(order.object.name, Role::Dump.word(), order.run.attempt);
    let pod = Pod {
        way: Way::Up(job.output),
        container: "dump",
        image: job.image.clone().or(known.as_ref().map(|known| known.image.to_owned())),
        script: format!("{TELL}{body}"),
        own_command: known.is_some(),
        parameters: &job.parameters,
        port: known.and_then(|known| known.port),
        format: format_name(job),
        claim: job
            .parameters
            .claim
            .as_deref()
            .filter(|_| job.preset == Some(backup_api::Preset::Volume) || job.preset.is_none()),
        host_image: &order.settings.image,
        secret: &name,
        encryption: order.plan.encryption.as_ref(),
        template: job.template.as_ref(),
        at: "strategy.job.template",
    };
    Ok(manifest(order, Role::Dump, &name, &pod.template()?))
}

/// The Job that makes a scratch database of what was written.
pub(super) fn trial(order: &Order<'_>, job: &JobStrategy) -> Result<Value, ManifestError> {
    let PodJob { image, template } = order.plan.verification.trial.clone().unwrap_or_default();
    let known = job.preset.map(preset::known);
    let body = known.as_ref().map_or(RUN_INPUT, |known| known.trial);
    let name = naming::task(order.object.name, Role::Trial.word(), order.run.attempt);
    let artefact = order.run.artefact.as_ref();
    let pod = Pod {
        way: Way::Down {
            sha256: artefact.map(|artefact| artefact.sha256.clone()).unwrap_or_default(),
            size: artefact.map(|artefact| artefact.size).unwrap_or_default(),
        },
        container: "restore",
        image: image.or_else(|| job.image.clone()).or(known.as_ref().map(|known| known.image.to_owned())),
        script: format!("{READ}{body}{END}"),
        own_command: known.is_some(),
        // A trial has nothing to do with the live database: it is given neither address nor password.
        parameters: &backup_api::JobParameters::default(),
        port: None,
        format: format_name(job),
        claim: None,
        host_image: &order.settings.image,
        secret: &name,
        encryption: order.plan.encryption.as_ref(),
        template: template.as_ref(),
        at: "verification.trial.template",
    };
    Ok(manifest(order, Role::Trial, &name, &pod.template()?))
}

/// The Job that puts the data back.
pub(crate) fn restore(order: &JobOrder<'_>) -> Result<Value, ManifestError> {
    let job = order.job;
    let own = job.restore.clone().unwrap_or_default();
    let known = job.preset.map(preset::known);
    let to_claim = known.as_ref().is_some_and(|known| known.restores_to_claim);
    if to_claim && job.parameters.claim.is_none() {
        let what = "it is needed: the data is put back into the claim, while no server uses it";
        return Err(ManifestError::at("job.parameters.claim", what));
    }
    parameters(job, known.as_ref().is_some_and(|known| known.port.is_some()) && !to_claim)?;
    let body = known.as_ref().map_or(RUN_INPUT, |known| known.restore);
    let pod = Pod {
        way: Way::Down { sha256: order.sha256.to_owned(), size: order.size },
        container: "restore",
        image: own.image.or_else(|| job.image.clone()).or(known.as_ref().map(|known| known.image.to_owned())),
        script: format!("{READ}{body}{END}"),
        own_command: known.is_some(),
        parameters: &job.parameters,
        port: known.as_ref().and_then(|known| known.port),
        format: format_name(job),
        claim: job.parameters.claim.as_deref().filter(|_| to_claim || job.preset.is_none()),
        host_image: order.host_image,
        secret: order.name,
        encryption: order.encryption,
        template: own.template.as_ref(),
        at: "job.restore.template",
    };
    let labels = json!({names::label::RESTORE: order.restore, names::label::ROLE: Role::Restore.word()});
    let mut template = pod.template()?;
    let grace = known.as_ref().and_then(|known| known.restore_grace);
    if let Some((spec, grace)) = template.pointer_mut("/spec").and_then(Value::as_object_mut).zip(grace) {
        spec.entry("terminationGracePeriodSeconds").or_insert(json!(grace));
    }
    Ok(object(order.namespace, order.name, &labels, order.seconds, &template))
}

/// What a preset has to know, in an object that did not come by the door.
fn parameters(job: &JobStrategy, server: bool) -> Result<(), ManifestError> {
    let missing = |field: &str| {
        Err(ManifestError::at(
            format!("strategy.job.parameters.{field}"),
            "it is needed by this preset: set it",
        ))
    };
    if job.preset.is_none() && job.template.as_ref().is_none_or(Fragment::is_empty) && job.restore.is_none() {
        return Err(ManifestError::at("strategy.job", "set preset, template or both"));
    }
    match &job.parameters {
        given if server && given.host.is_none() => missing("host"),
        given if job.preset == Some(backup_api::Preset::Volume) && given.claim.is_none() => missing("claim"),
        _ => Ok(()),
    }
}

fn format_name(job: &JobStrategy) -> String {
    let name = serde_json::to_value(job_format(job)).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

fn manifest(order: &Order<'_>, role: Role, name: &str, template: &Value) -> Value {
    let mut labels = json!({
        names::label::BACKUP: naming::limited(order.object.name, 63),
        names::label::ROLE: role.word(),
    });
    if let (Some(policy), Some(map)) = (&order.object.spec.policy_ref, labels.as_object_mut()) {
        map.insert(names::label::POLICY.to_owned(), json!(naming::limited(&policy.name, 63)));
    }
    object(order.object.namespace, name, &labels, seconds(order.plan), template)
}

/// A Job is ended by Kubernetes too, should nobody be there to do it.
fn seconds(plan: &BackupPlan) -> u64 {
    let trial = plan.verification.level == Level::Restore;
    plan.timeout.0.saturating_add(if trial { 60 } else { 0 }).max(1)
}

fn object(namespace: &str, name: &str, labels: &Value, seconds: u64, template: &Value) -> Value {
    let template = super::merge(template.clone(), &json!({"metadata": {"labels": labels}}));
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": namespace, "name": name, "labels": labels},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": seconds,
            "template": template,
        },
    })
}
