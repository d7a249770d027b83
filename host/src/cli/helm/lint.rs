//! `pilothouse lint`.

use std::path::Path;

use clap::Args;
use serde_json::json;

use super::{GlobalArgs, HelmError, ValuesArgs, answer};
use crate::command::{PersonFile, Question};

/// Examine a chart for possible issues, as `helm lint` does.
#[derive(Clone, Debug, Args)]
#[command(
    disable_version_flag = true,
    // The last one wins, as with Go's flags.
    args_override_self = true,
    after_help = "\
EXAMPLES:
  pilothouse lint ./mychart --strict
  pilothouse lint ./one ./two -f prod.yaml"
)]
pub struct LintArgs {
    /// Directories or archives. Default: this directory.
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Kubernetes version used for capabilities and deprecation checks.
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    pub kube_version: String,
    /// Print only warnings and errors.
    #[arg(long)]
    pub quiet: bool,
    /// Disable JSON schema validation.
    #[arg(long)]
    pub skip_schema_validation: bool,
    /// Fail on lint warnings.
    #[arg(long)]
    pub strict: bool,
    /// Lint dependent charts.
    #[arg(long)]
    pub with_subcharts: bool,
    /// Values.
    #[command(flatten)]
    pub values: ValuesArgs,
    /// What all have.
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// The directories of a chart that have nothing in them: of those an asset says nothing, the linter does. Links are not
/// followed: several that lead back would be gone round in for ever.
fn empty_directories(chart: &Path) -> Vec<String> {
    let mut empty = Vec::new();
    let mut pending = vec![(chart.to_owned(), String::new())];
    while let Some((directory, path)) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        let mut has_entries = false;
        for entry in entries.flatten() {
            has_entries = true;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                let name = if path.is_empty() { name } else { format!("{path}/{name}") };
                pending.push((entry.path(), name));
            }
        }
        if !has_entries && !path.is_empty() {
            empty.push(path);
        }
    }
    empty.sort_unstable();
    empty
}

/// Examines them.
///
/// # Errors
/// In Helm's words.
pub fn execute(args: &LintArgs) -> Result<(), HelmError> {
    if args.paths.is_empty() {
        return Err(HelmError::Usage(
            "\"pilothouse lint\" requires at least 1 argument\n\nUsage:  pilothouse lint PATH [flags]"
                .to_owned(),
        ));
    }
    let mut files = Vec::new();
    let charts: Vec<_> = args
        .paths
        .iter()
        .enumerate()
        .map(|(index, path)| {
            let asset = format!("chart:{index}");
            files.push(PersonFile::tree(&asset, Path::new(path)));
            let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
            json!({
                "name": path,
                "asset": asset,
                "directory": Path::new(path).is_dir(),
                "path": whole.to_string_lossy(),
                "emptyDirectories": empty_directories(Path::new(path)),
            })
        })
        .collect();
    let question = Question {
        command: "lint",
        options: json!({
            "charts": charts,
            "namespace": args.global.namespace(),
            "kubeVersion": args.kube_version,
            "strict": args.strict,
            "quiet": args.quiet,
            "withSubcharts": args.with_subcharts,
            "skipSchemaValidation": args.skip_schema_validation,
            "debug": args.global.source.debug,
            "values": args.values.options(&mut files)?,
        }),
        files,
        output_dir: None,
        cluster: None,
        debug: args.global.source.debug,
    };
    answer(&question, &args.global.source.plugin)
}
