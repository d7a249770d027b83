//! Wiring: from flags to a running host, and down again in order.

mod access;
mod announce;
mod configuration;
mod elsewhere;
mod handover;
mod lifecycle;
mod signal;

use std::sync::Arc;
use std::time::Duration;

use notify::RecursiveMode;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use access::{connect, identity, own_namespace};
use configuration::Configuration;
use signal::stop_signal;

use crate::action::inventory::Inventories;
use crate::asset::Asset;
use crate::cli::operator_sdk::{self, SettleError};
use crate::cli::run::RunArgs;
use crate::cluster::Cluster;
use crate::cluster::fence::Fence;
use crate::cluster::request::Api;
use crate::controller::discovery::Discovery;
use crate::controller::leader::{self, Leadership};
use crate::controller::metrics::{QueueCollector, QueueMetrics, WatchCollector};
use crate::controller::observe::{Observed, Observer};
use crate::controller::queue::{Options, Queue};
use crate::controller::reconcile::Reconciler;
use crate::controller::reconcile::metrics::ReconcileMetrics;
use crate::controller::reconcile::quarantine::Quarantine;
use crate::controller::supervisor::{Parts, Supervisor};
use crate::controller::watch::Watches;
use crate::disk::Changes;
use crate::handover::table::Handovers;
use crate::health::access::Gate;
use crate::health::tls::Certificate;
use crate::health::{Metrics, Protection, Readiness, serve_metrics, serve_probes};
use crate::plugin::bindings::INTERFACE;
use crate::plugin::compiled::CompiledCache;
use crate::plugin::compiler::Compiler;
use crate::plugin::engine::{Engine, EngineError, EngineOptions};
use crate::plugin::registry::{Change, Registry};
use crate::plugin::source::{Directory, Loader};
use crate::status::events::Recorder;
use crate::status::publish::Publisher;
use crate::telemetry::series::PluginMetrics;
use crate::telemetry::traces::{Traces, TracesError};
use crate::telemetry::{ClientMetrics, SharedRegistry, register, start_logging, tell_helm_operator};

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
    /// Flags that cannot be followed.
    #[error(transparent)]
    Flags(#[from] SettleError),
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
    /// Traces cannot be sent as asked.
    #[error(transparent)]
    Traces(#[from] TracesError),
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
            Self::Flags(SettleError::TokensInTheOpen) | Self::Traces(_) => 2,
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
pub fn run(mut args: RunArgs) -> Result<(), AppError> {
    crate::memory::rest::give_large_blocks_back();
    let idle = operator_sdk::settle(&mut args, &|name| std::env::var(name).ok())?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(AppError::Runtime)?;
    let traces = Traces::start(&args.traces, runtime.handle())?;
    let filter = args.log.as_deref().unwrap_or("info");
    start_logging(args.log_format.unwrap_or_default(), filter, traces.as_ref());
    for idle in idle {
        tracing::warn!("{idle}");
    }
    let result = runtime.block_on(host(args));
    if let Some(traces) = traces {
        // On this thread: the runtime's send the last batch.
        traces.finish();
    }
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// The registry of metrics, with what dashboards of operator-sdk's users look for.
fn series(config: &Configuration) -> SharedRegistry {
    let registry = SharedRegistry::default();
    if config.has_entries() {
        tell_helm_operator(&registry);
    }
    registry
}

/// Not ready until plugins were looked at.
fn waiting() -> Readiness {
    let readiness = Readiness::default();
    readiness.wait_for("plugins", "the first look at the plugin directory");
    readiness
}

async fn host(args: RunArgs) -> Result<(), AppError> {
    let config = Configuration::read(&args)?;
    let client = connect(&args).await?;
    let registry = series(&config);
    let readiness = waiting();
    let plugin_metrics = Arc::new(PluginMetrics::default());
    let mut tasks = JoinSet::new();
    let fence = Fence::default();
    let api = Api::new(client.clone(), ClientMetrics::register(&registry)).behind(fence.clone());
    let metrics = Metrics { registry: Arc::clone(&registry), plugins: Arc::clone(&plugin_metrics) };
    serve(&args, &readiness, (metrics, protection(&args, &api)?), &mut tasks).await?;

    let (cluster, observed) = cluster(&client, &api, &registry, &config.namespaces);
    let (plugins, changes) = Registry::new();
    let plugins = Arc::new(plugins);
    let behind = elsewhere::behind(&args, &plugins, &registry, &fence, &mut tasks).await?;
    let workers = args.max_concurrent_reconciles.unwrap_or_else(default_workers).max(1);
    let queue = queue(workers, &registry);
    let recorder = recorder(&api, &args, queue.clone());
    let events = recorder.clone();
    let pod = announce::own_pod(&args).map(|pod| (pod, recorder.clone()));
    let own_namespace = own_namespace(&args, &client);
    let lifecycle = lifecycle::lifecycle(&lifecycle::Parts {
        plugins: &plugins,
        granted: &config.grants,
        cluster: &cluster,
        recorder: &recorder,
        metrics: &plugin_metrics,
        egress: &behind.egress,
        namespace: &own_namespace,
        history: args.lifecycle_history,
        registry: &registry,
    });
    let reconciler = Arc::new(Reconciler {
        registry: Arc::clone(&plugins),
        cluster: Arc::clone(&cluster),
        publisher: Publisher::new(api.clone()),
        recorder,
        inventories: Inventories::new(api, &own_namespace),
        quarantine: Quarantine::default(),
        metrics: ReconcileMetrics::register(&registry),
        plugin_metrics,
        charts: behind.charts,
        egress: behind.egress,
        transfers: behind.transfers,
        commands: behind.commands,
        handovers: behind.handovers.clone(),
        lifecycle,
    });
    let supervisor = supervisor(&args, &config, reconciler, &queue, &readiness);

    tasks.spawn(named("rest", Arc::clone(&supervisor).give_back_at_rest()));
    tasks.spawn(named("routing", Arc::clone(&supervisor).route(observed)));
    let told = move |change: &Change| announce::announce(change, pod.as_ref());
    tasks.spawn(named("plugins", Arc::clone(&supervisor).follow_plugins(changes, told)));
    elsewhere::follow(&mut tasks, &supervisor, behind.news);
    follow_discovery(&mut tasks, &supervisor, Arc::clone(&cluster.discovery));
    load_plugins(&args, &config, plugins, &readiness, &mut tasks).await?;
    watch_assets(config.bind(&args, &supervisor), &supervisor, &mut tasks)?;
    let handovers = behind.handovers;
    Host { supervisor, queue, readiness, tasks, workers, fence, handovers, events }.work(&args, client).await
}

fn supervisor(
    args: &RunArgs,
    config: &Configuration,
    reconciler: Arc<Reconciler>,
    queue: &Queue,
    readiness: &Readiness,
) -> Arc<Supervisor> {
    let supervisor = Supervisor::new(Parts {
        observer: Arc::clone(&reconciler.cluster.observer),
        reconciler,
        queue: queue.clone(),
        readiness: readiness.clone(),
        namespaces: config.namespaces.clone(),
        resync: args.reconcile_period,
        plugin_qps: args.plugin_qps,
    });
    if config.grants.plugins.values().any(|grant| !grant.hooks.is_empty()) {
        // Whoever waits for a plugin that is not at work can be heard all the same.
        supervisor.bind(crate::lifecycle::binding(args.reconcile_period));
    }
    supervisor
}

/// The cluster, and what is observed in it.
fn cluster(
    client: &kube::Client,
    api: &Api,
    registry: &SharedRegistry,
    namespaces: &[String],
) -> (Arc<Cluster>, mpsc::UnboundedReceiver<Observed>) {
    let discovery = Arc::new(Discovery::new(client.clone()));
    register(registry, |registry| discovery.register(registry));
    let watches = Arc::new(Watches::new(client.clone(), Arc::clone(&discovery)));
    register(registry, |registry| WatchCollector::register(Arc::clone(&watches), registry));
    let (observer, observed) = Observer::new(watches, namespaces);
    (Arc::new(Cluster::new(api.clone(), discovery, Arc::new(observer))), observed)
}

/// So long a host that ends stays for the events of its last calls.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// A host that watches, and works once it leads.
struct Host {
    supervisor: Arc<Supervisor>,
    queue: Queue,
    readiness: Readiness,
    tasks: JoinSet<AppError>,
    workers: usize,
    fence: Fence,
    handovers: Option<Arc<Handovers>>,
    events: Recorder,
}

impl Host {
    /// Works from the moment it leads until it is told to stop, or cannot go on.
    async fn work(mut self, args: &RunArgs, client: kube::Client) -> Result<(), AppError> {
        let leadership = tokio::select! {
            leadership = lead(args, client, self.fence.clone()) => leadership,
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
        self.events.hurry();
        // Handovers as well before another replica works: nothing of this one's appears in a store afterwards.
        let drain = tokio::time::timeout(args.grace(), self.queue.drain());
        let (drained, ()) = tokio::join!(drain, handover::close(self.handovers.as_ref()));
        self.events.flush(LAST_EVENTS).await;
        if drained.is_err() {
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
async fn lead(args: &RunArgs, client: kube::Client, fence: Fence) -> Leadership {
    let Some(name) = args.lease() else { return leader::without_election() };
    let namespace = args.leader_election_namespace.clone().unwrap_or_else(|| own_namespace(args, &client));
    let lease = leader::kube_lease(client, &namespace, name);
    leader::acquire(lease, &leader::identity(&identity(args)), args.leader_timing, fence).await
}

/// What writes events, when the work that waits lets it.
fn recorder(api: &Api, args: &RunArgs, queue: Queue) -> Recorder {
    Recorder::start(api.clone(), &identity(args), move || queue.is_behind())
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

fn protection(args: &RunArgs, api: &Api) -> Result<Protection, AppError> {
    let failed = |error| AppError::Serve { what: "metrics", source: std::io::Error::other(error) };
    Ok(Protection {
        tls: args.metrics_secure.then(Certificate::of_ones_own).transpose().map_err(failed)?,
        gate: args.metrics_require_rbac.then(|| Arc::new(Gate::new(api.clone()))),
    })
}

/// Binds what is to be served before anything else happens: an address that is taken ends the start.
async fn serve(
    args: &RunArgs,
    readiness: &Readiness,
    (metrics, protection): (Metrics, Protection),
    tasks: &mut JoinSet<AppError>,
) -> Result<(), AppError> {
    let failed = |what| move |source| AppError::Serve { what, source };
    if let Some(listener) = args.probe_address().bind().await.map_err(failed("probes"))? {
        let probes = serve_probes(listener, readiness.clone());
        tasks.spawn(async move { serve_error("probes", probes.await) });
    }
    if let Some(listener) = args.metrics_address().bind().await.map_err(failed("metrics"))? {
        let metrics = serve_metrics(listener, metrics, protection);
        tasks.spawn(async move { serve_error("metrics", metrics.await) });
    }
    Ok(())
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
    let memory = args.compile_memory.map(|bytes| bytes.0);
    let compiler = Compiler::child_of_this_program(compile_threads(args), memory);
    let cache = CompiledCache::open(&args.cache_dir, compiler).with_prebuilt(&args.prebuilt_dir);
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

/// Knows what the cluster serves, and calls whoever waited for a kind.
fn follow_discovery(tasks: &mut JoinSet<AppError>, supervisor: &Arc<Supervisor>, discovery: Arc<Discovery>) {
    tasks.spawn(named("discovery", Arc::clone(&discovery).follow()));
    tasks.spawn(named("definitions", follow_definitions(Arc::clone(supervisor), discovery)));
}

async fn follow_definitions(supervisor: Arc<Supervisor>, discovery: Arc<Discovery>) {
    let mut changed = discovery.changed();
    while changed.changed().await.is_ok() {
        supervisor.requeue_waiting();
    }
}

/// Each takes memory, of which a pod has less than it has processors.
fn compile_threads(args: &RunArgs) -> usize {
    let there = || std::thread::available_parallelism().map_or(1, |n| n.get().min(2));
    args.compile_threads.unwrap_or_else(there).max(1)
}

/// A call waits for the API server most of its time, a list of a small cluster alone up to 100 ms (until the server's cache
/// is known to be up to date), so many more may be under way than there are processors.
fn default_workers() -> usize {
    std::thread::available_parallelism().map_or(8, |n| (8 + n.get() * 2).min(32))
}
