//! The programs of a Kubernetes, each found at the first of these places: `KUBEBUILDER_ASSETS`, the PATH, the cache, the
//! official release (checksum compared), a build from its Go module (`testbed/*/go.mod`, minutes, once).

mod build;
mod download;
mod installed;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::paths;
use crate::progress::Progress;

/// A source of programs: a release, and the Go module that it is made of.
#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name, and the directory below `testbed/` that holds its `go.mod` and `go.sum`.
    pub name: &'static str,
    /// Its version, with `v`.
    pub version: &'static str,
}

/// Kubernetes. 1.34 is the newest whose kubelet accepts cgroup v1.
pub static KUBERNETES: Module = Module { name: "kubernetes", version: "v1.34.4" };
/// etcd, of the minor that Kubernetes runs on here.
pub static ETCD: Module = Module { name: "etcd", version: "v3.6.16" };
/// The minor before.
pub static ETCD_BEFORE: Module = Module { name: "etcd-3.5", version: "v3.5.35" };
/// The minor after.
pub static ETCD_AFTER: Module = Module { name: "etcd-3.7", version: "v3.7.3" };
/// The real Helm.
pub static HELM: Module = Module { name: "helm", version: "v4.3.1" };
/// CoreDNS.
pub static COREDNS: Module = Module { name: "coredns", version: "v1.12.4" };
/// operator-sdk, whose Helm operator we take over from. It is built: its releases have the bare program, without an archive.
pub static OPERATOR_SDK: Module = Module { name: "operator-sdk", version: "v1.42.2" };

/// A registry. It is built: few have it.
pub static DISTRIBUTION: Module = Module { name: "registry", version: "v3.0.0" };

/// A server that speaks like S3. It is built: its releases are archives of other forms.
pub static VERSITYGW: Module = Module { name: "versitygw", version: "v1.8.0" };

/// A program the testbed knows how to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file name.
    pub name: &'static str,
    /// Where it comes from.
    pub module: &'static Module,
    /// Its main package.
    package: &'static str,
    /// What `--version` of one that is installed must contain for it to be taken. Empty: only ours is taken.
    accepts: &'static str,
}

const fn program(
    name: &'static str,
    module: &'static Module,
    package: &'static str,
    accepts: &'static str,
) -> Program {
    Program { name, module, package, accepts }
}

/// The store.
pub const ETCD_SERVER: Program = program("etcd", &ETCD, "go.etcd.io/etcd/server/v3", "etcd Version: 3.");
/// The store's command line.
pub const ETCDCTL: Program = program("etcdctl", &ETCD, "go.etcd.io/etcd/etcdctl/v3", "");
/// The API server.
pub const KUBE_APISERVER: Program = kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver");
/// Garbage collection, service accounts, workload controllers.
pub const KUBE_CONTROLLER_MANAGER: Program =
    kubernetes("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager");
/// Puts pods on the node.
pub const KUBE_SCHEDULER: Program = kubernetes("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler");
/// Runs pods.
pub const KUBELET: Program = kubernetes("kubelet", "k8s.io/kubernetes/cmd/kubelet");
/// Makes Services reachable.
pub const KUBE_PROXY: Program = kubernetes("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy");
/// The command line people use. Some systems have one that hands over to another version, so only ours is taken.
pub const KUBECTL: Program = program("kubectl", &KUBERNETES, "k8s.io/kubernetes/cmd/kubectl", "");
/// The real helm.
pub const HELM_CLI: Program = program("helm", &HELM, "helm.sh/helm/v4/cmd/helm", "v4.");
/// The real helm-operator.
pub const HELM_OPERATOR: Program = program(
    "helm-operator",
    &OPERATOR_SDK,
    "github.com/operator-framework/operator-sdk/cmd/helm-operator",
    "",
);
/// Keeps charts and images.
pub const REGISTRY_SERVER: Program =
    program("registry", &DISTRIBUTION, "github.com/distribution/distribution/v3/cmd/registry", "");
/// Keeps objects.
pub const S3_SERVER: Program =
    program("versitygw", &VERSITYGW, "github.com/versity/versitygw/cmd/versitygw", "");
/// Names of Services.
pub const COREDNS_SERVER: Program = program("coredns", &COREDNS, "github.com/coredns/coredns", "CoreDNS-1.");

/// Parts of one Kubernetes are of one minor version.
const fn kubernetes(name: &'static str, package: &'static str) -> Program {
    program(name, &KUBERNETES, package, "Kubernetes v1.34.")
}

/// Server and tools of one version of etcd, as its images hold them: only ours are taken, for they are static.
pub const fn etcd_programs(module: &'static Module) -> [Program; 3] {
    [
        program("etcd", module, "go.etcd.io/etcd/server/v3", ""),
        program("etcdctl", module, "go.etcd.io/etcd/etcdctl/v3", ""),
        program("etcdutl", module, "go.etcd.io/etcd/etcdutl/v3", ""),
    ]
}

/// What a control plane needs.
pub const CONTROL_PLANE: [Program; 4] = [ETCD_SERVER, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBECTL];
/// What a node needs beside it.
pub const NODE: [Program; 4] = [KUBE_SCHEDULER, KUBELET, KUBE_PROXY, COREDNS_SERVER];

impl Module {
    /// Where its programs are kept. What the modules pin is part of the name, so that a changed pin is a new build.
    pub fn directory(&self) -> PathBuf {
        let source = paths::modules().join(self.name);
        let mut hash = Sha256::new();
        for file in ["go.mod", "go.sum"] {
            hash.update(fs::read(source.join(file)).unwrap_or_default());
        }
        paths::tools().join(format!(
            "{}-{}-{}",
            self.name,
            self.version,
            hex(hash.finalize().get(..4).unwrap_or_default())
        ))
    }
}

impl Program {
    /// The program's file, fetched or built where it is not there yet.
    ///
    /// # Errors
    /// Names everything that was tried.
    pub fn find(&self, progress: &dyn Progress) -> Result<PathBuf> {
        find_all(std::slice::from_ref(self), progress)?.pop().ok_or_else(|| self.missing("it was not made"))
    }

    /// Where it is found without fetching or building anything.
    pub fn present(&self) -> Option<PathBuf> {
        let places = Places { assets: paths::kubebuilder_assets(), cached: self.cached() };
        remembered(self, || places.look(self, &installed::version_of, &|name| paths::on_path(name)))
    }

    fn cached(&self) -> PathBuf {
        self.module.directory().join(self.name)
    }

    fn missing(&self, message: impl Into<String>) -> Error {
        Error::Missing {
            name: self.name.to_owned(),
            version: self.module.version.to_owned(),
            message: message.into(),
        }
    }
}

/// The programs' files, in the same order. What is missing of one release is fetched or built in one go.
///
/// # Errors
/// Names everything that was tried for the first program that is not to be had.
pub fn find_all(programs: &[Program], progress: &dyn Progress) -> Result<Vec<PathBuf>> {
    let modules: BTreeMap<&str, &'static Module> =
        programs.iter().map(|program| (program.module.name, program.module)).collect();
    for module in modules.into_values() {
        let wanted = |program: &&Program| program.module == module && program.present().is_none();
        if programs.iter().any(|program| wanted(&program)) {
            let _one_at_a_time = lock(&module.directory())?;
            // Somebody else may have made it while we waited.
            let missing: Vec<Program> = programs.iter().filter(wanted).copied().collect();
            obtain(module, &missing, progress)?;
        }
    }
    programs
        .iter()
        .map(|program| program.present().ok_or_else(|| program.missing("it was not made")))
        .collect()
}

fn obtain(module: &'static Module, missing: &[Program], progress: &dyn Progress) -> Result<()> {
    let Some(first) = missing.first() else { return Ok(()) };
    let no_download = match download::fetch(module, missing, progress) {
        Ok(()) => return Ok(()),
        Err(reason) => reason,
    };
    progress.line(&format!(
        "{} {}: no official download ({no_download}), so it is built from its Go module",
        module.name, module.version
    ));
    build::build(module, missing, progress).map_err(|reason| {
        first.missing(format!(
            "not in KUBEBUILDER_ASSETS, PATH or cache; no download: {no_download}; no build: {reason}"
        ))
    })
}

/// The places where a program may already be.
struct Places {
    assets: Option<PathBuf>,
    cached: PathBuf,
}

impl Places {
    /// `version` is what a program says of itself, `on_path` looks it up.
    fn look(
        &self,
        program: &Program,
        version: &dyn Fn(&Path) -> Option<String>,
        on_path: &dyn Fn(&str) -> Option<PathBuf>,
    ) -> Option<PathBuf> {
        let from_assets = self.assets.as_ref().map(|directory| directory.join(program.name));
        // Who names assets means them, whatever their version.
        if let Some(file) = from_assets.filter(|file| paths::is_executable(file)) {
            return Some(file);
        }
        let fits = |file: &PathBuf| version(file).is_some_and(|text| text.contains(program.accepts));
        let from_path =
            || (!program.accepts.is_empty()).then(|| on_path(program.name)).flatten().filter(fits);
        from_path().or_else(|| paths::is_executable(&self.cached).then(|| self.cached.clone()))
    }
}

/// Asking a program for its version takes long enough to ask only once.
fn remembered(program: &Program, look: impl FnOnce() -> Option<PathBuf>) -> Option<PathBuf> {
    type Key = (&'static str, &'static str, bool);
    static FOUND: Mutex<BTreeMap<Key, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (program.module.name, program.name, program.accepts.is_empty());
    if let Some(file) = found.get(&key) {
        return Some(file.clone());
    }
    let file = look()?;
    found.insert(key, file.clone());
    Some(file)
}

/// Processes take turns at filling a directory.
fn lock(directory: &Path) -> Result<fs::File> {
    fs::create_dir_all(directory).map_err(Error::file(directory))?;
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let path = directory.with_file_name(format!("{name}.lock"));
    let file = fs::File::create(&path).map_err(Error::file(&path))?;
    file.lock().map_err(Error::file(&path))?;
    Ok(file)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
