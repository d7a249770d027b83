//! `pilothouse history`: the revisions of a release.

use clap::Args;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{ReleaseArgs, ReleaseError, object_of, object_option};
use crate::cli::asking::{Output, ask, encoded, question};
use crate::cli::table::table;
use crate::cli::time::local;

/// Flags of `pilothouse history`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  pilothouse history web/shop
  pilothouse history webs.charts.example.com shop -n prod --max 5
  pilothouse history web/shop -o json        # helm's fields, and ours beside them

The columns are those of `helm history`. REMARKS tells who made a revision by hand, from where to where a rollback led, how
often the same was tried, and what its tests found.")]
pub struct HistoryArgs {
    /// The custom resource: KIND/NAME or KIND NAME. The kind as kubectl takes it: web, webs, webs.charts.example.com.
    #[arg(value_name = "KIND/NAME", required = true, num_args = 1..=2)]
    pub object: Vec<String>,
    /// So many of the newest revisions.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    pub max: u32,
    /// Form of the answer.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
    /// What all have.
    #[command(flatten)]
    pub release: ReleaseArgs,
}

/// Tells the revisions; the answer is what is to be printed.
///
/// # Errors
/// [`ReleaseError`].
pub fn execute(args: &HistoryArgs) -> Result<String, ReleaseError> {
    let (kind, name, rest) = object_of(&args.object)?;
    if let Some(more) = rest.first() {
        return Err(ReleaseError::Usage(format!("one object at a time: {more:?} is too much")));
    }
    let watches = args.release.watches()?;
    let session = args.release.open()?;
    let kind = args.release.kind(&session, kind, watches.as_ref())?;
    let object = object_option(&kind, &args.release.namespace(), name);
    let options = json!({"object": object, "max": args.max});
    let lines: Value = ask(&session, &question("history", options), None)?;
    match args.output {
        Output::Json | Output::Yaml => Ok(encoded(&lines, args.output)?),
        Output::Table | Output::Wide => {
            Ok(printed(lines.as_array().map(Vec::as_slice).unwrap_or_default(), &TimeZone::system()))
        }
    }
}

fn printed(lines: &[Value], zone: &TimeZone) -> String {
    let line = |line: &Value| {
        let text = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
        let remarks = line["remarks"].as_array().into_iter().flatten().filter_map(Value::as_str);
        vec![
            line["revision"].to_string(),
            local(&text("updated"), zone),
            text("status"),
            text("chart"),
            text("app_version"),
            text("description"),
            remarks.collect::<Vec<_>>().join("; "),
        ]
    };
    let header = ["REVISION", "UPDATED", "STATUS", "CHART", "APP VERSION", "DESCRIPTION", "REMARKS"];
    table(&header, &lines.iter().map(line).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_helms_columns_and_remarks_beside_them() {
        let lines = [
            json!({"revision": 1, "updated": "2026-01-02T03:04:05Z", "status": "superseded", "chart": "site-1.0.0",
                "app_version": "7", "description": "Install complete", "made_by": "operator"}),
            json!({"revision": 2, "updated": "2026-01-02T03:05:05Z", "status": "deployed", "chart": "site-1.0.0",
                "app_version": "7", "description": "Rollback to 1", "made_by": "hand",
                "remarks": ["made by hand", "back from 1 to 1"]}),
        ];
        assert_eq!(
            printed(&lines, &TimeZone::UTC),
            "\
REVISION   UPDATED                    STATUS       CHART        APP VERSION   DESCRIPTION        REMARKS
1          Fri Jan  2 03:04:05 2026   superseded   site-1.0.0   7             Install complete   -
2          Fri Jan  2 03:05:05 2026   deployed     site-1.0.0   7             Rollback to 1      made by hand; back from 1 to 1
"
        );
    }
}
