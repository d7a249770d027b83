//! What is played.

use std::fmt;

use etcd_api::EtcdClusterSpec;
use serde_json::{Value, json};

use crate::fault::Fault;

/// What is played.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Its name.
    pub name: &'static str,
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
    /// The image of a version cannot be had from now on.
    LoseImage(&'static str),
    /// A backup of what is there is to be restored, by an `EtcdRestore` with this uid.
    Backup(&'static str),
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
            Self::Delete => f.write_str("the object is deleted"),
            Self::LoseImage(version) => write!(f, "there is no image of {version}"),
            Self::Backup(_) => f.write_str("a backup is restored"),
            Self::Fault(fault, who) => write!(f, "{} of {who:?}", fault(String::new())),
        }
    }
}

/// A spec of so many members, with or without claims.
///
/// # Errors
/// Never: the fields are those of the type.
pub fn spec(size: i32, version: &str, claims: bool) -> Result<EtcdClusterSpec, serde_json::Error> {
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let pod = if claims {
        json!({"persistentVolumeClaimSpec": claim})
    } else {
        Value::Object(serde_json::Map::new())
    };
    serde_json::from_value(json!({"size": size, "version": version, "pod": pod}))
}
