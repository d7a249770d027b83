//! What is seen of the world, and what of it has to be looked at.

use std::collections::BTreeMap;

use backup_api::{BackupPhase, BackupPlan, BackupStatus, HookState, Level, Step};

use super::{act::Role, hooks, situation::Object};
use crate::naming;

/// What is seen. Only what [`needs`] names is looked at; the rest stays as [`Observed::default`] has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Running pods of the namespace that a selector of the plan's commands selects.
    pub pods: Option<Vec<PodSeen>>,
    /// Name of the `Backup` that comes first, since it has the same pods at rest: [`goes_first`](super::goes_first).
    pub goes_first: Option<String>,
    /// Names of the claims that the plan's selector selects.
    pub claims: Option<Vec<String>>,
    /// The command that was begun last.
    pub exec: ExecSeen,
    /// The token to write this attempt's object.
    pub upload: TokenSeen,
    /// The token to read it, of the trial.
    pub download: TokenSeen,
    /// What reads the data.
    pub dump: TaskSeen,
    /// What tries it.
    pub trial: TaskSeen,
    /// The object of this attempt.
    pub object: Looked,
    /// Its entry in the catalogue.
    pub entry: Looked,
    /// Its reading.
    pub check: CheckSeen,
}

/// A running pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodSeen {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Names of its containers, in their order.
    pub containers: Vec<String>,
}

/// A command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ExecSeen {
    /// The host knows nothing of it: it was never begun, or the host was.
    #[default]
    Unknown,
    /// It runs.
    Running,
    /// It ended with this code, and the last of what it said.
    Exited(i32, String),
    /// It could not be delivered, or its end could not be heard.
    Unreachable(String),
    /// It was not begun, that is certain, and why.
    Refused(String),
}

/// A token for one object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TokenSeen {
    /// There is none: nobody can come to the object.
    #[default]
    Closed,
    /// There is one.
    Open,
}

/// Objects that read, try or restore data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum TaskSeen {
    /// Could not be looked at.
    Unknown(String),
    /// There are none, and no pods of them.
    #[default]
    Absent,
    /// Some of them are there. To create all of them again does no harm.
    Partly,
    /// They are at work, and how far.
    Running(String),
    /// They wait for something that may never come, such as an image.
    Stuck(String),
    /// They are done.
    Succeeded(Product),
    /// They are not going to be.
    Failed(String),
    /// They are being deleted, or their pods are still there.
    Leaving,
}

/// What a task tells of its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Product {
    /// Bytes that were stored.
    pub size: u64,
    /// SHA-256 over them, lower-case hexadecimal; empty for snapshots of volumes.
    pub sha256: String,
    /// Version of what was read.
    pub version: Option<String>,
}

/// An object in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// The store did not say.
    Unknown(String),
    /// It cannot be asked: the Secret that says who one is is not there, or of no use.
    Lost(String),
    /// There is none.
    Absent,
    /// It has so many bytes.
    Present(u64),
}

impl Default for Looked {
    fn default() -> Self {
        Self::Unknown("it was not looked at".to_owned())
    }
}

/// The reading of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CheckSeen {
    /// It was not begun, or forgotten.
    #[default]
    Absent,
    /// It is under way, after so many bytes.
    Running(u64),
    /// All of it was read.
    Done {
        /// Bytes.
        size: u64,
        /// Their SHA-256.
        sha256: String,
    },
    /// It failed.
    Failed {
        /// Why.
        why: String,
        /// The store could not be reached; nothing is known of the object.
        passing: bool,
    },
}

/// What has to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// [`Observed::pods`].
    Pods,
    /// [`Observed::goes_first`].
    Others,
    /// [`Observed::claims`].
    Claims,
    /// [`Observed::exec`].
    Exec,
    /// [`Observed::upload`].
    Upload,
    /// [`Observed::download`].
    Download,
    /// [`Observed::dump`].
    Dump,
    /// [`Observed::trial`].
    Trial,
    /// [`Observed::object`].
    Object,
    /// [`Observed::entry`].
    Entry,
    /// [`Observed::check`].
    Check,
}

/// What has to be looked at before the next decision.
pub fn needs(object: &Object<'_>, plan: &BackupPlan, status: &BackupStatus) -> Vec<Need> {
    let quiesces = hooks::has_any(plan);
    let Some(run) = &status.run else {
        let new = status.phase == BackupPhase::Pending && !object.deleting;
        return if new && quiesces { vec![Need::Pods] } else { Vec::new() };
    };
    let stored = plan.storage.is_some();
    let mut needs = match run.step {
        Step::Quiesce | Step::Release => vec![Need::Pods, Need::Exec],
        Step::Data => vec![Need::Dump],
        Step::Reread => vec![Need::Object],
        Step::Trial => vec![Need::Trial],
        Step::Catalogue => vec![Need::Entry],
        Step::Tidy | Step::Clean => vec![Need::Dump, Need::Trial],
        Step::Pause => vec![Need::Dump],
        Step::Remove => vec![Need::Dump],
    };
    let uploads = plan.strategy.job.is_some();
    if uploads && matches!(run.step, Step::Data | Step::Tidy | Step::Clean) {
        needs.push(Need::Upload);
    }
    if matches!(run.step, Step::Trial) || (uploads && matches!(run.step, Step::Tidy | Step::Clean)) {
        needs.push(Need::Download);
    }
    let by_selector =
        plan.strategy.volume_snapshot.as_ref().is_some_and(|snapshot| snapshot.selector.is_some());
    if by_selector && run.step == Step::Data && run.artefact.is_none() {
        needs.push(Need::Claims);
    }
    if stored && matches!(run.step, Step::Clean | Step::Remove) {
        needs.extend([Need::Object, Need::Entry]);
    }
    if run.step == Step::Reread && plan.verification.level > Level::Hash {
        needs.push(Need::Check);
    }
    if quiesces && run.step == Step::Pause {
        needs.push(Need::Pods);
    }
    // Without commands nobody's rest is ended.
    if run.step == Step::Quiesce && !run.hooks.is_empty() && hooks::is_untouched(run) {
        needs.push(Need::Others);
    }
    needs
}

/// Name of what reads or tries the data in the attempt at hand, and of its token; after the last one, in that.
pub fn task_name(object: &str, status: &BackupStatus, role: Role) -> String {
    let attempt = status.run.as_ref().map_or(status.attempts, |run| run.attempt);
    naming::task(object, role.word(), attempt)
}

/// The command that [`Observed::exec`] is about, by its name.
pub fn command_at_hand(status: &BackupStatus) -> Option<String> {
    let run = status.run.as_ref()?;
    let hook = hooks::at_hand(run).map(|(_, hook)| hook)?;
    (hook.state == HookState::Begun).then(|| naming::command(run.attempt, hook))
}
