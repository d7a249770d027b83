//! Debian's packages as contents of images: fetched with all that they need and taken apart. Nothing is installed, and what
//! is installed on this machine does not matter.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::image::Archive;
use crate::paths;
use crate::process::run;
use crate::progress::Progress;

/// Documentation, translations and the interpreter that only maintainers' scripts need.
const WITHOUT: [&str; 12] = [
    "usr/share/doc/",
    "usr/share/i18n/",
    "usr/share/info/",
    "usr/share/lintian/",
    "usr/share/locale/",
    "usr/share/man/",
    "usr/share/perl/",
    "usr/share/perl5/",
    "usr/bin/perl",
    "usr/lib/*/gconv/",
    "usr/lib/*/libperl.",
    "usr/lib/*/perl",
];

/// Puts packages of the machine's Debian into an image, with everything they depend on, but for paths that begin with one of
/// `without` (a `*` is one part of a path).
///
/// # Errors
/// When there is no apt, it does not know a package, or a package cannot be read.
pub fn add_packages(
    image: &mut Archive,
    packages: &[&str],
    without: &[&str],
    progress: &dyn Progress,
) -> Result<()> {
    let directory = tempfile::tempdir().map_err(Error::file(&std::env::temp_dir()))?;
    progress.now(&format!("fetching {}", packages.join(", ")));
    download(packages, directory.path()).or_else(|_| {
        // The lists may be missing, or older than the archive.
        run(Command::new("apt-get").args(["-qq", "update"]))?;
        download(packages, directory.path())
    })?;
    for package in files(directory.path())? {
        unpack(image, &package, without)?;
    }
    Ok(())
}

/// apt with an empty list of what is installed: to it, everything is missing.
fn download(packages: &[&str], directory: &Path) -> Result<()> {
    if paths::on_path("apt-get").is_none() {
        return Err(Error::Other(format!(
            "there is no apt-get to fetch {} with: this needs a Debian or one of its kind",
            packages.join(", ")
        )));
    }
    let installed = directory.join("installed");
    File::create(&installed).map_err(Error::file(&installed))?;
    let partial = directory.join("partial");
    fs::create_dir_all(&partial).map_err(Error::file(&partial))?;
    let mut command = Command::new("apt-get");
    for option in [
        format!("Dir::State::status={}", installed.display()),
        format!("Dir::Cache::archives={}", directory.display()),
        // apt's own memory of what is installed stays right.
        "Dir::Cache::pkgcache=".to_owned(),
        "Dir::Cache::srcpkgcache=".to_owned(),
        "Debug::NoLocking=1".to_owned(),
        // Its unprivileged user could not enter the directory.
        "APT::Sandbox::User=root".to_owned(),
    ] {
        command.arg("--option").arg(option);
    }
    command.args(["-qq", "--yes", "--no-install-recommends", "--download-only", "install"]);
    run(command.env("DEBIAN_FRONTEND", "noninteractive").args(packages)).map(drop)
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).map_err(Error::file(directory))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "deb"));
    files.sort();
    Ok(files)
}

fn unpack(image: &mut Archive, package: &Path, without: &[&str]) -> Result<()> {
    let failed = |message: String| Error::Program { program: "dpkg-deb".to_owned(), message };
    let mut command = Command::new("dpkg-deb");
    command.arg("--fsys-tarfile").arg(package).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let wanted = |path: &str| !WITHOUT.iter().chain(without).any(|pattern| begins(path, pattern));
    if let Some(stream) = child.stdout.take() {
        image.unpack(stream, &wanted)?;
    }
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(format!("{}: {status}", package.display()))) }
}

/// Whether a path begins with a pattern, whose parts may be `*`.
fn begins(path: &str, pattern: &str) -> bool {
    match pattern.split_once("*/") {
        None => path.starts_with(pattern),
        Some((before, after)) => {
            let rest = path.strip_prefix(before).and_then(|rest| rest.split_once('/'));
            rest.is_some_and(|(_, rest)| begins(rest, after))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_one_part_of_a_path() {
        assert!(begins("usr/lib/x86_64-linux-gnu/perl/5.36/a.so", "usr/lib/*/perl"));
        assert!(begins("usr/lib/x86_64-linux-gnu/libperl.so.5.36", "usr/lib/*/libperl."));
        assert!(!begins("usr/lib/perl/a.so", "usr/lib/*/perl"));
        assert!(!begins("usr/lib/a/b/perl", "usr/lib/*/perl"));
        assert!(begins("usr/share/man/man1/a.1", "usr/share/man/"));
        assert!(!begins("usr/share/manual", "usr/share/man/"));
    }

    #[test]
    fn a_file_that_is_no_package_is_named() {
        let file = tempfile::Builder::new().suffix(".deb").tempfile().unwrap();
        let error = unpack(&mut Archive::new("x:1"), file.path(), &[]).unwrap_err().to_string();
        assert!(error.contains("dpkg-deb") && error.contains(".deb"), "{error}");
    }
}
