//! What is seen for a restore, and what has to be looked at.

use backup_api::{Preset, RestoreSpec, RestoreState, RestoreStatus, RestoreStep};

use super::volumes::Volume;
use crate::{
    backup::observed::{CheckSeen, Looked, TaskSeen, TokenSeen},
    lifecycle::BackupSeen,
};

/// A `Restore` as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Somebody wants it gone.
    pub deleting: bool,
    /// What it asks for.
    pub spec: &'a RestoreSpec,
}

/// What is seen. Only what [`needs`] names is looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// The `Backup` that is restored.
    pub backup: Option<BackupSeen>,
    /// The `Backup` of the present data.
    pub aside: Option<BackupSeen>,
    /// The artefact.
    pub object: Looked,
    /// Its reading.
    pub check: CheckSeen,
    /// The token to read it, of this attempt.
    pub download: TokenSeen,
    /// What puts the data back.
    pub task: TaskSeen,
    /// Snapshots and the claims made from them.
    pub volumes: Vec<Volume>,
    /// Pods that have the claim mounted into which the data is put back.
    pub users: Vec<String>,
}

/// What has to be looked at before the next decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// [`Observed::backup`].
    Backup,
    /// [`Observed::aside`].
    Aside,
    /// [`Observed::object`].
    Object,
    /// [`Observed::check`].
    Check,
    /// [`Observed::download`].
    Download,
    /// [`Observed::task`].
    Task,
    /// [`Observed::volumes`].
    Volumes,
    /// [`Observed::users`].
    Users,
}

/// The claim whose files are replaced, which no server may use meanwhile.
pub fn claim_of<'a>(spec: &RestoreSpec, status: &'a RestoreStatus) -> Option<&'a str> {
    let job = status.plan.as_ref()?.strategy.job.as_ref()?;
    if job.preset != Some(Preset::Volume) || spec.force {
        return None;
    }
    job.parameters.claim.as_deref()
}

/// Name of what puts the data back in the attempt at hand. An `EtcdRestore` has it as a label.
pub fn task_name(object: &Object<'_>, status: &RestoreStatus) -> String {
    super::manifest::task(object, status.run.as_ref().map_or(status.attempts, |run| run.attempt))
}

/// What has to be looked at before the next decision.
pub fn needs(object: &Object<'_>, status: &RestoreStatus) -> Vec<Need> {
    let Some(run) = &status.run else {
        let new = status.phase == RestoreState::Pending && !object.deleting;
        return if new { vec![Need::Backup] } else { Vec::new() };
    };
    let volumes = status.plan.as_ref().is_some_and(|plan| plan.strategy.volume_snapshot.is_some());
    let mut needs = match run.step {
        _ if volumes => vec![Need::Volumes],
        RestoreStep::Check => vec![Need::Object, Need::Check],
        RestoreStep::SetAside => vec![Need::Aside],
        RestoreStep::Restore | RestoreStep::Clean => vec![Need::Download, Need::Task],
        RestoreStep::Pause => Vec::new(),
    };
    let writes = matches!(run.step, RestoreStep::Check | RestoreStep::Restore);
    if writes && claim_of(object.spec, status).is_some() {
        needs.push(Need::Users);
    }
    needs
}
