//! A plugin at the command line: found, compiled once, asked one question.

pub(crate) mod context;
mod elsewhere;
mod known;
mod plugin_file;

use std::cell::Cell;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::Value;

use crate::asset::{Asset, Links, MAX_BYTES};
use crate::blob;
use crate::capability::grants::{GrantSpec, Grants};
use crate::capability::rule::Rule;
use crate::chart_source::{LocateError, Located};
use crate::charts::Charts;
use crate::charts::places::Place;
use crate::cluster::Cluster;
use crate::cluster::kubeconfig::ClusterArgs;
use crate::object::Owner;
use crate::plugin::bindings::{CommandAnswer, Invocation};
use crate::plugin::command::{self, CommandError, CommandInstance};
use crate::plugin::compiled::CompiledCache;
use crate::plugin::compiler::Compiler;
use crate::plugin::engine::{Engine, EngineError, EngineOptions};
use crate::plugin::package::{Package, PackageError};
use crate::plugin::revision::{Revision, RevisionError};
use known::Stamp;

/// Which plugin answers, and where it is compiled.
#[derive(Clone, Debug, Default, Args)]
pub struct CommandArgs {
    /// The Helm plugin. Default: helm.wasm in /plugins, beside this program, or in ~/.local/share/pilothouse/plugins.
    #[arg(long = "helm-plugin", env = "PILOTHOUSE_HELM_PLUGIN", value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// Directory for the compiled plugin. Default: ~/.cache/pilothouse.
    #[arg(long = "cache-dir", env = "PILOTHOUSE_CACHE_DIR", value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
}

/// Where the backup plugin is, and where it is compiled.
#[derive(Clone, Debug, Default, Args)]
pub struct BackupCommandArgs {
    /// The backup plugin. Default: backup.wasm in /plugins, beside this program, or in ~/.local/share/pilothouse/plugins.
    #[arg(long = "backup-plugin", env = "PILOTHOUSE_BACKUP_PLUGIN", value_name = "FILE")]
    pub plugin: Option<PathBuf>,
    /// Directory for the compiled plugin. Default: ~/.cache/pilothouse.
    #[arg(long = "cache-dir", env = "PILOTHOUSE_CACHE_DIR", value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
}

/// A plugin that answers people.
#[derive(Clone, Debug)]
pub struct Respondent {
    name: &'static str,
    file: &'static str,
    flag: &'static str,
    given: Option<PathBuf>,
    cache_dir: Option<PathBuf>,
}

impl From<&CommandArgs> for Respondent {
    fn from(args: &CommandArgs) -> Self {
        let CommandArgs { plugin: given, cache_dir } = args.clone();
        Self { name: "Helm", file: "helm.wasm", flag: "helm-plugin", given, cache_dir }
    }
}

impl From<&BackupCommandArgs> for Respondent {
    fn from(args: &BackupCommandArgs) -> Self {
        let BackupCommandArgs { plugin: given, cache_dir } = args.clone();
        Self { name: "backup", file: "backup.wasm", flag: "backup-plugin", given, cache_dir }
    }
}

/// A file or directory that the person named, under the name by which the plugin asks for it.
#[derive(Clone, Debug)]
pub struct PersonFile {
    asset: String,
    path: PathBuf,
    /// What was fetched stays until it was read.
    _fetched: Option<Arc<Located>>,
}

impl PersonFile {
    /// A file, by a path or `-` for standard input. What can be read only once (a pipe) is read now.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn at(asset: &str, path: &str) -> Result<Self, LocateError> {
        let path = if path.trim() == "-" { "/dev/stdin" } else { path };
        let once = std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        if once {
            let mut bytes = Vec::new();
            let read = std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
            if u64::try_from(read).unwrap_or(u64::MAX) > MAX_BYTES {
                return Err(std::io::Error::other(format!("{path}: more than {MAX_BYTES} bytes")).into());
            }
            return Ok(Self::fetched(asset, Located::fetched("values.yaml", &bytes)?));
        }
        Ok(Self { asset: asset.to_owned(), path: PathBuf::from(path), _fetched: None })
    }

    /// A file that was fetched.
    pub fn fetched(asset: &str, file: Located) -> Self {
        let path = file.path().to_owned();
        Self { asset: asset.to_owned(), path, _fetched: Some(Arc::new(file)) }
    }

    /// A directory or an archive.
    pub fn tree(asset: &str, path: &Path) -> Self {
        Self { asset: asset.to_owned(), path: path.to_owned(), _fetched: None }
    }
}

/// One question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Name of the plugin's command.
    pub command: &'static str,
    /// Its options.
    pub options: Value,
    /// What the person named.
    pub files: Vec<PersonFile>,
    /// Where files go.
    pub output_dir: Option<PathBuf>,
    /// The cluster that may be read; none: no cluster.
    pub cluster: Option<ClusterArgs>,
    /// Tell more.
    pub debug: bool,
}

impl Question {
    /// Sets an option.
    pub fn set(&mut self, name: &str, value: Value) {
        if let Value::Object(options) = &mut self.options {
            options.insert(name.to_owned(), value);
        }
    }
}

/// An object that the plugin reconciles, for commands that tell what it would do.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The object.
    pub owner: Owner,
    /// Settings of its kind, JSON.
    pub settings: Arc<str>,
    /// Charts that may be wished for, and the places they may come from; none: all there is are files.
    pub charts: Option<(Arc<Charts>, Vec<Place>)>,
}

/// Why the plugin could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No plugin.
    #[error("no {name} plugin: there is none in {}; give one with --{flag} or PILOTHOUSE_{}", places.join(", "), variable(flag))]
    NoPlugin {
        /// What it is called.
        name: &'static str,
        /// By which flag it is named.
        flag: &'static str,
        /// Where it was looked for.
        places: Vec<String>,
    },
    /// The plugin cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// The file is no plugin of this host.
    #[error("{path}: {source}")]
    Package {
        /// The file.
        path: String,
        /// What is wrong.
        #[source]
        source: PackageError,
    },
    /// It does not become a revision.
    #[error("{path}: {source}")]
    Revision {
        /// The file.
        path: String,
        /// What is wrong.
        #[source]
        source: RevisionError,
    },
    /// No WebAssembly engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The async runtime did not start.
    #[error("cannot start: {0}")]
    Runtime(#[source] std::io::Error),
    /// No cluster.
    #[error("cluster reachability check failed: kubernetes cluster unreachable: {0}")]
    Cluster(String),
    /// The plugin gave no answer.
    #[error(transparent)]
    Command(#[from] CommandError),
}

fn variable(flag: &str) -> String {
    flag.to_uppercase().replace('-', "_")
}

/// Asks one question.
///
/// # Errors
/// [`AskError`].
pub fn ask(question: &Question, args: &CommandArgs) -> Result<CommandAnswer, AskError> {
    Session::open(args, question.cluster.as_ref())?.ask(question)
}

/// A plugin that is ready to be asked.
pub struct Session {
    runtime: tokio::runtime::Runtime,
    revision: Revision,
    client: kube::Client,
    cluster: Arc<Cluster>,
    /// Where one instance answers all questions: the one that answered last.
    warm: Option<Cell<Option<CommandInstance>>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("revision", &self.revision).finish_non_exhaustive()
    }
}

impl Session {
    /// Finds the plugin, compiles it where it was not, and connects to the cluster that its commands may read.
    ///
    /// # Errors
    /// [`AskError`], but for [`AskError::Command`].
    pub fn open(plugin: impl Into<Respondent>, cluster: Option<&ClusterArgs>) -> Result<Self, AskError> {
        Self::on(&Engine::single()?, &plugin.into(), cluster)
    }

    /// The same for many questions, in an engine like that of the operator host, and like there in an instance that is
    /// kept warm.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn of_host(args: &CommandArgs) -> Result<Self, AskError> {
        let session = Self::on(&Engine::new(EngineOptions::default())?, &args.into(), None)?;
        Ok(Self { warm: Some(Cell::default()), ..session })
    }

    fn on(engine: &Engine, plugin: &Respondent, cluster: Option<&ClusterArgs>) -> Result<Self, AskError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(AskError::Runtime)?;
        let revision = revision(engine, plugin, cluster.is_some())?;
        let client = runtime.block_on(async {
            match cluster {
                Some(cluster) => context::client_of(cluster).await.map_err(AskError::Cluster),
                None => Ok(context::client_of_no_cluster()),
            }
        })?;
        // Its caches are tasks of the runtime.
        let cluster = runtime.block_on(async { context::cluster(client.clone()) });
        Ok(Self { runtime, revision, client, cluster, warm: None })
    }

    /// Lets the commands do something beside reading.
    ///
    /// # Errors
    /// When the plugin cannot be granted anything.
    pub fn also_may(&mut self, rules: Vec<Rule>) -> Result<(), AskError> {
        self.also(rules, Vec::new())
    }

    /// The same, and use an object storage, also a private one: the person named it.
    ///
    /// # Errors
    /// As [`also_may`](Self::also_may).
    pub fn also_may_with_store(
        &mut self,
        rules: Vec<Rule>,
        store: blob::place::Place,
    ) -> Result<(), AskError> {
        self.also(rules, vec![store])
    }

    fn also(&mut self, rules: Vec<Rule>, stores: Vec<blob::place::Place>) -> Result<(), AskError> {
        let kube = std::iter::once(reading()).chain(rules).collect();
        let spec = GrantSpec { kube, stores, ..GrantSpec::default() };
        let grants = Grants::new(&self.revision.manifest, Some(&spec));
        let grants = grants.map_err(|error| AskError::Revision {
            path: self.revision.identity.to_string(),
            source: RevisionError::Grant(error),
        })?;
        self.revision.grants = Arc::new(grants);
        Ok(())
    }

    /// The person's cluster.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }

    /// Waits for something beside the plugin.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Asks; the cluster of the question is the session's.
    ///
    /// # Errors
    /// [`AskError::Command`].
    pub fn ask(&self, question: &Question) -> Result<CommandAnswer, AskError> {
        self.ask_about(question, None)
    }

    /// Asks what would be done about an object.
    ///
    /// # Errors
    /// [`AskError::Command`].
    pub fn ask_about(
        &self,
        question: &Question,
        subject: Option<&Subject>,
    ) -> Result<CommandAnswer, AskError> {
        let invocation =
            Invocation { name: question.command.to_owned(), options: question.options.to_string() };
        let asset =
            |file: &PersonFile| Arc::new(Asset::new(&file.asset, &file.path).with_links(Links::Anywhere));
        let assets = question.files.iter().map(asset).collect();
        self.runtime.block_on(async {
            let context = context::context(&self.revision, assets, &self.cluster, subject);
            let warm = self.warm.as_ref().and_then(Cell::take);
            let (answer, instance) = command::run(&self.revision, warm, context, &invocation).await?;
            if let Some(warm) = &self.warm {
                warm.set(Some(instance));
            }
            Ok(answer)
        })
    }
}

/// The plugin, compiled now or before.
fn revision(engine: &Engine, plugin: &Respondent, reads_cluster: bool) -> Result<Revision, AskError> {
    let path = plugin_file::find(plugin)?;
    let shown = || path.display().to_string();
    let compiler = Compiler::child_of_this_program(threads(), None);
    let cache =
        CompiledCache::open(&plugin_file::cache_dir(plugin.cache_dir.as_deref()), compiler).without_drafts();
    let grant = reads_cluster.then(|| GrantSpec { kube: vec![reading()], ..GrantSpec::default() });
    if let Some(package) = known::package(&cache, &path).filter(|package| cache.has(engine, &package.digest))
        && let Ok(revision) = Revision::prepare(engine, &cache, &package, grant.as_ref())
    {
        return Ok(revision);
    }
    // Before it is read: a file that is replaced meanwhile is another one then.
    let stamp = Stamp::of(&path);
    let bytes = std::fs::read(&path).map_err(|source| AskError::Read { path: shown(), source })?;
    let package = Package::read(bytes).map_err(|source| AskError::Package { path: shown(), source })?;
    if !cache.has(engine, &package.digest) {
        eprintln!("pilothouse: compiling {} for this machine; the next time it is there", shown());
    }
    if let Some(stamp) = stamp {
        known::remember(&cache, stamp, &package);
    }
    Revision::prepare(engine, &cache, &package, grant.as_ref())
        .map_err(|source| AskError::Revision { path: shown(), source })
}

/// What the person's own account may read, a template may.
fn reading() -> Rule {
    let all = || vec!["*".to_owned()];
    Rule {
        api_groups: all(),
        resources: all(),
        verbs: vec!["get".to_owned(), "list".to_owned()],
        ..Rule::default()
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(4)
}
