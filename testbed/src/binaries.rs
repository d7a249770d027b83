//! The programs of a Kubernetes: from `KUBEBUILDER_ASSETS`, the PATH, the cache, the official release, or built from their
//! Go modules — in this order.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::paths;

/// The Kubernetes that tests run. 1.34 is the newest that a kubelet accepts on cgroup v1.
pub const KUBERNETES: &str = "v1.34.4";
/// etcd's version.
pub const ETCD: &str = "v3.6.16";
/// helm's version.
pub const HELM: &str = "v4.3.1";
/// CoreDNS' version.
pub const COREDNS: &str = "v1.12.4";

/// A program the testbed knows how to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file name.
    pub name: &'static str,
    /// Its version, with `v`.
    pub version: &'static str,
    /// Directory of its Go module below `testbed/`.
    module: &'static str,
    /// Its main package.
    package: &'static str,
    /// What the PATH's or the assets' program must print for `--version` (or `version`) to be taken; empty: never taken
    /// from there.
    accepts: &'static str,
}

macro_rules! programs {
    ($($(#[$doc:meta])* $ident:ident = $name:literal, $version:expr, $module:literal, $package:literal, $accepts:literal;)+) => {
        $($(#[$doc])* pub const $ident: Program =
            Program { name: $name, version: $version, module: $module, package: $package, accepts: $accepts };)+
    };
}

programs! {
    /// The API server.
    KUBE_APISERVER = "kube-apiserver", KUBERNETES, "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", "Kubernetes v1.3";
    /// Garbage collection, workload controllers.
    KUBE_CONTROLLER_MANAGER = "kube-controller-manager", KUBERNETES, "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", "Kubernetes v1.3";
    /// Puts pods on the node.
    KUBE_SCHEDULER = "kube-scheduler", KUBERNETES, "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", "Kubernetes v1.3";
    /// Runs pods.
    KUBELET = "kubelet", KUBERNETES, "kubernetes", "k8s.io/kubernetes/cmd/kubelet", "Kubernetes v1.34";
    /// Makes Services reachable.
    KUBE_PROXY = "kube-proxy", KUBERNETES, "kubernetes", "k8s.io/kubernetes/cmd/kube-proxy", "Kubernetes v1.34";
    /// The command line people use.
    KUBECTL = "kubectl", KUBERNETES, "kubernetes", "k8s.io/kubernetes/cmd/kubectl", "";
    /// The store.
    ETCD_SERVER = "etcd", ETCD, "etcd", "go.etcd.io/etcd/server/v3", "etcd Version: 3.";
    /// The real helm.
    HELM_CLI = "helm", HELM, "helm", "helm.sh/helm/v4/cmd/helm", "v4.";
    /// Names of Services.
    COREDNS_SERVER = "coredns", COREDNS, "coredns", "github.com/coredns/coredns", "";
}

/// What a control plane needs.
pub const CONTROL_PLANE: [Program; 4] = [ETCD_SERVER, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBECTL];
/// What a node needs beside it.
pub const NODE: [Program; 4] = [KUBE_SCHEDULER, KUBELET, KUBE_PROXY, COREDNS_SERVER];

impl Program {
    /// The program's file, made or fetched where it is not there yet (minutes for a build, once). `say` hears what is
    /// being done.
    ///
    /// # Errors
    /// Names everything that was tried.
    pub fn find(&self, say: &dyn Fn(&str)) -> Result<PathBuf> {
        if let Some(found) = self.installed() {
            return Ok(found);
        }
        let cached = self.cached();
        if cached.is_file() {
            return Ok(cached);
        }
        let downloaded = self.download(&cached, say);
        match downloaded.and_then(|()| self.verify(&cached)) {
            Ok(()) => return Ok(cached),
            Err(reason) => {
                say(&format!("{} {}: no official download ({reason}); building it", self.name, self.version));
            }
        }
        self.build(&cached, say)?;
        Ok(cached)
    }

    /// `KUBEBUILDER_ASSETS` or PATH, when the version fits.
    fn installed(&self) -> Option<PathBuf> {
        if self.accepts.is_empty() {
            return None;
        }
        let assets = paths::kubebuilder_assets().map(|dir| dir.join(self.name)).filter(|file| file.is_file());
        let found = assets.or_else(|| paths::on_path(self.name))?;
        let argument = if self.name == "helm" { "version" } else { "--version" };
        let mut command = Command::new(&found);
        command.arg(argument);
        if self.name == "helm" {
            command.arg("--short");
        }
        let output = command.stdin(Stdio::null()).output().ok()?;
        String::from_utf8_lossy(&output.stdout).contains(self.accepts).then_some(found)
    }

    fn cached(&self) -> PathBuf {
        paths::tools().join(format!("{}-{}", self.module, self.version)).join(self.name)
    }

    /// Kubernetes' own programs have a stable address and a checksum beside each file.
    fn download(&self, to: &Path, say: &dyn Fn(&str)) -> Result<(), String> {
        if self.module != "kubernetes" {
            return Err("no stable address for a single file".to_owned());
        }
        let base =
            format!("https://dl.k8s.io/release/{}/bin/linux/{}/{}", self.version, go_arch(), self.name);
        let expected = curl(&format!("{base}.sha256"), None)?;
        say(&format!("{} {}: downloading", self.name, self.version));
        let part = to.with_extension("part");
        fs::create_dir_all(to.parent().unwrap_or(Path::new("."))).map_err(|error| error.to_string())?;
        curl(&base, Some(&part))?;
        let bytes = fs::read(&part).map_err(|error| error.to_string())?;
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if found != String::from_utf8_lossy(&expected).trim() {
            let _ = fs::remove_file(&part);
            return Err("the checksum does not match".to_owned());
        }
        make_executable(&part).and_then(|()| fs::rename(&part, to)).map_err(|error| error.to_string())
    }

    fn verify(&self, file: &Path) -> Result<(), String> {
        let output = Command::new(file)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // kubectl has no --version; that it ran is enough.
        if self.name == "kubectl" || text.contains(self.version) {
            Ok(())
        } else {
            Err(format!("it says {text:?}"))
        }
    }

    fn build(&self, to: &Path, say: &dyn Fn(&str)) -> Result<()> {
        let missing = |message: String| Error::Missing {
            name: self.name.to_owned(),
            version: self.version.to_owned(),
            message,
        };
        if paths::on_path("go").is_none() {
            return Err(missing(
                "not in KUBEBUILDER_ASSETS, PATH or cache, no download, and no Go to build it with"
                    .to_owned(),
            ));
        }
        let started = Instant::now();
        say(&format!("{} {}: building from its Go module", self.name, self.version));
        let directory = to.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
        let part = to.with_extension("part");
        let output = Command::new("go")
            .current_dir(paths::modules().join(self.module))
            // Static programs also run inside images.
            .env("CGO_ENABLED", "0")
            .args(["build", "-mod=mod", "-trimpath", "-ldflags", &self.ldflags(), "-o"])
            .arg(&part)
            .arg(self.package)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| missing(format!("go: {error}")))?;
        if !output.status.success() {
            return Err(missing(format!("go build: {}", String::from_utf8_lossy(&output.stderr).trim())));
        }
        fs::rename(&part, to).map_err(Error::file(to))?;
        say(&format!("{} {}: built in {} s", self.name, self.version, started.elapsed().as_secs()));
        Ok(())
    }

    fn ldflags(&self) -> String {
        let mut flags = "-s -w".to_owned();
        if self.module == "kubernetes" {
            let package = "k8s.io/component-base/version";
            let mut parts = self.version.trim_start_matches('v').split('.');
            let (major, minor) = (parts.next().unwrap_or("1"), parts.next().unwrap_or("0"));
            flags.push_str(&format!(
                " -X {package}.gitVersion={} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}",
                self.version
            ));
        }
        if self.module == "helm" {
            flags.push_str(&format!(" -X helm.sh/helm/v4/internal/version.version={}", self.version));
        }
        flags
    }
}

fn go_arch() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

/// Short time-outs: where the address cannot be reached, the build is the way.
fn curl(address: &str, to: Option<&Path>) -> Result<Vec<u8>, String> {
    let mut command = Command::new("curl");
    command.args([
        "--fail",
        "--silent",
        "--location",
        "--connect-timeout",
        "5",
        "--max-time",
        "300",
        address,
    ]);
    if let Some(to) = to {
        command.arg("--output").arg(to);
    }
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("curl: {error}"))?;
    if output.status.success() { Ok(output.stdout) } else { Err(format!("curl: {}", output.status)) }
}

fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}
