//! `pilothouse show`.

use clap::{Args, Subcommand};
use serde_json::json;

use super::{CHART, GlobalArgs, HelmError, answer};
use crate::chart_source::arguments::ChartArgs;
use crate::chart_source::locate;
use crate::command::{PersonFile, Question};

/// Show information of a chart, as `helm show` does.
#[derive(Clone, Debug, Subcommand)]
pub enum ShowCommand {
    /// Show all information of the chart.
    All(ShowArgs),
    /// Show the chart's definition.
    Chart(ShowArgs),
    /// Show the chart's values.
    Values(ShowValuesArgs),
    /// Show the chart's README.
    Readme(ShowArgs),
    /// Show the chart's CRDs.
    Crds(ShowArgs),
}

/// Flags of `pilothouse show`.
#[derive(Clone, Debug, Args)]
#[command(
    disable_version_flag = true,
    // The last one wins, as with Go's flags.
    args_override_self = true,
    after_help = "\
EXAMPLES:
  pilothouse show values ./mychart
  pilothouse show chart nginx --repo https://charts.example.com --version '^15'"
)]
pub struct ShowArgs {
    /// The chart: a directory, an archive, a URL, repo/name or oci://…
    #[arg(value_name = "CHART", num_args = 0..)]
    pub arguments: Vec<String>,
    /// Where the chart is.
    #[command(flatten)]
    pub chart: ChartArgs,
    /// What all have.
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// Flags of `pilothouse show values`.
#[derive(Clone, Debug, Args)]
#[command(disable_version_flag = true, args_override_self = true)]
pub struct ShowValuesArgs {
    /// Print what this JSONPath template makes of the values.
    #[arg(long = "jsonpath", value_name = "TEMPLATE")]
    pub json_path: Option<String>,
    /// What all have.
    #[command(flatten)]
    pub show: ShowArgs,
}

/// Shows it.
///
/// # Errors
/// In Helm's words.
pub fn execute(command: &ShowCommand) -> Result<(), HelmError> {
    let (part, args, json_path) = match command {
        ShowCommand::All(args) => ("all", args, None),
        ShowCommand::Chart(args) => ("chart", args, None),
        ShowCommand::Values(args) => ("values", &args.show, args.json_path.as_ref()),
        ShowCommand::Readme(args) => ("readme", args, None),
        ShowCommand::Crds(args) => ("crds", args, None),
    };
    let [reference] = args.arguments.as_slice() else {
        return Err(HelmError::Usage(format!(
            "\"pilothouse show {part}\" requires 1 argument\n\nUsage:  pilothouse show {part} [CHART] [flags]"
        )));
    };
    let located = locate(reference, &args.chart, &args.global.source)?;
    let question = Question {
        command: "show",
        options: json!({
            "chart": located.option(CHART, &args.chart),
            "part": part,
            "jsonPath": json_path.filter(|template| !template.is_empty()),
            "debug": args.global.source.debug,
        }),
        files: vec![PersonFile::tree(CHART, located.path())],
        output_dir: None,
        cluster: None,
        debug: args.global.source.debug,
    };
    answer(&question, &args.global.source.plugin)
}
