//! What guests may call, one file for each interface of the WIT package, and what each call is allowed to do.

use std::sync::Arc;

use crate::binding::Binding;
use crate::cluster::Cluster;
use crate::controller::throttle::Throttle;
use crate::object::ObjectKey;
use crate::plugin::revision::Identity;

pub mod assets;
pub mod config;
pub mod events;
pub mod grants;
pub mod kube;
pub mod log;
pub mod metrics;

use grants::Grants;

/// On whose behalf a hook call acts: everything the capabilities need to decide and to act.
#[derive(Clone, Debug)]
pub struct HookContext {
    /// Plugin and revision.
    pub plugin: Arc<Identity>,
    /// What the plugin may do.
    pub grants: Arc<Grants>,
    /// The object that is being reconciled.
    pub owner: Owner,
    /// The configuration of its kind.
    pub binding: Arc<Binding>,
    /// Field manager of the plugin's writes.
    pub manager: String,
    /// The plugin's share of the API server.
    pub throttle: Arc<Throttle>,
    /// The cluster; shared by all calls.
    pub cluster: Arc<Cluster>,
    /// Series of the plugin's own metrics.
    pub metrics: Arc<metrics::PluginMetrics>,
}

/// The object that is being reconciled, as far as ownership needs it.
#[derive(Clone, Debug)]
pub struct Owner {
    /// Kind, namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Arc<str>,
}
