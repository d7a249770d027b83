//! `init`, `create api`, `adopt`, `bundle`, as a person runs them: the real binary, the real plugin, the real kubectl.
//!
//! Needs `helm.wasm`, built by `cargo xtask plugins` (`PILOTHOUSE_TEST_PLUGINS` names its directory); skips aloud without
//! it.

#[path = "project/adopt.rs"]
mod adopt;
#[path = "project/bundle.rs"]
mod bundle;
#[path = "project/create.rs"]
mod create;
#[path = "project/init.rs"]
mod init;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use pilothouse_testbed::binaries::KUBECTL;

const HOST: &str = env!("CARGO_BIN_EXE_pilothouse");

/// Where all tests find the plugin compiled.
static CACHE: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

/// A directory to work in, with a chart `web` beside the project.
struct Place {
    directory: tempfile::TempDir,
    plugin: Option<PathBuf>,
}

const WEB: [(&str, &str); 4] = [
    ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
    ("values.yaml", "# How many.\nreplicaCount: 1\ningress:\n  enabled: false\n"),
    (
        "templates/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  replicas: {{ .Values.replicaCount }}\n",
    ),
    (
        "templates/ingress.yaml",
        "{{- if .Values.ingress.enabled }}\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {{ .Release.Name }}\n{{- end }}\n",
    ),
];

/// A directory for what needs no plugin.
fn bare() -> Place {
    let place = Place { directory: tempfile::tempdir().unwrap(), plugin: None };
    fs::create_dir(place.project()).unwrap();
    for (path, text) in WEB {
        place.write(&format!("web/{path}"), text);
    }
    place
}

fn place() -> Option<Place> {
    let plugin = std::env::var_os("PILOTHOUSE_TEST_PLUGINS").map(|dir| PathBuf::from(dir).join("helm.wasm"));
    let Some(plugin) = plugin.filter(|path| path.is_file()) else {
        pilothouse_testbed::skip("no PILOTHOUSE_TEST_PLUGINS with helm.wasm; run `cargo xtask test`");
        return None;
    };
    Some(Place { plugin: Some(plugin), ..bare() })
}

/// The kubectl of the testbed, where it is there.
fn kubectl() -> Option<PathBuf> {
    let found = KUBECTL.present();
    if found.is_none() {
        pilothouse_testbed::skip("no kubectl; `cargo xtask cluster up` fetches it");
    }
    found
}

impl Place {
    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn project(&self) -> PathBuf {
        self.path().join("shop-operator")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A file of the project.
    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HOST);
        command.args(arguments).current_dir(self.project()).env_clear().env("HOME", self.path());
        command.env("PILOTHOUSE_CACHE_DIR", CACHE.path()).stdin(Stdio::null());
        // Without a plugin, one that is not there: the test says so where it should not be asked.
        let none = self.path().join("no-plugin.wasm");
        command.env("PILOTHOUSE_HELM_PLUGIN", self.plugin.as_ref().unwrap_or(&none));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What is printed by a command that does well.
    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exit code and words of a command that fails, and that leaves the project as it was.
    fn refused(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let before = listing(&self.project());
        let output = self.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{arguments:?} {}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(listing(&self.project()), before, "{arguments:?} left something behind: {said}");
        (output.status.code(), said)
    }

    /// What kustomize makes of a directory of the project.
    fn built(&self, kubectl: &Path, directory: &str) -> String {
        let built = Command::new(kubectl)
            .args(["kustomize", directory])
            .current_dir(self.project())
            .env_clear()
            .output()
            .unwrap();
        let errors = String::from_utf8(built.stderr).unwrap();
        assert!(built.status.success() && errors.is_empty(), "{directory}: {errors}");
        String::from_utf8(built.stdout).unwrap()
    }
}

/// All files below a directory, with their content.
fn listing(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

fn paths(root: &Path) -> Vec<String> {
    listing(root).into_iter().map(|(path, _)| path).collect()
}
