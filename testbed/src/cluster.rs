//! A cluster: etcd, kube-apiserver and controller-manager in a directory and at ports of its own; with a node also what
//! runs pods.

mod access;
mod control_plane;
mod faults;
mod record;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::binaries::{self, Program};
use crate::error::{Error, Result};
use crate::node;
use crate::paths;
use crate::process::{Daemon, Namespaces, Place, Watcher};
use crate::progress::{Progress, ToStderr};
use record::Record;

/// What a cluster should be like.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its name: lower-case letters, digits and dashes. Clusters of different names live side by side.
    pub name: String,
    /// Whether it ends with the process that started it (tests), or stays until it is brought down.
    pub tied: bool,
    /// Whether it has a node that runs pods. Needs root.
    pub node: bool,
}

/// A cluster that was started. A tied one is brought down when this is dropped.
#[derive(Debug)]
pub struct Cluster {
    name: String,
    directory: PathBuf,
    record: Record,
    tied: bool,
    watcher: Option<Watcher>,
}

/// One program of a cluster, as `cluster status` shows it.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its process, if it runs.
    pub pid: Option<u32>,
    /// Where it writes.
    pub log: PathBuf,
}

impl Cluster {
    /// Starts a cluster and waits until it serves. Programs that are missing are fetched or built first; `progress` hears
    /// about it.
    ///
    /// # Errors
<<<<<<< HEAD
    /// When a program is not to be had or does not come up; what was started is stopped again.
    pub fn up(options: &Options, say: &dyn Fn(&str)) -> Result<Self> {
        let programs = find_all(&CONTROL_PLANE, say)?;
        if Self::open(&options.name).is_ok_and(|cluster| cluster.is_up()) {
            return Err(Error::Other(format!(
                "cluster {:?} is up already; bring it down first or choose another --name",
                options.name
            )));
=======
    /// When there is one of this name, a program is not to be had, or does not come up; what was started is stopped again.
    pub fn up(options: &Options, progress: &dyn Progress) -> Result<Self> {
        check_name(&options.name)?;
        if options.node {
            node::check()?;
>>>>>>> main
        }
        let programs = binaries::find_all(&wanted(options.node), progress)?;
        let directory = paths::clusters().join(&options.name);
        if let Ok(existing) = Self::open(&options.name) {
            if existing.is_up() {
                let name = &options.name;
                return Err(Error::Other(format!(
                    "cluster {name:?} is up; bring it down with `cargo xtask cluster down --name {name}` or choose another name"
                )));
            }
            existing.down();
        }
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        let record = Record::new(options.node)?;
        let mut cluster =
            Self { name: options.name.clone(), directory, record, tied: options.tied, watcher: None };
        match cluster.start(&programs, progress) {
            Ok(()) => Ok(cluster),
            Err(error) => {
                cluster.end(true);
                Err(error)
            }
        }
    }

    /// A cluster that an earlier command started.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn open(name: &str) -> Result<Self> {
        check_name(name)?;
        let directory = paths::clusters().join(name);
<<<<<<< HEAD
        let file = directory.join("cluster.json");
        let text = fs::read_to_string(&file).map_err(|_| {
            Error::Other(format!(
                "no cluster {name:?}; start one with `cargo xtask cluster up --name {name}`"
            ))
        })?;
        let record = serde_json::from_str(&text)
            .map_err(|error| Error::Other(format!("{}: {error}", file.display())))?;
        Ok(Self { name: name.to_owned(), directory, record, tied: false })
=======
        let record = Record::read(&directory).map_err(|error| match error {
            Error::File { .. } => Error::Other(format!(
                "no cluster {name:?}; start one with `cargo xtask cluster up --name {name}`"
            )),
            other => other,
        })?;
        Ok(Self { name: name.to_owned(), directory, record, tied: false, watcher: None })
>>>>>>> main
    }

    /// Names of all clusters that were started and not brought down.
    pub fn all() -> Vec<String> {
        let entries = fs::read_dir(paths::clusters()).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
<<<<<<< HEAD
=======
        names.retain(|name| Record::read(&paths::clusters().join(name)).is_ok());
>>>>>>> main
        names.sort();
        names
    }

    /// The one control plane of a test binary: started by the first test that asks, gone with the process. Tests keep out
    /// of each other's way by a namespace each.
    ///
    /// # Errors
    /// As [`Self::up`]; every later caller gets the same sentence.
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<Cluster, String>> = OnceLock::new();
        shared(&SHARED, "test", false)
    }

    /// As [`Self::shared`], with a node that runs pods. Needs root: ask [`crate::node::check`] first, and say what is
    /// skipped.
    ///
    /// # Errors
    /// As [`Self::up`].
    pub fn shared_with_node() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<Cluster, String>> = OnceLock::new();
        shared(&SHARED, "test-node", true)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where everything of it lies: `kubeconfig`, `pki/`, `logs/`, `pids/` and the programs' data.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

<<<<<<< HEAD
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

=======
>>>>>>> main
    /// The API server's address.
    pub fn server(&self) -> String {
        format!("https://{}:{}", self.record.address, self.record.api_port)
    }

    /// Whether it has a node that runs pods.
    pub fn has_node(&self) -> bool {
        self.record.node.is_some()
    }

    /// Whether its API server runs.
    pub fn is_up(&self) -> bool {
        self.daemon("kube-apiserver").pid().is_some()
    }

    /// Its programs, in the order in which they are started.
    pub fn parts(&self) -> Vec<Part> {
        let part = |daemon: Daemon| Part {
            pid: daemon.pid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()),
            log: daemon.log(),
            name: daemon.name,
        };
        self.daemons().into_iter().map(part).collect()
    }

    /// Stops its programs and removes its directory. Nothing is left behind.
    pub fn down(mut self) {
        self.end(false);
    }

    pub(crate) fn daemon(&self, name: &str) -> Daemon {
        Daemon::new(name, &self.directory)
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// Where its programs run: on a cluster with a node in the node's namespaces.
    pub(crate) fn place(&self) -> Place {
        let init = self.record.node.and_then(|_| self.daemon(node::INIT).last_pid());
        Place { tied: self.tied, namespaces: init.map_or(Namespaces::Same, Namespaces::Of) }
    }

    fn daemons(&self) -> Vec<Daemon> {
        let names = control_plane::DAEMONS.iter();
        let node = if self.has_node() { node::DAEMONS.as_slice() } else { &[] };
        let first = if self.has_node() { [node::INIT].as_slice() } else { &[] };
        first.iter().chain(names).chain(node).map(|name| self.daemon(name)).collect()
    }

    fn start(&mut self, programs: &[PathBuf], progress: &dyn Progress) -> Result<()> {
        self.record.write(&self.directory)?;
        if self.tied && !paths::keep() {
            let mut directories = vec![self.directory.clone()];
            directories.extend(self.has_node().then(|| node::cgroups(&self.name)).into_iter().flatten());
            self.watcher = Some(Watcher::start(&directories).map_err(Error::file(Path::new("sh")))?);
        }
        let named = |program: &Program| {
            let at = wanted(self.has_node()).iter().position(|wanted| wanted == program);
            at.and_then(|at| programs.get(at))
                .cloned()
                .ok_or_else(|| Error::Other(format!("{} was not found", program.name)))
        };
        if self.has_node() {
            progress.now("node: namespaces and network");
            node::prepare(self, programs)?;
        }
        control_plane::start(self, &named, progress)?;
        if self.has_node() {
            node::start(self, &named, progress)?;
        }
        Ok(())
    }

    /// Ends everything. A cluster that failed to start keeps its logs.
    fn end(&mut self, keep_logs: bool) {
        if self.has_node() {
            node::stop(self);
        }
        for daemon in self.daemons().iter().rev() {
            daemon.stop();
        }
<<<<<<< HEAD
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
=======
        if keep_logs || (self.tied && paths::keep()) {
            let _ = fs::remove_dir_all(self.directory.join("etcd"));
        } else {
            let _ = fs::remove_dir_all(&self.directory);
        }
        if let Some(watcher) = self.watcher.take() {
            if keep_logs { watcher.dismiss() } else { watcher.finish() }
        }
        self.tied = false;
>>>>>>> main
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.tied {
            self.end(false);
        }
    }
}

fn wanted(node: bool) -> Vec<Program> {
    let with_node = if node { binaries::NODE.as_slice() } else { &[] };
    binaries::CONTROL_PLANE.iter().chain(with_node).copied().collect()
}

fn shared(
    cell: &'static OnceLock<Result<Cluster, String>>,
    prefix: &str,
    node: bool,
) -> Result<&'static Cluster> {
    let start = || {
        sweep();
        let options = Options { name: format!("{prefix}-{}", std::process::id()), tied: true, node };
        Cluster::up(&options, &ToStderr).map_err(|error| error.to_string())
    };
    cell.get_or_init(start).as_ref().map_err(|message| Error::Other(message.clone()))
}

/// Brings down clusters of tests whose process is gone: those whose watcher was killed as well, or that were kept.
fn sweep() {
    for name in Cluster::all() {
        let process = name.strip_prefix("test-").map(|rest| rest.strip_prefix("node-").unwrap_or(rest));
        let gone =
            process.is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists());
        if gone
            && !paths::keep()
            && let Ok(cluster) = Cluster::open(&name)
        {
            cluster.down();
        }
    }
}

<<<<<<< HEAD
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
=======
/// The name is part of paths, of a cgroup and of command lines.
fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 40 || !name.chars().all(fits) || name.starts_with('-') {
        return Err(Error::Other(format!(
            "{name:?} is no cluster name: lower-case letters, digits and dashes, 40 at most"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_leave_the_directory_are_refused() {
        for name in ["", "..", "a/b", "A", "-x", &"x".repeat(41)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name("test-node-123").is_ok());
    }

    #[test]
    fn a_cluster_that_was_never_started_says_how_to_start_it() {
        let error = Cluster::open("never-started").unwrap_err();
        assert!(error.to_string().contains("cargo xtask cluster up --name never-started"), "{error}");
>>>>>>> main
    }
}
