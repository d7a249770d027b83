//! The objects of the small cluster.

use std::{collections::BTreeMap, rc::Rc};

use etcd_api::{EtcdClusterSpec, Record};
use etcd_core::observed::{Claim, Pod, PodPhase, Secret};
use jiff::Timestamp;
use serde_json::Value;

use crate::{raft::Disk, world::QUOTA};

/// A pod, with what its node knows of it.
#[derive(Debug, Clone, Hash)]
pub struct SimPod {
    /// What an operator sees.
    pub seen: Pod,
    /// Its incarnation, by label.
    pub incarnation: String,
    /// Its data is in the claim of its name.
    pub claim: bool,
    /// The volume that lives and dies with it.
    pub own: Disk,
    /// How etcd is started in it.
    pub boot: Boot,
    /// etcd, while it runs.
    pub process: Option<Process>,
    /// Its node is gone: nothing in it runs, and nobody takes it away.
    pub node_lost: bool,
    /// The operator deleted it.
    pub by_operator: bool,
    /// etcd ended by itself, for this reason.
    pub crashed: Option<String>,
}

/// How etcd is started.
#[derive(Debug, Clone, Hash, PartialEq, Eq)]
pub struct Boot {
    /// With `--initial-cluster-state=new` and this token.
    pub new: Option<String>,
    /// Addresses of peers it was told of.
    pub peers: Vec<String>,
    /// Its own address.
    pub own_url: String,
    /// The member whose snapshot is restored first.
    pub survivor: Option<String>,
    /// A backup is restored first.
    pub backup: bool,
    /// How large the database may grow.
    pub quota: i64,
    /// How far what is restored moves the revision on.
    pub moved: i64,
}

/// etcd while it runs.
#[derive(Debug, Clone, Hash, PartialEq, Eq)]
pub struct Process {
    /// The version of the program.
    pub version: String,
    /// How large its database may grow.
    pub quota: i64,
    /// Others reach it, and it them.
    pub connected: bool,
    /// It has been connected for longer than five seconds.
    pub settled: bool,
    /// When its database will have been defragmented.
    pub defragmented: Option<Timestamp>,
}

impl SimPod {
    /// Reads a pod as it is sent to the API server.
    pub fn of(object: &Value, uid: String, owner: &str, now: Timestamp) -> Result<Self, String> {
        let text = |pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| format!("the pod has no {pointer}"))
        };
        let containers =
            object.pointer("/spec/initContainers").and_then(Value::as_array).cloned().unwrap_or_default();
        let fetch = containers.iter().find(|container| container.get("name") == Some(&"fetch-backup".into()));
        let fetch = fetch.map(|container| command(container, "/command"));
        let survivor = fetch.as_ref().and_then(|line| {
            let endpoint = line.iter().find_map(|word| word.strip_prefix("--endpoints="))?;
            endpoint.split_once("://")?.1.split_once('.').map(|(member, _)| member.to_owned())
        });
        let tool =
            containers.iter().find(|container| container.get("name") == Some(&"restore-datadir".into()));
        let tool = tool.map(|container| command(container, "/command")).unwrap_or_default();
        let moved = tool.iter().find_map(|word| word.strip_prefix("--bump-revision=")?.parse().ok());
        let line = command(object, "/spec/containers/0/command");
        let option = |name: &str| {
            line.iter().find_map(|word| word.strip_prefix(&format!("--{name}="))).map(str::to_owned)
        };
        let peers = option("initial-cluster").unwrap_or_default();
        let peers = peers.split(',').filter_map(|pair| pair.split_once('=')).map(|(_, url)| url.to_owned());
        let new = option("initial-cluster-state").is_some_and(|state| state == "new");
        let claim = object.pointer("/spec/volumes/0/persistentVolumeClaim/claimName").is_some();
        let seen = Pod {
            name: text("/metadata/name")?,
            uid,
            owned: object.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str) == Some(owner),
            phase: PodPhase::Pending,
            ready: false,
            ready_since: now,
            terminating: None,
            version: text("/metadata/annotations/etcd.version")?,
            image: text("/spec/containers/0/image")?,
            digest: text("/metadata/annotations/etcd.database.coreos.com~1digest")?,
            waiting: None,
        };
        let boot = Boot {
            new: option("initial-cluster-token").filter(|_| new),
            peers: peers.collect(),
            own_url: option("initial-advertise-peer-urls").ok_or("the pod has no address for peers")?,
            backup: fetch.is_some() && survivor.is_none(),
            survivor,
            quota: option("quota-backend-bytes").and_then(|bytes| bytes.parse().ok()).unwrap_or(QUOTA),
            moved: moved.unwrap_or(0),
        };
        Ok(Self {
            seen,
            incarnation: text("/metadata/labels/etcd_incarnation")?,
            claim,
            own: Disk::default(),
            boot,
            process: None,
            node_lost: false,
            by_operator: false,
            crashed: None,
        })
    }

    /// The version its image is tagged with.
    pub fn tagged(&self) -> &str {
        self.seen.image.rsplit_once(":v").map_or("", |(_, version)| version)
    }
}

fn command(container: &Value, pointer: &str) -> Vec<String> {
    let words = container.pointer(pointer).and_then(Value::as_array);
    words.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A claim and the volume behind it.
#[derive(Debug, Clone, Hash)]
pub struct SimClaim {
    /// What an operator sees.
    pub seen: Claim,
    /// The volume.
    pub disk: Disk,
    /// The volume was on a node that is not there any more.
    pub unreachable: bool,
}

/// The `EtcdCluster`.
#[derive(Debug, Clone)]
pub struct SimOwner {
    /// What people ask for.
    pub spec: Rc<EtcdClusterSpec>,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.resourceVersion`.
    pub version: u64,
    /// It is being deleted.
    pub deleting: bool,
    /// `status.record`.
    pub record: Rc<Record>,
    /// `status.phase` is `Running`.
    pub announced: bool,
}

impl Objects {
    /// A pod, to change it.
    pub fn pod_mut(&mut self, name: &str) -> Option<&mut SimPod> {
        self.pods.get_mut(name).map(Rc::make_mut)
    }

    /// A claim, to change it.
    pub fn claim_mut(&mut self, name: &str) -> Option<&mut SimClaim> {
        self.claims.get_mut(name).map(Rc::make_mut)
    }
}

/// Everything in the API server.
#[derive(Debug, Clone)]
pub struct Objects {
    /// The `EtcdCluster`; none once it is gone.
    pub owner: Option<SimOwner>,
    /// Pods by name.
    pub pods: BTreeMap<String, Rc<SimPod>>,
    /// Claims by name.
    pub claims: BTreeMap<String, Rc<SimClaim>>,
    /// Selectors of Services by name.
    pub services: BTreeMap<String, BTreeMap<String, String>>,
    /// Secrets by name.
    pub secrets: BTreeMap<String, Secret>,
    /// `minAvailable` of the disruption budget.
    pub min_available: Option<i64>,
}
