//! Charts from elsewhere, as the flags have them.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::charts::{self, Charts, PluginChooser};
use crate::cli::run::RunArgs;
use crate::object::ObjectKey;
use crate::plugin::registry::Registry;
use crate::telemetry::{SharedRegistry, register};

/// Charts that are fetched while the host runs, and whom to call when one has changed.
pub(super) fn charts(
    args: &RunArgs,
    plugins: &Arc<Registry>,
    registry: &SharedRegistry,
) -> (Arc<Charts>, mpsc::UnboundedReceiver<Vec<ObjectKey>>) {
    let options = charts::Options {
        cache_bytes: args.chart_cache_size.0,
        limits: charts::Limits { time: args.chart_fetch_timeout, ..charts::Limits::default() },
    };
    let mut metrics = charts::Metrics::default();
    register(registry, |registry| metrics = charts::Metrics::register(registry));
    let chooser = PluginChooser::new(Arc::clone(plugins), &args.cache_dir);
    charts::open(&args.cache_dir, options, Arc::new(chooser), metrics)
}
