//! `watches.yaml` of operator-sdk's Helm operator: which chart reconciles which kind.
//!
//! Keys as in operator-sdk's `internal/helm/watches/watches.go`. Entries stand for themselves: what is wrong with one is
//! said with file, line and column, and the others keep running.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

mod chart;
mod duration;
mod expand;
mod raw;
mod selector;

pub use chart::{Elsewhere, SecretRef};
pub use duration::go_duration;

use crate::binding::Account;
use crate::charts::Wish;
use crate::charts::places::Place;
use crate::object::Gvk;
use chart::ChartKey;
use expand::expand;
use raw::{Raw, Written, Wrong};

/// What is wrong with one entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct EntryError {
    /// The file as it was named.
    pub file: String,
    /// Counted from one.
    pub line: u64,
    /// Counted from one.
    pub column: u64,
    /// What is wrong and what to do.
    pub message: String,
}

/// One usable entry.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEntry {
    /// The kind.
    pub gvk: Gvk,
    /// The chart.
    pub chart: ChartPlace,
    /// Settings for the plugin, JSON.
    pub settings: Value,
    /// Label selector in Kubernetes' text form; empty: all.
    pub selector: String,
    /// The periodic safety net, if the entry sets it.
    pub reconcile_period: Option<Duration>,
    /// Most of its objects that are reconciled at once.
    pub concurrency: Option<usize>,
    /// Whose rights its releases are made with.
    pub account: Option<Account>,
    /// `file:line`.
    pub origin: String,
}

/// Where an entry's chart is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChartPlace {
    /// A directory or an archive.
    Disk(PathBuf),
    /// In a registry or a repository: there and nowhere else.
    Elsewhere(Place),
}

/// What a file says.
#[derive(Debug, Default)]
pub struct Read {
    /// The usable entries.
    pub entries: Vec<WatchEntry>,
    /// What is wrong with the others.
    pub errors: Vec<EntryError>,
    /// Keys that nobody reads, which operator-sdk passes over as well.
    pub ignored: Vec<EntryError>,
}

/// Reads the entries of a file. Charts are looked for beside the working directory, as operator-sdk does, then beside
/// the file. `env` answers `$NAME` and `${NAME}` in override values; what is not set is empty, as in Go's
/// `os.ExpandEnv`.
pub fn parse(file: &Path, text: &str, env: &dyn Fn(&str) -> Option<String>) -> Read {
    let mut all = Read::default();
    let at = |Wrong { line, column, message }: Wrong| EntryError {
        file: file.display().to_string(),
        line,
        column,
        message,
    };
    for Written { line, entry, ignored } in raw::entries(text) {
        let first = |message: String| Wrong { line, column: 1, message };
        let entry = entry.and_then(|raw| resolve(file, raw, line, env).map_err(first)).and_then(|entry| {
            match all.entries.iter().find(|other| entry.shares_objects_with(other)) {
                Some(other) => Err(first(repeated(&entry, other))),
                None => Ok(entry),
            }
        });
        match entry {
            Ok(entry) => all.entries.push(entry),
            Err(wrong) => all.errors.push(at(wrong)),
        }
        all.ignored.extend(ignored.into_iter().map(at));
    }
    all
}

impl WatchEntry {
    /// Whether both would work on the same releases, in turns: an object is one in all versions of its kind.
    /// Kubernetes cannot tell whether two selectors meet; whoever wrote two of them has told the objects apart.
    fn shares_objects_with(&self, other: &Self) -> bool {
        let one_kind = self.gvk.group == other.gvk.group && self.gvk.kind == other.gvk.kind;
        let told_apart =
            !self.selector.is_empty() && !other.selector.is_empty() && self.selector != other.selector;
        self.gvk == other.gvk || (one_kind && !told_apart)
    }
}

fn repeated(entry: &WatchEntry, other: &WatchEntry) -> String {
    let (gvk, origin) = (&entry.gvk, &other.origin);
    if *gvk == other.gvk {
        return format!("duplicate kind {gvk}: {origin} has it already");
    }
    format!(
        "duplicate kind {gvk}: {origin} has it in version {}, and its objects are the same ones; keep one of the two",
        other.gvk.version
    )
}

fn resolve(
    file: &Path,
    raw: Raw,
    line: u64,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<WatchEntry, String> {
    if raw.version.is_empty() || raw.kind.is_empty() {
        return Err("version and kind must not be empty".to_owned());
    }
    let (chart, chart_setting) = match &raw.chart {
        ChartKey::Path(path) => {
            let chart = on_disk(file, path)?;
            let shown = json!(chart.display().to_string());
            (ChartPlace::Disk(chart), shown)
        }
        ChartKey::Elsewhere(elsewhere) => (ChartPlace::Elsewhere(checked(elsewhere)?), json!(elsewhere)),
    };
    let reconcile_period = match raw.reconcile_period.as_deref() {
        None => None,
        Some(text) => Some(
            go_duration(text)
                .ok_or_else(|| format!("reconcilePeriod {text:?} is no duration such as 1m30s"))?,
        ),
    };
    let mut settings = json!({
        "chart": chart_setting,
        "overrideValues": overrides(&raw, env)?,
        "environment": environment(&raw, env),
        "watchDependentResources": raw.watch_dependent_resources.unwrap_or(true),
    });
    if let Some(map) = settings.as_object_mut() {
        if let Some(option) = raw.dry_run_option {
            map.insert("dryRunOption".to_owned(), json!(option));
        }
        if let Some(history) = raw.max_history {
            map.insert("maxHistory".to_owned(), json!(history));
        }
        if let Some(release) = raw.release {
            map.insert("release".to_owned(), release);
        }
        if let Some(timeout) = raw.hook_timeout {
            if go_duration(&timeout).is_none() {
                return Err(format!("hookTimeout {timeout:?} is no duration such as 5m"));
            }
            map.insert("hookTimeout".to_owned(), json!(timeout));
        }
    }
    if raw.max_concurrent_reconciles == Some(0) {
        return Err("maxConcurrentReconciles: at least 1".to_owned());
    }
    let account = raw.service_account_name.map(|name| name.parse::<Account>());
    Ok(WatchEntry {
        gvk: Gvk::new(&raw.group, &raw.version, &raw.kind),
        chart,
        settings,
        selector: raw.selector.text()?,
        concurrency: raw.max_concurrent_reconciles,
        reconcile_period: reconcile_period.filter(|period| !period.is_zero()),
        account: account.transpose().map_err(|error| format!("serviceAccountName: {error}"))?,
        origin: format!("{}:{line}", file.display()),
    })
}

/// Values by their paths, as texts, with the environment's variables in their places.
fn overrides(raw: &Raw, env: &dyn Fn(&str) -> Option<String>) -> Result<Value, String> {
    let mut overrides = serde_json::Map::new();
    for (path, value) in &raw.override_values {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            _ => return Err(format!("overrideValues.{path} must be text: it is used as `--set {path}=…`")),
        };
        overrides.insert(path.clone(), json!(expand(&text, env)));
    }
    Ok(Value::Object(overrides))
}

/// Variables of the environment whose names stand in the templates among the overrides: what `env` of slim-sprig may ask for.
/// No others: a plugin sees nothing of the environment that the file does not name.
fn environment(raw: &Raw, env: &dyn Fn(&str) -> Option<String>) -> Value {
    let templates = raw.override_values.values().filter_map(Value::as_str).filter(|text| text.contains("{{"));
    let names = templates.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    let set =
        names.filter(|name| !name.is_empty()).filter_map(|name| Some((name.to_owned(), json!(env(name)?))));
    Value::Object(set.collect())
}

/// A chart beside the working directory, as operator-sdk has it, or beside the file.
fn on_disk(file: &Path, path: &str) -> Result<PathBuf, String> {
    let beside = file.parent().unwrap_or(Path::new(".")).join(path);
    let chart = if Path::new(path).exists() { PathBuf::from(path) } else { beside };
    let chart_file = if chart.is_file() { chart.clone() } else { chart.join("Chart.yaml") };
    if chart_file.is_file() {
        return Ok(chart);
    }
    Err(format!("chart {path:?} not found: no file {}", chart_file.display()))
}

/// The place of a chart elsewhere, which is then one that it may come from.
fn checked(elsewhere: &Elsewhere) -> Result<Place, String> {
    if let Some(interval) = &elsewhere.interval
        && go_duration(interval).is_none()
    {
        return Err(format!("chart: interval {interval:?} is no duration such as 10m"));
    }
    let wish = Wish {
        plugin: String::new(),
        repository: elsewhere.repository.clone(),
        name: elsewhere.name.clone(),
        version: elsewhere.version.clone(),
        digest: elsewhere.digest.clone(),
        plain_http: elsewhere.plain_http,
        pass_credentials: elsewhere.pass_credentials,
        secret: None,
        named: true,
    };
    let (wish, address) = wish.checked().map_err(|error| format!("chart: {error}"))?;
    Ok(Place::exactly(address.join(&wish.name)))
}

#[cfg(test)]
mod tests;
