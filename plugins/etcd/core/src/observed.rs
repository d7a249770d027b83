//! What was seen, as plain data: objects of Kubernetes without what nobody asks for, and etcd's own answers.

use std::collections::{BTreeMap, BTreeSet};

use etcd_api::{Fragment, Id, Record};
use jiff::Timestamp;

use crate::{act::HookPhase, seed::RestoreOrder};

/// Where the objects of Kubernetes were read from. etcd is always asked itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// From a cache that may lag behind. Nothing is done on what it says alone.
    #[default]
    Cached,
    /// From the API server.
    Live,
}

/// Everything that was seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Where the objects were read from.
    pub view: View,
    /// `status.record`.
    pub record: Record,
    /// `status.phase` says that the cluster was announced before, whatever the record says.
    pub announced: bool,
    /// Pods with the cluster's labels.
    pub pods: Vec<Pod>,
    /// Claims with the cluster's labels.
    pub claims: Vec<Claim>,
    /// Services of the cluster by name, with their selectors.
    pub services: BTreeMap<String, BTreeMap<String, String>>,
    /// Secrets that were asked for, by name. Those that are not here are not there.
    pub secrets: BTreeMap<String, Secret>,
    /// What etcd says.
    pub etcd: Etcd,
    /// The `EtcdRestore` for this cluster that was checked and is not carried out yet.
    pub restore: Option<RestoreOrder>,
    /// What other plugins say of the phase that was last announced to them.
    pub hook: Option<Hook>,
}

impl Observed {
    /// What other plugins say of a phase of this change; none if they were not asked about it, but about another one perhaps.
    pub fn hook_of(&self, phase: HookPhase, change: &str) -> Option<&HookState> {
        let hook = self.hook.as_ref().filter(|hook| hook.change == change && hook.phase == phase)?;
        Some(&hook.state)
    }
}

/// A pod with the cluster's labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Pod {
    /// `metadata.name`, which is the member's.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// The `EtcdCluster` is its controller.
    pub owned: bool,
    /// `status.phase`.
    pub phase: PodPhase,
    /// The condition `Ready` is true.
    pub ready: bool,
    /// When the condition `Ready` last changed; before there is one, when the pod was created.
    pub ready_since: Timestamp,
    /// Since when it is being deleted.
    pub terminating: Option<Timestamp>,
    /// The annotation `etcd.version`.
    pub version: String,
    /// The image of the container `etcd`.
    pub image: String,
    /// The annotation with the digest of what it was made from.
    pub digest: String,
    /// Why a container does not run, such as `ImagePullBackOff` or `CrashLoopBackOff`, or the pod is not scheduled
    /// (`Unschedulable`, or [`VOLUME_UNREACHABLE`]).
    pub waiting: Option<String>,
}

/// What a pod waits for whose volume is on none of the nodes: the one that had it is gone.
pub const VOLUME_UNREACHABLE: &str = "VolumeUnreachable";

/// `status.phase` of a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PodPhase {
    /// Not all containers have been started.
    #[default]
    Pending,
    /// Containers were started.
    Running,
    /// All ended well.
    Succeeded,
    /// All ended, and it stays so: evicted, for example.
    Failed,
    /// Its node does not answer.
    Unknown,
}

impl Pod {
    /// Will none of its containers ever run again?
    pub fn is_over(&self) -> bool {
        matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }
}

/// A claim with the cluster's labels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Claim {
    /// `metadata.name`, which is the member's.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// The `EtcdCluster` is its controller.
    pub owned: bool,
    /// It is being deleted.
    pub terminating: bool,
    /// `status.phase` is `Lost`: the volume behind it is gone.
    pub lost: bool,
    /// `spec.resources.requests.storage`.
    pub storage: String,
    /// The annotation with the digest of what it was made from, storage left out.
    pub digest: String,
}

/// A Secret, without what is secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secret {
    /// Names of the keys in it.
    pub keys: BTreeSet<String>,
    /// Digest of the certificates of authorities in it.
    pub authorities: String,
    /// When the first of the other certificates in it ends, where that was looked at.
    pub expires: Option<Timestamp>,
    /// For certificates made for the cluster: digest of what they were made for.
    pub made_for: String,
}

/// What etcd says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Etcd {
    /// The list of members, from the member that knows most; none when nobody answers.
    pub list: Option<MemberList>,
    /// Answers of members by name; members that were not asked are not here.
    pub answers: BTreeMap<String, Answer>,
    /// Alarms that are raised; none when nobody answers.
    pub alarms: Option<Vec<Alarm>>,
}

/// The list of members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberList {
    /// The cluster it is of.
    pub cluster_id: Id,
    /// A majority stands behind it: it holds every change that was confirmed before. Else it is what one member knows.
    pub agreed: bool,
    /// Members in etcd's order.
    pub members: Vec<ListedMember>,
}

/// A member as it is listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedMember {
    /// Its identifier.
    pub id: Id,
    /// Its name; empty until it was started.
    pub name: String,
    /// Where its peers find it.
    pub peer_urls: Vec<String>,
    /// It does not vote yet.
    pub learner: bool,
}

/// What came back from a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Its status.
    Status(Box<Status>),
    /// None, and why.
    Nothing(String),
}

/// What a member says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Its identifier.
    pub member_id: Id,
    /// The cluster it belongs to.
    pub cluster_id: Id,
    /// The version it runs.
    pub version: String,
    /// The version of its storage format; from 3.6 on.
    pub storage_version: Option<String>,
    /// Who leads, as far as it knows.
    pub leader: Option<Id>,
    /// The term of that.
    pub term: u64,
    /// Index of the last entry of its log.
    pub index: u64,
    /// The newest revision of its data.
    pub revision: i64,
    /// It does not vote.
    pub learner: bool,
    /// Size of its database in bytes.
    pub db_size: i64,
    /// Of these, how many are in use.
    pub db_in_use: i64,
    /// How large it may grow; none where the version does not tell.
    pub db_quota: Option<i64>,
    /// The minor that a downgrade that is enabled goes to, as `3.5.0`; from 3.6 on.
    pub downgrade: Option<String>,
}

/// An alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm {
    /// The member that it is about.
    pub member: Id,
    /// What is wrong.
    pub kind: AlarmKind,
}

/// Kinds of alarms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlarmKind {
    /// The database has reached its quota; nothing can be written.
    NoSpace,
    /// The member's data differs from the others'.
    Corrupt,
}

impl AlarmKind {
    /// As etcd writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSpace => "NOSPACE",
            Self::Corrupt => "CORRUPT",
        }
    }
}

/// A phase that was announced to other plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The phase.
    pub phase: HookPhase,
    /// The change that it was announced for.
    pub change: String,
    /// What they say of it.
    pub state: HookState,
}

/// What other plugins say of a phase that was announced to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    /// They are at it.
    Pending,
    /// They are done.
    Done,
    /// They could not, and why.
    Failed(String),
}

/// The object itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// It is being deleted.
    pub deleting: bool,
    /// `spec`.
    pub spec: etcd_api::EtcdClusterSpec,
}

impl Cluster {
    /// The reference that makes the cluster the controller of what it makes.
    pub fn owner(&self) -> Fragment {
        let fields = [
            ("apiVersion", etcd_api::names::API_VERSION.into()),
            ("kind", "EtcdCluster".into()),
            ("name", self.name.as_str().into()),
            ("uid", self.uid.as_str().into()),
            ("controller", true.into()),
            ("blockOwnerDeletion", true.into()),
        ];
        fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
    }
}
