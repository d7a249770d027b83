//! Which kinds the cluster serves, and where: kind ↔ resource, kept until a definition changes.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::cluster::path::Resource;
use crate::object::Gvk;

/// A miss asks the API server again, but not more often than this.
const MISS_INTERVAL: Duration = Duration::from_secs(1);
/// Several definitions usually change together: they are read once.
const SETTLE: Duration = Duration::from_millis(200);
/// How often kinds are looked up again where definitions cannot be watched.
const POLL: Duration = Duration::from_secs(30);

/// Why a kind has no resource.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The cluster does not serve it (yet).
    #[error("the cluster does not serve the kind {0}")]
    Unknown(Gvk),
    /// The API server could not be asked.
    #[error("the kinds of the cluster cannot be read: {0}")]
    Unavailable(#[source] Box<kube::Error>),
}

/// A kind that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Kind, plural and scope.
    pub resource: Arc<Resource>,
    /// Whether its version is the preferred one of its group.
    pub preferred: bool,
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

#[derive(Debug, Default)]
struct Known {
    served: Arc<Vec<Served>>,
    by_kind: HashMap<Gvk, Arc<Resource>>,
    read_at: Option<Instant>,
    version: Option<Version>,
}

/// The kinds of the cluster.
pub struct Discovery {
    client: kube::Client,
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
        Self {
            client,
            known: RwLock::default(),
            reading: tokio::sync::Mutex::default(),
            generation: watch::Sender::new(0),
        }
    }

    /// The resource of a kind. A kind that is not known is looked up again, at most once a second.
    ///
    /// # Errors
    /// When the cluster does not serve the kind, or cannot be asked.
    pub async fn resolve(&self, gvk: &Gvk) -> Result<Arc<Resource>, DiscoveryError> {
        if let Some(resource) = self.lookup(gvk) {
            return Ok(resource);
        }
        let _one = self.reading.lock().await;
        if let Some(resource) = self.lookup(gvk) {
            return Ok(resource);
        }
        let fresh = self.read(|known| known.read_at).is_some_and(|at| at.elapsed() < MISS_INTERVAL);
        if !fresh {
            self.refresh().await?;
        }
        self.lookup(gvk).ok_or_else(|| DiscoveryError::Unknown(gvk.clone()))
    }

    /// Every kind that is served.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn served(&self) -> Result<Arc<Vec<Served>>, DiscoveryError> {
        let _one = self.reading.lock().await;
        if self.read(|known| known.read_at).is_none() {
            self.refresh().await?;
        }
        Ok(self.read(|known| Arc::clone(&known.served)))
    }

    /// The API server's version, read with the kinds.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn version(&self) -> Result<Version, DiscoveryError> {
        if let Some(version) = self.read(|known| known.version.clone()) {
            return Ok(version);
        }
        self.read_version().await
    }

    /// A number that moves whenever the set of kinds did.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// Follows definitions for ever. Where they cannot be watched (no right), asks from time to time.
    pub async fn follow(self: Arc<Self>) {
        let definitions = kube::Api::<PartialObjectMeta<CustomResourceDefinition>>::all(self.client.clone());
        let mut events = watcher(definitions, watcher::Config::default()).default_backoff().boxed();
        loop {
            // Any event means: look again. Errors come with the stream's back-off between them.
            match tokio::time::timeout(POLL, events.next()).await {
                Ok(None) => return,
                Ok(Some(Err(error))) => {
                    tracing::debug!(%error, "definitions cannot be watched");
                    tokio::time::sleep(SETTLE).await;
                    continue;
                }
                Ok(Some(Ok(_))) => while tokio::time::timeout(SETTLE, events.next()).await.is_ok() {},
                Err(_) => {}
            }
            let _one = self.reading.lock().await;
            if let Err(error) = self.refresh().await {
                tracing::debug!(%error, "kinds not read");
            }
        }
    }

    fn lookup(&self, gvk: &Gvk) -> Option<Arc<Resource>> {
        self.read(|known| known.by_kind.get(gvk).cloned())
    }

    fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Two requests (aggregated discovery). A group whose server is down is simply not in the answer.
    async fn refresh(&self) -> Result<(), DiscoveryError> {
        let unavailable = |error: kube::Error| DiscoveryError::Unavailable(Box::new(error));
        let core = self.client.list_core_api_versions_aggregated().await.map_err(unavailable)?;
        let groups = self.client.list_api_groups_aggregated().await.map_err(unavailable)?;
        let mut served = Vec::new();
        for group in core.items.iter().chain(&groups.items) {
            let name =
                group.metadata.as_ref().and_then(|metadata| metadata.name.as_deref()).unwrap_or_default();
            // The first version of a group is the preferred one.
            for (index, version) in group.versions.iter().enumerate() {
                let version_name = version.version.as_deref().unwrap_or_default();
                for resource in &version.resources {
                    let (Some(plural), Some(kind)) = (&resource.resource, &resource.response_kind) else {
                        continue;
                    };
                    let kind_name = kind.kind.as_deref().unwrap_or_default();
                    let gvk = Gvk::new(name, version_name, kind_name);
                    let namespaced = resource.scope.as_deref() == Some("Namespaced");
                    let resource = Arc::new(Resource { gvk, plural: plural.clone(), namespaced });
                    served.push(Served { resource, preferred: index == 0 });
                }
            }
        }
        self.keep(served);
        self.read_version().await.map(drop)
    }

    fn keep(&self, served: Vec<Served>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.read_at = Some(Instant::now());
        if *known.served != served {
            // The first resource of a kind is the main one (`Scale` and the like come as subresources).
            let mut by_kind = HashMap::new();
            for entry in &served {
                by_kind.entry(entry.resource.gvk.clone()).or_insert_with(|| Arc::clone(&entry.resource));
            }
            known.by_kind = by_kind;
            known.served = Arc::new(served);
            drop(known);
            self.generation.send_modify(|generation| *generation += 1);
        }
    }

    async fn read_version(&self) -> Result<Version, DiscoveryError> {
        let info = self
            .client
            .apiserver_version()
            .await
            .map_err(|error| DiscoveryError::Unavailable(Box::new(error)))?;
        let version = Version { major: info.major, minor: info.minor, git_version: info.git_version };
        self.known.write().unwrap_or_else(PoisonError::into_inner).version = Some(version.clone());
        Ok(version)
    }
}
