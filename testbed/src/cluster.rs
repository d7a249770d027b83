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
    /// When there is one of this name, a program is not to be had, or does not come up; what was started is stopped again.
    pub fn up(options: &Options, progress: &dyn Progress) -> Result<Self> {
        check_name(&options.name)?;
        if options.node {
            node::check()?;
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
        let record = Record::read(&directory).map_err(|error| match error {
            Error::File { .. } => Error::Other(format!(
                "no cluster {name:?}; start one with `cargo xtask cluster up --name {name}`"
            )),
            other => other,
        })?;
        Ok(Self { name: name.to_owned(), directory, record, tied: false, watcher: None })
    }

    /// Names of all clusters that were started and not brought down.
    pub fn all() -> Vec<String> {
        let entries = fs::read_dir(paths::clusters()).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| Record::read(&paths::clusters().join(name)).is_ok());
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

    /// The node's `/tmp` on this machine, with what volumes keep there.
    pub fn node_tmp(&self) -> PathBuf {
        self.directory.join("node/tmp")
    }

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
        if keep_logs || (self.tied && paths::keep()) {
            let _ = fs::remove_dir_all(self.directory.join("etcd"));
        } else {
            let _ = fs::remove_dir_all(&self.directory);
        }
        if let Some(watcher) = self.watcher.take() {
            if keep_logs { watcher.dismiss() } else { watcher.finish() }
        }
        self.tied = false;
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
    }
}
