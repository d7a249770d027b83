//! The target for plugins. rustup brings it in seconds; where rustup cannot download, the standard library is built from
//! Debian's package of its source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::build::root;
use crate::steps::{output, run, say};

const TARGET: &str = "wasm32-wasip2";
/// Debian's archive, and the suites that may have the library's source for our compiler, the likeliest first.
const ARCHIVE: &str = "http://deb.debian.org/debian";
const SUITES: [&str; 3] = ["trixie-backports", "testing", "unstable"];

/// Makes sure that plugins can be built.
pub(crate) fn wasm_target() -> Result<()> {
    let sysroot = sysroot()?;
    let library = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    if is_complete(&library) {
        return Ok(());
    }
    let started = Instant::now();
    say(&format!("{TARGET} is missing; asking rustup for it"));
    let mut rustup = Command::new("rustup");
    rustup.current_dir(root()).args(["target", "add", TARGET]).stdin(Stdio::null());
    if rustup.status().is_ok_and(|status| status.success()) && is_complete(&library) {
        say(&format!("{TARGET} added in {:.1} s", started.elapsed().as_secs_f64()));
        return Ok(());
    }
    say("rustup cannot bring it; building the standard library from Debian's source (about a minute)");
    build(&sysroot, &library).with_context(|| {
        format!("the target for plugins could not be made in {}; `rustup target add {TARGET}` brings it where rustup can download", sysroot.display())
    })?;
    say(&format!("{TARGET} built in {:.1} s", started.elapsed().as_secs_f64()));
    Ok(())
}

/// Where the compiler that the repository pins looks for libraries.
fn sysroot() -> Result<PathBuf> {
    let text = output(Command::new("rustc").current_dir(root()).args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(text.trim()))
}

/// The library comes last, so that a build that was broken off is done again.
fn is_complete(library: &Path) -> bool {
    let files = fs::read_dir(library).into_iter().flatten().flatten();
    let has_std =
        files.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with("libstd-"));
    has_std && library.join("self-contained/crt1-command.o").is_file()
}

fn build(sysroot: &Path, library: &Path) -> Result<()> {
    let version = output(Command::new("rustc").current_dir(root()).arg("--version"))?;
    let version = version.split_whitespace().nth(1).context("rustc --version names no version")?.to_owned();
    let work = tempfile::tempdir()?;
    let packages = fetch(&version, work.path())?;
    let source = first_entry(&packages.join("usr/src"))?.join("library");
    copy(&source, &sysroot.join("lib/rustlib/src/rust/library"), |_| true)?;
    let is_object =
        |path: &Path| path.extension().is_some_and(|extension| extension == "o" || extension == "a");
    copy(&packages.join("usr/lib").join(TARGET), &library.join("self-contained"), is_object)?;
    let built = compile(work.path())?;
    let is_library = |path: &Path| path.extension().is_some_and(|extension| extension == "rlib");
    // In the order of dependence: `libstd` is what tells that all of them are there.
    copy(&built, library, |path| is_library(path) && !is_std(path))?;
    copy(&built, library, |path| is_library(path) && is_std(path))
}

fn is_std(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libstd-"))
}

/// Any crate does: what is wanted are the libraries that it is built with.
fn compile(work: &Path) -> Result<PathBuf> {
    let (package, target) = (work.join("std"), work.join("target"));
    fs::create_dir_all(package.join("src"))?;
    let manifest =
        "[package]\nname = \"std-for-plugins\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(package.join("Cargo.toml"), manifest)?;
    fs::write(package.join("src/main.rs"), "fn main() {}\n")?;
    // The pinned toolchain, also outside of the repository.
    fs::copy(root().join("rust-toolchain.toml"), package.join("rust-toolchain.toml"))?;
    run(Command::new("cargo")
        .current_dir(&package)
        .env("RUSTC_BOOTSTRAP", "1")
        // Without the bitcode plugins cannot be optimised across crates.
        .env("RUSTFLAGS", "-Cembed-bitcode=yes")
        .env("CARGO_TARGET_DIR", &target)
        .args(["build", "--quiet", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET]))?;
    Ok(target.join(TARGET).join("release/deps"))
}

/// Fetches and unpacks Debian's source of the library and its C library, with apt's own checks of signatures, and without
/// touching what apt knows of this machine.
fn fetch(version: &str, work: &Path) -> Result<PathBuf> {
    let mut reasons = Vec::new();
    for suite in SUITES {
        match fetch_from(suite, version, &work.join(suite)) {
            Ok(packages) => return Ok(packages),
            Err(error) => reasons.push(format!("{suite}: {error:#}")),
        }
    }
    bail!("Debian has no rust-src {version}: {}", reasons.join("; "))
}

fn fetch_from(suite: &str, version: &str, work: &Path) -> Result<PathBuf> {
    for directory in ["state/lists/partial", "cache/archives/partial", "packages"] {
        fs::create_dir_all(work.join(directory))?;
    }
    let sources = work.join("sources.list");
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    fs::write(&sources, format!("deb [signed-by={keys}] {ARCHIVE} {suite} main\n"))?;
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.current_dir(work).arg("-qq");
        for (key, value) in [
            ("Dir::Etc::SourceList", sources.display().to_string()),
            ("Dir::Etc::SourceParts", "-".to_owned()),
            ("Dir::State", work.join("state").display().to_string()),
            ("Dir::State::Status", "/dev/null".to_owned()),
            ("Dir::Cache", work.join("cache").display().to_string()),
            ("Debug::NoLocking", "1".to_owned()),
            ("APT::Sandbox::User", String::new()),
        ] {
            command.args(["-o", &format!("{key}={value}")]);
        }
        output(command.args(arguments).stdin(Stdio::null()))
    };
    apt(&["update"])?;
    apt(&["download", &format!("rust-src={version}*"), "wasi-libc"])?;
    for entry in fs::read_dir(work)? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg-deb").arg("-x").arg(&file).arg(work.join("packages")))?;
        }
    }
    Ok(work.join("packages"))
}

fn first_entry(directory: &Path) -> Result<PathBuf> {
    let entry =
        fs::read_dir(directory)?.next().with_context(|| format!("{} is empty", directory.display()))?;
    Ok(entry?.path())
}

/// Copies the files of a directory that are wanted, with the directories in it.
fn copy(from: &Path, to: &Path, wanted: impl Fn(&Path) -> bool + Copy) -> Result<()> {
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target, wanted)?;
        } else if wanted(&path) {
            fs::copy(&path, &target).with_context(|| target.display().to_string())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_without_its_c_library_or_without_std_is_not_complete() {
        let library = tempfile::tempdir().unwrap();
        assert!(!is_complete(library.path()));
        fs::write(library.path().join("libstd-123.rlib"), "").unwrap();
        assert!(!is_complete(library.path()));
        fs::create_dir(library.path().join("self-contained")).unwrap();
        fs::write(library.path().join("self-contained/crt1-command.o"), "").unwrap();
        assert!(is_complete(library.path()));
    }

    #[test]
    fn only_wanted_files_are_copied_with_their_directories() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("sub")).unwrap();
        for file in ["a.o", "b.txt", "sub/c.o"] {
            fs::write(from.path().join(file), file).unwrap();
        }
        copy(from.path(), to.path(), |path| path.extension().is_some_and(|extension| extension == "o"))
            .unwrap();
        assert!(
            to.path().join("a.o").exists()
                && to.path().join("sub/c.o").exists()
                && !to.path().join("b.txt").exists()
        );
    }
}
