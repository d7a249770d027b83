//! What comes from elsewhere: charts as the flags have them, and HTTP for plugins.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::AppError;

use crate::blob::table::{self, Transfers};
use crate::charts::{self, Charts, PluginChooser};
use crate::cli::run::RunArgs;
use crate::controller::supervisor::Supervisor;
use crate::egress::Egress;
use crate::egress::connect::System;
use crate::egress::metrics::Metrics;
use crate::exec::{self, table::Commands};
use crate::object::ObjectKey;
use crate::plugin::registry::Registry;
use crate::telemetry::{SharedRegistry, register};

/// Objects that are to be called.
type Called = mpsc::UnboundedReceiver<Vec<ObjectKey>>;

/// Charts that are fetched while the host runs, and whom to call when one has changed.
pub(super) fn charts(
    args: &RunArgs,
    plugins: &Arc<Registry>,
    registry: &SharedRegistry,
) -> (Arc<Charts>, Called) {
    let options = charts::Options {
        cache_bytes: args.chart_cache_size.0,
        limits: charts::Limits { time: args.chart_fetch_timeout, ..charts::Limits::default() },
    };
    let mut metrics = charts::Metrics::default();
    register(registry, |registry| metrics = charts::Metrics::register(registry));
    let chooser = PluginChooser::new(Arc::clone(plugins), &args.cache_dir);
    charts::open(&args.cache_dir, options, Arc::new(chooser), metrics)
}

/// HTTP for plugins that were given servers.
pub(super) fn egress(registry: &SharedRegistry) -> Arc<Egress> {
    Arc::new(Egress::new(Arc::new(System), Metrics::register(registry)))
}

/// What is carried out behind calls, and whom to call when one has ended.
pub(super) fn transfers(registry: &SharedRegistry) -> (Arc<Transfers>, Called) {
    Transfers::new(table::Metrics::register(registry))
}

/// Commands in containers, and whom to call when one has ended.
pub(super) fn commands(registry: &SharedRegistry) -> (Arc<Commands>, Called) {
    Commands::new(exec::table::Metrics::register(registry))
}

/// Calls whoever has news from elsewhere.
pub(super) fn follow(
    tasks: &mut JoinSet<AppError>,
    supervisor: &Arc<Supervisor>,
    news: [(&'static str, Called); 4],
) {
    for (name, called) in news {
        tasks.spawn(super::named(name, Arc::clone(supervisor).follow_elsewhere(called)));
    }
}
