//! Logs, elections and agreement, as far as an operator can tell them from the real thing.
//!
//! A log is copied whole. What is kept of Raft is what data can be lost by: who may vote, whose log is the longer one, and how many
//! have an entry before it is confirmed.

use std::{collections::BTreeMap, rc::Rc};

use etcd_api::Id;
use etcd_core::observed::AlarmKind;

/// One entry of a log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The term of the leader that wrote it.
    pub term: u64,
    /// What it says.
    pub what: What,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum What {
    /// A client's value.
    Write(u32),
    /// A member, with or without a vote.
    Add {
        /// Its identifier.
        id: Id,
        /// Where its peers find it.
        peer_url: String,
        /// It does not vote.
        learner: bool,
    },
    /// A learner votes from now on.
    Promote(Id),
    /// A member is none any more.
    Remove(Id),
    /// A member was started and says its name, in a form that later minors read or do not.
    Publish(Id, String, Form),
    /// The minor that all members can work at.
    ClusterVersion(u32),
    /// A downgrade to that minor is enabled; none: no more.
    Downgrade(Option<u32>),
    /// An alarm is raised or taken back.
    Alarm(Id, AlarmKind, bool),
    /// A client deletes a key.
    Delete,
    /// History is forgotten.
    Compact,
    /// The first entry of a leader.
    Nothing,
}

/// How an entry is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// As before 3.6, which 3.7 does not read.
    Old,
    /// As from 3.6 on.
    New,
}

impl Form {
    /// As a member of this minor writes it.
    pub fn of(minor: u32) -> Self {
        if minor < 6 { Self::Old } else { Self::New }
    }
}

/// What is on a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Disk {
    /// Who it belongs to: cluster and member; none on an empty volume.
    pub identity: Option<(Id, Id)>,
    /// The log. Only what is confirmed is ever written here.
    pub log: Rc<Vec<Entry>>,
    /// What it amounts to.
    pub state: Rc<State>,
    /// The minor of the storage format.
    pub storage: u32,
    /// Size of the database.
    pub db_size: i64,
    /// Of that, what is in use.
    pub db_in_use: i64,
}

/// A member as the confirmed part of a log tells it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Listed {
    /// Its identifier.
    pub id: Id,
    /// Empty until it was started.
    pub name: String,
    /// Where its peers find it.
    pub peer_url: String,
    /// It does not vote.
    pub learner: bool,
}

/// What the confirmed part of a log amounts to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// Members in the order in which they were added.
    pub members: Vec<Listed>,
    /// Identifiers that are used up.
    pub removed: Vec<Id>,
    /// The minor that all members can work at.
    pub version: Option<u32>,
    /// A downgrade that is enabled.
    pub downgrade: Option<u32>,
    /// Alarms that are raised.
    pub alarms: Vec<(Id, AlarmKind)>,
    /// Since its last snapshot, the log has an entry of the old form.
    pub old_form: bool,
    /// Values of clients.
    pub values: Vec<u32>,
    /// How many keys clients deleted.
    pub deletions: i64,
    /// How far the revision was moved on when the data was restored.
    pub moved: i64,
}

impl Disk {
    /// Term of the last entry and length: the larger, the more it knows.
    pub fn extent(&self) -> (u64, usize) {
        (self.log.last().map_or(0, |entry| entry.term), self.log.len())
    }

    /// Takes a leader's log over.
    pub fn copy(&mut self, leader: &Self) {
        self.log = Rc::clone(&leader.log);
        self.state = Rc::clone(&leader.state);
    }

    /// Adds an entry.
    pub fn push(&mut self, entry: Entry) {
        Rc::make_mut(&mut self.state).apply(&entry.what);
        Rc::make_mut(&mut self.log).push(entry);
    }
}

impl State {
    fn apply(&mut self, what: &What) {
        match what {
            What::Write(value) => self.values.push(*value),
            What::Add { id, peer_url, learner } => self.members.push(Listed {
                id: *id,
                name: String::new(),
                peer_url: peer_url.clone(),
                learner: *learner,
            }),
            What::Promote(id) => self.each(*id, |member| member.learner = false),
            What::Remove(id) => {
                self.members.retain(|member| member.id != *id);
                self.removed.push(*id);
            }
            What::Publish(id, name, form) => {
                self.old_form |= *form == Form::Old;
                self.each(*id, |member| member.name.clone_from(name));
            }
            What::ClusterVersion(minor) => {
                // Each member writes a snapshot when the version is lowered.
                self.old_form &= self.version.is_none_or(|version| version <= *minor);
                self.version = Some(*minor);
            }
            What::Downgrade(to) => self.downgrade = *to,
            What::Alarm(id, kind, true) => self.alarms.push((*id, *kind)),
            What::Alarm(id, kind, false) => self.alarms.retain(|alarm| *alarm != (*id, *kind)),
            What::Delete => self.deletions += 1,
            What::Compact | What::Nothing => {}
        }
    }

    fn each(&mut self, id: Id, change: impl Fn(&mut Listed)) {
        self.members.iter_mut().filter(|member| member.id == id).for_each(change);
    }

    /// The newest revision.
    pub fn revision(&self) -> i64 {
        let values = i64::try_from(self.values.len()).unwrap_or(i64::MAX);
        self.moved.saturating_add(values).saturating_add(self.deletions)
    }

    /// A member by identifier.
    pub fn member(&self, id: Id) -> Option<&Listed> {
        self.members.iter().find(|member| member.id == id)
    }

    /// Identifiers of members that vote.
    pub fn voters(&self) -> Vec<Id> {
        self.members.iter().filter(|member| !member.learner).map(|member| member.id).collect()
    }

    /// How many have to agree.
    pub fn quorum(&self) -> usize {
        self.voters().len() / 2 + 1
    }
}

/// Who leads a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leader {
    /// The member.
    pub member: Id,
    /// Its term.
    pub term: u64,
}

/// Leaders by cluster. One that is not alive any more may still be here.
pub type Leaders = BTreeMap<Id, Leader>;
