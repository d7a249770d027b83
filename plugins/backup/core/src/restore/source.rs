//! What is restored, and whether it fits.

use backup_api::{
    Artefact, BackupPhase, BackupPlan, DeletionPolicy, Format, Level, Preset, RestorePlan, RestoreSpec,
    Strategy, SubjectReference, Verification,
};
use jiff::Timestamp;

use crate::{lifecycle::BackupSeen, manifest, naming, place::Place};

/// What is restored.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The artefact.
    pub artefact: Artefact,
    /// How it is put back.
    pub plan: RestorePlan,
}

impl Source {
    /// Where the artefact is; none: it is nowhere but in the cluster.
    pub(super) fn place(&self) -> Option<Place> {
        self.plan.storage.as_ref().map(|storage| Place::new(storage, &self.artefact.key))
    }
}

/// Why nothing is restored. The target was not touched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such `Backup`.
    #[error("spec.backupRef: there is no Backup {0:?} in this namespace")]
    NoBackup(String),
    /// It has no artefact.
    #[error("spec.backupRef: the Backup {name:?} is {phase}: only one that is Completed can be restored")]
    NotCompleted {
        /// Its name.
        name: String,
        /// How far it is.
        phase: String,
    },
    /// It was not shown to be whole.
    #[error("spec.backupRef: the Backup {0:?} was not verified: set force to restore it all the same")]
    NotVerified(String),
    /// It is another one than was meant.
    #[error("spec.backupRef.sha256: the artefact has the hash {found}, and {wanted} is asked for")]
    OtherHash {
        /// Asked for.
        wanted: String,
        /// Of the artefact.
        found: String,
    },
    /// Its hash is none, so nothing can be held against it.
    #[error("the hash of the artefact, {0:?}, is no SHA-256 in lower-case hexadecimal")]
    NoHash(String),
    /// It is of something else.
    #[error("spec.target: the backup is of a {of}, and the target is a {target}")]
    OtherKind {
        /// Kind of the subject, with its group.
        of: String,
        /// Kind of the target, with its group.
        target: String,
    },
    /// Nothing here can read it.
    #[error("spec.job: it reads {reads}, and the artefact is {is}: name a strategy for that")]
    OtherFormat {
        /// What the strategy reads.
        reads: String,
        /// What the artefact is.
        is: String,
    },
    /// It is of a version that the target may not be able to read.
    #[error(
        "the backup is of version {of}, and the target has {target}: {why}; set force to restore it all the same"
    )]
    OtherVersion {
        /// Of the backup.
        of: String,
        /// Of the target.
        target: String,
        /// What is wrong with that.
        why: &'static str,
    },
    /// It cannot be read without a key.
    #[error(
        "spec.encryption.age.identitySecret: the artefact is encrypted: name the Secret of the key that reads it"
    )]
    NoKey,
    /// The Job would write to where the data came from.
    #[error(
        "spec.job: the target is the {0}, and the backup's own way leads to what it was taken of: say how that is reached"
    )]
    Elsewhere(String),
    /// Nobody says how.
    #[error("spec.job: say how the data is put back")]
    NoWay,
}

/// What is restored, if it may be.
///
/// # Errors
/// [`Refusal`]: it may not.
pub fn resolve(spec: &RestoreSpec, backup: Option<&BackupSeen>) -> Result<Source, Refusal> {
    let source = match (&spec.backup_ref, &spec.artefact) {
        (Some(reference), _) => {
            let backup = backup.filter(|backup| !backup.deleting);
            let backup = backup.ok_or_else(|| Refusal::NoBackup(reference.name.clone()))?;
            of_backup(spec, &reference.name, reference.sha256.as_deref(), backup)?
        }
        (None, Some(_)) => of_artefact(spec)?,
        (None, None) => return Err(Refusal::NoBackup(String::new())),
    };
    fits(spec, &source)?;
    Ok(source)
}

fn of_backup(
    spec: &RestoreSpec,
    name: &str,
    wanted: Option<&str>,
    backup: &BackupSeen,
) -> Result<Source, Refusal> {
    let phase = backup.status.phase;
    let artefact = backup.status.artefact.clone().filter(|_| phase == BackupPhase::Completed);
    let Some(artefact) = artefact else {
        return Err(Refusal::NotCompleted { name: name.to_owned(), phase: format!("{phase:?}") });
    };
    if !backup.status.verified && !spec.force {
        return Err(Refusal::NotVerified(name.to_owned()));
    }
    if let Some(wanted) = wanted.filter(|wanted| *wanted != artefact.sha256) {
        return Err(Refusal::OtherHash { wanted: wanted.to_owned(), found: artefact.sha256 });
    }
    let plan = backup.spec.plan.clone().or_else(|| backup.status.plan.clone()).ok_or(Refusal::NoWay)?;
    let strategy = match &spec.job {
        Some(job) => Strategy { job: Some(job.clone()), ..Strategy::default() },
        None => plan.strategy.clone(),
    };
    let encryption = spec.encryption.clone().or_else(|| plan.encryption.clone());
    let target = spec.target.clone().unwrap_or_else(|| artefact.subject.clone());
    // The data that is set aside is that of the target, wherever that is.
    let files = strategy.job.as_ref().is_some_and(|job| job.preset == Some(Preset::Volume));
    let aside = BackupPlan {
        strategy: strategy.clone(),
        deletion_policy: DeletionPolicy::Retain,
        // Files are replaced while their server is stopped: nobody is there to be brought to rest.
        quiesce: plan.quiesce.clone().filter(|_| !files || spec.force),
        ..plan.clone()
    };
    Ok(Source { artefact, plan: RestorePlan { storage: plan.storage, strategy, encryption, target, aside } })
}

fn of_artefact(spec: &RestoreSpec) -> Result<Source, Refusal> {
    let (Some(given), Some(target)) = (&spec.artefact, &spec.target) else {
        return Err(Refusal::NoBackup(String::new()));
    };
    let strategy = match (&spec.job, given.format) {
        (Some(job), _) => Strategy { job: Some(job.clone()), ..Strategy::default() },
        (None, Format::EtcdSnapshot) => {
            Strategy { etcd: Some(backup_api::EtcdStrategy {}), ..Strategy::default() }
        }
        (None, _) => return Err(Refusal::NoWay),
    };
    let artefact = Artefact {
        uri: given.storage.uri(&given.key),
        key: given.key.clone(),
        // Not known yet: what is read tells.
        size: 0,
        sha256: given.sha256.clone(),
        encrypted: spec.encryption.is_some(),
        format: given.format,
        subject: target.clone(),
        subject_version: given.subject_version.clone(),
        change: None,
        taken_at: Timestamp::UNIX_EPOCH,
        snapshots: std::collections::BTreeMap::new(),
    };
    let aside = BackupPlan {
        strategy: strategy.clone(),
        storage: Some(given.storage.clone()),
        quiesce: None,
        encryption: spec.encryption.clone().filter(|_| strategy.job.is_some()),
        verification: Verification { level: Level::Reread, trial: None },
        deletion_policy: DeletionPolicy::Retain,
        timeout: spec.timeout,
        retries: spec.retries,
    };
    let plan = RestorePlan {
        storage: Some(given.storage.clone()),
        strategy,
        encryption: spec.encryption.clone(),
        target: target.clone(),
        aside,
    };
    Ok(Source { artefact, plan })
}

fn fits(spec: &RestoreSpec, source: &Source) -> Result<(), Refusal> {
    let Source { artefact, plan } = source;
    let target = &plan.target;
    let hashed = artefact.format != Format::VolumeSnapshot;
    if hashed && !naming::is_sha256(&artefact.sha256) {
        return Err(Refusal::NoHash(artefact.sha256.clone()));
    }
    let kind = |subject: &SubjectReference| format!("{}.{}", subject.kind, subject.group());
    if kind(&artefact.subject) != kind(target) {
        return Err(Refusal::OtherKind { of: kind(&artefact.subject), target: kind(target) });
    }
    let elsewhere = target.name != artefact.subject.name;
    if elsewhere && plan.strategy.job.is_some() && spec.job.is_none() {
        return Err(Refusal::Elsewhere(target.words()));
    }
    let reads = manifest::format(&plan.strategy);
    if !can_read(reads, artefact.format) {
        return Err(Refusal::OtherFormat {
            reads: format!("{reads:?}"),
            is: format!("{:?}", artefact.format),
        });
    }
    let job = plan.strategy.job.as_ref();
    if job.is_some_and(|job| job.preset.is_none() && job.restore.is_none()) {
        return Err(Refusal::NoWay);
    }
    let key = plan.encryption.as_ref().and_then(|encryption| encryption.age.identity_secret.as_ref());
    if artefact.encrypted && key.is_none() {
        return Err(Refusal::NoKey);
    }
    let versions = artefact.subject_version.as_deref().zip(spec.target_version.as_deref());
    match versions {
        Some((of, target)) if !spec.force => version_fits(artefact.format, of, target),
        _ => Ok(()),
    }
}

fn can_read(reads: Format, is: Format) -> bool {
    // The tools of MariaDB read what those of MySQL wrote, but not the other way round: MariaDB's statements have types of their own.
    reads == is || (reads, is) == (Format::MariadbSql, Format::MysqlSql)
}

/// Dumps can be read by later versions; files of a database only by versions of the same first number.
fn version_fits(format: Format, of: &str, target: &str) -> Result<(), Refusal> {
    let (Some(one), Some(other)) = (numbers(of), numbers(target)) else { return Ok(()) };
    let wrong = |why| Err(Refusal::OtherVersion { of: of.to_owned(), target: target.to_owned(), why });
    if one.get(..2) > other.get(..2) {
        return wrong("an older version may not read what a later one wrote");
    }
    if format == Format::Tar && one.first() != other.first() {
        return wrong("files of a database are read by the same major version only");
    }
    Ok(())
}

/// Major, minor and patch; none: it is not of this form, and nothing is known.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let version = version.trim_start_matches('v').split(['-', '+']).next()?;
    let mut numbers = [0; 3];
    for (at, part) in version.split('.').enumerate() {
        *numbers.get_mut(at)? = part.parse().ok()?;
    }
    Some(numbers)
}
