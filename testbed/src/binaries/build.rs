//! Building programs from their Go modules.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::{Module, Program};
use crate::paths;
use crate::progress::Progress;

/// Builds these programs of a module into its directory.
pub(super) fn build(module: &Module, programs: &[Program], progress: &dyn Progress) -> Result<(), String> {
    let go = paths::on_path("go").ok_or("no Go on the PATH (https://go.dev/dl)")?;
    let started = Instant::now();
    let names: Vec<&str> = programs.iter().map(|program| program.name).collect();
    let directory = module.directory();
    let target = tempfile::tempdir_in(paths::tools()).map_err(|error| error.to_string())?;
    progress.line(&format!(
        "{} {}: building {} (minutes, once)",
        module.name,
        module.version,
        names.join(", ")
    ));
    let mut command = Command::new(go);
    command
        .current_dir(paths::modules().join(module.name))
        // Static programs also run inside images.
        .env("CGO_ENABLED", "0")
        .args(["build", "-mod=readonly", "-trimpath", "-v", "-ldflags", &ldflags(module), "-o"])
        .arg(target.path())
        .args(programs.iter().map(|program| program.package));
    run(command, module, progress)?;
    for program in programs {
        let made = target.path().join(file_made(program.package));
        let to = directory.join(program.name);
        fs::rename(&made, &to).map_err(|error| format!("{}: {error}", made.display()))?;
    }
    let seconds = started.elapsed().as_secs();
    progress.line(&format!(
        "{} {}: built in {seconds} s into {}",
        module.name,
        module.version,
        directory.display()
    ));
    Ok(())
}

/// With `-v` the compiler names every package when it begins with it.
fn run(mut command: Command, module: &Module, progress: &dyn Progress) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("go: {error}");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let (mut packages, mut said) = (0, Vec::new());
    for line in
        child.stderr.take().map(BufReader::new).into_iter().flat_map(BufReader::lines).map_while(Result::ok)
    {
        if line.contains(' ') {
            said.push(line);
        } else {
            packages += 1;
            progress.now(&format!("{}: {packages} packages, {line}", module.name));
        }
    }
    let status = child.wait().map_err(failed)?;
    if status.success() {
        return Ok(());
    }
    let end = said.split_off(said.len().saturating_sub(20));
    Err(format!("go build: {status}: {}", end.join("\n")))
}

/// Go names a program after its package, without the major version at the end.
fn file_made(package: &str) -> &str {
    let is_version = |part: &str| part.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok());
    package.rsplit('/').find(|part| !is_version(part)).unwrap_or(package)
}

/// What the official builds link in, as far as programs report or depend on it.
fn ldflags(module: &Module) -> String {
    let mut flags = "-s -w".to_owned();
    let version = module.version;
    match module.name {
        "kubernetes" => {
            let mut parts = version.trim_start_matches('v').split('.');
            let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            for (name, value) in [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)] {
                flags.push_str(&format!(" -X k8s.io/component-base/version.{name}={value}"));
            }
        }
        "helm" => flags.push_str(&format!(" -X helm.sh/helm/v4/internal/version.version={version}")),
        "etcd" | "etcd-3.5" | "etcd-3.7" => {
            flags.push_str(" -X go.etcd.io/etcd/api/v3/version.GitSHA=module");
        }
        _ => {}
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_leaves_the_major_version_out_of_the_file_name() {
        assert_eq!(file_made("go.etcd.io/etcd/server/v3"), "server");
        assert_eq!(file_made("helm.sh/helm/v4/cmd/helm"), "helm");
        assert_eq!(file_made("github.com/coredns/coredns"), "coredns");
    }

    #[test]
    fn kubernetes_is_told_its_version_as_the_official_build_is() {
        let flags = ldflags(&super::super::KUBERNETES);
        assert!(
            flags.contains("version.gitVersion=v1.34.4")
                && flags.contains("gitMajor=1 ")
                && flags.ends_with("gitMinor=34")
        );
    }
}
