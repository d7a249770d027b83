//! What comes from elsewhere: charts as the flags have them, and HTTP for plugins.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{AppError, handover};

use crate::blob::table::{self, Transfers};
use crate::charts::{self, Charts, PluginChooser};
use crate::cli::run::RunArgs;
use crate::cluster::fence::Fence;
use crate::controller::supervisor::Supervisor;
use crate::egress::Egress;
use crate::egress::connect::System;
use crate::egress::metrics::Metrics;
use crate::exec::{self, table::Commands};
use crate::handover::table::Handovers;
use crate::object::ObjectKey;
use crate::plugin::registry::Registry;
use crate::telemetry::{SharedRegistry, register};

/// Objects that are to be called.
type Called = mpsc::UnboundedReceiver<Vec<ObjectKey>>;

/// Charts that are fetched while the host runs, and whom to call when one has changed.
fn charts(args: &RunArgs, plugins: &Arc<Registry>, registry: &SharedRegistry) -> (Arc<Charts>, Called) {
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
fn egress(registry: &SharedRegistry) -> Arc<Egress> {
    Arc::new(Egress::new(Arc::new(System), Metrics::register(registry)))
}

/// What goes on behind calls, and HTTP.
pub(super) struct Behind {
    pub(super) charts: Arc<Charts>,
    pub(super) egress: Arc<Egress>,
    pub(super) transfers: Arc<Transfers>,
    pub(super) commands: Arc<Commands>,
    pub(super) handovers: Option<Arc<Handovers>>,
    /// Whom to call when something of it has ended.
    pub(super) news: [(&'static str, Called); 4],
}

/// Begins it all.
pub(super) async fn behind(
    args: &RunArgs,
    plugins: &Arc<Registry>,
    registry: &SharedRegistry,
    fence: &Fence,
    tasks: &mut JoinSet<AppError>,
) -> Result<Behind, AppError> {
    let (charts, changed) = charts(args, plugins, registry);
    let (transfers, moved) = Transfers::new(table::Metrics::register(registry));
    let (commands, run) = Commands::new(exec::table::Metrics::register(registry));
    let (handovers, handed_over) = handover::handovers(args, registry, fence, tasks).await?;
    let news = [("charts", changed), ("transfers", moved), ("commands", run), ("handovers", handed_over)];
    let egress = egress(registry);
    Ok(Behind { charts, egress, transfers, commands, handovers, news })
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
