//! The small cluster and the small etcd together.

use std::{collections::BTreeMap, rc::Rc};

use etcd_api::{ClusterStatus, EtcdClusterSpec, Id};
use etcd_core::{
    act::HookPhase,
    decision::Standing,
    observed::{Hook, Secret},
    tls::Use,
};
use jiff::{SignedDuration, Timestamp};

use crate::{
    objects::{Objects, Process, SimOwner, SimPod},
    raft::{Disk, Leader, Leaders, State},
};

/// Name, namespace and uid of the one `EtcdCluster`.
pub const NAME: &str = "example";
/// Its namespace.
pub const NAMESPACE: &str = "default";
/// Its uid.
pub const UID: &str = "5a3f";
/// The quota of every database that is told none: etcd's own.
pub const QUOTA: i64 = 2 * 1024 * 1024 * 1024;

/// So many states of the objects caches may show, the newest included.
const REMEMBERED: usize = 12;
/// How often caches read everything anew.
const RESYNC: SignedDuration = SignedDuration::from_mins(5);

/// Everything there is, and what has become of it.
#[derive(Debug, Clone)]
pub struct World {
    /// The time.
    pub now: Timestamp,
    /// The API server.
    pub objects: Objects,
    /// What caches may still show, oldest first; the last one is what is there now.
    pub history: Vec<Rc<Objects>>,
    /// Who leads.
    pub leaders: Leaders,
    /// What the names of images that cannot be had contain.
    pub missing_images: Vec<String>,
    /// Nodes start no container that was never started.
    pub full: bool,
    /// The next uid and the next value of a client.
    pub counter: u64,
    /// What databases take up when history is forgotten.
    pub live: i64,
    /// How long a database takes to be defragmented.
    pub defragmentation: SignedDuration,
    /// Values that clients were told are kept, by cluster.
    pub kept: Vec<(Id, u32)>,
    /// How many faults there were.
    pub faults: u32,
    /// Clusters whose data was destroyed by faults.
    pub destroyed: Vec<Id>,
    /// What must not happen and did.
    pub violations: Vec<String>,
    /// Moves with everything that goes down and was not taken down by the operator.
    pub disturbances: u64,
    /// Moves with everything that happens, clients left out.
    pub activity: u64,
    /// Clusters that were begun with no data.
    pub begun: Vec<Id>,
    /// What a backup holds, when there is one to restore.
    pub backup: Option<Backup>,
    /// Objects changed since the operator last looked.
    pub changed: bool,
    /// Creations of pods and claims by the operator, by name.
    pub created: BTreeMap<String, u32>,
    /// What other plugins were last asked to prepare for.
    pub hook: Option<Hook>,
    /// Why they cannot, if they cannot.
    pub hook_fails: Option<String>,
    /// What plugins have to do after a change never ends.
    pub aftermath_hangs: bool,
    /// How many pods the namespace's quota allows.
    pub quota: Option<usize>,
    /// Every change that they were asked to prepare for.
    pub announced: Vec<(HookPhase, String)>,
    /// The change of an object that no watch tells of, counted from 1.
    pub hidden: Option<u64>,
    /// Since when caches have missed a change.
    pub missed: Option<Timestamp>,
    /// Changes of objects so far.
    pub changes: u64,
    /// Events that were told.
    pub told: Vec<(String, String)>,
    /// Conditions as they were last told: type, status, reason.
    pub conditions: BTreeMap<String, (bool, String)>,
    /// Where the object was last said to stand.
    pub standing: Option<Standing>,
    /// The status as it was last told.
    pub status: Option<ClusterStatus>,
}

/// A backup.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Backup {
    /// The `EtcdRestore` that asks for it.
    pub uid: String,
    /// Values in it.
    pub values: Vec<u32>,
    /// How many keys had been deleted.
    pub deletions: i64,
}

impl Backup {
    /// The newest revision of it.
    pub fn revision(&self) -> i64 {
        i64::try_from(self.values.len()).unwrap_or(i64::MAX).saturating_add(self.deletions)
    }
}

impl World {
    /// A cluster that was asked for, and nothing else.
    pub fn new(spec: EtcdClusterSpec) -> Self {
        let owner = SimOwner {
            spec: Rc::new(spec),
            generation: 1,
            version: 1,
            deleting: false,
            record: Rc::default(),
            announced: false,
        };
        let objects = Objects {
            owner: Some(owner),
            pods: BTreeMap::new(),
            claims: BTreeMap::new(),
            services: BTreeMap::new(),
            secrets: given_secrets(),
            min_available: None,
        };
        Self {
            now: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24),
            history: vec![Rc::new(objects.clone())],
            objects,
            leaders: Leaders::new(),
            missing_images: Vec::new(),
            full: false,
            counter: 0,
            live: QUOTA / 4,
            defragmentation: SignedDuration::from_secs(20),
            kept: Vec::new(),
            faults: 0,
            destroyed: Vec::new(),
            violations: Vec::new(),
            disturbances: 0,
            activity: 0,
            begun: Vec::new(),
            backup: None,
            changed: true,
            created: BTreeMap::new(),
            hook: None,
            hook_fails: None,
            aftermath_hangs: false,
            quota: None,
            announced: Vec::new(),
            hidden: None,
            missed: None,
            changes: 0,
            told: Vec::new(),
            conditions: BTreeMap::new(),
            standing: None,
            status: None,
        }
    }

    /// A number that was never given.
    pub fn unique(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// Somebody deletes the `EtcdCluster`.
    pub fn delete_owner(&mut self) {
        if let Some(owner) = &mut self.objects.owner {
            owner.deleting = true;
            owner.version += 1;
        }
        self.object_changed();
    }

    /// Remembers what caches may show, and wakes the operator.
    pub fn object_changed(&mut self) {
        self.activity += 1;
        self.changes += 1;
        if self.hidden == Some(self.changes) {
            self.missed = Some(self.now);
            return;
        }
        self.show();
    }

    /// Caches are told what there is.
    fn show(&mut self) {
        self.missed = None;
        self.changed = true;
        self.remember();
    }

    /// What there is now is the newest that caches may show.
    pub fn remember(&mut self) {
        if self.history.len() >= REMEMBERED {
            self.history.remove(0);
        }
        self.history.push(Rc::new(self.objects.clone()));
    }

    /// Caches read everything anew from time to time, and so find what no watch told of.
    pub fn resync(&mut self) {
        if self.missed.is_some_and(|since| self.now.duration_since(since) >= RESYNC) {
            self.show();
        }
    }

    /// How many pods and claims were created.
    pub fn creations(&self) -> u32 {
        self.created.values().sum()
    }

    /// Tells of something that must not happen.
    pub fn violate(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.violations.contains(&what) {
            self.violations.push(what);
        }
    }

    /// The volume of a pod.
    pub fn disk(&self, pod: &str) -> Option<&Disk> {
        let found = self.objects.pods.get(pod)?;
        if found.claim { self.objects.claims.get(pod).map(|claim| &claim.disk) } else { Some(&found.own) }
    }

    /// The same, to write on.
    pub fn disk_mut(&mut self, pod: &str) -> Option<&mut Disk> {
        if self.objects.pods.get(pod)?.claim {
            self.objects.claim_mut(pod).map(|claim| &mut claim.disk)
        } else {
            self.objects.pod_mut(pod).map(|pod| &mut pod.own)
        }
    }

    /// What the volume of a pod says.
    pub fn state(&self, pod: &str) -> Rc<State> {
        self.disk(pod).map(|disk| Rc::clone(&disk.state)).unwrap_or_default()
    }

    /// How many keys clients have deleted, as its leader knows.
    pub fn deletions(&self) -> i64 {
        let leader = self.cluster().and_then(|cluster| self.leader(cluster));
        leader.map_or(0, |(pod, _)| self.state(&pod).deletions)
    }

    /// Names of claims whose volumes no node has.
    pub fn unreachable(&self) -> Vec<String> {
        let away = self.objects.claims.iter().filter(|(_, claim)| claim.unreachable);
        away.map(|(name, _)| name.clone()).collect()
    }

    /// A process that others reach.
    pub fn connected(&self, pod: &str) -> Option<&Process> {
        self.objects.pods.get(pod)?.process.as_ref().filter(|process| process.connected)
    }

    /// Cluster and member of a process that others reach.
    pub fn identity(&self, pod: &str) -> Option<(Id, Id)> {
        self.connected(pod)?;
        self.disk(pod)?.identity
    }

    /// Names of pods.
    pub fn pod_names(&self) -> Vec<String> {
        self.objects.pods.keys().cloned().collect()
    }

    /// The pod that a member of a cluster runs in, if others reach it.
    pub fn pod_of(&self, cluster: Id, member: Id) -> Option<String> {
        let mut pods = self.objects.pods.keys();
        pods.find(|pod| self.identity(pod) == Some((cluster, member))).cloned()
    }

    /// The pod of who leads a cluster and is followed by a majority.
    pub fn leader(&self, cluster: Id) -> Option<(String, Leader)> {
        let leader = *self.leaders.get(&cluster)?;
        let pod = self.pod_of(cluster, leader.member)?;
        let state = self.state(&pod);
        let voters = state.voters();
        let reached = voters.iter().filter(|id| self.pod_of(cluster, **id).is_some()).count();
        (voters.contains(&leader.member) && reached >= state.quorum()).then_some((pod, leader))
    }

    /// Is its database being defragmented? It takes part in the cluster meanwhile, and tells nothing of itself.
    pub fn defragments(&self, pod: &str) -> bool {
        self.connected(pod).is_some_and(|process| process.defragmented.is_some())
    }

    /// Does the member in this pod know a leader?
    pub fn follows(&self, pod: &str) -> Option<Leader> {
        let (cluster, _) = self.identity(pod)?;
        self.leader(cluster).map(|(_, leader)| leader)
    }

    /// Is the member in this pod a voter that works?
    pub fn serves(&self, pod: &str) -> bool {
        let Some((cluster, member)) = self.identity(pod) else { return false };
        let Some((leader, _)) = self.leader(cluster) else { return false };
        self.state(&leader).voters().contains(&member)
    }

    /// The cluster that the operator believes in.
    pub fn cluster(&self) -> Option<Id> {
        self.objects.owner.as_ref()?.record.cluster_id
    }

    /// Voters of a cluster that work, by pod, as its leader lists them; and how many there should be.
    pub fn working(&self, cluster: Id) -> (Vec<String>, usize) {
        let Some((leader, _)) = self.leader(cluster) else { return (Vec::new(), 0) };
        let voters = self.state(&leader).voters();
        let working = voters.iter().filter_map(|id| self.pod_of(cluster, *id));
        let up = |pod: &String| self.objects.pods.get(pod).is_some_and(|pod| pod.seen.terminating.is_none());
        (working.filter(up).collect(), voters.len())
    }

    /// Pods that the Service for clients leads to.
    pub fn endpoints(&self) -> Vec<String> {
        let Some(selector) = self.objects.services.get(&format!("{NAME}-client")) else { return Vec::new() };
        let incarnation = selector.get("etcd_incarnation");
        let selected = |pod: &&Rc<SimPod>| {
            let matches = incarnation.is_none_or(|wanted| *wanted == pod.incarnation);
            pod.seen.ready && pod.seen.terminating.is_none() && matches
        };
        self.objects.pods.values().filter(selected).map(|pod| pod.seen.name.clone()).collect()
    }
}

/// Certificates that people have made, in two sets.
fn given_secrets() -> BTreeMap<String, Secret> {
    let uses = [(Use::Peer, "peer"), (Use::Server, "server"), (Use::Client, "client")];
    let secrets = ["a", "b"].into_iter().flat_map(|letter| {
        uses.into_iter().map(move |(purpose, part)| {
            let keys = purpose.keys().into_iter().map(str::to_owned).collect();
            let secret = Secret { keys, authorities: letter.to_owned(), ..Secret::default() };
            (format!("{letter}-{part}"), secret)
        })
    });
    secrets.collect()
}
