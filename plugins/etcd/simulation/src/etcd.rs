//! What etcd does when it is asked for something, and when it refuses. The words are etcd's own.

use etcd_api::Id;
use etcd_core::observed::AlarmKind;

use crate::{
    raft::{Entry, Leader, What},
    world::{QUOTA, World},
};

/// Why etcd did not do it.
pub type Refusal = &'static str;

/// Nobody leads.
pub const NO_LEADER: Refusal = "etcdserver: no leader";
/// Voters are not connected, or not for long.
pub const UNHEALTHY: Refusal = "etcdserver: unhealthy cluster";
/// Too few voters were ever started.
pub const NOT_STARTED: Refusal = "etcdserver: re-configuration failed due to not enough started members";
/// The address is taken.
pub const PEER_EXISTS: Refusal = "etcdserver: Peer URLs already exists";
/// There is a learner already.
pub const TOO_MANY_LEARNERS: Refusal = "etcdserver: too many learner members in cluster";
/// The learner does not know enough yet.
pub const NOT_READY: Refusal = "etcdserver: can only promote a learner member which is in sync with leader";
/// No such member.
pub const NOT_FOUND: Refusal = "etcdserver: member not found";
/// Asked the wrong one.
pub const NOT_LEADER: Refusal = "etcdserver: not leader";
/// There is no space.
pub const NO_SPACE: Refusal = "etcdserver: mvcc: database space exceeded";
/// Data differs.
pub const CORRUPT: Refusal = "etcdserver: corrupt cluster";
/// No such downgrade.
pub const BAD_DOWNGRADE: Refusal = "etcdserver: invalid downgrade target version";

impl World {
    /// Has the cluster agree on an entry.
    ///
    /// # Errors
    /// Nobody leads, or too few follow.
    pub fn propose(&mut self, cluster: Id, what: What) -> Result<(), Refusal> {
        let (leader, Leader { term, .. }) = self.leader(cluster).ok_or(NO_LEADER)?;
        let state = self.state(&leader);
        let mut disk = self.disk(&leader).ok_or(NO_LEADER)?.clone();
        disk.push(Entry { term, what });
        // Only as many followers as it takes get it now, those that know most first: the others lag.
        let mut followers: Vec<(usize, String)> = state
            .voters()
            .into_iter()
            .filter_map(|id| self.pod_of(cluster, id))
            .filter(|pod| *pod != leader)
            .map(|pod| (self.disk(&pod).map_or(0, |disk| disk.log.len()), pod))
            .collect();
        followers.sort_by_key(|(length, pod)| (std::cmp::Reverse(*length), pod.clone()));
        followers.truncate(state.quorum().saturating_sub(1));
        for pod in followers.into_iter().map(|(_, pod)| pod).chain([leader]) {
            if let Some(own) = self.disk_mut(&pod) {
                own.copy(&disk);
            }
        }
        Ok(())
    }

    /// A value of a client, by way of a member.
    ///
    /// # Errors
    /// As etcd tells them.
    pub fn put(&mut self, pod: &str, value: u32) -> Result<Id, Refusal> {
        let (cluster, member) = self.identity(pod).ok_or("connection refused")?;
        let (leader, _) = self.leader(cluster).ok_or(NO_LEADER)?;
        let state = self.state(&leader);
        if state.member(member).is_none_or(|listed| listed.learner) {
            return Err("etcdserver: rpc not supported for learner");
        }
        if let Some((_, kind)) = state.alarms.first() {
            return Err(if *kind == AlarmKind::Corrupt { CORRUPT } else { NO_SPACE });
        }
        self.propose(cluster, What::Write(value))?;
        Ok(cluster)
    }

    /// Adds a member.
    ///
    /// # Errors
    /// As etcd tells them.
    pub fn member_add(&mut self, cluster: Id, peer_url: &str, learner: bool) -> Result<(), Refusal> {
        let (leader, _) = self.leader(cluster).ok_or(NO_LEADER)?;
        let state = self.state(&leader);
        if state.members.iter().any(|member| member.peer_url == peer_url) {
            return Err(PEER_EXISTS);
        }
        if learner && state.members.iter().any(|member| member.learner) {
            return Err(TOO_MANY_LEARNERS);
        }
        if !learner {
            let started =
                state.members.iter().filter(|member| !member.learner && !member.name.is_empty()).count();
            // A single member may always be given a second one.
            if state.voters().len() > 1 && started < state.voters().len().div_ceil(2) + 1 {
                return Err(NOT_STARTED);
            }
        }
        if !self.all_connected(cluster, &state.voters()) {
            return Err(UNHEALTHY);
        }
        let id = Id(0x1000_0000 + self.unique());
        self.propose(cluster, What::Add { id, peer_url: peer_url.to_owned(), learner })
    }

    fn all_connected(&self, cluster: Id, voters: &[Id]) -> bool {
        voters.iter().all(|id| {
            let pod = self.pod_of(cluster, *id);
            pod.and_then(|pod| self.connected(&pod).map(|process| process.settled)).unwrap_or(false)
        })
    }

    /// Removes a member.
    ///
    /// # Errors
    /// As etcd tells them.
    pub fn member_remove(&mut self, cluster: Id, id: Id) -> Result<(), Refusal> {
        let (leader, _) = self.leader(cluster).ok_or(NO_LEADER)?;
        let state = self.state(&leader);
        let member = state.member(id).ok_or(NOT_FOUND)?;
        if !member.learner {
            let others: Vec<Id> = state.voters().into_iter().filter(|voter| *voter != id).collect();
            let started =
                others.iter().filter(|id| state.member(**id).is_some_and(|member| !member.name.is_empty()));
            if started.count() < others.len() / 2 + 1 {
                return Err(NOT_STARTED);
            }
            // One that is down is not part of what agrees, so it may go; of those that are up, enough have to stay.
            let settled = |id: &&Id| {
                let pod = self.pod_of(cluster, **id);
                pod.and_then(|pod| self.connected(&pod).map(|process| process.settled)).unwrap_or(false)
            };
            let active = state.voters().iter().filter(settled).count();
            if self.pod_of(cluster, id).is_some() && active.saturating_sub(1) < others.len() / 2 + 1 {
                return Err(UNHEALTHY);
            }
        }
        self.propose(cluster, What::Remove(id))?;
        self.leaders.retain(|_, leader| leader.member != id);
        Ok(())
    }

    /// Gives a learner its vote.
    ///
    /// # Errors
    /// As etcd tells them.
    pub fn member_promote(&mut self, cluster: Id, id: Id) -> Result<(), Refusal> {
        let (leader, _) = self.leader(cluster).ok_or(NO_LEADER)?;
        let state = self.state(&leader);
        let member = state.member(id).ok_or(NOT_FOUND)?;
        if !member.learner {
            return Err("etcdserver: can only promote a learner member");
        }
        let knows =
            self.pod_of(cluster, id).and_then(|pod| self.disk(&pod).map(|disk| disk.log.len())).unwrap_or(0);
        let all = self.disk(&leader).map_or(0, |disk| disk.log.len());
        if knows * 10 < all * 9 {
            return Err(NOT_READY);
        }
        let started =
            state.members.iter().filter(|member| !member.learner && !member.name.is_empty()).count() + 1;
        if started < state.voters().len().div_ceil(2) + 1 {
            return Err(NOT_STARTED);
        }
        self.propose(cluster, What::Promote(id))
    }

    /// Has another member lead; asked of the one in this pod.
    ///
    /// # Errors
    /// As etcd tells them.
    pub fn move_leader(&mut self, pod: &str, to: Id) -> Result<(), Refusal> {
        let (cluster, member) = self.identity(pod).ok_or("connection refused")?;
        let (leader, Leader { member: leads, term }) = self.leader(cluster).ok_or(NO_LEADER)?;
        if leads != member {
            return Err(NOT_LEADER);
        }
        let target =
            self.pod_of(cluster, to).ok_or("etcdserver: request timed out, leader transfer took too long")?;
        if !self.state(&leader).voters().contains(&to) {
            return Err("etcdserver: bad leader transferee");
        }
        let log = self.disk(&leader).ok_or(NO_LEADER)?.clone();
        if let Some(disk) = self.disk_mut(&target) {
            disk.copy(&log);
        }
        self.leaders.insert(cluster, Leader { member: to, term: term + 1 });
        Ok(())
    }

    /// Clients delete keys: history may be all that is left of them.
    ///
    /// # Errors
    /// As etcd tells them.
    pub fn delete_keys(&mut self) -> Result<(), Refusal> {
        self.live = QUOTA / 4;
        self.propose(self.cluster().ok_or(NO_LEADER)?, What::Delete)
    }

    /// Forgets history.
    ///
    /// # Errors
    /// As etcd tells them.
    pub fn compact(&mut self, cluster: Id) -> Result<(), Refusal> {
        self.propose(cluster, What::Compact)?;
        let live = self.live;
        for pod in self.pod_names() {
            if self.identity(&pod).is_some_and(|(of, _)| of == cluster)
                && let Some(disk) = self.disk_mut(&pod)
            {
                disk.db_in_use = disk.db_in_use.min(live);
            }
        }
        Ok(())
    }

    /// Begins to give free pages back. It goes on whether anybody waits for it or not.
    ///
    /// # Errors
    /// As etcd tells them.
    pub fn defragment(&mut self, pod: &str) -> Result<(), Refusal> {
        let (cluster, member) = self.identity(pod).ok_or("connection refused")?;
        let learner = self.leader(cluster).is_some_and(|(leader, _)| {
            self.state(&leader).member(member).is_some_and(|listed| listed.learner)
        });
        if learner {
            return Err("etcdserver: rpc not supported for learner");
        }
        let end = self.now + self.defragmentation;
        self.each_pod(pod, |pod| pod.process.iter_mut().for_each(|process| process.defragmented = Some(end)));
        Ok(())
    }

    /// Free pages were given back.
    pub fn defragmented(&mut self, pod: &str) {
        self.each_pod(pod, |pod| pod.process.iter_mut().for_each(|process| process.defragmented = None));
        if let Some(disk) = self.disk_mut(pod) {
            disk.db_size = disk.db_in_use;
        }
    }

    /// Does a database have no room for what clients write all the time, and was that not noticed yet?
    pub fn is_full(&self, pod: &str) -> bool {
        let Some((process, disk)) = self.connected(pod).zip(self.disk(pod)) else { return false };
        let alarms = &disk.state.alarms;
        disk.db_size >= process.quota && alarms.is_empty() && self.serves(pod)
    }

    /// Takes an alarm back.
    ///
    /// # Errors
    /// As etcd tells them.
    pub fn disarm(&mut self, cluster: Id, member: Id, kind: AlarmKind) -> Result<(), Refusal> {
        self.propose(cluster, What::Alarm(member, kind, false))
    }

    /// Enables a downgrade, or takes one back.
    ///
    /// # Errors
    /// As etcd tells them.
    pub fn downgrade(&mut self, cluster: Id, to: Option<u32>) -> Result<(), Refusal> {
        let (leader, _) = self.leader(cluster).ok_or(NO_LEADER)?;
        let state = self.state(&leader);
        match to {
            Some(minor) if state.downgrade.is_some() => Err(if state.downgrade == Some(minor) {
                "etcdserver: cluster has a downgrade job in progress"
            } else {
                BAD_DOWNGRADE
            }),
            Some(minor) if state.version != Some(minor + 1) => Err(BAD_DOWNGRADE),
            None if state.downgrade.is_none() => Err("etcdserver: cluster has no downgrade in progress"),
            to => self.propose(cluster, What::Downgrade(to)),
        }
    }
}
