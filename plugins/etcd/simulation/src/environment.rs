//! What happens by itself: nodes, etcd, clients, and what people and accidents do.

use std::{fmt, rc::Rc};

use etcd_api::Id;
use etcd_core::{
    observed::{AlarmKind, Hook, HookState},
    version::Version,
};

use crate::{
    boot::Start,
    raft::{Entry, Form, Leader, What},
    world::World,
};

/// Something that can happen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Happening {
    /// A container is started, for the first time or again.
    Start(String),
    /// A container whose image was changed is stopped.
    Replace(String),
    /// The image cannot be had.
    PullFails(String),
    /// The kubelet looks how the member is.
    Probe(String),
    /// A pod that is being deleted is gone.
    PodGone(String),
    /// A claim that is being deleted is gone.
    ClaimGone(String),
    /// What belongs to an object that is gone goes as well.
    Collect,
    /// A member is elected.
    Elect(String),
    /// A member gets what it lacks.
    CatchUp(String),
    /// Five seconds of a connection have passed.
    Settle(String),
    /// A member says its name.
    Publish(String),
    /// The members are found to run another minor.
    Version(Id),
    /// A storage format is brought to what the members agreed on.
    Storage(String),
    /// A database was defragmented.
    Defragmented(String),
    /// A write finds no room.
    Full(String),
    /// Other plugins are done with preparing, or cannot.
    Prepared,
    /// A client writes a value.
    Write(String),
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl World {
    /// Everything that can happen by itself now, clients left out.
    pub fn happenings(&self) -> Vec<Happening> {
        let mut all = Vec::new();
        for (name, pod) in &self.objects.pods {
            self.of_pod(name, pod, &mut all);
        }
        for (name, claim) in &self.objects.claims {
            if claim.seen.terminating && !self.objects.pods.get(name).is_some_and(|pod| pod.claim) {
                all.push(Happening::ClaimGone(name.clone()));
            }
        }
        let left = !self.objects.pods.is_empty()
            || !self.objects.claims.is_empty()
            || !self.objects.services.is_empty();
        if self.objects.owner.is_none() && left {
            all.push(Happening::Collect);
        }
        let hangs = |hook: &Hook| self.aftermath_hangs && hook.phase.as_str().starts_with("post-");
        if self.hook.as_ref().is_some_and(|hook| hook.state == HookState::Pending && !hangs(hook)) {
            all.push(Happening::Prepared);
        }
        for cluster in self.leaders.keys().filter(|cluster| self.next_version(**cluster).is_some()) {
            all.push(Happening::Version(*cluster));
        }
        all
    }

    fn of_pod(&self, name: &str, pod: &crate::objects::SimPod, all: &mut Vec<Happening>) {
        let own = || name.to_owned();
        if pod.seen.terminating.is_some() {
            if !pod.node_lost {
                all.push(Happening::PodGone(own()));
            }
            return;
        }
        if pod.seen.is_over() || pod.node_lost {
            return;
        }
        match &pod.process {
            None => self.of_stopped(name, pod, all),
            Some(process) => {
                if process.version != pod.tagged() {
                    all.push(Happening::Replace(own()));
                }
                if process.defragmented.is_some_and(|end| end <= self.now) {
                    all.push(Happening::Defragmented(own()));
                }
                self.of_running(name, process.settled, all);
            }
        }
        if pod.seen.ready != self.is_ready(name) {
            all.push(Happening::Probe(own()));
        }
    }

    fn of_stopped(&self, name: &str, pod: &crate::objects::SimPod, all: &mut Vec<Happening>) {
        if self.missing_images.iter().any(|part| pod.seen.image.contains(part)) {
            if pod.seen.waiting.is_none() {
                all.push(Happening::PullFails(name.to_owned()));
            }
            return;
        }
        match self.start(name) {
            Start::Runs(_) => all.push(Happening::Start(name.to_owned())),
            // Once is enough to see that it ends: the next time it would end the same way.
            Start::Ends(why) if pod.crashed.as_ref() != Some(&why) => {
                all.push(Happening::Start(name.to_owned()));
            }
            Start::Ends(_) | Start::Waits => {}
        }
    }

    fn of_running(&self, name: &str, settled: bool, all: &mut Vec<Happening>) {
        let own = || name.to_owned();
        let Some((cluster, member)) = self.identity(name) else { return };
        let Some((leader, _)) = self.leader(cluster) else {
            if self.can_win(name) {
                all.push(Happening::Elect(own()));
            }
            return;
        };
        let (mine, theirs) = (self.disk(name), self.disk(&leader));
        let same = mine
            .zip(theirs)
            .is_some_and(|(mine, theirs)| Rc::ptr_eq(&mine.log, &theirs.log) || mine.log == theirs.log);
        if !same {
            all.push(Happening::CatchUp(own()));
        }
        if !settled {
            all.push(Happening::Settle(own()));
        }
        let state = self.state(&leader);
        if state.member(member).is_some_and(|listed| listed.name.is_empty()) {
            all.push(Happening::Publish(own()));
        }
        if self.is_full(name) {
            all.push(Happening::Full(own()));
        }
        if self.next_storage(name).is_some() {
            all.push(Happening::Storage(own()));
        }
    }

    /// What the kubelet would find: it works, votes, and knows a leader.
    fn is_ready(&self, name: &str) -> bool {
        let Some((cluster, _)) = self.identity(name) else { return false };
        let corrupt = self.leader(cluster).is_some_and(|(leader, _)| {
            self.state(&leader).alarms.iter().any(|(_, kind)| *kind == AlarmKind::Corrupt)
        });
        self.serves(name) && !corrupt
    }

    fn can_win(&self, name: &str) -> bool {
        let Some((cluster, member)) = self.identity(name) else { return false };
        let Some(disk) = self.disk(name) else { return false };
        let state = &disk.state;
        let voters = state.voters();
        voters.contains(&member) && self.votes(name, cluster, &voters).len() >= state.quorum()
    }

    /// Pods of those that would vote for the member in this pod: it must know at least what they know.
    fn votes(&self, name: &str, cluster: Id, voters: &[Id]) -> Vec<String> {
        let own = self.disk(name).map(crate::raft::Disk::extent).unwrap_or_default();
        let pods = voters.iter().filter_map(|id| self.pod_of(cluster, *id));
        pods.filter(|pod| self.disk(pod).is_some_and(|disk| disk.extent() <= own)).collect()
    }

    fn elect(&mut self, name: &str) {
        let Some((cluster, member)) = self.identity(name) else { return };
        let voters = self.state(name).voters();
        let votes = self.votes(name, cluster, &voters);
        let old = self.leaders.get(&cluster).map_or(1, |leader| leader.term);
        let term = old.max(self.disk(name).map_or(0, |disk| disk.extent().0)) + 1;
        let Some(mut disk) = self.disk(name).cloned() else { return };
        disk.push(Entry { term, what: What::Nothing });
        for pod in votes {
            if let Some(own) = self.disk_mut(&pod) {
                own.copy(&disk);
            }
        }
        self.leaders.insert(cluster, Leader { member, term });
        self.check_kept();
    }

    /// Another member is elected, if there is one that can be.
    pub fn move_lead(&mut self) {
        let Some(cluster) = self.cluster() else { return };
        let leads = self.leader(cluster).map(|(pod, _)| pod);
        let mut pods = self.pod_names().into_iter().filter(|pod| Some(pod) != leads.as_ref());
        let other =
            pods.find(|pod| self.identity(pod).is_some_and(|(of, _)| of == cluster) && self.can_win(pod));
        if let Some(other) = other {
            self.elect(&other);
            self.disturbances += 1;
        }
    }

    /// The minor that the members of a cluster are to be at next.
    fn next_version(&self, cluster: Id) -> Option<What> {
        let (leader, _) = self.leader(cluster)?;
        let state = self.state(&leader);
        let minor = |id: &Id| {
            let pod = self.pod_of(cluster, *id)?;
            self.connected(&pod)?.version.parse::<Version>().ok().map(|version| version.minor)
        };
        let all: Option<Vec<u32>> = state.voters().iter().map(minor).collect();
        let (lowest, highest) = (*all.as_ref()?.iter().min()?, *all.as_ref()?.iter().max()?);
        match (state.downgrade, state.version) {
            (Some(to), Some(version)) if version > to => Some(What::ClusterVersion(to)),
            (Some(to), _) if highest == to => Some(What::Downgrade(None)),
            (None, version) if version.is_none_or(|version| version < lowest) => {
                Some(What::ClusterVersion(lowest))
            }
            _ => None,
        }
    }

    fn next_storage(&self, name: &str) -> Option<u32> {
        let minor = self.connected(name)?.version.parse::<Version>().ok()?.minor;
        let disk = self.disk(name)?;
        let agreed = disk.state.version?;
        (minor >= 6 && agreed != disk.storage && agreed <= minor).then_some(agreed)
    }

    /// Lets it happen.
    pub fn happen(&mut self, what: &Happening) {
        self.activity += u64::from(!matches!(what, Happening::Write(_)));
        match what {
            Happening::Start(pod) => self.boot(pod),
            Happening::Replace(pod) => self.stop(pod),
            Happening::PullFails(pod) => {
                self.each_pod(pod, |pod| pod.seen.waiting = Some("ImagePullBackOff".to_owned()));
                self.object_changed();
            }
            Happening::Probe(pod) => {
                let (ready, now) = (self.is_ready(pod), self.now);
                self.each_pod(pod, |pod| (pod.seen.ready, pod.seen.ready_since) = (ready, now));
                self.object_changed();
            }
            Happening::PodGone(pod) => {
                self.objects.pods.remove(pod);
                self.object_changed();
            }
            Happening::ClaimGone(claim) => {
                self.objects.claims.remove(claim);
                self.object_changed();
            }
            Happening::Collect => self.collect(),
            Happening::Elect(pod) => self.elect(pod),
            Happening::CatchUp(pod) => self.catch_up(pod),
            Happening::Settle(pod) => {
                self.each_pod(pod, |pod| pod.process.iter_mut().for_each(|process| process.settled = true));
            }
            Happening::Publish(pod) => {
                if let Some((cluster, member)) = self.identity(pod) {
                    let version =
                        self.connected(pod).and_then(|process| process.version.parse::<Version>().ok());
                    let form = Form::of(version.map_or(0, |version| version.minor));
                    let _ = self.propose(cluster, What::Publish(member, pod.clone(), form));
                }
            }
            Happening::Version(cluster) => {
                if let Some(what) = self.next_version(*cluster) {
                    let _ = self.propose(*cluster, what);
                }
            }
            Happening::Storage(pod) => {
                if let (Some(minor), Some(disk)) = (self.next_storage(pod), self.disk_mut(pod)) {
                    disk.storage = minor;
                }
            }
            Happening::Defragmented(pod) => self.defragmented(pod),
            Happening::Full(pod) => {
                if let Some((cluster, member)) = self.identity(pod) {
                    let _ = self.propose(cluster, What::Alarm(member, AlarmKind::NoSpace, true));
                }
            }
            Happening::Prepared => {
                let state = self.hook_fails.clone().map_or(HookState::Done, HookState::Failed);
                self.hook.iter_mut().for_each(|hook| hook.state = state.clone());
                self.object_changed();
            }
            Happening::Write(pod) => self.write(pod),
        }
    }

    /// Changes a pod.
    pub fn each_pod(&mut self, name: &str, change: impl FnOnce(&mut crate::objects::SimPod)) {
        if let Some(pod) = self.objects.pod_mut(name) {
            change(pod);
        }
    }

    /// etcd ends.
    pub fn stop(&mut self, name: &str) {
        self.each_pod(name, |pod| {
            pod.process = None;
            pod.crashed = None;
        });
        self.object_changed();
    }

    fn catch_up(&mut self, name: &str) {
        let Some((cluster, member)) = self.identity(name) else { return };
        let Some((leader, _)) = self.leader(cluster) else { return };
        let Some(disk) = self.disk(&leader).cloned() else { return };
        if let Some(own) = self.disk_mut(name) {
            own.copy(&disk);
        }
        // It reads that it was removed, and ends.
        if self.state(name).removed.contains(&member) {
            self.stop(name);
            self.each_pod(name, |pod| pod.crashed = Some("removed".to_owned()));
        }
    }

    fn collect(&mut self) {
        for pod in self.objects.pods.values_mut().map(Rc::make_mut) {
            pod.seen.terminating.get_or_insert(self.now);
            pod.node_lost = false;
        }
        for claim in self.objects.claims.values_mut().map(Rc::make_mut) {
            claim.seen.terminating = true;
        }
        self.objects.services.clear();
        self.object_changed();
    }

    fn write(&mut self, pod: &str) {
        let value = u32::try_from(self.unique()).unwrap_or(u32::MAX);
        if let Ok(cluster) = self.put(pod, value) {
            self.kept.push((cluster, value));
        }
    }

    /// Whatever was confirmed to clients has to be known to who leads now.
    pub fn check_kept(&mut self) {
        let clusters: Vec<Id> = self.leaders.keys().copied().collect();
        for cluster in clusters {
            let Some((leader, _)) = self.leader(cluster) else { continue };
            let state = self.state(&leader);
            let values = &state.values;
            let lost =
                self.kept.iter().find(|(of, value)| *of == cluster && !values.contains(value)).copied();
            if let Some((_, value)) = lost {
                self.violate(format!("the value {value} was confirmed, and {leader} leads without it"));
            }
        }
    }
}
