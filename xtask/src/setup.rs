//! What a fresh machine lacks: the target for plugins. rustup brings it in seconds; where rustup cannot download, the
//! standard library is built from Debian's sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use pilothouse_testbed::{node, paths};

use crate::build::root;
use crate::steps::{output, run, say};

const TARGET: &str = "wasm32-wasip2";
/// Debian's archive, and the suite that has a library source for our compiler.
const ARCHIVE: &str = "http://deb.debian.org/debian";
const SUITE: &str = "trixie-backports";

/// Everything, with times.
pub(crate) fn setup() -> Result<()> {
    let started = Instant::now();
    for directory in [paths::cache(), paths::tools(), paths::clusters(), crate::build::plugins_dir()] {
        fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    }
    wasm_target()?;
    say(&format!(
        "set up in {:.1} s; everything lies in {}",
        started.elapsed().as_secs_f64(),
        paths::cache().display()
    ));
    Ok(())
}

/// Debian's packages of what a node needs, where they are missing.
pub(crate) fn node_packages() -> Result<()> {
    let missing = node::missing_packages();
    if missing.is_empty() {
        return Ok(());
    }
    let started = Instant::now();
    if paths::on_path("apt-get").is_none() {
        bail!("a node needs {}; install them with your system's package manager", missing.join(", "));
    }
    say(&format!("installing {} (apt-get)", missing.join(" ")));
    let apt = |arguments: &[&str]| {
        run(Command::new("apt-get")
            .env("DEBIAN_FRONTEND", "noninteractive")
            .arg("-qq")
            .args(arguments)
            .stdout(Stdio::null()))
    };
    // The lists may be older than the archive; nothing of the machine's is removed to make room.
    apt(&["update"])?;
    let options = ["install", "--yes", "--no-install-recommends", "--no-remove"];
    apt(&options.iter().chain(&missing).copied().collect::<Vec<_>>())?;
    say(&format!("packages installed in {:.1} s", started.elapsed().as_secs_f64()));
    Ok(())
}

/// The standard library for plugins.
pub(crate) fn wasm_target() -> Result<()> {
    let library = sysroot()?.join("lib/rustlib").join(TARGET).join("lib");
    if has_std(&library) {
        return Ok(());
    }
    let started = Instant::now();
    say(&format!("{TARGET} is missing; asking rustup for it"));
    let added = Command::new("rustup")
        .current_dir(root())
        .args(["target", "add", TARGET])
        .stdin(Stdio::null())
        .status();
    if added.is_ok_and(|status| status.success()) && has_std(&library) {
        say(&format!("{TARGET} added in {:.1} s", started.elapsed().as_secs_f64()));
        return Ok(());
    }
    say("rustup cannot bring it; building the standard library from Debian's sources (about a minute)");
    build_std(&library)
        .context("the target for plugins could not be made; try `rustup target add wasm32-wasip2`")?;
    say(&format!("{TARGET} built in {:.1} s", started.elapsed().as_secs_f64()));
    Ok(())
}

fn sysroot() -> Result<PathBuf> {
    let text = output(Command::new("rustc").current_dir(root()).args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(text.trim()))
}

fn has_std(library: &Path) -> bool {
    let files = fs::read_dir(library).into_iter().flatten().flatten();
    files.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with("libstd-"))
}

fn build_std(library: &Path) -> Result<()> {
    let sysroot = sysroot()?;
    let version = output(Command::new("rustc").current_dir(root()).arg("--version"))?;
    let version = version.split_whitespace().nth(1).context("rustc --version names no version")?.to_owned();
    let work = tempfile::tempdir()?;
    let index = packages()?;
    let source = unpack(&index, "rust-src", &version, work.path())?;
    let libc = unpack(&index, "wasi-libc", "", work.path())?;
    copy_tree(
        &first_entry(&source.join("usr/src"))?.join("library"),
        &sysroot.join("lib/rustlib/src/rust/library"),
    )?;
    let contained = library.join("self-contained");
    fs::create_dir_all(&contained)?;
    copy_files(&libc.join("usr/lib").join(TARGET), &contained, &["o", "a"])?;
    let package = work.path().join("std");
    fs::create_dir_all(package.join("src"))?;
    fs::write(
        package.join("Cargo.toml"),
        "[package]\nname = \"std-for-plugins\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    )?;
    fs::write(package.join("src/main.rs"), "fn main() {}\n")?;
    run(Command::new("cargo")
        .current_dir(&package)
        .env("RUSTC_BOOTSTRAP", "1")
        // Without the bitcode plugins cannot be optimised across crates.
        .env("RUSTFLAGS", "-Cembed-bitcode=yes")
        .env("RUSTUP_TOOLCHAIN", toolchain()?)
        .env("CARGO_TARGET_DIR", package.join("target"))
        .args(["build", "--quiet", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET]))?;
    copy_files(&package.join("target").join(TARGET).join("release/deps"), library, &["rlib"])
}

/// The channel that the repository pins.
fn toolchain() -> Result<String> {
    let text = fs::read_to_string(root().join("rust-toolchain.toml"))?;
    let channel = text
        .lines()
        .find_map(|line| line.strip_prefix("channel = "))
        .context("rust-toolchain.toml names no channel")?;
    Ok(channel.trim_matches('"').to_owned())
}

/// Debian's list of packages of the suite.
fn packages() -> Result<String> {
    let address = format!("{ARCHIVE}/dists/{SUITE}/main/binary-all/Packages.xz");
    let compressed = curl(&address)?;
    let mut child =
        Command::new("xz").arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("xz")?;
    let mut input = child.stdin.take().context("xz takes no input")?;
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, &compressed));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| anyhow::anyhow!("xz: writer failed"))??;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Fetches a package, checks it against the list and unpacks it; of several versions the newest that begins so.
fn unpack(index: &str, name: &str, version: &str, work: &Path) -> Result<PathBuf> {
    let field = |entry: &str, key: &str| -> Option<String> {
        entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": ").map(ToOwned::to_owned))
    };
    let fits = |entry: &&str| {
        field(entry, "Package").as_deref() == Some(name)
            && field(entry, "Version").is_some_and(|found| found.starts_with(version))
    };
    let entry = index.split("\n\n").filter(fits).max_by_key(|entry| field(entry, "Version"));
    let entry = entry.with_context(|| format!("Debian {SUITE} has no {name} {version}"))?;
    let file = field(entry, "Filename").context("a package without a file")?;
    let bytes = curl(&format!("{ARCHIVE}/{file}"))?;
    let archive = work.join(format!("{name}.deb"));
    fs::write(&archive, &bytes)?;
    let sum = output(Command::new("sha256sum").arg(&archive))?;
    if field(entry, "SHA256").as_deref() != sum.split_whitespace().next() {
        bail!("{file}: the checksum does not match");
    }
    let to = work.join(name);
    run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&to))?;
    Ok(to)
}

fn curl(address: &str) -> Result<Vec<u8>> {
    let output = Command::new("curl")
        .args(["--fail", "--silent", "--location", "--max-time", "300", address])
        .output()
        .context("curl")?;
    if output.status.success() { Ok(output.stdout) } else { bail!("{address}: {}", output.status) }
}

fn first_entry(directory: &Path) -> Result<PathBuf> {
    let entry =
        fs::read_dir(directory)?.next().with_context(|| format!("{} is empty", directory.display()))?;
    Ok(entry?.path())
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_tree(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

fn copy_files(from: &Path, to: &Path, extensions: &[&str]) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| extensions.iter().any(|wanted| found == *wanted)) {
            fs::copy(&path, to.join(path.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}
