//! How etcd starts, and when it does not.

use std::rc::Rc;

use etcd_api::Id;
use etcd_core::version::Version;

use crate::{
    objects::{Boot, Process},
    raft::{Disk, Entry, What},
    world::{QUOTA, World},
};

/// What comes of starting etcd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// It runs, on this volume.
    Runs(Box<Disk>),
    /// It ends by itself.
    Ends(String),
    /// An init container waits for something, or the scheduler does.
    Waits,
}

/// A number that follows from texts.
pub fn hash(parts: &[&str]) -> Id {
    // FNV-1a: the same on every machine.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    Id(hash)
}

impl World {
    /// What would come of starting etcd in this pod.
    pub fn start(&self, pod: &str) -> Start {
        let Some(found) = self.objects.pods.get(pod) else { return Start::Waits };
        let Some(disk) = self.disk(pod) else { return Start::Waits };
        if found.claim && self.objects.claims.get(pod).is_some_and(|claim| claim.unreachable) {
            return Start::Waits;
        }
        let Ok(version) = found.tagged().parse::<Version>() else {
            return Start::Ends("no such image".to_owned());
        };
        match disk.identity {
            Some((cluster, member)) => self.restart(disk, cluster, member, version),
            None if self.full => Start::Waits,
            None => self.first_start(&found.boot, version),
        }
    }

    fn restart(&self, disk: &Disk, cluster: Id, member: Id, version: Version) -> Start {
        // A member that was removed hears so from the others.
        let mut peers =
            self.objects.pods.keys().filter(|pod| self.identity(pod).is_some_and(|(of, _)| of == cluster));
        if peers.any(|pod| self.state(pod).removed.contains(&member)) {
            return Start::Ends("the member has been permanently removed from the cluster".to_owned());
        }
        let state = &disk.state;
        if version.minor < disk.storage {
            return Start::Ends(format!("the storage is of 3.{}, and this is {version}", disk.storage));
        }
        let agreed = state.version.unwrap_or(version.minor);
        let allowed = version.minor >= agreed || state.downgrade == Some(version.minor);
        if !allowed || version.minor > agreed + 1 {
            return Start::Ends(format!("the cluster is at 3.{agreed}, and this is {version}"));
        }
        if state.old_form && version.minor >= 7 {
            return Start::Ends(format!("there are entries of 3.5 in the log, and this is {version}"));
        }
        Start::Runs(Box::new(disk.clone()))
    }

    fn first_start(&self, boot: &Boot, version: Version) -> Start {
        let Some(token) = &boot.new else { return self.join(boot, version) };
        let cluster = hash(&[&boot.own_url, token]);
        let member = hash(&[&boot.own_url, token, "member"]);
        let (values, moved, deletions) = match (&boot.survivor, boot.backup, &self.backup) {
            (Some(survivor), _, _) => {
                if self.connected(survivor).is_none() {
                    return Start::Waits;
                }
                let state = self.state(survivor);
                (state.values.clone(), state.moved + boot.moved, state.deletions)
            }
            (None, true, Some(backup)) => (backup.values.clone(), boot.moved, backup.deletions),
            (None, true, None) => return Start::Waits,
            (None, false, _) => (Vec::new(), 0, 0),
        };
        // Before 3.5.16 nothing is left of deletions when history is forgotten, and the newest revision that is left counts.
        let forgets = version.minor == 5 && version.patch < 16;
        let add = What::Add { id: member, peer_url: boot.own_url.clone(), learner: false };
        let whats = std::iter::once(add).chain(values.into_iter().map(What::Write));
        let mut disk = Disk {
            identity: Some((cluster, member)),
            storage: version.minor,
            db_size: QUOTA / 10,
            db_in_use: QUOTA / 10,
            ..Disk::default()
        };
        whats.for_each(|what| disk.push(Entry { term: 1, what }));
        let state = Rc::make_mut(&mut disk.state);
        (state.moved, state.deletions) = (moved, if forgets { 0 } else { deletions });
        Start::Runs(Box::new(disk))
    }

    /// A member that was added: it asks those it was told of who it is.
    fn join(&self, boot: &Boot, version: Version) -> Start {
        let mut pods = self.objects.pods.keys();
        let peer = pods.find(|pod| {
            let url = self.objects.pods.get(*pod).map(|pod| &pod.boot.own_url);
            self.identity(pod).is_some()
                && url.is_some_and(|url| *url != boot.own_url && boot.peers.contains(url))
        });
        let Some(peer) = peer else {
            return Start::Ends("cannot fetch cluster info from peer urls".to_owned());
        };
        let state = self.state(peer);
        let mut told = boot.peers.clone();
        let mut listed: Vec<String> = state.members.iter().map(|member| member.peer_url.clone()).collect();
        told.sort_unstable();
        listed.sort_unstable();
        if told != listed {
            return Start::Ends("error validating peerURLs: member count is unequal".to_owned());
        }
        let own = state.members.iter().find(|member| member.peer_url == boot.own_url);
        let (Some(own), Some((cluster, _))) = (own, self.identity(peer)) else {
            return Start::Ends("the member is not listed".to_owned());
        };
        let agreed = state.version.unwrap_or(version.minor);
        if version.minor < agreed || version.minor > agreed + 1 {
            return Start::Ends(format!(
                "incompatible with the cluster, which is at 3.{agreed}, and this is {version}"
            ));
        }
        Start::Runs(Box::new(Disk {
            identity: Some((cluster, own.id)),
            storage: agreed,
            db_size: QUOTA / 10,
            db_in_use: QUOTA / 10,
            ..Disk::default()
        }))
    }

    /// Starts etcd in this pod.
    pub fn boot(&mut self, pod: &str) {
        let start = self.start(pod);
        let empty = self.disk(pod).is_some_and(|disk| disk.identity.is_none());
        let Some(found) = self.objects.pod_mut(pod) else { return };
        match start {
            Start::Runs(disk) => {
                let version = found.tagged().to_owned();
                found.crashed = None;
                found.seen.waiting = None;
                found.seen.phase = etcd_core::observed::PodPhase::Running;
                found.process = Some(Process {
                    version,
                    quota: found.boot.quota,
                    connected: true,
                    settled: false,
                    defragmented: None,
                });
                let begun = found.boot.new.is_some();
                let identity = disk.identity;
                if let Some(own) = self.disk_mut(pod) {
                    *own = *disk;
                }
                if let Some((cluster, member)) = identity.filter(|_| empty) {
                    self.first(pod, begun, cluster, member);
                }
            }
            Start::Ends(why) => {
                found.seen.waiting = Some("CrashLoopBackOff".to_owned());
                found.seen.phase = etcd_core::observed::PodPhase::Running;
                if why.contains(" 3.") {
                    self.violations.push(format!("{pod} cannot run its version: {why}"));
                }
                if let Some(found) = self.objects.pod_mut(pod) {
                    found.crashed = Some(why);
                }
            }
            Start::Waits => return,
        }
        self.object_changed();
    }

    /// A member has started with no data: that must be its first time.
    fn first(&mut self, pod: &str, begun: bool, cluster: Id, member: Id) {
        if begun {
            if self.cluster() == Some(cluster) {
                self.violate(format!("{pod} began the cluster a second time, over the one that exists"));
            }
            self.begun.push(cluster);
            // What it begins with is promised from now on.
            let values = self.state(pod).values.clone();
            self.kept.retain(|(of, _)| *of != cluster);
            self.kept.extend(values.into_iter().map(|value| (cluster, value)));
            return;
        }
        let known = self.leader(cluster).map(|(leader, _)| self.state(&leader));
        let listed = known.as_ref().and_then(|state| state.member(member));
        if listed.is_some_and(|listed| !listed.learner && !listed.name.is_empty()) {
            self.violate(format!("{pod} votes with no data, and has forgotten what it agreed to"));
        }
    }
}
