//! `pilothouse adopt`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Parser as _};
use serde_json::json;

use super::on_disk::OnDisk;
use super::transaction::Transaction;
use super::{AccessArgs, OPERATOR_IMAGE, ProjectCommandError, chart};
use crate::cli::Cli;
use crate::project::adopt::{Adoption, Inputs, Watched, adopt, plural};
use crate::project::diff::unified;
use crate::project::naming::Gvk;
use crate::project::survey::Survey;
use crate::project::{Files as _, WATCHES};
use crate::watches_file::{self, ChartPlace, WatchEntry};

/// Take a project of operator-sdk over, in place: image, manager, rights and CRDs, where they would be refused, are outdated or
/// incomplete. A second time changes nothing.
#[derive(Clone, Debug, Args)]
#[command(
    disable_version_flag = true,
    args_override_self = true,
    after_help = "\
EXAMPLES:
  pilothouse adopt --dry-run .      # see what would change
  pilothouse adopt . --operator-image registry.example/helm-operator:v0.1.0"
)]
pub struct AdoptArgs {
    /// The project: a directory with a watches.yaml.
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Image that the operator's image is built from.
    #[arg(long, env = "PILOTHOUSE_OPERATOR_IMAGE", value_name = "IMAGE", default_value = OPERATOR_IMAGE)]
    pub operator_image: String,
    /// How the charts are looked at.
    #[command(flatten)]
    pub access: AccessArgs,
}

/// Changes the project.
///
/// # Errors
/// [`ProjectCommandError`]. Files that cannot be understood are an error at the end, when all else is done.
pub fn execute(args: &AdoptArgs) -> Result<String, ProjectCommandError> {
    let root =
        args.directory.canonicalize().map_err(|source| ProjectCommandError::file(&args.directory, source))?;
    let path = root.join(WATCHES);
    let text = std::fs::read_to_string(&path).map_err(|source| ProjectCommandError::file(&path, source))?;
    let watches_file::Read { entries, errors, ignored } =
        watches_file::parse(&path, &text, &|_| Some(String::new()));
    let disk = OnDisk::new(&root);
    let watched: Vec<Watched> = entries.iter().map(|entry| look(entry, &disk, args)).collect();
    let inputs = Inputs { operator_image: &args.operator_image, watched: &watched, refusal: &refusal };
    let mut adoption = adopt(&disk, &inputs);
    adoption.notes.extend(
        errors
            .iter()
            .chain(&ignored)
            .map(|error| format!("{WATCHES}:{}:{}: {}", error.line, error.column, error.message)),
    );
    if !args.dry_run && !adoption.changed.is_empty() {
        write(&root, &adoption)?;
    }
    let told = told(&adoption, &disk, args.dry_run);
    if adoption.left_alone.is_empty() {
        return Ok(told);
    }
    print!("{told}");
    Err(ProjectCommandError::LeftAlone(adoption.left_alone.len()))
}

fn write(root: &Path, adoption: &Adoption) -> Result<(), ProjectCommandError> {
    let mut transaction = Transaction::begin(root)?;
    for changed in &adoption.changed {
        transaction.file(&changed.file.path, &changed.file.text)?;
    }
    transaction.commit()
}

/// Asks what the chart of an entry takes.
fn look(entry: &WatchEntry, disk: &OnDisk, args: &AdoptArgs) -> Watched {
    let gvk = Gvk {
        group: entry.gvk.group.clone(),
        version: entry.gvk.version.clone(),
        kind: entry.gvk.kind.clone(),
    };
    let path = match &entry.chart {
        ChartPlace::Disk(path) => path,
        ChartPlace::Elsewhere(place) => {
            let why =
                format!("its chart is at {place}; unpack it beside the project to have its rights found");
            return Watched { gvk, survey: Err(why) };
        }
    };
    let chart = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    // Groups are whole in watches.yaml; which part of one is the domain says nothing here.
    let (group, domain) = gvk.group.split_once('.').unwrap_or((gvk.group.as_str(), ""));
    // A kind that is there keeps its name; what is looked for here are rights, for which its plural matters.
    let kind: String = gvk.kind.chars().filter(char::is_ascii_alphanumeric).collect();
    let names = json!({
        "domain": domain,
        "group": group,
        "version": gvk.version,
        "kind": kind,
        "plural": plural(disk, &gvk),
    });
    let survey: Result<Survey, String> =
        chart::survey_of(&chart, names, &args.access.source()).map_err(|error| error.to_string());
    Watched { gvk, survey }
}

/// Why `run` would not take arguments.
fn refusal(args: &[String]) -> Option<String> {
    let words = ["pilothouse", "run"].into_iter().map(str::to_owned).chain(args.iter().cloned());
    let error = Cli::try_parse_from(words).err()?;
    let text = error.to_string();
    Some(text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

fn told(adoption: &Adoption, disk: &OnDisk, dry_run: bool) -> String {
    let mut out = String::new();
    for changed in &adoption.changed {
        let path = &changed.file.path;
        let _ = writeln!(out, "{} {path}", if dry_run { "would change" } else { "changed" });
        for what in &changed.what {
            let _ = writeln!(out, "  {what}");
        }
        if dry_run {
            let old = disk.text(path).unwrap_or_default();
            out.push_str(&unified(path, &old, &changed.file.text));
        }
    }
    for (path, why) in &adoption.left_alone {
        let _ = writeln!(out, "left alone {path}\n  {why}");
    }
    if !adoption.notes.is_empty() {
        out.push_str("please look at\n");
    }
    for note in &adoption.notes {
        let _ = writeln!(out, "  {note}");
    }
    if adoption.changed.is_empty() && adoption.left_alone.is_empty() {
        out.push_str("nothing to change: the project is ready for the host\n");
    }
    out
}
