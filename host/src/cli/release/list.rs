//! `pilothouse releases`: the custom resources that are releases, and how they stand.

use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{ReleaseArgs, ReleaseError, Watches};
use crate::cli::asking::{Output, ask, encoded, question};
use crate::cli::table::{shortened, table};
use crate::cli::time::age;

/// So much of a remark stands in a table.
const REMARK: usize = 80;

/// Flags of `pilothouse releases`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  pilothouse releases                        # of the namespace of the kubeconfig's context
  pilothouse releases -A -o wide             # everywhere, with everything there is to tell
  pilothouse releases -l team=shop -o json

Which custom resources are releases is told by the watches file (--watches-file, or ./watches.yaml where it exists); else it
is found by the records of releases, which name the objects that they belong to: objects of a kind of which nothing was ever
installed are not seen then.

  STATUS   that of the newest revision, as `helm list` tells it
  READY    whether all objects of the release are as they should be; if not, REMARKS says why")]
pub struct ListArgs {
    /// In all namespaces.
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Only objects with these labels, as kubectl writes it: team=shop,tier!=test.
    #[arg(short = 'l', long, value_name = "SELECTOR", default_value = "", hide_default_value = true)]
    pub selector: String,
    /// Form of the answer.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
    /// What all have.
    #[command(flatten)]
    pub release: ReleaseArgs,
}

/// Lists; the answer is what is to be printed.
///
/// # Errors
/// [`ReleaseError`].
pub fn execute(args: &ListArgs) -> Result<String, ReleaseError> {
    let watches = args.release.watches()?;
    let session = args.release.open()?;
    let namespace = (!args.all_namespaces).then(|| args.release.namespace());
    let options = json!({
        "namespace": namespace,
        "selector": args.selector,
        "kinds": watches.as_ref().map(kinds).transpose()?,
    });
    let rows: Value = ask(&session, &question("releases", options), None)?;
    if matches!(args.output, Output::Json | Output::Yaml) {
        return Ok(encoded(&rows, args.output)?);
    }
    let rows = rows.as_array().cloned().unwrap_or_default();
    if rows.is_empty() {
        let place = namespace.map_or_else(|| "any namespace".to_owned(), |name| format!("namespace {name}"));
        eprintln!("pilothouse: there are no releases in {place}");
        return Ok(String::new());
    }
    Ok(printed(&rows, args.output == Output::Wide, Timestamp::now()))
}

fn kinds(watches: &Watches) -> Result<Value, ReleaseError> {
    if watches.entries.is_empty() {
        let path = watches.path.display();
        return Err(ReleaseError::Failed(format!("{path}: there is no entry that can be used")));
    }
    let kind = |entry: &crate::watches_file::WatchEntry| {
        let gvk = &entry.gvk;
        json!({"group": gvk.group, "version": gvk.version, "kind": gvk.kind, "selector": entry.selector})
    };
    Ok(watches.entries.iter().map(kind).collect())
}

fn printed(rows: &[Value], wide: bool, now: Timestamp) -> String {
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let line = |row: &Value| {
        let revision = row["revision"].as_u64().map(|revision| revision.to_string()).unwrap_or_default();
        let mut cells = vec![text(row, "namespace"), text(row, "name")];
        let group = text(row, "apiVersion").rsplit_once('/').map(|(group, _)| group.to_owned());
        match group.filter(|_| wide) {
            Some(group) => cells.push(format!("{}.{group}", text(row, "kind"))),
            None => cells.push(text(row, "kind")),
        }
        if wide {
            cells.push(text(row, "release"));
        }
        cells.extend([revision, text(row, "status"), text(row, "ready"), text(row, "chart")]);
        cells.push(text(row, "appVersion"));
        cells.push(if wide { text(row, "updated") } else { age(&text(row, "updated"), now) });
        if wide {
            cells.push(age(&text(row, "created"), now));
        }
        let remarks = remarks(row);
        cells.push(if wide { remarks } else { shortened(&remarks, REMARK) });
        cells
    };
    let lines: Vec<Vec<String>> = rows.iter().map(line).collect();
    if wide {
        let header = [
            "NAMESPACE",
            "NAME",
            "KIND",
            "RELEASE",
            "REVISION",
            "STATUS",
            "READY",
            "CHART",
            "APP VERSION",
            "UPDATED",
            "AGE",
            "REMARKS",
        ];
        return table(&header, &lines);
    }
    let header = [
        "NAMESPACE",
        "NAME",
        "KIND",
        "REVISION",
        "STATUS",
        "READY",
        "CHART",
        "APP VERSION",
        "UPDATED",
        "REMARKS",
    ];
    table(&header, &lines)
}

/// Why it is not ready, and what else is worth saying.
fn remarks(row: &Value) -> String {
    let text = |field: &str| row[field].as_str().filter(|text| !text.is_empty());
    let why = match (text("reason"), text("message")) {
        (Some(reason), Some(message)) => Some(format!("{reason}: {message}")),
        (one, other) => one.or(other).map(str::to_owned),
    };
    let more = row["remarks"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    why.into_iter().chain(more).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Value> {
        let ready = json!({
            "namespace": "shop", "name": "web", "apiVersion": "charts.example.com/v1", "kind": "Web", "release": "web",
            "revision": 3, "status": "deployed", "ready": "True", "reason": "", "message": "", "chart": "site-1.0.0",
            "appVersion": "7", "updated": "2026-01-01T00:00:00Z", "created": "2025-12-31T00:00:00Z",
            "remarks": ["made by hand"],
        });
        let waiting = json!({
            "namespace": "shop", "name": "new", "apiVersion": "charts.example.com/v1", "kind": "Web", "release": "new",
            "revision": null, "status": "not installed", "ready": "Unknown", "reason": "NotObserved",
            "message": "no operator has looked at it yet", "chart": "", "appVersion": "", "created": "2026-01-01T00:00:00Z",
            "remarks": [],
        });
        vec![ready, waiting]
    }

    #[test]
    fn a_table_has_a_line_for_each_release() {
        let now = "2026-01-01T00:05:00Z".parse().unwrap();
        assert_eq!(
            printed(&rows(), false, now),
            "\
NAMESPACE   NAME   KIND   REVISION   STATUS          READY     CHART        APP VERSION   UPDATED   REMARKS
shop        web    Web    3          deployed        True      site-1.0.0   7             5m        made by hand
shop        new    Web    -          not installed   Unknown   -            -             -         NotObserved: no operator has looked at it yet
"
        );
        let wide = printed(&rows(), true, now);
        assert!(
            wide.contains("Web.charts.example.com   web") && wide.contains("2026-01-01T00:00:00Z   24h"),
            "{wide}"
        );
    }
}
