//! How this repository is built: one profile, one target directory, so that every big dependency is built once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use pilothouse_testbed::paths;

use crate::setup;
use crate::steps::{output, run, say};

/// Guests start with four MiB of memory: growing it later costs a system call in every fresh instance.
const GUEST_FLAGS: &str = "-Clink-arg=--initial-memory=4194304";

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Build results of everything xtask builds.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| paths::cache().join("target"), PathBuf::from)
}

/// This machine's target triple.
pub(crate) fn host_triple() -> Result<String> {
    static TRIPLE: OnceLock<String> = OnceLock::new();
    if let Some(triple) = TRIPLE.get() {
        return Ok(triple.clone());
    }
    let text = output(Command::new("rustc").arg("-vV"))?;
    let triple =
        text.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    Ok(TRIPLE.get_or_init(|| triple.to_owned()).clone())
}

/// cargo for this machine. On Linux programs are linked statically, so that the binary that was tested is the one in the
/// image; the target is named, so that macros and build scripts are left out of that.
pub(crate) fn cargo(subcommand: &str) -> Result<Command> {
    let triple = host_triple()?;
    let mut command = plain_cargo();
    command.arg(subcommand);
    if cfg!(target_os = "linux") {
        let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", triple.to_uppercase().replace('-', "_"));
        command.env(variable, "-C target-feature=+crt-static");
    }
    command.args(["--release", "--target", &triple]);
    Ok(command)
}

/// cargo as one would call it by hand. What `cargo run` tells xtask about itself is taken away: build scripts (ring's)
/// look at it, and everything behind them would be built again after every change between the two ways of calling.
fn plain_cargo() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root()).env("CARGO_TARGET_DIR", target_dir());
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name.as_ref());
        }
    }
    command
}

/// Builds the host; its file.
pub(crate) fn host() -> Result<PathBuf> {
    say("building the host");
    // The whole workspace decides on features: tests and the binary then share every dependency.
    run(cargo("build")?.args(["--workspace", "--bin", "pilothouse"]))?;
    Ok(target_dir().join(host_triple()?).join("release/pilothouse"))
}

/// Where finished plugins lie.
pub(crate) fn plugins_dir() -> PathBuf {
    paths::cache().join("plugins")
}

/// Builds every plugin of the repository; the files.
pub(crate) fn plugins() -> Result<Vec<PathBuf>> {
    components(&root().join("plugins"))
}

/// Builds the plugins that only tests use; the files.
pub(crate) fn test_guests() -> Result<Vec<PathBuf>> {
    components(&root().join("host/tests/guests"))
}

/// Builds every crate below with a `plugin.yaml` beside its `Cargo.toml` and puts its manifest in.
fn components(below: &Path) -> Result<Vec<PathBuf>> {
    setup::wasm_target()?;
    let host = host()?;
    let directory = plugins_dir();
    fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    let crates = plugin_crates(below)?;
    compile(crates.iter().map(|(package, _)| package.as_str()))?;
    let mut built = Vec::new();
    for (package, manifest) in crates {
        let component =
            target_dir().join("wasm32-wasip2/guest").join(format!("{}.wasm", package.replace('-', "_")));
        let name = plugin_name(&manifest)?;
        let file = directory.join(format!("{name}.wasm"));
        run(Command::new(&host)
            .args(["plugin", "build"])
            .arg(component)
            .arg("--manifest")
            .arg(&manifest)
            .arg("--output")
            .arg(&file))?;
        built.push(file);
    }
    Ok(built)
}

/// Those with types of Kubernetes by themselves: what they need of the SDK would be in the others too.
fn compile<'a>(packages: impl Iterator<Item = &'a str>) -> Result<()> {
    let (typed, others): (Vec<_>, Vec<_>) = packages.partition(|package| *package == "hello");
    for together in [others, typed].iter().filter(|packages| !packages.is_empty()) {
        say(&format!("building {}", together.join(", ")));
        let mut build = plain_cargo();
        build.env("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", GUEST_FLAGS);
        build.args(["build", "--profile", "guest", "--target", "wasm32-wasip2"]);
        // Two are linked at a time.
        run(build.args(together.iter().flat_map(|package| ["--package", package])))?;
    }
    Ok(())
}

fn plugin_name(manifest: &Path) -> Result<String> {
    let text = fs::read_to_string(manifest).with_context(|| manifest.display().to_string())?;
    let name =
        text.lines().find_map(|line| line.strip_prefix("name:")).context("plugin.yaml names no name")?;
    Ok(name.trim().to_owned())
}

/// Packages with a manifest, and the manifest.
fn plugin_crates(below: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let mut pending = vec![below.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with("target") {
                let (manifest, cargo) = (path.join("plugin.yaml"), path.join("Cargo.toml"));
                if manifest.is_file() && cargo.is_file() {
                    let text = fs::read_to_string(&cargo)?;
                    let name = text
                        .lines()
                        .find_map(|line| line.strip_prefix("name = "))
                        .context("a crate without a name")?;
                    found.push((name.trim_matches('"').to_owned(), manifest));
                }
                pending.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_of_tests_are_no_plugins_of_the_repository() {
        let names = |below: &str| -> Vec<String> {
            plugin_crates(&root().join(below)).unwrap().into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("plugins"), ["backup-plugin", "etcd-plugin", "hello", "helm-plugin"]);
        assert_eq!(names("host/tests/guests"), ["announcer", "misbehave", "outside", "triplet", "watchman"]);
    }
}
