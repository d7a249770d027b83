//! `lint`: what is wrong with charts (Helm's `pkg/cmd/lint.go` and `pkg/action/lint.go`).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use helm_chart::lint::{self, Directory, LintReport, LintSettings, Severity};
use helm_chart::{File, KubeVersion, go_path};
use helm_template::Map;
use pilothouse_sdk::{AssetError, AssetFile, CommandAnswer, Host};

use super::options::{LintChart, LintOptions};
use super::{chart, values};

/// Files that the linter reads whether or not they are ignored.
const ALWAYS_READ: [&str; 3] = ["Chart.yaml", "values.yaml", "values.schema.json"];

/// A chart as it is named, or why it is none.
type Named = (String, Result<Directory, String>);

/// Lints and prints.
pub(super) fn lint(host: &dyn Host, options: &LintOptions, answer: &mut CommandAnswer) -> Result<(), String> {
    let settings = settings(options)?;
    let mut charts: Vec<Named> = Vec::new();
    let mut inside: Vec<Named> = Vec::new();
    for chart in &options.charts {
        let directory = read(host, chart, options.with_subcharts);
        if let (true, true, Ok(directory)) = (options.with_subcharts, chart.directory, &directory) {
            inside.extend(subcharts(&chart.name, directory));
        }
        charts.push((chart.name.clone(), directory));
    }
    charts.append(&mut inside);
    let charts = charts.into_iter().map(|(name, directory)| {
        let directory = directory.and_then(|directory| with_chart_yaml(&name, directory));
        (name, directory)
    });
    let values = values::merged(host, &options.values)?;
    told(charts.collect(), &values, &settings, options, answer)
}

fn settings(options: &LintOptions) -> Result<LintSettings, String> {
    let kube_version = match options.kube_version.as_str() {
        "" => None,
        text => Some(
            KubeVersion::parse(text).map_err(|error| format!("invalid kube version '{text}': {error}"))?,
        ),
    };
    Ok(LintSettings {
        namespace: options.namespace.clone(),
        kube_version,
        skip_schema_validation: options.skip_schema_validation,
        debug: options.debug,
    })
}

/// The files of a chart.
fn read(host: &dyn Host, chart: &LintChart, with_subcharts: bool) -> Result<Directory, String> {
    if chart.directory {
        return directory(host, chart, with_subcharts);
    }
    let file = host.asset_read(&chart.asset);
    if is_archive(&chart.name) {
        let file =
            file.map_err(|error| format!("unable to open tarball: {}", unreadable(&chart.name, &error)))?;
        let data = file.into_iter().next().map(|file| file.content).unwrap_or_default();
        return unpacked(&chart.path, &data);
    }
    let reason = if file.is_ok() { "not a directory" } else { "no such file or directory" };
    Err(no_chart_yaml(&chart.name, reason))
}

fn is_archive(name: &str) -> bool {
    name.ends_with(".tgz") || name.ends_with(".tar.gz")
}

fn unpacked(path: &str, data: &[u8]) -> Result<Directory, String> {
    Directory::of_archive(path, data).map_err(|error| format!("unable to extract tarball: {error}"))
}

fn unreadable(name: &str, error: &AssetError) -> String {
    match error {
        AssetError::Unreadable(text) if text.contains("No such file") => {
            format!("open {name}: no such file or directory")
        }
        other => other.to_string(),
    }
}

fn no_chart_yaml(name: &str, reason: &str) -> String {
    let path = go_path::join(name, "Chart.yaml");
    format!("unable to check Chart.yaml file in chart: stat {path}: {reason}")
}

/// A directory is a chart when it has a `Chart.yaml`, of whatever kind.
fn with_chart_yaml(name: &str, directory: Directory) -> Result<Directory, String> {
    let is_there =
        directory.files.iter().any(|file| file.name == "Chart.yaml" || file.name.starts_with("Chart.yaml/"));
    if is_there { Ok(directory) } else { Err(no_chart_yaml(name, "no such file or directory")) }
}

/// All files of a directory; those that are ignored without content, when it does not matter.
fn directory(host: &dyn Host, chart: &LintChart, with_subcharts: bool) -> Result<Directory, String> {
    let text = |error: AssetError| error.to_string();
    let entries = host.asset_list(&chart.asset).map_err(text)?;
    // Rules that cannot be read are the linter's to complain about.
    let rules = chart::rules(host, &chart.asset, &entries).unwrap_or_default();
    let names: Vec<String> = entries.into_iter().map(|entry| entry.path).collect();
    let is_wanted = |name: &&String| {
        !rules.ignores_file(name)
            || ALWAYS_READ.contains(&name.as_str())
            || (with_subcharts && name.starts_with("charts/"))
    };
    let wanted: Vec<String> = names.iter().filter(is_wanted).cloned().collect();
    let read = host.asset_read_files(&chart.asset, &wanted).map_err(text)?;
    let mut read: BTreeMap<String, Vec<u8>> =
        read.into_iter().map(|AssetFile { path, content }| (path, content)).collect();
    let file = |name: String| {
        let content = read.remove(&name).unwrap_or_default();
        File::new(name, content)
    };
    Ok(Directory {
        path: go_path::clean(&chart.path),
        files: names.into_iter().map(file).collect(),
        empty: chart.empty_directories.clone(),
    })
}

/// What lies in `charts/` at any depth, in the order of Go's walk: directories with a `Chart.yaml`, and archives.
fn subcharts(name: &str, directory: &Directory) -> Vec<Named> {
    let mut files: Vec<&File> =
        directory.files.iter().filter(|file| file.name.starts_with("charts/")).collect();
    files.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
    let found = files.into_iter().filter_map(|file| {
        if let Some(prefix) = file.name.strip_suffix("Chart.yaml").filter(|prefix| prefix.ends_with('/')) {
            return Some((go_path::join(name, prefix), Ok(part(directory, prefix))));
        }
        let path = go_path::join(&directory.path, &file.name);
        is_archive(&file.name).then(|| (go_path::join(name, &file.name), unpacked(&path, &file.data)))
    });
    found.collect()
}

/// The directory below `prefix`, which ends with a slash.
fn part(directory: &Directory, prefix: &str) -> Directory {
    let inside = |file: &File| {
        let name = file.name.strip_prefix(prefix)?.to_owned();
        Some(File { name, data: file.data.clone() })
    };
    Directory {
        path: go_path::join(&directory.path, prefix),
        files: directory.files.iter().filter_map(inside).collect(),
        empty: directory
            .empty
            .iter()
            .filter_map(|empty| empty.strip_prefix(prefix))
            .map(str::to_owned)
            .collect(),
    }
}

/// Lints one after the other, with the same values: what a chart's defaults add to them the next one sees.
fn told(
    charts: Vec<Named>,
    values: &Map,
    settings: &LintSettings,
    options: &LintOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let (count, mut failed, mut remarkable) = (charts.len(), 0, 0);
    let least = if options.strict { Severity::Warning } else { Severity::Error };
    let mut out = String::new();
    for (name, directory) in charts {
        let (report, error) = match directory {
            Ok(directory) => (lint::lint(&directory, values, settings), None),
            Err(error) => (LintReport::default(), Some(error)),
        };
        answer.messages.extend(report.log);
        let any = |least: Severity| report.messages.iter().any(|message| message.severity >= least);
        let has_failed = error.is_some() || any(least);
        let is_remarkable = has_failed || any(Severity::Warning);
        failed += usize::from(has_failed);
        remarkable += usize::from(is_remarkable);
        if options.quiet && !is_remarkable {
            continue;
        }
        let _ = writeln!(out, "==> Linting {name}");
        if let Some(error) = error {
            let _ = writeln!(out, "Error {error}");
        }
        let shown = |message: &&lint::Message| !options.quiet || message.severity > Severity::Info;
        for message in report.messages.iter().filter(shown) {
            let _ = writeln!(out, "{message}");
        }
        out.push('\n');
    }
    let summary = format!("{count} chart(s) linted, {failed} chart(s) failed");
    if failed == 0 && (!options.quiet || remarkable > 0) {
        let _ = writeln!(out, "{summary}");
    }
    answer.output = out.into_bytes();
    if failed > 0 { Err(summary) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
