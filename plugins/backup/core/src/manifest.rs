//! Objects that read data, try what was read, and put it back.
//!
//! A Job's pod has two containers that do not trust each other: one with the database's own tools and its password, and `transfer`, the
//! host's own image, with a token for one object. Between them is a pipe in a scratch volume, and a file in which the first says
//! with what code it ended. Only when that is 0 and the pipe is at its end does `transfer` tell the host that the object is whole. No
//! script has a pipeline, whose failures many shells do not tell.

pub(crate) mod etcd;
mod job;
mod merge;
mod pod;
mod preset;
mod snapshot;
#[cfg(test)]
mod tests;

use backup_api::{BackupPlan, Format, JobStrategy, Preset, Run, Strategy};
use serde_json::Value;

use crate::{
    backup::{Object, Role},
    naming,
    settings::Settings,
};

pub(crate) use job::{JobOrder, restore as restore_job};
pub use merge::merge;
pub(crate) use snapshot::{GROUP as SNAPSHOT_GROUP, KIND as SNAPSHOT_KIND};

/// What objects are made from.
pub(crate) struct Order<'a> {
    pub(crate) object: Object<'a>,
    pub(crate) plan: &'a BackupPlan,
    pub(crate) run: &'a Run,
    pub(crate) settings: &'a Settings,
}

/// An object, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    /// Group and version.
    pub api_version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// What cannot be made of a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Something is missing or does not go together; what to do about it.
    #[error("{at}: {what}")]
    Plan {
        /// The field.
        at: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// The host did not say its image.
    #[error(
        "the backup plugin's setting `image` is missing: set it to the host's own image, which Jobs hand their data over with"
    )]
    NoImage,
}

impl ManifestError {
    pub(crate) fn at(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Plan { at: at.into(), what: what.into() }
    }
}

/// Looks for what cannot be made, before anything is begun.
pub(crate) fn check(order: &Order<'_>) -> Result<(), ManifestError> {
    let strategy = &order.plan.strategy;
    let set = [strategy.job.is_some(), strategy.etcd.is_some(), strategy.volume_snapshot.is_some()];
    if set.into_iter().filter(|set| *set).count() != 1 {
        return Err(ManifestError::at("strategy", "set exactly one of job, etcd and volumeSnapshot"));
    }
    storage(order)?;
    if strategy.job.is_some() {
        host_image(&order.settings.image)?;
        dump(order)?;
        let tries = order.plan.verification.level == backup_api::Level::Restore;
        if tries {
            trial(order)?;
        }
    }
    if strategy.etcd.is_some() {
        dump(order)?;
    }
    Ok(())
}

/// The image that brings data to the host and back.
pub(crate) fn host_image(image: &str) -> Result<(), ManifestError> {
    if image.is_empty() { Err(ManifestError::NoImage) } else { Ok(()) }
}

fn storage(order: &Order<'_>) -> Result<(), ManifestError> {
    let snapshots = order.plan.strategy.volume_snapshot.is_some();
    let at = |what: &str| Err(ManifestError::at("storage", what));
    match &order.plan.storage {
        None if snapshots => Ok(()),
        None => at("it is needed: say where the artefact goes"),
        Some(_) if snapshots => {
            at("leave it out with strategy.volumeSnapshot: the driver keeps the snapshots")
        }
        Some(_) => Ok(()),
    }
}

/// What reads the data.
pub(crate) fn dump(order: &Order<'_>) -> Result<Vec<Value>, ManifestError> {
    let strategy = &order.plan.strategy;
    if let Some(job) = &strategy.job {
        return Ok(vec![job::dump(order, job)?]);
    }
    if strategy.etcd.is_some() {
        return Ok(vec![etcd::backup(order)?]);
    }
    Ok(snapshot::snapshots(order))
}

/// What makes a scratch database of what was read.
pub(crate) fn trial(order: &Order<'_>) -> Result<Vec<Value>, ManifestError> {
    let job = order.plan.strategy.job.as_ref();
    let job = job.ok_or_else(|| ManifestError::at("verification.level", "Restore is for strategy.job"))?;
    Ok(vec![job::trial(order, job)?])
}

/// Names of what was made for a role.
pub(crate) fn names(order: &Order<'_>, role: Role) -> Vec<ObjectName> {
    let name = naming::task(order.object.name, role.word(), order.run.attempt);
    let namespace = order.object.namespace.to_owned();
    let strategy = &order.plan.strategy;
    if role == Role::Dump && strategy.etcd.is_some() {
        let (api_version, kind) = (etcd::API_VERSION, etcd::BACKUP);
        return vec![ObjectName { api_version, kind, namespace, name }];
    }
    if role == Role::Dump && strategy.volume_snapshot.is_some() {
        let snapshots = order.run.artefact.as_ref().map(|artefact| artefact.snapshots.clone());
        let (api_version, kind) = (snapshot::API_VERSION, snapshot::KIND);
        let named = |name| ObjectName { api_version, kind, namespace: namespace.clone(), name };
        return snapshots.unwrap_or_default().into_values().map(named).collect();
    }
    vec![ObjectName { api_version: "batch/v1", kind: "Job", namespace, name }]
}

/// What a strategy writes.
pub(crate) fn format(strategy: &Strategy) -> Format {
    match strategy {
        Strategy { etcd: Some(_), .. } => Format::EtcdSnapshot,
        Strategy { volume_snapshot: Some(_), .. } => Format::VolumeSnapshot,
        Strategy { job: Some(job), .. } => job_format(job),
        Strategy { job: None, .. } => Format::Custom,
    }
}

/// What a Job writes, and so what it can read.
pub(crate) fn job_format(job: &JobStrategy) -> Format {
    match job.preset {
        None => Format::Custom,
        Some(Preset::MySql) => Format::MysqlSql,
        Some(Preset::MariaDb) => Format::MariadbSql,
        Some(Preset::PostgreSql) if job.parameters.database.is_some() => Format::PostgresqlCustom,
        Some(Preset::PostgreSql) => Format::PostgresqlSql,
        Some(Preset::MongoDb) => Format::MongodbArchive,
        Some(Preset::Redis) => Format::RedisRdb,
        Some(Preset::Volume) => Format::Tar,
    }
}
