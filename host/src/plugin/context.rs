//! On whose behalf a hook call acts.

use std::sync::{Arc, Mutex};

use super::identity::Identity;
use crate::action::execute::Manager;
use crate::binding::Binding;
use crate::blob::table::Transfers;
use crate::capability::grants::Grants;
use crate::charts::{CallWishes, Charts};
use crate::cluster::Cluster;
use crate::controller::throttle::Throttle;
use crate::egress::Egress;
use crate::exec::table::Commands;
use crate::handover::table::Handovers;
use crate::lifecycle::announce::Announcer;
use crate::object::Owner;
use crate::telemetry::series::PluginMetrics;

/// Everything the capabilities need to decide and to act.
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
    pub manager: Manager,
    /// The plugin's share of the API server.
    pub throttle: Arc<Throttle>,
    /// The cluster; shared by all calls.
    pub cluster: Arc<Cluster>,
    /// Series of the plugin's own metrics.
    pub metrics: Arc<PluginMetrics>,
    /// Charts that lie elsewhere; none: nobody fetches any.
    pub charts: Option<Arc<Charts>>,
    /// What the call wishes for of them.
    pub wishes: Arc<Mutex<CallWishes>>,
    /// Servers other than the cluster's API; shared by all calls.
    pub egress: Arc<Egress>,
    /// What is carried out behind calls; none: nothing is.
    pub transfers: Option<Arc<Transfers>>,
    /// Commands in containers; none: none is run.
    pub commands: Option<Arc<Commands>>,
    /// Objects between the cluster and object storage; none: nothing is handed over.
    pub handovers: Option<Arc<Handovers>>,
    /// Takes announcements of changes; none: nobody announces anything here.
    pub announcer: Option<Arc<Announcer>>,
}
