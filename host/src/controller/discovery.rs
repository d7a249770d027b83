//! Which kinds the cluster serves, and where: kind ↔ resource, kept until a definition changes.
//!
//! Kinds are read from aggregated discovery (Kubernetes 1.27 and later): two requests, whatever the number of groups.
//! They are read again when a CustomResourceDefinition or an APIService changes, when somebody asks for a kind that is
//! not known (at most once a second), and from time to time in any case.

mod follow;
mod served;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::cluster::path::Resource;
use crate::object::Gvk;

pub use served::Served;
use served::{Kinds, read};

/// A miss asks the API server again, but not more often than this.
const MISS_INTERVAL: Duration = Duration::from_secs(1);
/// How old the server's version may be when somebody asks for it.
const VERSION_AGE: Duration = Duration::from_secs(300);

/// Why a kind has no resource.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The cluster does not serve it (yet).
    #[error("the cluster does not serve the kind {0}")]
    Unknown(Gvk),
    /// The API server could not be asked.
    #[error("the kinds of the cluster cannot be read: {0}")]
    Unavailable(#[source] Box<kube::Error>),
    /// The API server is too old.
    #[error("the API server does not offer aggregated discovery: Kubernetes 1.27 or later is needed")]
    NotAggregated,
}

/// The API server's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// `1`.
    pub major: String,
    /// `34`, on some clouds with a `+`.
    pub minor: String,
    /// `v1.34.4`.
    pub git_version: String,
}

impl Version {
    /// Whether it is this version or a later one. Versions that are no numbers are not.
    pub fn is_at_least(&self, major: u32, minor: u32) -> bool {
        let number = |text: &str| {
            let digits = text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            digits.parse::<u32>().ok()
        };
        let own = number(&self.major).zip(number(&self.minor));
        own.is_some_and(|own| own >= (major, minor))
    }
}

#[derive(Debug, Default)]
struct Known {
    kinds: Kinds,
    read_at: Option<Instant>,
    version: Option<(Version, Instant)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DefinitionLabels {
    resource: &'static str,
}

/// Whether definitions are watched, or only read from time to time.
#[derive(Clone, Debug, Default)]
struct DefinitionMetrics {
    up: Family<DefinitionLabels, Gauge>,
}

impl DefinitionMetrics {
    fn set(&self, resource: &'static str, up: bool) {
        self.up.get_or_create(&DefinitionLabels { resource }).set(i64::from(up));
    }

    #[cfg(test)]
    fn is_up(&self, resource: &'static str) -> bool {
        self.up.get_or_create(&DefinitionLabels { resource }).get() == 1
    }
}

/// The kinds of the cluster.
pub struct Discovery {
    client: kube::Client,
    definitions: DefinitionMetrics,
    known: RwLock<Known>,
    /// One reader at a time; the others find what it found.
    reading: tokio::sync::Mutex<()>,
    generation: watch::Sender<u64>,
}

impl std::fmt::Debug for Discovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discovery").field("generation", &*self.generation.borrow()).finish_non_exhaustive()
    }
}

impl Discovery {
    /// Knows nothing yet; the first question reads.
    pub fn new(client: kube::Client) -> Self {
        let generation = watch::Sender::new(0);
        let definitions = DefinitionMetrics::default();
        Self {
            client,
            definitions,
            known: RwLock::default(),
            reading: tokio::sync::Mutex::default(),
            generation,
        }
    }

    /// Registers `pilothouse_definition_watch_up`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "pilothouse_definition_watch_up",
            "Whether definitions of kinds are watched (1) or only read every half minute (0)",
            self.definitions.up.clone(),
        );
    }

    /// The resource of a kind. A kind that is not known is looked up again, at most once a second.
    ///
    /// # Errors
    /// When the cluster does not serve the kind, or cannot be asked.
    pub async fn resolve(&self, gvk: &Gvk) -> Result<Arc<Resource>, DiscoveryError> {
        let lookup = || self.known(|known| known.kinds.of(gvk).map(|served| Arc::clone(&served.resource)));
        if let Some(resource) = lookup() {
            return Ok(resource);
        }
        self.refresh_unless_read_within(MISS_INTERVAL).await?;
        lookup().ok_or_else(|| DiscoveryError::Unknown(gvk.clone()))
    }

    /// Whether a kind that is known can be asked so (`watch`, `list`, `patch`). Asks nobody.
    pub fn supports(&self, gvk: &Gvk, verb: &str) -> bool {
        self.known(|known| known.kinds.of(gvk).is_some_and(|served| served.supports(verb)))
    }

    /// Every kind that is served.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn served(&self) -> Result<Arc<Vec<Served>>, DiscoveryError> {
        self.refresh_unless_read_within(Duration::MAX).await?;
        Ok(self.known(|known| Arc::clone(&known.kinds.served)))
    }

    /// The API server's version, some minutes old at most where the server answers.
    ///
    /// # Errors
    /// When no version is known and the cluster cannot be asked.
    pub async fn version(&self) -> Result<Version, DiscoveryError> {
        let known = self.known(|known| known.version.clone());
        match known {
            Some((version, read_at)) if read_at.elapsed() < VERSION_AGE => Ok(version),
            Some((version, _)) => Ok(self.read_version().await.unwrap_or(version)),
            None => self.read_version().await,
        }
    }

    /// A number that moves whenever the set of kinds did.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// A kind that is known turned out not to be served: reads again, at most once a second. Errors show when the kind
    /// is resolved next.
    pub async fn look_again(&self) {
        if let Err(error) = self.refresh_unless_read_within(MISS_INTERVAL).await {
            tracing::debug!(%error, "kinds not read");
        }
    }

    async fn refresh_unless_read_within(&self, age: Duration) -> Result<(), DiscoveryError> {
        let is_fresh = || self.known(|known| known.read_at).is_some_and(|at| at.elapsed() < age);
        if is_fresh() {
            return Ok(());
        }
        let _one = self.reading.lock().await;
        if is_fresh() { Ok(()) } else { self.read_kinds().await }
    }

    async fn refresh(&self) -> Result<(), DiscoveryError> {
        let _one = self.reading.lock().await;
        self.read_kinds().await
    }

    /// Two requests. Only under the lock `reading`.
    async fn read_kinds(&self) -> Result<(), DiscoveryError> {
        let unavailable = |error: kube::Error| DiscoveryError::Unavailable(Box::new(error));
        let core = self.client.list_core_api_versions_aggregated().await.map_err(unavailable)?;
        // An old server answers with a document of another kind, in which nothing is found.
        if core.items.is_empty() {
            return Err(DiscoveryError::NotAggregated);
        }
        let groups = self.client.list_api_groups_aggregated().await.map_err(unavailable)?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.read_at = Some(Instant::now());
        let kinds = read(core.items.iter().chain(&groups.items), &known.kinds);
        if known.kinds.served == kinds.served {
            return Ok(());
        }
        known.kinds = kinds;
        drop(known);
        self.generation.send_modify(|generation| *generation += 1);
        Ok(())
    }

    async fn read_version(&self) -> Result<Version, DiscoveryError> {
        let info = self.client.apiserver_version().await;
        let info = info.map_err(|error| DiscoveryError::Unavailable(Box::new(error)))?;
        let version = Version { major: info.major, minor: info.minor, git_version: info.git_version };
        let read = Some((version.clone(), Instant::now()));
        self.known.write().unwrap_or_else(PoisonError::into_inner).version = read;
        Ok(version)
    }

    fn known<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_clouds_compare_like_others() {
        let version = |minor: &str| Version {
            major: "1".to_owned(),
            minor: minor.to_owned(),
            git_version: String::new(),
        };
        assert!(version("34").is_at_least(1, 34) && version("34+").is_at_least(1, 34));
        assert!(!version("33").is_at_least(1, 34) && !version("").is_at_least(1, 0));
    }
}
