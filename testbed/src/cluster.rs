//! A control plane: etcd, kube-apiserver and controller-manager on free ports, in a directory of its own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::binaries::{CONTROL_PLANE, HELM_CLI, KUBE_APISERVER, KUBECTL, Program};
use crate::error::{Error, Result};
use crate::paths;
use crate::pki::{Authority, kubeconfig};
use crate::process::{Daemon, run, wait_until};

/// How long a control plane may take.
const START: Duration = Duration::from_secs(90);

/// What a cluster should be like.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its name; clusters of different names live side by side.
    pub name: String,
    /// Whether it ends with the process that started it (tests), or stays until it is brought down.
    pub tied: bool,
}

/// What is written down about a cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    etcd_port: u16,
    etcd_peer_port: u16,
    api_port: u16,
}

/// A cluster that was started.
#[derive(Debug)]
pub struct Cluster {
    name: String,
    directory: PathBuf,
    record: Record,
    tied: bool,
}

impl Cluster {
    /// Starts a control plane and waits until it serves. Programs that are missing are fetched or built first; `say` hears
    /// about it.
    ///
    /// # Errors
    /// When a program is not to be had or does not come up; what was started is stopped again.
    pub fn up(options: &Options, say: &dyn Fn(&str)) -> Result<Self> {
        let programs = find_all(&CONTROL_PLANE, say)?;
        if Self::open(&options.name).is_ok_and(|cluster| cluster.is_up()) {
            return Err(Error::Other(format!(
                "cluster {:?} is up already; bring it down first or choose another --name",
                options.name
            )));
        }
        let directory = paths::clusters().join(&options.name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        let record = Record { etcd_port: free_port()?, etcd_peer_port: free_port()?, api_port: free_port()? };
        let text = serde_json::to_string(&record).map_err(|error| Error::Other(error.to_string()))?;
        let file = directory.join("cluster.json");
        fs::write(&file, text).map_err(Error::file(&file))?;
        let cluster = Self { name: options.name.clone(), directory, record, tied: options.tied };
        match cluster.start(&programs) {
            Ok(()) => Ok(cluster),
            Err(error) => {
                cluster.stop();
                Err(error)
            }
        }
    }

    /// A cluster that an earlier command started.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn open(name: &str) -> Result<Self> {
        let directory = paths::clusters().join(name);
        let file = directory.join("cluster.json");
        let text = fs::read_to_string(&file).map_err(|_| {
            Error::Other(format!(
                "no cluster {name:?}; start one with `cargo xtask cluster up --name {name}`"
            ))
        })?;
        let record = serde_json::from_str(&text)
            .map_err(|error| Error::Other(format!("{}: {error}", file.display())))?;
        Ok(Self { name: name.to_owned(), directory, record, tied: false })
    }

    /// Names of all clusters that were started and not brought down.
    pub fn all() -> Vec<String> {
        let entries = fs::read_dir(paths::clusters()).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The one control plane of a test binary: started by the first test that asks, ended with the process.
    ///
    /// # Errors
    /// As [`Self::up`]; every later caller gets the same sentence.
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<Cluster, String>> = OnceLock::new();
        let start = || {
            sweep();
            let options = Options { name: format!("test-{}", std::process::id()), tied: true };
            Self::up(&options, &|line| eprintln!("testbed: {line}")).map_err(|error| error.to_string())
        };
        SHARED.get_or_init(start).as_ref().map_err(|message| Error::Other(message.clone()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where everything of it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// A kubeconfig for another user, written beside the administrator's.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> Result<PathBuf> {
        let file = user.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let authority = Authority::open(&self.directory.join("pki"));
        let pair = authority.client(&file, user, groups)?;
        let path = self.directory.join(format!("{file}.kubeconfig"));
        fs::write(&path, kubeconfig(&self.server(), &authority.certificate(), &pair)?)
            .map_err(Error::file(&path))?;
        Ok(path)
    }

    /// The API server's address.
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.record.api_port)
    }

    /// Its programs.
    pub fn daemons(&self) -> Vec<Daemon> {
        let mut names = vec!["kube-controller-manager", "kube-apiserver", "etcd"];
        names.dedup();
        names.into_iter().map(|name| self.daemon(name)).collect()
    }

    /// Whether its API server runs.
    pub fn is_up(&self) -> bool {
        self.daemon("kube-apiserver").pid().is_some()
    }

    /// Stops its programs and removes its directory. Nothing is left behind.
    pub fn down(self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.directory);
        std::mem::forget(self);
    }

    /// The API server stands still, as if the network were cut: connections stay open and nothing answers.
    pub fn pause_api_server(&self) {
        self.daemon("kube-apiserver").signal(Signal::STOP);
    }

    /// The API server goes on.
    pub fn resume_api_server(&self) {
        self.daemon("kube-apiserver").signal(Signal::CONT);
    }

    /// The API server is gone.
    pub fn stop_api_server(&self) {
        self.daemon("kube-apiserver").stop();
    }

    /// The API server is back, at the same address.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn start_api_server(&self) -> Result<()> {
        self.api_server(&KUBE_APISERVER.find(&|_| {})?)
    }

    /// Runs kubectl as the administrator; its output.
    ///
    /// # Errors
    /// What kubectl said.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        run(Command::new(KUBECTL.find(&|_| {})?).arg("--kubeconfig").arg(self.kubeconfig()).args(arguments))
    }

    /// Runs the real helm as the administrator; its output.
    ///
    /// # Errors
    /// What helm said.
    pub fn helm(&self, arguments: &[&str]) -> Result<String> {
        run(Command::new(HELM_CLI.find(&|line| eprintln!("testbed: {line}"))?)
            .env("KUBECONFIG", self.kubeconfig())
            .env("HELM_CACHE_HOME", self.directory.join("helm"))
            .env("HELM_CONFIG_HOME", self.directory.join("helm"))
            .env("HELM_DATA_HOME", self.directory.join("helm"))
            .args(arguments))
    }

    fn daemon(&self, name: &str) -> Daemon {
        Daemon::new(name, &self.directory)
    }

    fn stop(&self) {
        for daemon in self.daemons() {
            daemon.stop();
        }
    }

    fn start(&self, programs: &[PathBuf]) -> Result<()> {
        let [etcd, api_server, controller_manager, _kubectl] = programs else {
            return Err(Error::Other("the control plane has four programs".to_owned()));
        };
        self.certificates()?;
        self.etcd(etcd)?;
        self.api_server(api_server)?;
        self.controller_manager(controller_manager)?;
        self.wait_for_default_account()
    }

    fn certificates(&self) -> Result<()> {
        let pki = self.directory.join("pki");
        let authority = Authority::create(&pki)?;
        let names = [
            "127.0.0.1",
            "10.96.0.1",
            "10.244.0.1",
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ];
        authority.server("apiserver", "kube-apiserver", None, &names)?;
        authority.client("kubelet-client", "kube-apiserver-kubelet-client", &["system:masters"])?;
        authority.client("service-account", "service-accounts", &[])?;
        let write = |file: &str, user: &str, groups: &[&str]| -> Result<()> {
            let pair = authority.client(file, user, groups)?;
            let path = self.directory.join(if file == "admin" {
                "kubeconfig".to_owned()
            } else {
                format!("{file}.kubeconfig")
            });
            fs::write(&path, kubeconfig(&self.server(), &authority.certificate(), &pair)?)
                .map_err(Error::file(&path))
        };
        write("admin", "admin", &["system:masters"])?;
        write("controller-manager", "system:kube-controller-manager", &[])?;
        write("scheduler", "system:kube-scheduler", &[])
    }

    fn etcd(&self, program: &Path) -> Result<()> {
        let (client, peer) = (self.record.etcd_port, self.record.etcd_peer_port);
        let mut command = Command::new(program);
        command
            .arg(format!("--data-dir={}", self.directory.join("etcd").display()))
            .arg(format!("--listen-client-urls=http://127.0.0.1:{client}"))
            .arg(format!("--advertise-client-urls=http://127.0.0.1:{client}"))
            .arg(format!("--listen-peer-urls=http://127.0.0.1:{peer}"))
            .arg(format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"))
            .arg(format!("--initial-cluster=default=http://127.0.0.1:{peer}"))
            // Nothing here outlives the test: no need to wait for the disk.
            .args(["--unsafe-no-fsync", "--log-level=warn"]);
        let daemon = self.daemon("etcd");
        daemon.start(command, self.tied)?;
        if wait_until(START, || TcpStream::connect(("127.0.0.1", client)).is_ok()) {
            Ok(())
        } else {
            Err(daemon.not_ready(START))
        }
    }

    fn api_server(&self, program: &Path) -> Result<()> {
        let pki = |file: &str| self.directory.join("pki").join(file).display().to_string();
        let mut command = Command::new(program);
        command
            .arg(format!("--etcd-servers=http://127.0.0.1:{}", self.record.etcd_port))
            .arg(format!("--secure-port={}", self.record.api_port))
            .args([
                "--bind-address=0.0.0.0",
                "--advertise-address=127.0.0.1",
                "--service-cluster-ip-range=10.96.0.0/16",
            ])
            .arg(format!("--client-ca-file={}", pki("ca.crt")))
            .arg(format!("--tls-cert-file={}", pki("apiserver.crt")))
            .arg(format!("--tls-private-key-file={}", pki("apiserver.key")))
            .arg(format!("--kubelet-client-certificate={}", pki("kubelet-client.crt")))
            .arg(format!("--kubelet-client-key={}", pki("kubelet-client.key")))
            .arg("--kubelet-preferred-address-types=InternalIP")
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(format!("--service-account-key-file={}", pki("service-account.crt")))
            .arg(format!("--service-account-signing-key-file={}", pki("service-account.key")))
            .args([
                "--authorization-mode=Node,RBAC",
                "--allow-privileged",
                "--enable-admission-plugins=NodeRestriction",
            ])
            .args(["--endpoint-reconciler-type=none", "--profiling=false"]);
        let daemon = self.daemon("kube-apiserver");
        daemon.start(command, self.tied)?;
        // A program that ended will not become ready.
        let settled = || daemon.ended() || self.kubectl(&["get", "--raw", "/readyz"]).is_ok();
        if wait_until(START, settled) && !daemon.ended() { Ok(()) } else { Err(daemon.not_ready(START)) }
    }

    fn controller_manager(&self, program: &Path) -> Result<()> {
        let config = self.directory.join("controller-manager.kubeconfig").display().to_string();
        let pki = |file: &str| self.directory.join("pki").join(file).display().to_string();
        let mut command = Command::new(program);
        command
            .args([
                "--leader-elect=false",
                "--use-service-account-credentials=true",
                "--enable-hostpath-provisioner=true",
            ])
            .args(["--secure-port=0", "--allocate-node-cidrs=false"])
            .arg(format!("--kubeconfig={config}"))
            .arg(format!("--authentication-kubeconfig={config}"))
            .arg(format!("--authorization-kubeconfig={config}"))
            .arg(format!("--root-ca-file={}", pki("ca.crt")))
            .arg(format!("--service-account-private-key-file={}", pki("service-account.key")))
            // A namespace is gone, and a child collected, as soon as can be.
            .args(["--concurrent-gc-syncs=8", "--node-monitor-grace-period=60s"]);
        self.daemon("kube-controller-manager").start(command, self.tied)
    }

    /// The sign that the controllers are at work.
    fn wait_for_default_account(&self) -> Result<()> {
        let there = || self.kubectl(&["get", "serviceaccount", "default", "--namespace=default"]).is_ok();
        if wait_until(START, there) {
            Ok(())
        } else {
            Err(self.daemon("kube-controller-manager").not_ready(START))
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.tied {
            self.stop();
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

fn find_all(programs: &[Program], say: &dyn Fn(&str)) -> Result<Vec<PathBuf>> {
    programs.iter().map(|program| program.find(say)).collect()
}

/// Directories of test clusters whose process is gone: statics are not dropped, so the next test binary sweeps.
fn sweep() {
    for name in Cluster::all() {
        let Some(pid) = name.strip_prefix("test-") else { continue };
        if !Path::new("/proc").join(pid).exists() {
            let _ = fs::remove_dir_all(paths::clusters().join(&name));
        }
    }
}

/// A port nobody listens at. The system does not give the same one twice in a row, and we remember ours.
fn free_port() -> Result<u16> {
    static GIVEN: Mutex<Vec<u16>> = Mutex::new(Vec::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..100 {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .map_err(|error| Error::Other(format!("no free port: {error}")))?;
        let port = listener.local_addr().map_err(|error| Error::Other(error.to_string()))?.port();
        if !given.contains(&port) {
            given.push(port);
            return Ok(port);
        }
    }
    Err(Error::Other("no free port in a hundred tries".to_owned()))
}
