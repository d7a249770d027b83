//! What is played.

use std::fmt;

use etcd_api::{EtcdClusterSpec, PodPolicy, names};
use serde_json::json;

use crate::{fault::Fault, world::World};

/// What is played.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Its name.
    pub name: String,
    /// What is asked for at first.
    pub spec: EtcdClusterSpec,
    /// What people do and what goes wrong, one after the other.
    pub steps: Vec<Step>,
}

/// Something that people do, or that goes wrong.
#[derive(Clone)]
pub enum Step {
    /// The spec is changed.
    Spec(&'static str, fn(&mut EtcdClusterSpec)),
    /// The object is deleted.
    Delete,
    /// Images whose name contains this cannot be had from now on: a version, or a registry.
    LoseImage(&'static str),
    /// A backup of what is there is to be restored, by an `EtcdRestore` with this uid.
    Backup(&'static str),
    /// Something else becomes different.
    World(&'static str, fn(&mut World)),
    /// Something goes wrong with members.
    Fault(fn(String) -> Fault, Who),
}

/// With whom it goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The one that leads.
    Leader,
    /// So many others.
    Followers(usize),
    /// Everybody.
    All,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(what, _) => write!(f, "spec: {what}"),
            Self::World(what, _) => f.write_str(what),
            Self::Delete => f.write_str("the object is deleted"),
            Self::LoseImage(part) => write!(f, "there is no image of {part}"),
            Self::Backup(_) => f.write_str("a backup is restored"),
            Self::Fault(fault, who) => write!(f, "{} of {who:?}", fault(String::new())),
        }
    }
}

impl Scene {
    /// A scene in which so many members are asked for, with or without claims, and nothing happens.
    pub fn of(size: i32, version: &str, claims: bool) -> Self {
        Self { name: String::new(), spec: spec(size, version, claims), steps: Vec::new() }
    }
}

/// A spec of so many members, with or without claims.
pub fn spec(size: i32, version: &str, claims: bool) -> EtcdClusterSpec {
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let template = claim.as_object().filter(|_| claims).cloned();
    EtcdClusterSpec {
        size,
        version: version.to_owned(),
        repository: names::REPOSITORY.to_owned(),
        paused: false,
        pod: Some(PodPolicy { persistent_volume_claim_spec: template, ..PodPolicy::default() }),
        tls: None,
        options: None,
        defragmentation: None,
        repair: None,
        quorum_recovery: None,
    }
}
