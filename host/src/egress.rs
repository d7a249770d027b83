//! HTTP to servers that are not the cluster's API: one exchange at a time, for plugins and for the host's own transfers.
//!
//! [`place`] says which servers a grant means, [`address`] where they may be once their name was resolved, [`connect`] opens
//! connections, [`exchange`] sends one request and bounds what comes back, [`identity`] is who one is for a server,
//! [`metrics`] counts. Nothing follows redirects: whoever wants to sends another request, which is checked like the first.

pub mod address;
mod alerted;
pub mod connect;
pub mod exchange;
pub mod failure;
pub mod identity;
pub mod metrics;
pub mod place;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use connect::{Network, System};
use identity::Roots;
use metrics::Metrics;

use crate::controller::throttle::Throttle;

/// Requests in a second that one plugin may send to servers outside of the cluster's API.
const QPS: u32 = 50;

/// What all exchanges share.
#[derive(Debug)]
pub struct Egress {
    /// Names and connections.
    pub network: Arc<dyn Network>,
    /// Counters and times.
    pub metrics: Metrics,
    /// The authorities of this machine, read when somebody needs them.
    pub roots: Roots,
    throttles: Mutex<HashMap<Arc<str>, Arc<Throttle>>>,
}

impl Default for Egress {
    fn default() -> Self {
        Self::new(Arc::new(System), Metrics::default())
    }
}

impl Egress {
    /// Exchanges through a network.
    pub fn new(network: Arc<dyn Network>, metrics: Metrics) -> Self {
        Self { network, metrics, roots: Roots::default(), throttles: Mutex::default() }
    }

    /// A plugin's share.
    pub fn throttle(&self, plugin: &Arc<str>) -> Arc<Throttle> {
        let mut throttles = self.throttles.lock().unwrap_or_else(PoisonError::into_inner);
        let share = throttles.entry(Arc::clone(plugin));
        Arc::clone(share.or_insert_with(|| Arc::new(Throttle::per_second(QPS))))
    }
}
