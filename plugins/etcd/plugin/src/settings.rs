//! Settings of the plugin, which whoever runs it gives.

use std::collections::BTreeMap;

use etcd_api::names::SCOPE_ANNOTATION;
use etcd_core::scope;
use pilothouse_sdk::{Context, Error, ObjectRef, Outcome, Watch};
use serde::Deserialize;

use crate::object::{self, Metadata};

/// Settings of the plugin.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// Only objects that carry the annotation `etcd.database.coreos.com/scope: clusterwide` (true), or only those that do not
    /// (false), for two operators side by side. All of them when absent.
    pub(crate) cluster_wide: Option<bool>,
    /// Stores by the names under which backups may use them.
    pub(crate) stores: BTreeMap<String, NamedStore>,
}

impl Settings {
    /// Is an object this operator's? Of two that run side by side, each one is exactly one's.
    pub(crate) fn is_responsible(&self, metadata: &Metadata) -> bool {
        self.cluster_wide.is_none_or(|wide| scope::is_responsible(wide, &metadata.annotations))
    }

    /// The same of an object that is about a cluster of its namespace: it goes with that, unless it says itself whose it is.
    ///
    /// # Errors
    /// The cluster cannot be read.
    pub(crate) fn whose(
        &self,
        ctx: &Context,
        metadata: &Metadata,
        cluster: Option<&str>,
    ) -> Result<Whose, Error> {
        let says = self.cluster_wide.is_none() || metadata.annotations.contains_key(SCOPE_ANNOTATION);
        let whose = |metadata: &Metadata| match self.is_responsible(metadata) {
            true => Whose::Ours,
            false => Whose::Others,
        };
        let Some(name) = cluster.filter(|_| !says) else { return Ok(whose(metadata)) };
        let found: Option<Found> = ctx.kube().get_ref(&reference(metadata, name))?;
        Ok(match (found, whose(metadata)) {
            (Some(found), _) => whose(&found.metadata),
            (None, Whose::Ours) => Whose::Ours,
            (None, _) => Whose::OthersWithoutCluster,
        })
    }
}

/// Whose an object is that is about a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// This operator's.
    Ours,
    /// Another one's.
    Others,
    /// Another one's as long as its cluster is not there.
    OthersWithoutCluster,
}

impl Whose {
    /// Is it another operator's now?
    pub(crate) fn is_others(self) -> bool {
        matches!(self, Self::Others | Self::OthersWithoutCluster)
    }
}

fn reference(metadata: &Metadata, cluster: &str) -> ObjectRef {
    ObjectRef::new(object::kind(), metadata.namespace.as_str(), cluster)
}

/// It is another operator's, until its cluster says something else: whose that is may be known only later.
pub(crate) fn foreign(metadata: &Metadata, cluster: Option<&str>) -> Outcome {
    let watches = cluster.map(|name| Watch::object(reference(metadata, name)));
    watches.into_iter().fold(Outcome::foreign(), Outcome::watch)
}

/// What is read of a cluster.
#[derive(Debug, Deserialize)]
struct Found {
    metadata: Metadata,
}

/// A store of the administrator's.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NamedStore {
    /// Such as `file:///var/backups/NAMESPACE`, where `NAMESPACE` stands for the namespace of the backup.
    pub(crate) url: String,
    /// Who one is there.
    pub(crate) credentials: Option<SecretName>,
}

/// A Secret.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretName {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
}
