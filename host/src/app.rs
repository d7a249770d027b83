//! Wiring: from flags to a running host, and down again in order.

mod announce;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use notify::RecursiveMode;
use tokio::task::JoinSet;

use crate::action::inventory::Inventories;
use crate::asset::Asset;
use crate::binding::Binding;
use crate::capability::grants::{GrantSpec, GrantsFile};
use crate::capability::metrics::PluginMetrics;
use crate::cli::run::RunArgs;
use crate::cluster::Cluster;
use crate::cluster::request::Api;
use crate::controller::discovery::Discovery;
use crate::controller::leader::{self, Leadership, Timing};
use crate::controller::metrics::{QueueCollector, QueueMetrics, WatchCollector};
use crate::controller::observe::Observer;
use crate::controller::queue::{Options, Queue};
use crate::controller::reconcile::Reconciler;
use crate::controller::reconcile::metrics::ReconcileMetrics;
use crate::controller::reconcile::quarantine::Quarantine;
use crate::controller::supervisor::{Parts, Supervisor};
use crate::controller::watch::Watches;
use crate::disk::Changes;
use crate::health::{Metrics, Readiness, serve_metrics, serve_probes};
use crate::plugin::bindings::INTERFACE;
use crate::plugin::compiled::CompiledCache;
use crate::plugin::engine::{Engine, EngineError, EngineOptions};
use crate::plugin::registry::{Change, Registry};
use crate::plugin::source::{Directory, Loader};
use crate::status::events::Recorder;
use crate::status::publish::Publisher;
use crate::telemetry::{ClientMetrics, SharedRegistry, register, start_logging};
use crate::watches_file::{self, WatchEntry};

/// Why the host could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The async runtime did not start.
    #[error("cannot start: {0}")]
    Runtime(#[source] std::io::Error),
    /// No cluster to talk to.
    #[error("no cluster: {0}; give --kubeconfig, or run in a pod with a service account")]
    Cluster(String),
    /// A file of the configuration is wrong.
    #[error("{path}: {message}")]
    Config {
        /// The file.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// Nothing in the configuration can be worked on.
    #[error("nothing to do: {0}")]
    Nothing(String),
    /// No WebAssembly engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An address is taken.
    #[error("cannot serve {what}: {source}")]
    Serve {
        /// What was to be served.
        what: &'static str,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// Another instance holds the lease now.
    #[error("lost the leader lease")]
    LeaseLost,
    /// A part of the host that never ends did.
    #[error("a part of the host ended: {0}")]
    Ended(String),
}

impl AppError {
    /// The exit code, as `--help` lists them.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::LeaseLost => 3,
            _ => 1,
        }
    }
}

/// What `pilothouse version` prints.
pub fn version() -> String {
    format!("pilothouse {}\ninterface  {INTERFACE}\nengine     wasmtime 48\n", env!("CARGO_PKG_VERSION"))
}

/// Runs the host until SIGTERM or SIGINT.
///
/// # Errors
/// What kept it from starting, or what ended it.
pub fn run(args: RunArgs) -> Result<(), AppError> {
    start_logging(args.log_format, &args.log);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(AppError::Runtime)?;
    let result = runtime.block_on(host(args));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn host(args: RunArgs) -> Result<(), AppError> {
    let config = Configuration::read(&args)?;
    let client = connect(&args).await?;
    let registry = SharedRegistry::default();
    let readiness = Readiness::default();
    readiness.wait_for("plugins", "the first look at the plugin directory");
    let plugin_metrics = Arc::new(PluginMetrics::default());
    let mut tasks = JoinSet::new();
    serve(
        &args,
        &readiness,
        Metrics { registry: Arc::clone(&registry), plugins: Arc::clone(&plugin_metrics) },
        &mut tasks,
    );

    let api = Api::new(client.clone(), ClientMetrics::register(&registry));
    let discovery = Arc::new(Discovery::new(client.clone()));
    let watches = Arc::new(Watches::new(client.clone(), Arc::clone(&discovery)));
    register(&registry, |registry| WatchCollector::register(Arc::clone(&watches), registry));
    let (observer, observed) = Observer::new(watches, &config.namespaces);
    let observer = Arc::new(observer);
    let cluster = Arc::new(Cluster::new(api.clone(), Arc::clone(&discovery), Arc::clone(&observer)));
    let (plugins, changes) = Registry::new();
    let plugins = Arc::new(plugins);
    let recorder = Recorder::start(api.clone(), &identity(&args));
    let about_plugins = announce::own_pod(&args).map(|pod| (pod, recorder.clone()));
    let reconciler = Arc::new(Reconciler {
        registry: Arc::clone(&plugins),
        cluster,
        publisher: Publisher::new(api.clone()),
        recorder,
        inventories: Inventories::new(api, args.pod_namespace.as_deref().unwrap_or("default")),
        quarantine: Quarantine::default(),
        metrics: ReconcileMetrics::register(&registry),
        plugin_metrics,
    });
    let workers = args.max_concurrent_reconciles.unwrap_or_else(default_workers).max(1);
    let queue = queue(workers, &registry);
    let supervisor = Supervisor::new(Parts {
        reconciler,
        queue: queue.clone(),
        observer,
        readiness: readiness.clone(),
        namespaces: config.namespaces.clone(),
        resync: args.reconcile_period,
    });

    tasks.spawn(named("routing", Arc::clone(&supervisor).route(observed)));
    let told = move |change: &Change| announce::announce(change, about_plugins.as_ref());
    tasks.spawn(named("plugins", Arc::clone(&supervisor).follow_plugins(changes, told)));
    tasks.spawn(named("discovery", Arc::clone(&discovery).follow()));
    tasks.spawn(named("definitions", follow_definitions(Arc::clone(&supervisor), discovery)));
    load_plugins(&args, &config, plugins, &readiness, &mut tasks).await?;
    let assets = config.bind(&args, &supervisor);
    watch_assets(assets, &supervisor, &mut tasks)?;
    let host = Host { supervisor, queue, readiness, tasks, workers };
    host.work(&args, client).await
}

/// A host that watches, and works once it leads.
struct Host {
    supervisor: Arc<Supervisor>,
    queue: Queue,
    readiness: Readiness,
    tasks: JoinSet<AppError>,
    workers: usize,
}

impl Host {
    /// Works from the moment it leads until it is told to stop, or cannot go on.
    async fn work(mut self, args: &RunArgs, client: kube::Client) -> Result<(), AppError> {
        let leadership = tokio::select! {
            leadership = lead(args, client) => leadership,
            () = stop_signal() => return Ok(()),
            error = ended(&mut self.tasks) => return Err(error),
        };
        for _ in 0..self.workers {
            tokio::spawn(Arc::clone(&self.supervisor).work());
        }
        let result = tokio::select! {
            () = stop_signal() => Ok(()),
            // Another replica may work from now on: nothing is waited for.
            () = leadership.lost() => return Err(AppError::LeaseLost),
            error = ended(&mut self.tasks) => Err(error),
        };
        self.readiness.drain();
        tracing::info!("shutting down: calls under way may end");
        if tokio::time::timeout(args.grace_period, self.queue.drain()).await.is_err() {
            // Their writes may still come: the lease is not given back, it runs out.
            tracing::warn!("calls under way did not end in time; the next start finishes their work");
        } else {
            leadership.release().await;
        }
        result
    }
}

async fn ended(tasks: &mut JoinSet<AppError>) -> AppError {
    match tasks.join_next().await {
        Some(ended) => ended.unwrap_or_else(|error| AppError::Ended(error.to_string())),
        None => std::future::pending().await,
    }
}

/// Waits for the lease, where replicas compete for it.
async fn lead(args: &RunArgs, client: kube::Client) -> Leadership {
    if !args.leader_elect {
        return leader::without_election();
    }
    let namespace =
        args.leader_election_namespace.as_deref().or(args.pod_namespace.as_deref()).unwrap_or("default");
    let lease = leader::kube_lease(client, namespace, &args.leader_election_id);
    leader::acquire(lease, &leader::identity(&identity(args)), Timing::default()).await
}

/// One lane may hold most workers, never all: a plugin that only waits must not stop the others.
fn queue(workers: usize, registry: &SharedRegistry) -> Queue {
    let mut metrics = Arc::default();
    register(registry, |registry| metrics = QueueMetrics::register(registry));
    let options = Options { lane_concurrency: (workers * 3 / 4).max(1), ..Options::default() };
    let queue = Queue::new(&options, metrics);
    register(registry, |registry| QueueCollector::register(queue.clone(), registry));
    queue
}

/// A task that should never end, with the error it amounts to when it does.
async fn named(name: &'static str, task: impl Future<Output = ()>) -> AppError {
    task.await;
    AppError::Ended(name.to_owned())
}

fn serve(args: &RunArgs, readiness: &Readiness, metrics: Metrics, tasks: &mut JoinSet<AppError>) {
    if let Some(address) = args.health_probe_bind_address.0 {
        let probes = serve_probes(address, readiness.clone());
        tasks.spawn(async move { serve_error("probes", probes.await) });
    }
    if let Some(address) = args.metrics_bind_address.0 {
        tasks.spawn(async move { serve_error("metrics", serve_metrics(address, metrics).await) });
    }
}

fn serve_error(what: &'static str, result: std::io::Result<()>) -> AppError {
    match result {
        Ok(()) => AppError::Ended(what.to_owned()),
        Err(source) => AppError::Serve { what, source },
    }
}

async fn load_plugins(
    args: &RunArgs,
    config: &Configuration,
    registry: Arc<Registry>,
    readiness: &Readiness,
    tasks: &mut JoinSet<AppError>,
) -> Result<(), AppError> {
    let engine = Engine::new(EngineOptions::default())?;
    let cache = CompiledCache::open(&args.cache_dir);
    let loader = Loader {
        engine,
        cache,
        grants: Arc::clone(&config.grants),
        grant_requested: args.grant_requested,
        registry,
    };
    for path in &args.plugin_dir {
        let mut directory = Directory::new(path, loader.clone());
        directory.scan().await.map_err(|error| AppError::Config {
            path: path.display().to_string(),
            message: format!("the plugin directory cannot be read: {error}"),
        })?;
        let path = path.clone();
        tasks.spawn(async move {
            match directory.watch().await {
                Ok(()) => AppError::Ended("the watch of the plugin directory".to_owned()),
                Err(error) => {
                    AppError::Config { path: path.display().to_string(), message: error.to_string() }
                }
            }
        });
    }
    readiness.done("plugins");
    Ok(())
}

/// Charts and other trees: a saved file re-renders what is made of it.
fn watch_assets(
    assets: Vec<Arc<Asset>>,
    supervisor: &Arc<Supervisor>,
    tasks: &mut JoinSet<AppError>,
) -> Result<(), AppError> {
    for asset in assets {
        let path = asset.path.clone();
        let changes = Changes::watch(&path, RecursiveMode::Recursive).map_err(|error| AppError::Config {
            path: path.display().to_string(),
            message: error.to_string(),
        })?;
        tasks.spawn(named("the watch of a chart", follow_asset(asset, changes, Arc::clone(supervisor))));
    }
    Ok(())
}

async fn follow_asset(asset: Arc<Asset>, mut changes: Changes, supervisor: Arc<Supervisor>) {
    while changes.settled().await {
        let looked = Arc::clone(&asset);
        if tokio::task::spawn_blocking(move || looked.refresh()).await.unwrap_or(false) {
            tracing::info!(asset = %asset.path.display(), "changed on disk; what is made of it is reconciled again");
            supervisor.requeue_asset(&asset);
        }
    }
}

async fn follow_definitions(supervisor: Arc<Supervisor>, discovery: Arc<Discovery>) {
    let mut changed = discovery.changed();
    while changed.changed().await.is_ok() {
        supervisor.requeue_waiting();
    }
}

async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

async fn connect(args: &RunArgs) -> Result<kube::Client, AppError> {
    let cluster = |error: &dyn std::error::Error| AppError::Cluster(error.to_string());
    let options = KubeConfigOptions { context: args.cluster.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match (&args.cluster.kubeconfig, &options.context) {
        (Some(path), _) => {
            let file = Kubeconfig::read_from(path).map_err(|error| cluster(&error))?;
            kube::Config::from_custom_kubeconfig(file, &options).await.map_err(|error| cluster(&error))?
        }
        (None, Some(_)) => kube::Config::from_kubeconfig(&options).await.map_err(|error| cluster(&error))?,
        (None, None) => kube::Config::infer().await.map_err(|error| cluster(&error))?,
    };
    // A write that timed out may have happened: who sent it decides what that means, not the transport.
    config.default_retry = false;
    kube::Client::try_from(config).map_err(|error| cluster(&error))
}

fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(4, |n| n.get() * 2)
}

/// Who this instance is, in leases and events.
fn identity(args: &RunArgs) -> String {
    args.pod_name.clone().unwrap_or_else(|| {
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        format!("{}-{}", hostname.trim(), std::process::id())
    })
}

/// What the files of the configuration say.
struct Configuration {
    grants: Arc<GrantsFile>,
    entries: Vec<WatchEntry>,
    namespaces: Vec<String>,
}

impl Configuration {
    fn read(args: &RunArgs) -> Result<Self, AppError> {
        let mut grants = match &args.grants {
            Some(path) => read_grants(path)?,
            None => GrantsFile::default(),
        };
        let entries = match watches_path(args) {
            Some(path) => read_watches(&path)?,
            None => Vec::new(),
        };
        if !entries.is_empty() && !grants.plugins.contains_key(&args.watches_plugin) {
            // As operator-sdk has it: whoever names the charts lets the operator's account install them.
            tracing::info!(
                plugin = args.watches_plugin,
                "the watches file grants the plugin what it asks for, within the RBAC of the host's account"
            );
            let spec = GrantSpec { all_requested: true, ..GrantSpec::default() };
            grants.plugins.insert(args.watches_plugin.clone(), spec);
        }
        let namespaces =
            args.namespace.iter().map(|ns| ns.trim().to_owned()).filter(|ns| !ns.is_empty()).collect();
        Ok(Self { grants: Arc::new(grants), entries, namespaces })
    }

    /// Binds the kinds of the watches file; the answer is the trees to be watched.
    fn bind(&self, args: &RunArgs, supervisor: &Arc<Supervisor>) -> Vec<Arc<Asset>> {
        let mut assets = Vec::new();
        let manifest = supervisor.manifest_of(&args.watches_plugin);
        if manifest.is_none() && !self.entries.is_empty() {
            tracing::error!(
                plugin = args.watches_plugin,
                "the plugin for the watches file is not there yet; its kinds wait for it"
            );
        }
        for entry in &self.entries {
            let asset = Arc::new(Asset::new("chart", &entry.chart));
            assets.push(Arc::clone(&asset));
            supervisor.bind(Binding {
                plugin: Arc::from(args.watches_plugin.as_str()),
                gvk: Arc::new(entry.gvk.clone()),
                selector: entry.selector.clone(),
                settings: Arc::from(entry.settings.to_string()),
                assets: vec![asset],
                finalizer: manifest
                    .as_ref()
                    .and_then(|manifest| manifest.finalizer.as_deref())
                    .map(Arc::from),
                legacy_finalizers: manifest
                    .as_ref()
                    .map(|manifest| manifest.legacy_finalizers.clone())
                    .unwrap_or_default(),
                resync: entry.reconcile_period.unwrap_or(args.reconcile_period),
                origin: entry.origin.clone(),
            });
        }
        assets
    }
}

fn watches_path(args: &RunArgs) -> Option<PathBuf> {
    let default = Path::new("watches.yaml");
    args.watches_file.clone().or_else(|| default.is_file().then(|| default.to_owned()))
}

fn read_watches(path: &Path) -> Result<Vec<WatchEntry>, AppError> {
    let text = read_text(path)?;
    let (entries, errors) = watches_file::parse(path, &text, &|name| std::env::var(name).ok());
    for error in &errors {
        tracing::error!(%error, "entry of the watches file left out; the others are watched");
    }
    if let (true, Some(first)) = (entries.is_empty(), errors.first()) {
        return Err(AppError::Nothing(first.to_string()));
    }
    Ok(entries)
}

fn read_grants(path: &Path) -> Result<GrantsFile, AppError> {
    let text = read_text(path)?;
    serde_saphyr::from_str(&text)
        .map_err(|error| AppError::Config { path: path.display().to_string(), message: error.to_string() })
}

fn read_text(path: &Path) -> Result<String, AppError> {
    std::fs::read_to_string(path)
        .map_err(|error| AppError::Config { path: path.display().to_string(), message: error.to_string() })
}
