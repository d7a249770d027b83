//! A program with helm's command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use helm_conformance::compare::Outcome;
use helm_conformance::rules::ERROR;

use crate::build;

/// How often helm is asked for a golden text that has to be the same each time.
pub(super) const REPEATED: usize = 4;

/// A program that is called as helm is.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
    /// Plugins and settings of whoever runs this must not change what is rendered.
    home: tempfile::TempDir,
}

impl Program {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        // Programs are started in other directories.
        let path = path.canonicalize().with_context(|| format!("no program {}", path.display()))?;
        Ok(Self { path, variables: Vec::new(), home: tempfile::tempdir()? })
    }

    /// The host's binary with the Helm plugin, both as this repository builds them.
    pub(crate) fn host() -> Result<Self> {
        let plugins = build::plugins()?;
        let plugin = plugins.into_iter().find(|plugin| plugin.ends_with("helm.wasm"));
        let host = Self::new(&build::host()?)?;
        let cache = host.home.path().join("compiled");
        let plugin = plugin.context("no Helm plugin was built")?;
        Ok(Self {
            variables: vec![("PILOTHOUSE_HELM_PLUGIN", plugin), ("PILOTHOUSE_CACHE_DIR", cache)],
            ..host
        })
    }

    /// How it is started.
    pub(crate) fn command(&self, arguments: &[String], directory: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments).current_dir(directory).stdin(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_setting(name)) {
            command.env_remove(name);
        }
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, self.home.path().join(name));
        }
        command.env("KUBECONFIG", self.home.path().join("kubeconfig"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it with arguments in a directory.
    pub(super) fn run(&self, arguments: &[String], directory: &Path) -> Result<Outcome> {
        let output = self
            .command(arguments, directory)
            .output()
            .with_context(|| format!("{} cannot be started", self.path.display()))?;
        if output.status.success() {
            return Ok(Outcome::Rendered(String::from_utf8_lossy(&output.stdout).into_owned()));
        }
        let told = String::from_utf8_lossy(&output.stderr);
        if output.status.code().is_none() {
            bail!("{} {arguments:?} was ended by a signal: {told}", self.path.display());
        }
        Ok(Outcome::Failed(error(&told).to_owned()))
    }
}

fn is_setting(name: &OsString) -> bool {
    name.to_string_lossy().starts_with("HELM_")
}

/// What follows the warnings.
fn error(told: &str) -> &str {
    let begins =
        |(at, _): &(usize, &str)| *at == 0 || told.get(..*at).is_some_and(|before| before.ends_with('\n'));
    let at = told.match_indices(ERROR).find(begins).map_or(0, |(at, _)| at);
    told.get(at..).unwrap_or(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_before_an_error_are_no_part_of_it() {
        let told = "level=WARN msg=\"Error: not this\"\nError: this\n\nUse --debug\n";
        assert_eq!(error(told), "Error: this\n\nUse --debug\n");
        assert_eq!(error("panic"), "panic");
    }

    #[test]
    fn a_program_is_run_where_it_is_told_and_with_what_it_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let shell = Program::new(Path::new("/bin/sh")).unwrap();
        let run = |script: &str| shell.run(&["-c".to_owned(), script.to_owned()], directory.path()).unwrap();
        let here = directory.path().canonicalize().unwrap();
        assert_eq!(run("pwd -P"), Outcome::Rendered(format!("{}\n", here.display())));
        assert_eq!(run("echo x; echo 'Error: y' >&2; exit 1"), Outcome::Failed("Error: y\n".to_owned()));
        assert!(shell.run(&["-c".to_owned(), "kill -9 $$".to_owned()], directory.path()).is_err());
    }
}
