//! Charts that lie elsewhere, for hooks that never wait for the network: what they wish for is fetched in the background, once
//! for all who wish for the same, and kept on disk under its digest.
//!
//! [`Charts`] is the table of wishes and what they came to; `fetch` is one attempt, `cache` the disk, `pace` when to try,
//! `places` what may be reached, `secret` credentials.

mod cache;
mod fetch;
mod pace;
pub mod places;
mod plugin;
pub mod secret;
mod table;
pub mod wish;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

pub use cache::CacheError;
pub use fetch::{Chooser, Limits};
pub use plugin::PluginChooser;
pub use table::{Charts, Metrics, Standing, Trouble};
pub use wish::{Resolution, Wish, WishError};

use crate::object::ObjectKey;
use cache::Cache;

/// What the operator of the host sets.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes of archives that are kept.
    pub cache_bytes: u64,
    /// What one attempt may take.
    pub limits: Limits,
}

/// Opens the table over a cache directory. Whoever has to be called because something changed is told by the receiver, all of
/// one wish together.
pub fn open(
    cache_dir: &Path,
    options: Options,
    chooser: Arc<dyn Chooser>,
    metrics: Metrics,
) -> (Arc<Charts>, mpsc::UnboundedReceiver<Vec<ObjectKey>>) {
    let cache = Cache::open(cache_dir, options.cache_bytes);
    if let Err(error) = &cache {
        tracing::warn!(%error, "charts from elsewhere cannot be kept, so none are fetched");
    }
    let network = fetch::Network { chooser, limits: options.limits };
    Charts::new(cache.map_err(|error| error.to_string()), Box::new(network), metrics)
}

/// What one hook call wished for and was handed.
#[derive(Debug, Default)]
pub struct CallWishes {
    /// Keys of the wishes.
    pub wished: HashSet<wish::Key>,
    /// Digests of archives that it may read.
    pub handed: HashSet<String>,
}

/// How often a range is resolved when nobody says.
pub const INTERVAL: Duration = Duration::from_secs(600);
