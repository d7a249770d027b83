//! The real binary as a process: its directory outlives it, so that it can be killed and started again.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::bench::{self, await_that, compiled};
use crate::proxy::Act;

/// What a host runs on: plugins, an operator-sdk project, a kubeconfig.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    namespace: String,
    arguments: Vec<String>,
    compiled: PathBuf,
}

impl Place {
    /// A place with these plugins and no project.
    pub(crate) fn new(namespace: &str, kubeconfig: &str, plugins: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place =
            Self { directory, namespace: namespace.to_owned(), arguments: Vec::new(), compiled: compiled() };
        std::fs::create_dir_all(place.path("plugins")).unwrap();
        std::fs::create_dir_all(place.path("project")).unwrap();
        std::fs::write(place.path("kubeconfig"), kubeconfig).unwrap();
        for name in plugins {
            place.install(name, &bench::plugin(name));
        }
        place
    }

    /// A place with the Helm plugin and a copy of the sample project.
    pub(crate) fn with_project(namespace: &str, kubeconfig: &str) -> Self {
        let place = Self::new(namespace, kubeconfig, &["helm.wasm"]);
        let sample = bench::root().join("charts/samples/player-stats-operator");
        copy(&sample, &place.path("project"));
        place
    }

    /// The same with one more flag.
    #[must_use]
    pub(crate) fn with(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// The same, where nothing was compiled before.
    #[must_use]
    pub(crate) fn with_nothing_compiled(mut self) -> Self {
        self.compiled = self.path("compiled");
        self
    }

    /// A file or directory of the place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file of the project.
    pub(crate) fn project(&self, name: &str) -> PathBuf {
        self.path("project").join(name)
    }

    /// Puts a plugin file in its place at once, as a build tool that renames does.
    pub(crate) fn install(&self, name: &str, bytes: &[u8]) {
        let (beside, path) = (self.path("plugins").join("next"), self.path("plugins").join(name));
        std::fs::write(&beside, bytes).unwrap();
        std::fs::rename(beside, path).unwrap();
    }

    fn command(&self) -> Command {
        let log = std::fs::File::options().create(true).append(true).open(self.path("host.log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilothouse"));
        command
            .current_dir(self.path("project"))
            .arg("run")
            .arg(format!("--kubeconfig={}", self.path("kubeconfig").display()))
            .arg(format!("--plugin-dir={}", self.path("plugins").display()))
            .arg(format!("--cache-dir={}", self.compiled.display()))
            .arg(format!("--namespace={}", self.namespace))
            .args(&self.arguments)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        command
    }

    /// Starts a host.
    pub(crate) fn start(&self) -> Host {
        let address =
            || -> SocketAddr { ([127, 0, 0, 1], pilothouse_testbed::ports::free().unwrap()).into() };
        let (metrics, probes) = (address(), address());
        let mut command = self.command();
        command.arg(format!("--metrics-bind-address={metrics}"));
        command.arg(format!("--health-probe-bind-address={probes}"));
        let child = Arc::new(Mutex::new(command.spawn().unwrap()));
        Host { child, log: self.path("host.log"), metrics, probes }
    }

    /// Runs a host that should end by itself.
    pub(crate) async fn run(&self) -> ExitStatus {
        let mut command = self.command();
        command.args(["--metrics-bind-address=0", "--health-probe-bind-address=0"]);
        let host = Host {
            child: Arc::new(Mutex::new(command.spawn().unwrap())),
            log: self.path("host.log"),
            metrics: ([127, 0, 0, 1], 0).into(),
            probes: ([127, 0, 0, 1], 0).into(),
        };
        await_that("the host ends", async || host.ended().ok_or_else(|| "it runs".to_owned())).await.0
    }

    /// Runs a command beside the host, as a person in the project's directory does.
    pub(crate) async fn ask(&self, arguments: &[&str]) -> Answered {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilothouse"));
        command
            .current_dir(self.path("project"))
            .args(arguments)
            .arg(format!("--kubeconfig={}", self.path("kubeconfig").display()))
            .env("PILOTHOUSE_NAMESPACE", &self.namespace)
            .env("PILOTHOUSE_HELM_PLUGIN", self.path("plugins/helm.wasm"))
            .env("PILOTHOUSE_CACHE_DIR", &self.compiled)
            .stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Answered { code: output.status.code(), output: text(output.stdout), errors: text(output.stderr) }
    }

    /// Everything that hosts at this place wrote.
    pub(crate) fn log(&self) -> String {
        read_log(&self.path("host.log"))
    }

    /// Waits until the log has all these words in one line; the line.
    pub(crate) async fn await_log(&self, words: &[&str]) -> String {
        let seen = await_that(format!("the log says {words:?}"), async || {
            let log = self.log();
            let line = log.lines().find(|line| words.iter().all(|word| line.contains(word)));
            line.map(ToOwned::to_owned).ok_or_else(|| "it does not".to_owned())
        });
        seen.await.0
    }
}

/// What a command of the binary said.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// A host in the background; ends with the test, its log is printed when the test fails.
pub(crate) struct Host {
    child: Arc<Mutex<Child>>,
    log: PathBuf,
    metrics: SocketAddr,
    probes: SocketAddr,
}

impl Drop for Host {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = read_log(&self.log);
            let tail: Vec<&str> = log.lines().rev().take(60).collect();
            eprintln!("{}", tail.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
    }
}

impl Host {
    /// SIGKILL.
    pub(crate) fn kill(&self) {
        kill(&self.child);
    }

    /// SIGKILL, for others to bring about.
    pub(crate) fn killer(&self) -> Act {
        let child = Arc::clone(&self.child);
        Arc::new(move || kill(&child))
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait().unwrap()
    }

    /// Where it serves metrics.
    pub(crate) fn metrics(&self) -> SocketAddr {
        self.metrics
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Its share of the machine's memory.
    pub(crate) fn pss_kib(&self) -> u64 {
        let pid = self.pid();
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
    }

    /// Waits until `/readyz` says so.
    pub(crate) async fn await_ready(&self) {
        await_that("the host is ready", async || self.ready().await).await;
    }

    /// Whether `/readyz` says so.
    pub(crate) async fn ready(&self) -> Result<(), String> {
        let page = page(self.probes, "/readyz").await?;
        if page.starts_with("HTTP/1.0 200") || page.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(page) }
    }

    /// The sum of a metric's samples whose labels have all the words.
    pub(crate) async fn metric(&self, name: &str, words: &[&str]) -> f64 {
        let metrics = page(self.metrics, "/metrics").await.unwrap();
        let samples = metrics.lines().filter(|line| {
            line.split(['{', ' ']).next() == Some(name) && words.iter().all(|word| line.contains(word))
        });
        samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }
}

fn kill(child: &Mutex<Child>) {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = child.kill();
    let _ = child.wait();
}

async fn page(address: SocketAddr, path: &str) -> Result<String, String> {
    let words = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).await.map_err(words)?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await.map_err(words)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await.map_err(words)?;
    Ok(text)
}

fn read_log(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (source, target) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            // Written anew: the copy may be edited even where the source may not.
            std::fs::write(target, std::fs::read(source).unwrap()).unwrap();
        }
    }
}
