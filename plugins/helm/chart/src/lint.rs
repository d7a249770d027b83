//! What is wrong with a chart, or only unusual: Helm's `pkg/chart/v2/lint`.
//!
//! The rules look at the files of a directory, ignored ones included, before anything is loaded: a `Chart.yaml`
//! that `.helmignore` names has its own messages and is missed by the loader afterwards.

mod address;
mod chart_yaml;
mod custom_resources;
mod dependencies;
mod documents;
mod lifecycle;
mod object;
mod object_name;
mod strict;
mod templates;
mod unpack;
mod values_yaml;

use crate::{
    capabilities::KubeVersion,
    chart::Chart,
    coalesce::Warnings,
    file::File,
    loader::{LoadError, load_any_version},
    log::Remark,
};
use helm_template::Map;
use std::fmt;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth a remark.
    Info,
    /// Works, but is not what is recommended.
    Warning,
    /// Will not work.
    Error,
}

/// A remark on a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about: a file or directory of the chart, the chart's own path, or nothing.
    pub path: String,
    /// What it says, in Helm's words.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Info => "INFO",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
        };
        write!(f, "[{severity}] {}: {}", self.path, self.text)
    }
}

/// A chart's directory.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    /// Where it is, as messages say it: Helm's are absolute.
    pub path: String,
    /// All its files. Of those that `.helmignore` names, only `Chart.yaml`, `values.yaml` and
    /// `values.schema.json` need their content.
    pub files: Vec<File>,
    /// The directories in it that have nothing in them.
    pub empty: Vec<String>,
}

impl Directory {
    fn file(&self, name: &str) -> Option<&File> {
        self.files.iter().find(|file| file.name == name)
    }

    /// Whether a name is that of a directory: something is in it, or it is known to be empty.
    fn is_directory(&self, name: &str) -> bool {
        let is_inside =
            |path: &str| path.strip_prefix(name).is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'));
        let inside = self.files.iter().any(|file| is_inside(&file.name));
        inside || self.empty.iter().any(|empty| empty == name || is_inside(empty))
    }
}

/// What a chart is linted with besides values.
#[derive(Debug, Clone, Default)]
pub struct LintSettings {
    /// Namespace of the release.
    pub namespace: String,
    /// Version of Kubernetes; none: that of Helm's offline default.
    pub kube_version: Option<KubeVersion>,
    /// Leaves `values.schema.json` aside.
    pub skip_schema_validation: bool,
    /// Logs also what helps to find an error.
    pub debug: bool,
}

/// What there is to say about a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LintReport {
    /// In the order of Helm's rules.
    pub messages: Vec<Message>,
    /// Lines of Helm's log.
    pub log: Vec<String>,
}

/// Goes through all rules. As in Helm, tables in `values` take up the chart's defaults; whoever lints several charts
/// with the same values has them in the next one.
#[must_use]
pub fn lint(directory: &Directory, values: &Map, settings: &LintSettings) -> LintReport {
    let mut linter = Linter::new(directory);
    linter.chart_yaml();
    linter.values_yaml(values, settings);
    linter.templates(values, settings);
    linter.dependencies();
    linter.custom_resources();
    linter.report
}

/// A chart that is being linted.
struct Linter<'a> {
    directory: &'a Directory,
    report: LintReport,
    /// The chart and the loader's remarks; Helm loads it up to three times, and remarks each time.
    loaded: (Result<Chart, LoadError>, Warnings),
}

impl<'a> Linter<'a> {
    fn new(directory: &'a Directory) -> Self {
        let mut warnings = Warnings::new();
        let loaded = load_any_version(directory.files.clone(), &mut warnings);
        Self { directory, report: LintReport::default(), loaded: (loaded, warnings) }
    }

    /// Takes a message down, if there is one; whether there was none.
    fn rule(&mut self, severity: Severity, path: &str, result: Result<(), String>) -> bool {
        match result {
            Ok(()) => true,
            Err(text) => {
                self.report.messages.push(Message { severity, path: path.to_owned(), text });
                false
            }
        }
    }

    /// The chart, or why it cannot be loaded.
    fn load(&mut self) -> Result<Chart, String> {
        let warnings = self.loaded.1.clone();
        self.remark(&warnings);
        self.loaded.0.as_ref().map(Clone::clone).map_err(ToString::to_string)
    }

    /// The chart; where it cannot be loaded, that is told of a directory.
    fn load_for(&mut self, directory: &str) -> Option<Chart> {
        match self.load() {
            Ok(chart) => Some(chart),
            Err(text) => {
                self.rule(Severity::Error, directory, Err(text));
                None
            }
        }
    }

    /// Writes what Go's own log would say.
    fn remark(&mut self, warnings: &[Remark]) {
        self.report.log.extend(warnings.iter().map(Remark::line));
    }
}

/// What is an error unless it is so.
fn ensure(is_so: bool, text: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(text()) }
}
