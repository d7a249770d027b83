//! What was asked for, read and checked. The definitions check most of it at the door; objects that came in by another way
//! are told the same here.

use etcd_api::{EtcdClusterSpec, EtcdOptions, PodPolicy, Record, RecoveryPolicy, Repair, names};
use jiff::SignedDuration;
use schedule::{Schedule, ScheduleError};

use crate::{
    observed::Cluster,
    tls::Tls,
    version::{SUPPORTED_MINORS, Version, VersionError},
};

/// How many members there may be at most.
pub const LARGEST_SIZE: i32 = 7;

/// What was asked for, in the form in which it is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// How many members.
    pub size: usize,
    /// The version.
    pub version: Version,
    /// The image without tag.
    pub repository: String,
    /// Hands off.
    pub paused: bool,
    /// The pods.
    pub pod: PodPolicy,
    /// Transport security.
    pub tls: Tls,
    /// Options of etcd.
    pub options: EtcdOptions,
    /// When databases are defragmented, and from how many free bytes on.
    pub defragmentation: Option<(Schedule, i64)>,
    /// After which time a member that does not come up is replaced.
    pub replace_after: SignedDuration,
    /// What happens when too few members are left, and after which time.
    pub recovery: (RecoveryPolicy, SignedDuration),
}

/// Why a spec cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The name does not leave room for the names of members, or is no name of a Service.
    #[error(
        "metadata.name {0:?} must have at most 52 characters, lower-case letters, digits and '-', and begin with a letter"
    )]
    Name(String),
    /// Too few or too many members.
    #[error("spec.size is {0}: it must be from 1 to 7")]
    Size(i32),
    /// No version that can be run.
    #[error("spec.version: {0}")]
    Version(#[from] VersionError),
    /// No image.
    #[error("spec.repository is empty: name the image without its tag")]
    Repository,
    /// A label of the operator's.
    #[error("spec: pod labels contains reserved label {0:?}")]
    ReservedLabel(String),
    /// An annotation of the operator's.
    #[error("spec: pod annotations contains reserved annotation {0:?}")]
    ReservedAnnotation(String),
    /// A variable of an option that the operator sets.
    #[error(
        "spec.pod.etcdEnv sets {0}, an option that the operator sets itself: take it away (and see spec.options)"
    )]
    ReservedVariable(String),
    /// A variable of an option that the version does not know any more.
    #[error(
        "spec.pod.etcdEnv sets {0}, which etcd from 3.7 on does not know any more: take it away before the upgrade"
    )]
    GoneVariable(String),
    /// A variable without a name.
    #[error("spec.pod.etcdEnv has an entry without a name")]
    NamelessVariable,
    /// Two rules for the same thing.
    #[error("spec.pod.antiAffinity is only for pods without spec.pod.affinity: write the rule into affinity")]
    TwoAffinities,
    /// Transport security that does not fit together.
    #[error("spec.TLS: {0}")]
    Tls(String),
    /// Options that do not fit together.
    #[error("spec.options: {0}")]
    Options(String),
    /// No schedule.
    #[error("spec.defragmentation: {0}")]
    Schedule(#[from] ScheduleError),
}

impl Plan {
    /// Reads what was asked for.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn of(cluster: &Cluster) -> Result<Self, Vec<SpecError>> {
        let spec = &cluster.spec;
        let mut wrong = Vec::new();
        check_name(&cluster.name, &mut wrong);
        let size = usize::try_from(spec.size).ok().filter(|_| (1..=LARGEST_SIZE).contains(&spec.size));
        if size.is_none() {
            wrong.push(SpecError::Size(spec.size));
        }
        if spec.repository.is_empty() {
            wrong.push(SpecError::Repository);
        }
        let version = keep(Version::supported(&spec.version).map_err(Into::into), &mut wrong);
        let tls = keep(Tls::of(&cluster.name, spec.tls.as_ref()).map_err(SpecError::Tls), &mut wrong);
        let defragmentation = keep(defragmentation(spec), &mut wrong);
        let pod = spec.pod.clone().unwrap_or_default();
        check_pod(&pod, spec, version, &mut wrong);
        let options = spec.options.clone().unwrap_or_default();
        check_options(&options, &mut wrong);
        match (size, version, tls, defragmentation) {
            (Some(size), Some(version), Some(tls), Some(defragmentation)) if wrong.is_empty() => Ok(Self {
                size,
                version,
                repository: spec.repository.clone(),
                paused: spec.paused,
                pod,
                tls,
                options,
                defragmentation,
                replace_after: seconds(spec.repair.clone().unwrap_or_default().replace_after_second),
                recovery: {
                    let recovery = spec.quorum_recovery.clone().unwrap_or_default();
                    (recovery.policy, seconds(recovery.after_second))
                },
            }),
            _ => Err(wrong),
        }
    }

    /// What stands in for a spec that cannot be read while members are only looked at.
    pub(crate) fn of_bystander(cluster: &Cluster, record: &Record) -> Self {
        let version = record.members.iter().filter_map(|member| member.version.parse().ok()).min();
        let (lowest, _) = SUPPORTED_MINORS;
        Self {
            size: record.members.iter().filter(|member| member.voter).count(),
            version: version.unwrap_or(Version { major: 3, minor: lowest, patch: 0 }),
            repository: cluster.spec.repository.clone(),
            paused: cluster.spec.paused,
            pod: PodPolicy::default(),
            tls: Tls::default(),
            options: EtcdOptions::default(),
            defragmentation: None,
            replace_after: seconds(Repair::default().replace_after_second),
            recovery: (RecoveryPolicy::Never, SignedDuration::ZERO),
        }
    }

    /// The image of a version.
    pub fn image(&self, version: Version) -> String {
        format!("{}:v{version}", self.repository)
    }
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds.clamp(0, 10 * 365 * 86_400))
}

fn keep<T>(read: Result<T, SpecError>, wrong: &mut Vec<SpecError>) -> Option<T> {
    read.map_err(|error| wrong.push(error)).ok()
}

fn defragmentation(spec: &EtcdClusterSpec) -> Result<Option<(Schedule, i64)>, SpecError> {
    let Some(asked) = &spec.defragmentation else { return Ok(None) };
    let schedule = Schedule::new(&asked.schedule, asked.time_zone.as_deref())?;
    Ok(Some((schedule, asked.minimum_free_bytes)))
}

fn check_name(name: &str, wrong: &mut Vec<SpecError>) {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if name.len() > names::LONGEST_NAME || !begins || name.ends_with('-') || !name.bytes().all(plain) {
        wrong.push(SpecError::Name(name.to_owned()));
    }
}

fn check_pod(pod: &PodPolicy, spec: &EtcdClusterSpec, version: Option<Version>, wrong: &mut Vec<SpecError>) {
    for label in pod.labels.keys() {
        if label == names::label::APP || label.starts_with(names::label::RESERVED_PREFIX) {
            wrong.push(SpecError::ReservedLabel(label.clone()));
        }
    }
    for annotation in pod.annotations.keys() {
        if [names::annotation::VERSION, names::annotation::DIGEST].contains(&annotation.as_str()) {
            wrong.push(SpecError::ReservedAnnotation(annotation.clone()));
        }
    }
    if pod.anti_affinity && pod.affinity.is_some() {
        wrong.push(SpecError::TwoAffinities);
    }
    let options = spec.options.clone().unwrap_or_default();
    for variable in &pod.etcd_env {
        match variable.get("name").and_then(serde_json::Value::as_str) {
            None | Some("") => wrong.push(SpecError::NamelessVariable),
            Some(name)
                if names::RESERVED_ENVIRONMENT.contains(&name)
                    || is_set(name, &options)
                    || (pod.persistent_volume_claim_spec.is_some()
                        && names::RESERVED_WITH_CLAIM.contains(&name)) =>
            {
                wrong.push(SpecError::ReservedVariable(name.to_owned()));
            }
            Some(name) if name.starts_with("ETCD_EXPERIMENTAL_") && version.is_some_and(|v| v.minor >= 7) => {
                wrong.push(SpecError::GoneVariable(name.to_owned()));
            }
            Some(_) => {}
        }
    }
}

/// Is the option of this variable set by `spec.options`?
fn is_set(variable: &str, options: &EtcdOptions) -> bool {
    match variable {
        "ETCD_AUTO_COMPACTION_MODE" | "ETCD_AUTO_COMPACTION_RETENTION" => {
            options.auto_compaction_mode.is_some()
        }
        "ETCD_QUOTA_BACKEND_BYTES" => options.quota_backend_bytes.is_some(),
        "ETCD_SNAPSHOT_COUNT" => options.snapshot_count.is_some(),
        "ETCD_HEARTBEAT_INTERVAL" => options.heartbeat_interval_ms.is_some(),
        "ETCD_ELECTION_TIMEOUT" => options.election_timeout_ms.is_some(),
        "ETCD_MAX_REQUEST_BYTES" => options.max_request_bytes.is_some(),
        _ => false,
    }
}

fn check_options(options: &EtcdOptions, wrong: &mut Vec<SpecError>) {
    let mut say = |what: &str| wrong.push(SpecError::Options(what.to_owned()));
    if options.auto_compaction_mode.is_some() != options.auto_compaction_retention.is_some() {
        say("autoCompactionMode and autoCompactionRetention need each other");
    }
    let heartbeat = options.heartbeat_interval_ms.unwrap_or(100);
    if options.election_timeout_ms.is_some_and(|timeout| timeout < 5 * heartbeat) {
        say("electionTimeoutMs must be at least five heartbeat intervals (100 ms each by default)");
    }
    let retention = options.auto_compaction_retention.as_deref().unwrap_or("0");
    let number = retention.bytes().all(|byte| byte.is_ascii_digit());
    if options.auto_compaction_mode == Some(etcd_api::CompactionMode::Revision) && !number {
        say("autoCompactionRetention must be a number of revisions for the mode revision");
    }
}

#[cfg(test)]
mod tests {
    use etcd_api::EtcdClusterSpec;
    use serde_json::{Value, json};

    use super::*;

    fn read(name: &str, spec: Value) -> Result<Plan, Vec<SpecError>> {
        let spec: EtcdClusterSpec = serde_json::from_value(spec).unwrap();
        Plan::of(&Cluster {
            name: name.to_owned(),
            namespace: "default".to_owned(),
            uid: "u".to_owned(),
            generation: 1,
            deleting: false,
            spec,
        })
    }

    #[test]
    fn a_plain_spec_is_a_plan() {
        let plan = read("example", json!({"size": 3, "version": "v3.5.35"})).unwrap();
        assert_eq!((plan.size, plan.image(plan.version).as_str()), (3, "quay.io/coreos/etcd:v3.5.35"));
        let plan = read("example", json!({"size": 1, "repository": "registry:5000/mirror/etcd"})).unwrap();
        assert_eq!(plan.image(plan.version), "registry:5000/mirror/etcd:v3.6.16");
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let wrong = read(
            "Example.x",
            json!({
                "size": 0, "version": "latest", "repository": "",
                "TLS": {"static": {"operatorSecret": "o"}},
                "pod": {
                    "labels": {"app": "x", "etcd_node": "y", "team": "z"}, "annotations": {"etcd.version": "1"},
                    "antiAffinity": true, "affinity": {},
                    "etcdEnv": [{"name": "ETCD_NAME"}, {"value": "1"}, {"name": "ETCD_QUOTA_BACKEND_BYTES"}],
                },
                "options": {"quotaBackendBytes": 20_000_000, "autoCompactionMode": "periodic", "electionTimeoutMs": 100},
                "defragmentation": {"schedule": "often"},
            }),
        )
        .unwrap_err();
        assert_eq!(wrong.len(), 15, "{wrong:#?}");
        assert!(
            wrong.iter().any(|error| error
                .to_string()
                .contains("operator secret set but member serverSecret not set"))
        );
    }

    #[test]
    fn sizes_and_names_have_bounds() {
        for size in [-1, 0, 8, 100] {
            assert_eq!(read("example", json!({"size": size})), Err(vec![SpecError::Size(size)]));
        }
        assert!(read(&"a".repeat(52), json!({"size": 7})).is_ok());
        for name in [&"a".repeat(53), "1a", "a-", "a.b", ""] {
            assert_eq!(read(name, json!({"size": 1})), Err(vec![SpecError::Name(name.to_owned())]));
        }
    }

    #[test]
    fn experimental_variables_are_refused_from_the_version_that_does_not_know_them() {
        let spec = |version| json!({"size": 1, "version": version, "pod": {"etcdEnv": [{"name": "ETCD_EXPERIMENTAL_WATCH_PROGRESS_NOTIFY_INTERVAL", "value": "5s"}]}});
        assert!(read("example", spec("3.6.16")).is_ok());
        assert!(matches!(read("example", spec("3.7.3")).unwrap_err()[..], [SpecError::GoneVariable(_)]));
    }
}
