use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn executable(directory: &Path, name: &str) -> PathBuf {
    fs::create_dir_all(directory).unwrap();
    let file = directory.join(name);
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// A machine with nothing, and then what a test puts on it.
struct Machine {
    root: tempfile::TempDir,
    version: &'static str,
}

impl Machine {
    fn new(version: &'static str) -> Self {
        Self { root: tempfile::tempdir().unwrap(), version }
    }

    fn look(&self, program: &Program) -> Option<PathBuf> {
        let at = |place: &str| self.root.path().join(place);
        let places = Places { assets: Some(at("assets")), cached: at("cache").join(program.name) };
        let on_path = |name: &str| Some(at("path").join(name)).filter(|file| paths::is_executable(file));
        places.look(program, &|_| Some(self.version.to_owned()), &on_path)
    }

    fn put(&self, place: &str, program: &Program) -> PathBuf {
        executable(&self.root.path().join(place), program.name)
    }
}

#[test]
fn assets_come_before_the_path_and_the_path_before_the_cache() {
    let machine = Machine::new("Kubernetes v1.34.1");
    assert_eq!(machine.look(&KUBELET), None);
    let cached = machine.put("cache", &KUBELET);
    assert_eq!(machine.look(&KUBELET), Some(cached));
    let on_path = machine.put("path", &KUBELET);
    assert_eq!(machine.look(&KUBELET), Some(on_path));
    let asset = machine.put("assets", &KUBELET);
    assert_eq!(machine.look(&KUBELET), Some(asset));
}

#[test]
fn a_program_of_another_version_on_the_path_is_passed_over() {
    let machine = Machine::new("Kubernetes v1.30.0");
    machine.put("path", &KUBELET);
    let cached = machine.put("cache", &KUBELET);
    assert_eq!(machine.look(&KUBELET), Some(cached));
}

#[test]
fn helm_3_on_the_path_is_passed_over() {
    let machine = Machine::new("v3.22.0+g1234567");
    machine.put("path", &HELM_CLI);
    assert_eq!(machine.look(&HELM_CLI), None);
}

#[test]
fn helm_4_on_the_path_is_taken() {
    let machine = Machine::new("v4.2.0+g1234567");
    let helm = machine.put("path", &HELM_CLI);
    assert_eq!(machine.look(&HELM_CLI), Some(helm));
}

#[test]
fn kubectl_on_the_path_is_never_taken() {
    let machine = Machine::new("anything");
    machine.put("path", &KUBECTL);
    assert_eq!(machine.look(&KUBECTL), None);
}

#[test]
fn a_file_that_cannot_be_executed_is_no_program() {
    let machine = Machine::new("Kubernetes v1.34.4");
    let file = machine.put("assets", &KUBELET);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(machine.look(&KUBELET), None);
}

#[test]
fn the_cache_directory_names_version_and_pins() {
    let name = KUBERNETES.directory().file_name().unwrap().to_string_lossy().into_owned();
    let pins = name.strip_prefix("kubernetes-v1.34.4-").unwrap();
    assert!(pins.len() == 8 && pins.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
}

#[test]
fn every_module_pins_the_version_that_is_promised() {
    let requires = |module: &Module, line: &str| {
        let file = paths::modules().join(module.name).join("go.mod");
        let text = fs::read_to_string(&file).unwrap();
        let line = format!("{line} {}", module.version);
        assert!(
            text.lines().any(|found| found.trim().starts_with(&line)),
            "{} lacks {line:?}",
            file.display()
        );
    };
    requires(&KUBERNETES, "k8s.io/kubernetes");
    requires(&ETCD, "go.etcd.io/etcd/server/v3");
    requires(&HELM, "helm.sh/helm/v4");
    requires(&COREDNS, "github.com/coredns/coredns");
    requires(&DISTRIBUTION, "github.com/distribution/distribution/v3");
}
