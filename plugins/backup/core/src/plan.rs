//! What one backup needs, out of a policy; and what is wrong with a policy that its definition cannot see.

use backup_api::{
    BackupPlan, BackupPolicySpec, BackupSpec, BackupStatus, Encryption, Preset, RestorePhase, Run, Step,
    Strategy, SubjectReference,
};
use jiff::Timestamp;
use schedule::{Schedule, ScheduleError};

use crate::{
    backup::Object,
    manifest::{self, ManifestError, Order},
    settings::Settings,
};

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The policy is not there, and the backup has no plan of its own.
    #[error(
        "spec.policyRef: there is no BackupPolicy {0:?} in this namespace: create it, or give the Backup a plan"
    )]
    NoPolicy(String),
    /// The policy is not about the subject.
    #[error(
        "spec.subject: the BackupPolicy {policy:?} is not about the {subject}: add it to spec.subjects of the policy"
    )]
    OtherSubject {
        /// Name of the policy.
        policy: String,
        /// Kind and name.
        subject: String,
    },
    /// Neither is named.
    #[error("spec: set policyRef, or plan with all that is needed")]
    Nothing,
}

/// Why a policy cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Its schedule is none.
    #[error("spec.schedule: {0}")]
    Schedule(#[from] ScheduleError),
    /// Its strategy or storage cannot be used.
    #[error("spec.{0}")]
    Manifest(ManifestError),
    /// The host does not say what has to be known for it.
    #[error("{0}")]
    Host(ManifestError),
    /// It is about nothing.
    #[error("spec.subjects: name at least one")]
    NoSubjects,
    /// Snapshots of volumes cannot be put back by this version.
    #[error("spec.restore.phase: VolumeSnapshots are not put back by themselves: set it to never")]
    SnapshotRestore,
    /// A Job reads the one server that its parameters name.
    #[error(
        "spec.subjects: strategy.job reads one server (parameters): name the one object that it is of, and make a policy for each"
    )]
    ManySubjects,
    /// It could be written and never read.
    #[error(
        "spec.encryption.age.identitySecret: without the key nothing can be put back: name its Secret, or set spec.restore.phase to never"
    )]
    NoKey,
    /// What a template writes can be put back by a template only.
    #[error("spec.strategy.job.restore: say how the data is put back, or set spec.restore.phase to never")]
    NoRestore,
}

/// What one backup of a policy needs.
pub fn of_policy(policy: &BackupPolicySpec) -> BackupPlan {
    BackupPlan {
        strategy: policy.strategy.clone(),
        storage: policy.storage.clone(),
        quiesce: policy.quiesce.clone(),
        encryption: policy.encryption.clone(),
        verification: policy.verification.clone(),
        deletion_policy: policy.deletion_policy,
        timeout: policy.timeout,
        retries: policy.retries,
    }
}

/// The plan of a backup: its own, the one that was written down when it began, or the policy's. `labels` are those of the subject.
///
/// # Errors
/// [`PlanError`]: there is none.
pub fn resolve(
    spec: &BackupSpec,
    status: &BackupStatus,
    policy: Option<&BackupPolicySpec>,
    labels: &std::collections::BTreeMap<String, String>,
) -> Result<BackupPlan, PlanError> {
    if let Some(plan) = spec.plan.as_ref().or(status.plan.as_ref()) {
        return Ok(plan.clone());
    }
    let name = spec.policy_ref.as_ref().map(|policy| policy.name.clone()).ok_or(PlanError::Nothing)?;
    let policy = policy.ok_or_else(|| PlanError::NoPolicy(name.clone()))?;
    if !crate::lifecycle::is_about(policy, &spec.subject, labels) {
        return Err(PlanError::OtherSubject { policy: name, subject: spec.subject.words() });
    }
    Ok(of_policy(policy))
}

/// When the backup of an undone change is put back, if the policy does not say.
pub fn restore_phase(policy: &BackupPolicySpec) -> RestorePhase {
    policy.restore.phase.unwrap_or(match &policy.strategy {
        Strategy { volume_snapshot: Some(_), .. } => RestorePhase::PreRollback,
        Strategy { job: Some(job), .. } if job.preset == Some(Preset::Volume) => RestorePhase::Never,
        _ => RestorePhase::PostRollback,
    })
}

/// Whether nobody has said what a rollback does with files, which can be put back only while no server uses them.
pub fn files_undecided(policy: &BackupPolicySpec) -> bool {
    let files = policy.strategy.job.as_ref().is_some_and(|job| job.preset == Some(Preset::Volume));
    files && policy.restore.phase.is_none() && undoes(policy)
}

/// Whether a rollback may undo one of its changes.
fn undoes(policy: &BackupPolicySpec) -> bool {
    policy.phases.iter().any(|phase| phase == "pre-upgrade")
}

/// The phase in which a rollback asks for what was backed up before the change that it undoes.
pub fn phase_of_restore(policy: &BackupPolicySpec) -> Option<&'static str> {
    let phase = match restore_phase(policy) {
        RestorePhase::PreRollback => "pre-rollback",
        RestorePhase::PostRollback => "post-rollback",
        RestorePhase::Never => return None,
    };
    undoes(policy).then_some(phase)
}

/// Everything that is wrong with a policy.
pub fn check(policy: &BackupPolicySpec, namespace: &str, settings: &Settings) -> Vec<PolicyError> {
    let mut wrong = Vec::new();
    if policy.subjects.is_empty() {
        wrong.push(PolicyError::NoSubjects);
    }
    if let Some(rule) = &policy.schedule
        && let Err(error) = Schedule::new(&rule.cron, rule.time_zone.as_deref())
    {
        wrong.push(error.into());
    }
    let restores = restore_phase(policy) != RestorePhase::Never;
    if restores && policy.strategy.volume_snapshot.is_some() {
        wrong.push(PolicyError::SnapshotRestore);
    }
    let job = policy.strategy.job.as_ref();
    let one = matches!(policy.subjects.as_slice(), [rule] if rule.name.is_some());
    if !one && job.is_some_and(|job| job.preset.is_some()) && !policy.subjects.is_empty() {
        wrong.push(PolicyError::ManySubjects);
    }
    let key = |encryption: &Encryption| encryption.age.identity_secret.is_some();
    if restores && policy.encryption.as_ref().is_some_and(|encryption| !key(encryption)) {
        wrong.push(PolicyError::NoKey);
    }
    if restores && job.is_some_and(|job| job.preset.is_none() && job.restore.is_none()) {
        wrong.push(PolicyError::NoRestore);
    }
    wrong.extend(unmakeable(policy, namespace, settings).map(|error| match error {
        ManifestError::NoImage => PolicyError::Host(error),
        ManifestError::Plan { .. } => PolicyError::Manifest(error),
    }));
    wrong
}

/// Tries the manifests of the first subject.
fn unmakeable(policy: &BackupPolicySpec, namespace: &str, settings: &Settings) -> Option<ManifestError> {
    let first = policy.subjects.first()?;
    let group = if first.api_group.is_empty() { String::new() } else { format!("{}/", first.api_group) };
    let subject = SubjectReference {
        api_version: format!("{group}v1"),
        kind: first.kind.clone(),
        name: first.name.clone().unwrap_or_else(|| "any".to_owned()),
    };
    let plan = of_policy(policy);
    let spec = BackupSpec {
        subject,
        policy_ref: None,
        plan: None,
        origin: None,
        subject_version: None,
        deletion_policy: None,
    };
    let object = Object { namespace, name: "check", uid: "", deleting: false, spec: &spec };
    let run = Run {
        step: Step::Data,
        attempt: 1,
        key: "check".to_owned(),
        since: Timestamp::UNIX_EPOCH,
        hooks: Vec::new(),
        artefact: None,
        taken_at: None,
        failure: None,
        last: false,
    };
    manifest::check(&Order { object, plan: &plan, run: &run, settings }).err()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wrong(change: &Value) -> Vec<String> {
        let policy = json!({
            "subjects": [{"kind": "Service", "name": "db"}],
            "storage": {"url": "s3://bucket"},
            "strategy": {"job": {"preset": "mariadb", "parameters": {"host": "db"}}},
        });
        let mut policy = manifest::merge(policy, change);
        // Lists of things with names are merged by these.
        if let Some(subjects) = change.get("subjects") {
            policy["subjects"] = subjects.clone();
        }
        let policy = serde_json::from_value(policy).unwrap();
        let settings = Settings { image: "host".to_owned() };
        check(&policy, "shop", &settings).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_policy_that_can_be_followed_has_nothing_wrong() {
        assert_eq!(wrong(&json!({})), Vec::<String>::new());
        assert_eq!(
            wrong(&json!({"schedule": {"cron": "@daily", "timeZone": "Europe/Berlin"}})),
            Vec::<String>::new()
        );
    }

    #[test]
    fn everything_that_is_wrong_is_told_with_its_place_and_what_to_do() {
        for (change, said) in [
            (json!({"schedule": {"cron": "often"}}), "spec.schedule: \"often\""),
            (json!({"schedule": {"cron": "@daily", "timeZone": "Mars"}}), "no time zone"),
            (json!({"subjects": []}), "spec.subjects"),
            (json!({"storage": null}), "spec.storage: it is needed"),
            (json!({"subjects": [{"kind": "Service"}]}), "make a policy for each"),
            (json!({"encryption": {"age": {"recipients": ["age1x"]}}}), "identitySecret"),
            (
                json!({"strategy": {"job": {"parameters": {"host": null}}}}),
                "spec.strategy.job.parameters.host",
            ),
            (json!({"strategy": {"job": {"template": {"hooks": {}}}}}), "strategy.job.template.hooks"),
            (
                json!({"strategy": {"job": {"preset": null, "image": "i", "template": {"spec": {}}}}}),
                "spec.strategy.job.restore",
            ),
            (json!({"strategy": {"job": null, "etcd": {}}}), "is for an EtcdCluster"),
            (
                json!({"storage": null, "strategy": {"job": null, "volumeSnapshot": {"claims": ["c"]}}}),
                "set it to never",
            ),
        ] {
            let wrong = wrong(&change);
            assert!(wrong.iter().any(|wrong| wrong.contains(said)), "{change}: {wrong:?}");
        }
    }

    #[test]
    fn jobs_need_the_image_of_the_host_and_snapshots_of_etcd_do_not() {
        let said = |strategy: Value, kind: &str| {
            let group = if kind == "EtcdCluster" { "etcd.database.coreos.com" } else { "" };
            let policy = serde_json::from_value(json!({
                "subjects": [{"apiGroup": group, "kind": kind, "name": "db"}], "storage": {"url": "s3://bucket"}, "strategy": strategy,
            }));
            let wrong = check(&policy.unwrap(), "shop", &Settings { image: String::new() });
            wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        let job = json!({"job": {"preset": "mariadb", "parameters": {"host": "db"}}});
        assert!(said(job, "Service").starts_with("the backup plugin's setting `image` is missing"));
        assert_eq!(said(json!({"etcd": {}}), "EtcdCluster"), "");
    }

    #[test]
    fn a_backup_by_hand_takes_the_plan_of_its_policy_and_keeps_it() {
        let policy: BackupPolicySpec = serde_json::from_value(json!({
            "subjects": [{"kind": "Service", "name": "db"}], "storage": {"url": "s3://bucket"},
            "strategy": {"job": {"preset": "mariadb", "parameters": {"host": "db"}}}, "retries": 7,
        }))
        .unwrap();
        let by_hand = |name: &str| -> BackupSpec {
            let subject = json!({"apiVersion": "v1", "kind": "Service", "name": name});
            serde_json::from_value(json!({"subject": subject, "policyRef": {"name": "p"}})).unwrap()
        };
        let labels = std::collections::BTreeMap::new();
        let new = BackupStatus::default();
        let plan = resolve(&by_hand("db"), &new, Some(&policy), &labels).unwrap();
        assert_eq!(plan.retries, 7);
        let begun = BackupStatus { plan: Some(plan.clone()), ..BackupStatus::default() };
        assert_eq!(resolve(&by_hand("db"), &begun, None, &labels), Ok(plan), "the policy is gone");
        assert!(matches!(resolve(&by_hand("db"), &new, None, &labels), Err(PlanError::NoPolicy(_))));
        let other = resolve(&by_hand("web"), &new, Some(&policy), &labels);
        assert!(matches!(other, Err(PlanError::OtherSubject { .. })));
    }
}
