//! `watches.yaml` of operator-sdk's Helm operator: which chart reconciles which kind.
//!
//! Keys as in operator-sdk's `internal/helm/watches/watches.go`. Entries stand for themselves: what is wrong with one is
//! said with file, line and column, and the others keep running.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::binding::Account;
use crate::object::Gvk;

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
    /// The chart's directory or archive.
    pub chart: PathBuf,
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

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    group: String,
    version: String,
    kind: String,
    chart: String,
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
    let beside = file.parent().unwrap_or(Path::new(".")).join(&raw.chart);
    let chart = if Path::new(&raw.chart).exists() { PathBuf::from(&raw.chart) } else { beside };
    let chart_file = if chart.is_file() { chart.clone() } else { chart.join("Chart.yaml") };
    if !chart_file.is_file() {
        return Err(format!("chart {:?} not found: no file {}", raw.chart, chart_file.display()));
    }
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
        "chart": chart.display().to_string(),
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
mod tests {
    use super::*;

    fn with_chart(text: &str) -> (Vec<WatchEntry>, Vec<EntryError>) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("helm-charts/a")).unwrap();
        std::fs::write(dir.path().join("helm-charts/a/Chart.yaml"), "name: a").unwrap();
        parse(&dir.path().join("watches.yaml"), text, &|name| {
            (name == "REGISTRY").then(|| "r.example".to_owned())
        })
    }

    const GOOD: &str = "- group: g.io\n  version: v1\n  kind: A\n  chart: helm-charts/a\n";

    #[test]
    fn a_project_of_operator_sdk_is_read_with_its_marker() {
        let text = format!("# Use the 'create api' subcommand\n{GOOD}#+kubebuilder:scaffold:watch\n");
        let (entries, errors) = with_chart(&text);
        assert_eq!(errors, []);
        assert_eq!(entries[0].gvk, Gvk::new("g.io", "v1", "A"));
        assert!(entries[0].origin.ends_with("watches.yaml:2"), "{}", entries[0].origin);
        assert_eq!(entries[0].settings["watchDependentResources"], json!(true));
    }

    #[test]
    fn an_unknown_key_is_named_with_line_and_column_and_the_other_entry_stays() {
        let text = format!("{GOOD}- group: g.io\n  version: v1\n  kind: B\n  chrat: x\n");
        let (entries, errors) = with_chart(&text);
        assert_eq!(entries.len(), 1);
        assert_eq!((errors[0].line, errors[0].column), (8, 3), "{}", errors[0]);
        assert!(errors[0].message.contains("chrat"), "{}", errors[0]);
    }

    #[test]
    fn a_duplicate_kind_and_a_missing_chart_are_errors_of_their_entries() {
        let missing = "- group: g.io\n  version: v1\n  kind: C\n  chart: helm-charts/nope\n";
        let (entries, errors) = with_chart(&format!("{GOOD}{GOOD}{missing}"));
        assert_eq!(entries.len(), 1);
        assert!(errors[0].message.contains("duplicate kind A.v1.g.io"), "{}", errors[0]);
        assert_eq!(errors[0].line, 5);
        assert!(
            errors[1].message.contains("helm-charts/nope") && errors[1].message.contains("Chart.yaml"),
            "{}",
            errors[1]
        );
    }

    #[test]
    fn override_values_see_the_environment_and_become_text() {
        let text = format!(
            "{GOOD}  overrideValues:\n    image: ${{REGISTRY}}/app:$TAG\n    replicas: 2\n    price: 5$\n"
        );
        let (entries, errors) = with_chart(&text);
        assert_eq!(errors, []);
        assert_eq!(
            entries[0].settings["overrideValues"],
            json!({"image": "r.example/app:", "price": "5$", "replicas": "2"})
        );
    }

    #[test]
    fn what_only_looks_like_a_variable_is_what_go_makes_of_it() {
        let env = |name: &str| (name == "A").then(|| "x".to_owned());
        for (text, expanded) in [
            ("$A-${A}", "x-x"),
            ("a$$b", "ab"),
            ("$1A", "A"),
            ("$*", ""),
            ("${}b", "b"),
            ("${A", "A"),
            ("5$", "5$"),
            ("$ A", "$ A"),
            ("$ä", "$ä"),
            ("${*}", ""),
        ] {
            assert_eq!(expand(text, &env), expanded, "{text}");
        }
    }

    #[test]
    fn an_entry_may_use_what_another_one_anchored() {
        let first = "- group: g.io\n  version: v1\n  kind: A\n  chart: helm-charts/a\n  overrideValues: &all {a: b}\n";
        let text = format!(
            "{first}- group: g.io\n  version: v1\n  kind: B\n  chart: helm-charts/a\n  overrideValues: *all\n"
        );
        let (entries, errors) = with_chart(&text);
        assert_eq!(errors, []);
        assert_eq!(entries[1].settings["overrideValues"], json!({"a": "b"}));
        assert!(entries[1].origin.ends_with("watches.yaml:6"), "{}", entries[1].origin);
        let (entries, errors) =
            with_chart(&format!("{text}- group: g.io\n  version: v1\n  kind: C\n  chrat: x\n"));
        assert_eq!((entries.len(), errors.len()), (1, 2), "then each entry is on its own: {errors:?}");
    }

    #[test]
    fn an_entry_may_name_the_account_that_acts_for_it() {
        let (entries, errors) = with_chart(&format!("{GOOD}  serviceAccountName: ops/web\n"));
        assert_eq!(errors, []);
        assert_eq!(entries[0].account, Some("ops/web".parse().unwrap()));
        let (entries, errors) = with_chart(&format!("{GOOD}  serviceAccountName: 'system:masters'\n"));
        assert_eq!(entries, []);
        assert!(
            errors[0].message.starts_with("serviceAccountName: \"system:masters\" names no"),
            "{}",
            errors[0]
        );
    }

    #[test]
    fn selectors_and_periods_take_their_kubernetes_forms() {
        let text = format!(
            "{GOOD}  reconcilePeriod: 1m30s\n  selector:\n    matchLabels: {{a: b}}\n    matchExpressions:\n    \
             - {{key: env, operator: In, values: [x, y]}}\n    - {{key: gone, operator: DoesNotExist}}\n"
        );
        let (entries, errors) = with_chart(&text);
        assert_eq!(errors, []);
        assert_eq!(entries[0].selector, "a=b,env in (x,y),!gone");
        assert_eq!(entries[0].reconcile_period, Some(Duration::from_secs(90)));
    }

    #[test]
    fn durations_are_gos() {
        assert_eq!(go_duration("1h2m3.5s"), Some(Duration::from_millis(3_723_500)));
        assert_eq!(go_duration("300ms"), Some(Duration::from_millis(300)));
        assert_eq!(go_duration("0"), Some(Duration::ZERO));
        assert_eq!(go_duration("5"), None);
        assert_eq!(go_duration("1x"), None);
        assert_eq!(go_duration(""), None);
    }

    #[test]
    fn text_that_is_no_list_is_one_error_with_its_place() {
        let (entries, errors) = with_chart("group: x\nversion: v1\n");
        assert_eq!(entries, []);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].line, 1);
        assert_eq!(with_chart("# nothing yet\n"), (vec![], vec![]));
    }
}
