//! Charts from elsewhere for a command: fetched while the person waits, and kept where the next command finds them.

use std::sync::Arc;

use super::{AskError, CommandArgs, Session, plugin_file, revision};
use crate::charts::{self, Charts, Limits, Metrics, Options, PluginChooser};
use crate::plugin::engine::Engine;
use crate::plugin::registry::Registry;

/// Bytes of archives that are kept.
const KEPT: u64 = 256 << 20;

impl Session {
    /// Opens the charts that commands about objects may wish for. They come while [`wait`](Session::wait) waits.
    ///
    /// # Errors
    /// When the plugin cannot say which version of a chart is meant.
    pub fn charts(&self, args: &CommandArgs) -> Result<Arc<Charts>, AskError> {
        // One of its own: the other one answers the person.
        let chooser = revision(&Engine::single()?, &args.into(), false)?;
        let (registry, _) = Registry::new();
        let plugin = chooser.identity.to_string();
        registry
            .activate(chooser, "the command line")
            .map_err(|source| AskError::Revision { path: plugin, source })?;
        let directory = plugin_file::cache_dir(args.cache_dir.as_deref());
        let chooser = PluginChooser::new(Arc::new(registry), &directory);
        let options = Options { cache_bytes: KEPT, limits: Limits::default() };
        let open = async { charts::open(&directory, options, Arc::new(chooser), Metrics::default()) };
        let (charts, _) = self.wait(open);
        Ok(charts)
    }
}
