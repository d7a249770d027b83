//! `--dependency-update`: what a chart needs is fetched into its `charts/`, and locked (Helm's `pkg/downloader/manager.go`).
//!
//! The plugin knows what the chart needs and which version fits; here are repositories, files and what is told meanwhile, on
//! standard output as Helm tells it.

mod fetch;
mod repositories;
mod resolve;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{LocateError, Located};
use crate::chart_source::arguments::{ChartArgs, SourceArgs};
use crate::command::{self, PersonFile, Question};
use crate::plugin::bindings::CommandAnswer;
use crate::whole_file;

/// The asset that is a chart.
const CHART: &str = "chart";

/// What the plugin tells of a chart.
#[derive(Debug, Deserialize)]
struct Needs {
    /// What is not in `charts/`.
    missing: Vec<String>,
    /// Whether the lock is `requirements.lock`.
    legacy: bool,
    /// Of the lock there is.
    digest: Option<String>,
    requirements: Vec<Requirement>,
}

/// Something that a chart needs.
#[derive(Clone, Debug, Deserialize)]
struct Requirement {
    name: String,
    /// A range.
    version: String,
    /// After the names of repositories were resolved, an URL.
    repository: String,
    /// Why the range is none.
    #[serde(rename = "constraintError")]
    constraint_error: Option<String>,
    /// Whether the range is a version.
    exact: bool,
}

/// A version for a requirement.
#[derive(Clone, Debug, serde::Serialize)]
struct Locked {
    name: String,
    version: String,
    repository: String,
}

/// What the plugin tells of a chart that may be a dependency.
#[derive(Debug, Deserialize)]
struct Inspected {
    name: String,
    version: String,
    satisfies: Option<bool>,
    #[serde(rename = "versionError")]
    version_error: Option<String>,
}

/// One update.
struct Update<'a> {
    chart: &'a Path,
    /// Where charts beside this one are, when it is a copy.
    origin: &'a Path,
    args: &'a ChartArgs,
    settings: &'a SourceArgs,
}

/// Fetches what a chart needs, when something of it is missing.
///
/// # Errors
/// In Helm's words. A chart that cannot be read is none: whoever renders it says so.
pub fn update(located: &Located, args: &ChartArgs, settings: &SourceArgs) -> Result<(), LocateError> {
    update_copy(located, located.path(), args, settings)
}

/// The same for a chart that was copied from elsewhere: charts that it names beside itself are beside the original.
///
/// # Errors
/// As [`update`].
pub fn update_copy(
    located: &Located,
    origin: &Path,
    args: &ChartArgs,
    settings: &SourceArgs,
) -> Result<(), LocateError> {
    let update = Update { chart: located.path(), origin, args, settings };
    let Ok(needs) = update.needs() else { return Ok(()) };
    if needs.missing.is_empty() {
        return Ok(());
    }
    if !located.path().is_dir() {
        return Err(LocateError::NotFound("only unpacked charts can be updated".to_owned()));
    }
    update.run(needs)
}

impl Update<'_> {
    fn run(&self, mut needs: Needs) -> Result<(), LocateError> {
        let repositories = repositories::update(self, &mut needs.requirements)?;
        let mut locked = resolve::resolve(self, &needs.requirements, &repositories)?;
        fetch::fetch(self, &mut locked, &repositories)?;
        self.write_lock(&needs, &locked)
    }

    fn needs(&self) -> Result<Needs, LocateError> {
        let options = json!({"chart": chart_option(self.chart)});
        let answer = self.ask("dependencies", options, vec![PersonFile::tree(CHART, self.chart)])?;
        read(&answer)
    }

    /// Looks at a chart, and packs it when asked to.
    fn inspect(
        &self,
        path: &Path,
        constraint: Option<&str>,
        package: bool,
    ) -> Result<(Inspected, CommandAnswer), LocateError> {
        let now = package.then(|| jiff::Timestamp::now().as_second());
        let options = json!({"chart": chart_option(path), "constraint": constraint, "package": now});
        let answer = self.ask("inspect-chart", options, vec![PersonFile::tree(CHART, path)])?;
        for line in &answer.messages {
            eprintln!("{line}");
        }
        Ok((read(&answer)?, answer))
    }

    /// An answer that is no failure.
    fn ask(
        &self,
        command: &'static str,
        options: Value,
        files: Vec<PersonFile>,
    ) -> Result<CommandAnswer, LocateError> {
        let debug = self.settings.debug;
        let question = Question { command, options, files, output_dir: None, cluster: None, debug };
        let mut answer = command::ask(&question, &self.settings.plugin)?;
        match answer.failure.take() {
            Some(failure) => Err(LocateError::NotFound(failure)),
            None => Ok(answer),
        }
    }

    /// Writes the lock, unless the one that is there says the same.
    fn write_lock(&self, needs: &Needs, locked: &[Locked]) -> Result<(), LocateError> {
        #[derive(Deserialize)]
        struct Lock {
            digest: String,
            text: String,
        }
        let repositories: Vec<&str> =
            needs.requirements.iter().map(|requirement| requirement.repository.as_str()).collect();
        let options = json!({
            "chart": chart_option(self.chart),
            "repositories": repositories,
            "locked": locked,
            "generated": now(),
        });
        let answer = self.ask("lock", options, vec![PersonFile::tree(CHART, self.chart)])?;
        let lock: Lock = read(&answer)?;
        if needs.digest.as_ref() == Some(&lock.digest) {
            return Ok(());
        }
        let name = if needs.legacy { "requirements.lock" } else { "Chart.lock" };
        let path = self.chart.join(name);
        if let Ok(target) = std::fs::read_link(&path) {
            let target = target.display().to_string();
            return Err(LocateError::NotFound(format!("the {name} file is a symlink to {target:?}")));
        }
        Ok(whole_file::rewrite(&path, lock.text.as_bytes())?)
    }

    /// A path that a repository `file://…` names.
    fn local(&self, repository: &str) -> Result<PathBuf, LocateError> {
        let path = repository.strip_prefix("file://").unwrap_or(repository);
        let joined = clean(&self.origin.join(path));
        if joined.exists() {
            return Ok(joined);
        }
        Err(LocateError::NotFound(format!("directory {} not found", joined.display())))
    }
}

/// A path without `.` and, by its text, without `..`.
fn clean(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut clean, part| {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
        clean
    })
}

fn chart_option(path: &Path) -> Value {
    json!({"name": path.display().to_string(), "asset": CHART, "directory": path.is_dir()})
}

fn read<T: DeserializeOwned>(answer: &CommandAnswer) -> Result<T, LocateError> {
    serde_json::from_slice(&answer.output).map_err(|error| LocateError::NotFound(error.to_string()))
}

/// Now, as Go writes it (`time.RFC3339Nano`).
fn now() -> String {
    let now = jiff::Zoned::now();
    let digits = format!("{:09}", now.subsec_nanosecond());
    let fraction = match digits.trim_end_matches('0') {
        "" => String::new(),
        digits => format!(".{digits}"),
    };
    let offset = match now.offset().seconds() {
        0 => "Z".to_owned(),
        _ => now.strftime("%:z").to_string(),
    };
    format!("{}{fraction}{offset}", now.strftime("%Y-%m-%dT%H:%M:%S"))
}

/// Says how it goes. That nobody listens any more stops nothing.
fn tell(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

fn is_oci(repository: &str) -> bool {
    repository.starts_with("oci://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_by_their_text() {
        assert_eq!(clean(Path::new("/a/b/../c/./d")), Path::new("/a/c/d"));
        assert_eq!(clean(Path::new("/a/../../b")), Path::new("/b"));
    }

    #[test]
    fn the_time_of_a_lock_can_be_read() {
        assert!(now().parse::<jiff::Timestamp>().is_ok(), "{}", now());
    }
}
