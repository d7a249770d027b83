//! `pilothouse backups`: which backups there are, and those of a storage whose cluster is lost.
//!
//! The backup plugin knows backups; here are the words of the command line, the cluster and the terminal.

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::asking::{self, AskingError, Output, ask, encoded, question};
use super::table::{shortened, table};
use super::time::age;
use crate::cluster::kubeconfig::ClusterArgs;
use crate::command::BackupCommandArgs;

pub mod import;

/// So much of a message stands in a table.
const MESSAGE: usize = 60;

/// Flags of `pilothouse backups`.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
EXAMPLES:
  pilothouse backups                          # of the namespace of the kubeconfig's context
  pilothouse backups -A -o wide               # everywhere, with hashes and addresses
  pilothouse backups --subject statefulset/db --policy nightly
  pilothouse backups import --storage s3://bucket/prefix --credentials-secret s3 -n shop

  VERIFIED   whether everything was shown of the artefact that its policy asks for: only then a change may begin
  FOR        by whom it was asked for (Schedule, Manual, Lifecycle, Restore, Import), and the change it was taken for"
)]
pub struct BackupsArgs {
    /// Something else than to list them.
    #[command(subcommand)]
    pub command: Option<BackupsCommand>,
    /// What to list.
    #[command(flatten)]
    pub list: ListArgs,
}

/// What else can be done.
#[derive(Clone, Debug, Subcommand)]
pub enum BackupsCommand {
    /// Make the Backup objects again that a storage tells of.
    Import(Box<import::ImportArgs>),
}

/// What both have.
#[derive(Clone, Debug, Default, Args)]
pub struct PlaceArgs {
    /// Where the cluster is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Namespace. Default: that of the kubeconfig's context.
    #[arg(short, long, env = "PILOTHOUSE_NAMESPACE", value_name = "NS")]
    pub namespace: Option<String>,
    /// Only those of this subject.
    #[arg(long, value_name = "KIND/NAME", value_parser = subject)]
    pub subject: Option<String>,
    /// Form of the answer.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
    /// Which plugin answers.
    #[command(flatten)]
    pub plugin: BackupCommandArgs,
}

/// What to list.
#[derive(Clone, Debug, Default, Args)]
pub struct ListArgs {
    /// In all namespaces.
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Only those of this policy.
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// What both have.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// What is printed, and how the program ends.
#[derive(Debug)]
pub struct Report {
    /// For standard output.
    pub text: String,
    /// 0, or 1 when something could not be done.
    pub exit_code: u8,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum BackupsError {
    /// The arguments do not fit.
    #[error("{0}")]
    Usage(String),
    /// The plugin gives no answer.
    #[error(transparent)]
    Asking(#[from] AskingError),
}

impl BackupsError {
    /// 2 for a wrong usage, else 1.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::Usage(_)) { 2 } else { 1 }
    }
}

/// Does what was asked.
///
/// # Errors
/// [`BackupsError`].
pub fn execute(args: &BackupsArgs) -> Result<Report, BackupsError> {
    match &args.command {
        Some(BackupsCommand::Import(args)) => import::execute(args),
        None => list(&args.list).map(|text| Report { text, exit_code: 0 }),
    }
}

fn list(args: &ListArgs) -> Result<String, BackupsError> {
    let place = &args.place;
    let session = asking::open(&place.plugin, &place.cluster)?;
    let namespace = (!args.all_namespaces).then(|| place.namespace());
    let options = json!({"namespace": namespace, "policy": args.policy, "subject": place.subject});
    let rows: Value = ask(&session, &question("backups", options), None)?;
    if matches!(place.output, Output::Json | Output::Yaml) {
        return Ok(encoded(&rows, place.output)?);
    }
    let rows = rows.as_array().cloned().unwrap_or_default();
    if rows.is_empty() {
        let within = namespace.map_or_else(|| "any namespace".to_owned(), |name| format!("namespace {name}"));
        eprintln!("pilothouse: there are no such backups in {within}");
        return Ok(String::new());
    }
    Ok(printed(&rows, place.output == Output::Wide, Timestamp::now()))
}

impl PlaceArgs {
    fn namespace(&self) -> String {
        asking::namespace(self.namespace.as_ref(), &self.cluster)
    }
}

/// `KIND/NAME`, as it is.
fn subject(text: &str) -> Result<String, String> {
    match text.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(text.to_owned())
        }
        _ => Err("say KIND/NAME, such as StatefulSet/db".to_owned()),
    }
}

fn printed(rows: &[Value], wide: bool, now: Timestamp) -> String {
    let line = |row: &Value| {
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let asked = match row["change"].as_str() {
            Some(change) => format!("{} {change}", text("origin")),
            None => text("origin"),
        };
        let verified = if row["verified"] == true { "yes" } else { "no" };
        let mut cells = vec![text("namespace"), text("name"), text("subject"), text("policy"), asked];
        cells.extend([text("phase"), verified.to_owned(), size(&row["size"])]);
        cells.push(if wide { text("taken") } else { age(&text("taken"), now) });
        if wide {
            let seconds = row["seconds"].as_u64().map(|seconds| format!("{seconds}s")).unwrap_or_default();
            let encrypted = if row["encrypted"] == true { "age" } else { "" };
            cells.extend([seconds, encrypted.to_owned(), text("sha256"), text("uri"), text("message")]);
        } else {
            cells.push(shortened(&text("message"), MESSAGE));
        }
        cells
    };
    let lines: Vec<Vec<String>> = rows.iter().map(line).collect();
    let common = ["NAMESPACE", "NAME", "SUBJECT", "POLICY", "FOR", "PHASE", "VERIFIED", "SIZE", "TAKEN"];
    let more: &[&str] =
        if wide { &["TOOK", "ENCRYPTED", "SHA256", "ADDRESS", "MESSAGE"] } else { &["MESSAGE"] };
    table(&[&common[..], more].concat(), &lines)
}

/// Bytes for people.
fn size(value: &Value) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let Some(mut much) = value.as_f64() else { return String::new() };
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for next in units {
        if much < 1024.0 {
            break;
        }
        much /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{much:.0}B") } else { format!("{much:.1}{unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_backup() {
        let rows = [
            json!({
                "namespace": "shop", "name": "db-1", "subject": "StatefulSet/db", "policy": "nightly", "origin": "Lifecycle",
                "change": "v7-93b1", "phase": "Completed", "verified": true, "size": 1_572_864, "sha256": "ab",
                "encrypted": true, "uri": "s3://b/k", "taken": "2026-01-01T00:00:00Z", "seconds": 12, "message": "",
            }),
            json!({
                "namespace": "shop", "name": "db-2", "subject": "StatefulSet/db", "policy": null, "origin": "Manual",
                "change": null, "phase": "Failed", "verified": false, "size": null, "sha256": null, "encrypted": false,
                "uri": null, "taken": null, "seconds": null, "message": "dump: exit code 2",
            }),
        ];
        let now = "2026-01-01T00:05:00Z".parse().unwrap();
        assert_eq!(
            printed(&rows, false, now),
            "\
NAMESPACE   NAME   SUBJECT          POLICY    FOR                 PHASE       VERIFIED   SIZE     TAKEN   MESSAGE
shop        db-1   StatefulSet/db   nightly   Lifecycle v7-93b1   Completed   yes        1.5MiB   5m      -
shop        db-2   StatefulSet/db   -         Manual              Failed      no         -        -       dump: exit code 2
"
        );
        assert!(printed(&rows, true, now).contains("12s    age"), "{}", printed(&rows, true, now));
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in
            [(0, "0B"), (1023, "1023B"), (1024, "1.0KiB"), (5_u64 << 30, "5.0GiB"), (1 << 50, "1024.0TiB")]
        {
            assert_eq!(size(&json!(bytes)), text);
        }
    }

    #[test]
    fn a_subject_is_a_kind_and_a_name() {
        assert_eq!(subject("StatefulSet/db").as_deref(), Ok("StatefulSet/db"));
        for wrong in ["db", "/db", "StatefulSet/", "a/b/c", ""] {
            assert!(subject(wrong).unwrap_err().contains("KIND/NAME"), "{wrong}");
        }
    }
}
