//! `watches.yaml` of operator-sdk's Helm operator: which chart reconciles which kind.
//!
//! Keys as in operator-sdk's `internal/helm/watches/watches.go`. Entries stand for themselves: what is wrong with one is
//! said with file, line and column, and the others keep running.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

mod chart;

pub use chart::{Elsewhere, SecretRef};

use crate::binding::Account;
use crate::charts::Wish;
use crate::charts::places::Place;
use crate::object::Gvk;
use chart::ChartKey;

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

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    group: String,
    version: String,
    kind: String,
    chart: ChartKey,
    watch_dependent_resources: Option<bool>,
    #[serde(default)]
    override_values: BTreeMap<String, Value>,
    #[serde(default)]
    selector: LabelSelector,
    reconcile_period: Option<String>,
    dry_run_option: Option<String>,
    max_history: Option<u64>,
    hook_timeout: Option<String>,
    service_account_name: Option<String>,
    // What the plugin understands; it says what it does not.
    release: Option<Value>,
    // Known to helm-operator-plugins; the host's work queue has its own bound for each plugin.
    #[serde(rename = "maxConcurrentReconciles")]
    _max_concurrent_reconciles: Option<u64>,
}

/// `metav1.LabelSelector`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LabelSelector {
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
    #[serde(default)]
    match_expressions: Vec<Expression>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expression {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

/// Reads the entries of a file. Charts are looked for beside the working directory, as operator-sdk does, then beside
/// the file. `env` answers `$NAME` and `${NAME}` in override values; what is not set is empty, as in Go's
/// `os.ExpandEnv`.
pub fn parse(
    file: &Path,
    text: &str,
    env: &dyn Fn(&str) -> Option<String>,
) -> (Vec<WatchEntry>, Vec<EntryError>) {
    let (mut entries, mut errors): (Vec<WatchEntry>, Vec<EntryError>) = (Vec::new(), Vec::new());
    let at = |line: u64, column: u64, message: String| EntryError {
        file: file.display().to_string(),
        line,
        column,
        message,
    };
    for (first_line, raws) in raw_entries(text) {
        let raws = match raws {
            Ok(raws) => raws,
            Err(error) => {
                let place = error.location().map_or((first_line, 1), |place| (place.line(), place.column()));
                errors.push(at(place.0, place.1, first_words(&error.to_string())));
                continue;
            }
        };
        for raw in raws {
            match resolve(file, raw, first_line, env) {
                Ok(entry) => match entries.iter().find(|other| other.gvk == entry.gvk) {
                    Some(other) => {
                        let message =
                            format!("duplicate kind {}: {} has it already", entry.gvk, other.origin);
                        errors.push(at(first_line, 1, message));
                    }
                    None => entries.push(entry),
                },
                Err(message) => errors.push(at(first_line, 1, message)),
            }
        }
    }
    (entries, errors)
}

/// Entries with their first lines, counted from one. Where the file as a whole is wrong, each top-level item is read by itself.
fn raw_entries(text: &str) -> Vec<(u64, Result<Vec<Raw>, serde_saphyr::Error>)> {
    let line_of = |index: usize| u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1);
    let chunks = chunks(text);
    // One entry may use what another one anchored.
    if let Ok(raws) = serde_saphyr::from_str::<Vec<Raw>>(text)
        && raws.len() == chunks.len()
    {
        return chunks.iter().zip(raws).map(|((line, _), raw)| (line_of(*line), Ok(vec![raw]))).collect();
    }
    let read = |(line, chunk): (usize, String)| {
        // Empty lines before it keep the line numbers of messages true.
        let padded = format!("{}{chunk}", "\n".repeat(line));
        (line_of(line), serde_saphyr::from_str(&padded))
    };
    chunks.into_iter().map(read).collect()
}

/// The first line of a parser's message, without its picture of the source.
fn first_words(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// Top-level list items with the index of their first line. A file of another form is one chunk.
fn chunks(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let starts: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with("- ") || **line == "-")
        .map(|(i, _)| i)
        .collect();
    let head = lines.iter().take(starts.first().copied().unwrap_or(0));
    let plain_head =
        head.clone().all(|line| line.trim().is_empty() || line.starts_with('#') || line.starts_with("---"));
    if starts.is_empty() || !plain_head {
        let blank = lines
            .iter()
            .all(|line| line.trim().is_empty() || line.starts_with('#') || line.starts_with("---"));
        return if blank { Vec::new() } else { vec![(0, text.to_owned())] };
    }
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| (*start, lines.get(*start..end).unwrap_or_default().join("\n")))
        .collect()
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
    let mut overrides = serde_json::Map::new();
    for (path, value) in &raw.override_values {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            _ => return Err(format!("overrideValues.{path} must be text: it is used as `--set {path}=…`")),
        };
        overrides.insert(path.clone(), json!(expand(&text, env)));
    }
    let mut settings = json!({
        "chart": chart_setting,
        "overrideValues": overrides,
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
    let account = raw.service_account_name.map(|name| name.parse::<Account>());
    Ok(WatchEntry {
        gvk: Gvk::new(&raw.group, &raw.version, &raw.kind),
        chart,
        settings,
        selector: selector_text(&raw.selector)?,
        reconcile_period: reconcile_period.filter(|period| !period.is_zero()),
        account: account.transpose().map_err(|error| format!("serviceAccountName: {error}"))?,
        origin: format!("{}:{line}", file.display()),
    })
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

fn selector_text(selector: &LabelSelector) -> Result<String, String> {
    let mut parts: Vec<String> =
        selector.match_labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    for expression in &selector.match_expressions {
        let Expression { key, operator, values } = expression;
        let list = values.join(",");
        parts.push(match operator.as_str() {
            "In" if !values.is_empty() => format!("{key} in ({list})"),
            "NotIn" if !values.is_empty() => format!("{key} notin ({list})"),
            "Exists" => key.clone(),
            "DoesNotExist" => format!("!{key}"),
            _ => {
                return Err(format!(
                    "selector: operator {operator:?} with values [{list}] is not a label selector's"
                ));
            }
        });
    }
    Ok(parts.join(","))
}

/// Go's `time.ParseDuration`, without its sign: `1h2m3.5s`, `300ms`. `0` needs no unit.
pub fn go_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (mut rest, mut total) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at_checked(digits)?;
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit_end)?;
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * seconds;
        rest = tail;
    }
    if text.is_empty() { None } else { Duration::try_from_secs_f64(total).ok() }
}

/// Go's `os.Expand`: `$NAME` and `${NAME}`, and the shell's special variables (`$1`, `$$`, `$*` …), which no environment has.
fn expand(text: &str, env: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('$') {
        out.push_str(before);
        let (name, length) = variable(tail);
        match name {
            Some(name) => out.push_str(&env(name).unwrap_or_default()),
            // What begins like a variable and is none goes; a lone dollar stays.
            None if length == 0 => out.push('$'),
            None => {}
        }
        rest = tail.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The variable that a text after a dollar begins with, and how much of the text speaks of it (Go's `getShellName`).
fn variable(text: &str) -> (Option<&str>, usize) {
    let is_special = |c: char| "*#$@!?-".contains(c) || c.is_ascii_digit();
    if let Some(braced) = text.strip_prefix('{') {
        return match braced.find('}') {
            Some(0) => (None, 2),
            Some(end) => (braced.get(..end), end + 2),
            None => (None, 1),
        };
    }
    if text.starts_with(is_special) {
        return (text.get(..1), 1);
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    (text.get(..end).filter(|name| !name.is_empty()), end)
}

#[cfg(test)]
mod tests;
