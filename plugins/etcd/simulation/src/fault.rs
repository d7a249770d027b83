//! What goes wrong.

use std::{fmt, rc::Rc};

use etcd_api::Id;
use etcd_core::observed::{AlarmKind, PodPhase};

use crate::{
    raft::{Disk, Leader, State, What},
    world::{QUOTA, World},
};

/// Something that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// etcd ends; the kubelet starts it again.
    Crash(String),
    /// Somebody deletes the pod.
    DeletePod(String),
    /// The pod is evicted.
    Evict(String),
    /// The node is gone, and nobody clears the pod away.
    LoseNode(String),
    /// The pod of a node that is gone is cleared away.
    ForcePod(String),
    /// The node is deleted, its pod with it, and no other one has the volume.
    LoseDisk(String),
    /// A node has the volume again.
    RegainDisk(String),
    /// Somebody deletes claim and pod.
    LoseClaim(String),
    /// The member is cut off from the others.
    CutOff(String),
    /// It is back.
    Reconnect(String),
    /// Its data is found to differ.
    Corrupt(String),
    /// The databases are full.
    Fill,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl World {
    /// Everything that could go wrong now.
    pub fn possible_faults(&self) -> Vec<Fault> {
        let mut all = Vec::new();
        for (name, pod) in &self.objects.pods {
            let name = || name.clone();
            if pod.node_lost {
                all.push(Fault::ForcePod(name()));
                continue;
            }
            if pod.seen.terminating.is_some() || pod.seen.is_over() {
                continue;
            }
            all.extend([Fault::DeletePod(name()), Fault::Evict(name()), Fault::LoseNode(name())]);
            if pod.claim {
                all.extend([Fault::LoseClaim(name()), Fault::LoseDisk(name())]);
            }
            if let Some(process) = &pod.process {
                all.push(Fault::Crash(name()));
                all.push(if process.connected { Fault::CutOff(name()) } else { Fault::Reconnect(name()) });
                if process.connected && self.may_differ(&name()) {
                    all.push(Fault::Corrupt(name()));
                }
            }
        }
        if self.cluster().is_some_and(|cluster| self.leader(cluster).is_some()) {
            all.push(Fault::Fill);
        }
        all
    }

    /// Lets it go wrong.
    pub fn fail(&mut self, fault: &Fault) {
        self.disturbances += 1;
        self.faults += 1;
        let before = self.configurations();
        match fault {
            Fault::Crash(pod) => self.stop(pod),
            Fault::DeletePod(pod) => {
                let now = self.now;
                self.each_pod(pod, |pod| pod.seen.terminating = Some(now));
            }
            Fault::Evict(pod) => self.each_pod(pod, |pod| {
                pod.process = None;
                pod.seen.phase = PodPhase::Failed;
                pod.seen.ready = false;
            }),
            Fault::LoseNode(pod) => {
                let now = self.now;
                self.each_pod(pod, |pod| {
                    pod.process = None;
                    pod.node_lost = true;
                    pod.seen.terminating = Some(now);
                    (pod.seen.ready, pod.seen.ready_since) = (false, now);
                });
            }
            Fault::ForcePod(pod) => {
                self.objects.pods.remove(pod);
            }
            Fault::LoseDisk(pod) => {
                self.objects.pods.remove(pod);
                self.objects.claim_mut(pod).into_iter().for_each(|claim| claim.unreachable = true);
            }
            Fault::RegainDisk(pod) => {
                self.objects.claim_mut(pod).into_iter().for_each(|claim| claim.unreachable = false);
            }
            Fault::LoseClaim(pod) => {
                self.objects.pods.remove(pod);
                self.objects.claims.remove(pod);
            }
            Fault::CutOff(pod) => self.connect(pod, false),
            Fault::Reconnect(pod) => self.connect(pod, true),
            Fault::Corrupt(pod) => {
                if let Some((cluster, member)) = self.identity(pod).filter(|_| self.may_differ(pod)) {
                    let _ = self.propose(cluster, What::Alarm(member, AlarmKind::Corrupt, true));
                }
            }
            Fault::Fill => self.fill(),
        }
        self.excuse(&before);
        self.object_changed();
    }

    /// Can the others find out that the data of the member in this pod is not theirs? Only a majority that has the same data
    /// can.
    fn may_differ(&self, pod: &str) -> bool {
        let leader = self.identity(pod).and_then(|(cluster, _)| self.leader(cluster));
        let Some((leader, _)) = leader.filter(|_| self.serves(pod)) else { return false };
        let state = self.state(&leader);
        let others = state.alarms.iter().filter(|(_, kind)| *kind == AlarmKind::Corrupt).count();
        others + 1 + state.quorum() <= state.voters().len()
    }

    fn connect(&mut self, pod: &str, connected: bool) {
        self.each_pod(pod, |pod| {
            pod.process.iter_mut().for_each(|process| {
                process.connected = connected;
                process.settled = false;
            });
        });
    }

    /// The alarm that there is no space, with full databases behind it.
    fn fill(&mut self) {
        let Some(cluster) = self.cluster() else { return };
        for pod in self.pod_names() {
            if self.identity(&pod).is_some_and(|(of, _)| of == cluster)
                && let Some(disk) = self.disk_mut(&pod)
            {
                (disk.db_size, disk.db_in_use) = (QUOTA, QUOTA);
            }
        }
        if let Some((leader, Leader { member, .. })) = self.leader(cluster)
            && !self.state(&leader).alarms.contains(&(member, AlarmKind::NoSpace))
        {
            let _ = self.propose(cluster, What::Alarm(member, AlarmKind::NoSpace, true));
        }
    }

    /// All volumes that are there and will stay, whether a node has them now or not.
    fn volumes(&self) -> Vec<&Disk> {
        let pods = self.objects.pods.values();
        let own = pods.filter(|pod| !pod.claim && pod.seen.terminating.is_none() && !pod.seen.is_over());
        let claims = self.objects.claims.values().filter(|claim| !claim.seen.terminating);
        own.map(|pod| &pod.own).chain(claims.map(|claim| &claim.disk)).collect()
    }

    /// What the volume that knows most of each cluster says.
    pub fn configurations(&self) -> Vec<(Id, Rc<State>)> {
        let mut best: Vec<(Id, &Disk)> = Vec::new();
        for disk in self.volumes() {
            let Some((cluster, _)) = disk.identity else { continue };
            match best.iter_mut().find(|(of, _)| *of == cluster) {
                Some((_, known)) if known.extent() >= disk.extent() => {}
                Some((_, known)) => *known = disk,
                None => best.push((cluster, disk)),
            }
        }
        best.into_iter().map(|(cluster, disk)| (cluster, Rc::clone(&disk.state))).collect()
    }

    /// The operator did something that it decided on before a fault: what the fault costs may be known only now.
    pub fn excuse_now(&mut self) {
        let known = self.configurations();
        self.excuse(&known);
    }

    /// Where faults have destroyed the data of so many that the others cannot agree, what was confirmed may be lost.
    fn excuse(&mut self, before: &[(Id, Rc<State>)]) {
        for (cluster, state) in before {
            let volumes = self.volumes();
            let there = |id: &&Id| volumes.iter().any(|disk| disk.identity == Some((*cluster, **id)));
            let left = state.voters().iter().filter(there).count();
            if left < state.quorum() {
                self.kept.retain(|(of, _)| of != cluster);
                if !self.destroyed.contains(cluster) {
                    self.destroyed.push(*cluster);
                }
            }
        }
    }
}
