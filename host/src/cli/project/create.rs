//! `pilothouse create api`.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Args, Subcommand};

use super::on_disk::OnDisk;
use super::transaction::Transaction;
use super::{ApiArgs, ProjectCommandError, chart, here};
use crate::project::api::{self, Addition};
use crate::project::naming::Gvk;
use crate::project::project_file::{self, Project};
use crate::project::{CHARTS, File};

/// Add to a project.
#[derive(Clone, Debug, Subcommand)]
pub enum CreateCommand {
    /// Add a kind that a Helm chart is behind.
    Api(Box<CreateApiArgs>),
}

/// Flags of `pilothouse create api`.
#[derive(Clone, Debug, Args)]
#[command(
    disable_version_flag = true,
    args_override_self = true,
    after_help = "\
EXAMPLES:
  pilothouse create api --helm-chart ./mychart
  pilothouse create api --group apps --version v1alpha1 --kind AppService
  pilothouse create api --helm-chart myrepo/app --helm-chart-version 1.2.3
  pilothouse create api --helm-chart app --helm-chart-repo https://charts.example.com
  pilothouse create api --kind Cache --helm-chart oci://registry.example.com/charts/redis:1.2.3"
)]
pub struct CreateApiArgs {
    /// The kind and its chart.
    #[command(flatten)]
    pub api: ApiArgs,
}

/// What was made.
pub(super) struct Made {
    /// Files that replace those of the project.
    pub(super) edited: Vec<File>,
    created: Vec<String>,
    kind: String,
    sample: String,
    notes: Vec<String>,
}

/// Adds a kind to the project in this directory.
///
/// # Errors
/// [`ProjectCommandError`]; then nothing was written.
pub fn execute(command: &CreateCommand) -> Result<String, ProjectCommandError> {
    let CreateCommand::Api(args) = command;
    let root = here()?;
    let path = root.join(project_file::FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(ProjectCommandError::Missing(root.display().to_string()));
        }
        Err(source) => return Err(ProjectCommandError::file(&path, source)),
    };
    let project = Project::parse(&text)?;
    check(&args.api, true)?;
    let mut transaction = Transaction::begin(&root)?;
    let made = make(&args.api, &project, &OnDisk::new(&root), &root, &mut transaction)?;
    transaction.commit()?;
    Ok(made.told())
}

/// The kind as far as the flags say it.
pub(super) fn gvk_of(args: &ApiArgs) -> Gvk {
    Gvk { group: args.group.clone(), version: args.version.clone(), kind: args.kind.clone() }
}

/// Refuses flags that do not fit together.
pub(super) fn check(args: &ApiArgs, wanted: bool) -> Result<(), ProjectCommandError> {
    let usage = |text: &str| Err(ProjectCommandError::Usage(text.to_owned()));
    let no_chart = args.helm_chart.trim().is_empty();
    if no_chart && !args.helm_chart_repo.is_empty() {
        return usage("--helm-chart-repo can only be used with --helm-chart");
    }
    if no_chart && !args.helm_chart_version.is_empty() {
        return usage("--helm-chart-version can only be used with --helm-chart");
    }
    if wanted && no_chart && args.kind.is_empty() {
        return usage("either --kind or --helm-chart is needed");
    }
    Ok(())
}

/// Brings everything of a new kind on its way.
pub(super) fn make(
    args: &ApiArgs,
    project: &Project,
    files: &OnDisk,
    root: &Path,
    transaction: &mut Transaction,
) -> Result<Made, ProjectCommandError> {
    let domain = project.domain();
    let named = gvk_of(args);
    // Before anything is fetched, as far as it is known then.
    if !named.kind.is_empty() && !named.version.is_empty() {
        named.check(&domain)?;
        project.check_new(&named)?;
    }
    let chart = chart::fetch(args, &domain, transaction)?;
    let addition = Addition::of(&chart.survey);
    addition.gvk.check(&domain)?;
    let changes = api::add(project, &addition, files)?;
    let there = |file: &&File| std::fs::symlink_metadata(root.join(&file.path)).is_ok();
    let clashes: Vec<String> = changes.created.iter().filter(there).map(|file| file.path.clone()).collect();
    if !clashes.is_empty() && !args.force {
        return Err(ProjectCommandError::Clash(clashes));
    }
    let place = addition.chart_directory();
    let is_there = root.join(&place).exists();
    let is_same = is_there && chart::same_tree(&root.join(&place), &chart.directory);
    if is_there && !is_same && !args.force {
        return Err(ProjectCommandError::ChartClash(place));
    }
    let mut created: Vec<String> = changes.created.iter().map(|file| file.path.clone()).collect();
    if !is_same {
        transaction.directory(chart.directory.clone(), &place)?;
        created.push(format!("{place}/"));
    }
    for file in changes.created.iter().chain(&changes.edited) {
        transaction.file(&file.path, &file.text)?;
    }
    created.sort();
    Ok(Made {
        created,
        kind: format!("{}, Kind={}", chart.survey.names.qualified_group, chart.survey.names.kind),
        sample: format!("config/samples/{}", addition.sample_file()),
        notes: chart.survey.notes.clone(),
        edited: changes.edited,
    })
}

impl Made {
    /// What is told of it, and what to do next.
    pub(super) fn told(&self) -> String {
        let mut out = format!("{} is there, from the chart in {CHARTS}/.\n", self.kind);
        for path in &self.created {
            let _ = writeln!(out, "  new      {path}");
        }
        for file in &self.edited {
            let _ = writeln!(out, "  changed  {}", file.path);
        }
        if !self.notes.is_empty() {
            out.push_str("Please look at this:\n");
        }
        for note in &self.notes {
            let _ = writeln!(out, "  {note}");
        }
        let _ = write!(
            out,
            "Next: check the rights in config/rbac/role.yaml, then build, deploy and try it:\n\
             $ make docker-build docker-push deploy IMG=registry.example/operator:v0.0.1\n$ kubectl apply -f {}\n",
            self.sample
        );
        out
    }
}
