//! Official release downloads, compared with a checksum before anything in them is used.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use sha2::{Sha256, Sha512};

use super::{Module, Program, hex};
use crate::paths;
use crate::progress::Progress;

/// Where a release's archive is and how it is known to be the right one.
struct Release {
    url: String,
    checksum: Checksum,
}

enum Checksum {
    /// Written down here, from the release notes.
    Pinned(&'static str),
    /// In a file that the publisher puts beside the archive: guards against a broken download, not against the publisher.
    Beside(String),
}

/// Puts these programs of a release into the module's directory.
pub(super) fn fetch(module: &Module, programs: &[Program], progress: &dyn Progress) -> Result<(), String> {
    let release = release(module, machine()?).ok_or("there is none for this machine")?;
    let curl = paths::on_path("curl").ok_or("no curl on the PATH")?;
    let started = Instant::now();
    let expected = match &release.checksum {
        Checksum::Pinned(sum) => (*sum).to_owned(),
        Checksum::Beside(url) => {
            sum_of(&text(&curl, url)?, file_name(&release.url)).ok_or("its checksum file does not name it")?
        }
    };
    progress.now(&format!("{}: downloading {}", module.name, release.url));
    let work = tempfile::tempdir_in(paths::tools()).map_err(|error| error.to_string())?;
    let archive = work.path().join("archive");
    to_file(&curl, &release.url, &archive)?;
    verify(&archive, &expected)?;
    unpack(&archive, module, programs, work.path())?;
    let seconds = started.elapsed().as_secs();
    progress
        .line(&format!("{} {}: downloaded in {seconds} s from {}", module.name, module.version, release.url));
    Ok(())
}

/// Go's name of this machine.
fn machine() -> Result<&'static str, String> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok("amd64"),
        ("linux", "aarch64") => Ok("arm64"),
        (os, arch) => Err(format!("none for {os} on {arch}")),
    }
}

fn release(module: &Module, machine: &str) -> Option<Release> {
    let version = module.version;
    Some(match module.name {
        "kubernetes" => Release {
            url: format!("https://dl.k8s.io/{version}/kubernetes-server-linux-{machine}.tar.gz"),
            checksum: Checksum::Pinned(kubernetes_checksum(version, machine)?),
        },
        "etcd" | "etcd-3.5" | "etcd-3.7" => {
            let base = format!("https://github.com/etcd-io/etcd/releases/download/{version}");
            Release {
                url: format!("{base}/etcd-{version}-linux-{machine}.tar.gz"),
                checksum: Checksum::Beside(format!("{base}/SHA256SUMS")),
            }
        }
        "helm" => {
            let url = format!("https://get.helm.sh/helm-{version}-linux-{machine}.tar.gz");
            Release { checksum: Checksum::Beside(format!("{url}.sha256sum")), url }
        }
        "coredns" => {
            let number = version.trim_start_matches('v');
            let base = format!("https://github.com/coredns/coredns/releases/download/{version}");
            let url = format!("{base}/coredns_{number}_linux_{machine}.tgz");
            Release { checksum: Checksum::Beside(format!("{url}.sha256")), url }
        }
        _ => return None,
    })
}

/// SHA-512 of `kubernetes-server-linux-*.tar.gz`, from Kubernetes' CHANGELOG-1.34.md.
fn kubernetes_checksum(version: &str, machine: &str) -> Option<&'static str> {
    match (version, machine) {
        ("v1.34.4", "amd64") => Some(
            "65c75e81e3ea488f6d42b493cad64d7577ddfa1e5372037a1c841ac069039997d359b5b2f2d44e7665bf04c48ed0065cf9d4c9801b1e63bb6a1b099ef00d4863",
        ),
        ("v1.34.4", "arm64") => Some(
            "a1fad7060ed67b5634f32f3256a295179dd887dab5c82b8550c2eb62c69df34cfbb311c8f93e7608d558eba32b9e2ddc23976db39e512fd747cc6bf9b4c1765f",
        ),
        _ => None,
    }
}

fn file_name(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or(url)
}

/// The checksum of a file in the format of `sha256sum`, where a single sum may stand without a name.
fn sum_of(text: &str, file: &str) -> Option<String> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.find_map(|words| match words.as_slice() {
        [sum] => Some((*sum).to_owned()),
        [sum, name, ..] if file_name(name.trim_start_matches('*')) == file => Some((*sum).to_owned()),
        _ => None,
    })
}

/// Short to connect: where the address cannot be reached, the build is the way, at once.
fn curl_command(curl: &Path, url: &str) -> Command {
    let mut command = Command::new(curl);
    command.args(["--fail", "--silent", "--show-error", "--location", "--proto", "=https"]);
    command
        .args(["--connect-timeout", "5", "--speed-limit", "10000", "--speed-time", "20", url])
        .stdin(Stdio::null());
    command
}

fn text(curl: &Path, url: &str) -> Result<String, String> {
    let output = curl_command(curl, url).output().map_err(|error| format!("curl: {error}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
}

fn to_file(curl: &Path, url: &str, file: &Path) -> Result<(), String> {
    let output = curl_command(curl, url)
        .arg("--output")
        .arg(file)
        .output()
        .map_err(|error| format!("curl: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// SHA-256 or SHA-512, by the length of what is expected.
fn verify(file: &Path, expected: &str) -> Result<(), String> {
    let found = match expected.len() {
        64 => digest::<Sha256>(file)?,
        128 => digest::<Sha512>(file)?,
        other => return Err(format!("a checksum of {other} characters")),
    };
    if found.eq_ignore_ascii_case(expected) {
        Ok(())
    } else {
        Err(format!("the checksum is {found}, not {expected}"))
    }
}

fn digest<D: sha2::Digest>(file: &Path) -> Result<String, String> {
    let mut file = File::open(file).map_err(|error| error.to_string())?;
    let (mut hash, mut buffer) = (D::new(), vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut buffer).map_err(|error| error.to_string())?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(buffer.get(..read).unwrap_or_default());
    }
}

/// Takes the programs out of the archive, wherever in it they lie.
fn unpack(archive: &Path, module: &Module, programs: &[Program], work: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("the archive: {error}");
    let reader = flate2::read::GzDecoder::new(File::open(archive).map_err(failed)?);
    let mut found = 0;
    for entry in tar::Archive::new(reader).entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let path = entry.path().map_err(failed)?.into_owned();
        let Some(program) =
            programs.iter().find(|program| path.file_name().is_some_and(|name| name == program.name))
        else {
            continue;
        };
        if entry.header().entry_type().is_file() {
            let part = work.join(program.name);
            entry.unpack(&part).map_err(failed)?;
            fs::rename(&part, module.directory().join(program.name)).map_err(failed)?;
            found += 1;
        }
    }
    if found == programs.len() {
        Ok(())
    } else {
        Err(format!("the archive has {found} of {} programs", programs.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{COREDNS, ETCD, HELM, KUBERNETES};
    use super::*;

    #[test]
    fn every_release_has_an_address_and_a_checksum_on_both_machines() {
        for module in [&KUBERNETES, &ETCD, &HELM, &COREDNS] {
            for machine in ["amd64", "arm64"] {
                let release =
                    release(module, machine).unwrap_or_else(|| panic!("{} on {machine}", module.name));
                assert!(
                    release.url.contains(machine) && release.url.starts_with("https://"),
                    "{}",
                    release.url
                );
            }
        }
    }

    #[test]
    fn a_checksum_file_may_name_many_files_or_none() {
        let many = "aa  etcd-v1-darwin-amd64.zip\nbb  etcd-v1-linux-amd64.tar.gz\n";
        assert_eq!(sum_of(many, "etcd-v1-linux-amd64.tar.gz"), Some("bb".to_owned()));
        assert_eq!(sum_of("cc\n", "anything"), Some("cc".to_owned()));
        assert_eq!(sum_of("dd *dist/x.tgz\n", "x.tgz"), Some("dd".to_owned()));
        assert_eq!(sum_of(many, "etcd-v1-linux-arm64.tar.gz"), None);
    }

    #[test]
    fn an_archive_with_another_checksum_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("archive");
        fs::write(&file, "hello\n").unwrap();
        let right = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        assert_eq!(verify(&file, right), Ok(()));
        let wrong = right.replace('5', "6");
        assert!(verify(&file, &wrong).unwrap_err().contains("not"));
        assert!(verify(&file, "5891").is_err());
    }
}
