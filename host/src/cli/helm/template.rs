//! `pilothouse template`.

use clap::Args;
use serde_json::json;

use super::post_renderer::{PostRenderer, PostRendererArgs};
use super::{CHART, GlobalArgs, HelmError, ValuesArgs, answer, hand_over, tell};
use crate::chart_source::arguments::ChartArgs;
use crate::chart_source::{Located, dependencies, locate};
use crate::command::{PersonFile, Question, Session};

/// Render chart templates locally and display the output, as `helm template` does.
#[derive(Clone, Debug, Args)]
#[command(
    disable_version_flag = true,
    // The last one wins, as with Go's flags.
    args_override_self = true,
    after_help = "\
EXAMPLES:
  pilothouse template mychart ./mychart --namespace shop -f prod.yaml --set image.tag=1.2.3
  pilothouse template mychart ./mychart --show-only templates/deployment.yaml
  pilothouse template web nginx --repo https://charts.example.com --version '^15'
  pilothouse template web oci://registry.example.com/charts/web --version 1.2.3 --output-dir manifests"
)]
pub struct TemplateArgs {
    /// Name of the release, and the chart: a directory, an archive, a URL, repo/name or oci://…
    #[arg(value_name = "[NAME] CHART", num_args = 0..)]
    pub arguments: Vec<String>,
    /// Kubernetes api versions used for Capabilities.APIVersions (multiple can be specified).
    #[arg(short, long, value_name = "VERSION", value_delimiter = ',')]
    pub api_versions: Vec<String>,
    /// Kubernetes version used for Capabilities.KubeVersion.
    #[arg(long, value_name = "VERSION", default_value = "", hide_default_value = true)]
    pub kube_version: String,
    /// Include CRDs in the templated output.
    #[arg(long)]
    pub include_crds: bool,
    /// Leave CRDs out, also with --include-crds.
    #[arg(long)]
    pub skip_crds: bool,
    /// Set .Release.IsUpgrade instead of .Release.IsInstall.
    #[arg(long)]
    pub is_upgrade: bool,
    /// Leave hooks out.
    #[arg(long)]
    pub no_hooks: bool,
    /// Skip tests from templated output.
    #[arg(long)]
    pub skip_tests: bool,
    /// Disable JSON schema validation.
    #[arg(long)]
    pub skip_schema_validation: bool,
    /// Only show manifests rendered from the given templates.
    #[arg(short, long, value_name = "TEMPLATE")]
    pub show_only: Vec<String>,
    /// Write the executed templates to files in this directory instead of stdout.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<String>,
    /// Use release name in the output-dir path.
    #[arg(long)]
    pub release_name: bool,
    /// Template used to name the release.
    #[arg(long, value_name = "TEMPLATE", default_value = "", hide_default_value = true)]
    pub name_template: String,
    /// Generate the name (and omit the NAME parameter).
    #[arg(short, long)]
    pub generate_name: bool,
    /// \"server\": ask the cluster what it serves, and let `lookup` find its objects. Default: \"client\", no cluster.
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "unset")]
    pub dry_run: Option<String>,
    /// The same as --dry-run=server, as Helm 3 had it.
    #[arg(long, hide = true)]
    pub validate: bool,
    /// Render as this generation of helm does: "4" is 4.3, "3" is 3.19.
    #[arg(long, value_name = "HELM", default_value = "4", value_parser = ["3", "4"])]
    pub compat: String,
    /// Fetch dependencies that are missing into the chart's charts/ before rendering it.
    #[arg(long)]
    pub dependency_update: bool,
    /// A program that manifests go through.
    #[command(flatten)]
    pub post_renderer: PostRendererArgs,
    /// Flags that change nothing of the output.
    #[command(flatten)]
    pub idle: IdleArgs,
    /// Values.
    #[command(flatten)]
    pub values: ValuesArgs,
    /// Where the chart is.
    #[command(flatten)]
    pub chart: ChartArgs,
    /// What all have.
    #[command(flatten)]
    pub global: GlobalArgs,
}

/// Flags of `helm install` that `helm template` takes and that change nothing of what is printed, but for what is refused
/// with a cluster. Taken, so that scripts work unchanged.
#[derive(Clone, Debug, Default, Args)]
pub struct IdleArgs {
    #[arg(long, hide = true)]
    create_namespace: bool,
    #[arg(long, hide = true)]
    description: Option<String>,
    #[arg(long, hide = true)]
    disable_openapi_validation: bool,
    #[arg(long, hide = true)]
    enable_dns: bool,
    #[arg(long, alias = "force", hide = true)]
    force_replace: bool,
    #[arg(long, hide = true)]
    force_conflicts: bool,
    #[arg(short, long, hide = true)]
    labels: Vec<String>,
    #[arg(long, hide = true)]
    replace: bool,
    #[arg(long, alias = "atomic", hide = true)]
    rollback_on_failure: bool,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    server_side: Option<Option<String>>,
    #[arg(long, hide = true)]
    take_ownership: bool,
    #[arg(long, hide = true)]
    timeout: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    wait: Option<Option<String>>,
    #[arg(long, hide = true)]
    wait_for_jobs: bool,
}

/// Renders and prints.
///
/// # Errors
/// In Helm's words.
pub fn execute(args: &TemplateArgs) -> Result<(), HelmError> {
    let post_renderer = args.post_renderer.find(&args.compat)?;
    let server = on_server(args)?;
    let (release_name, chart) = name_and_chart(args)?;
    let located = locate(chart, &args.chart, &args.global.source)?;
    if args.dependency_update {
        dependencies::update(&located, &args.chart, &args.global.source)?;
    }
    let mut files = vec![PersonFile::tree(CHART, located.path())];
    let options = json!({
        "chart": located.option(CHART, &args.chart),
        "releaseName": release_name,
        "nameTemplate": args.name_template,
        "namespace": args.global.namespace(),
        "kubeVersion": args.kube_version,
        "apiVersions": args.api_versions,
        "includeCrds": args.include_crds && !args.skip_crds,
        "skipCrds": args.skip_crds,
        "takeOwnership": args.idle.take_ownership,
        "disableOpenapiValidation": args.idle.disable_openapi_validation,
        "noHooks": args.no_hooks,
        "skipTests": args.skip_tests,
        "showOnly": args.show_only,
        "isUpgrade": args.is_upgrade,
        "skipSchemaValidation": args.skip_schema_validation,
        "outputDir": args.output_dir,
        "releaseNameDir": args.release_name,
        "server": server,
        "debug": args.global.source.debug,
        "compat": args.compat,
        "values": args.values.options(&mut files)?,
    });
    let question = Question {
        command: "template",
        options,
        files,
        output_dir: args.output_dir.as_ref().map(Into::into),
        cluster: server.then(|| args.global.cluster()),
        debug: args.global.source.debug,
    };
    match post_renderer {
        None => answer(&question, &args.global.source.plugin),
        Some(program) => answer_through(&program, question, args),
    }
}

/// Asks what a program of the person's shall read, runs it, and asks what is to be printed then.
fn answer_through(
    program: &PostRenderer,
    mut question: Question,
    args: &TemplateArgs,
) -> Result<(), HelmError> {
    let session = Session::open(&args.global.source.plugin, question.cluster.as_ref())?;
    question.set("postRenderer", json!("input"));
    let answer = session.ask(&question)?;
    if answer.failure.is_some() {
        return hand_over(&answer, &question);
    }
    tell(&answer);
    let kept = answer.files.into_iter().next().map(|file| file.content).unwrap_or_default();
    question.files = vec![PersonFile::fetched("post-renderer:rest", Located::fetched("rest", &kept)?)];
    match program.run(answer.output, args.global.source.debug) {
        Ok(written) => {
            let written = Located::fetched("output", &written)?;
            question.files.push(PersonFile::fetched("post-renderer:output", written));
            question.set("postRenderer", json!("output"));
        }
        Err(why) => question.set("postRenderer", json!({"failed": why})),
    }
    hand_over(&session.ask(&question)?, &question)
}

fn on_server(args: &TemplateArgs) -> Result<bool, HelmError> {
    if args.validate {
        eprintln!("Flag --validate has been deprecated, use '--dry-run=server' instead");
        if args.dry_run.is_some() {
            let both = "if any flags in the group [validate dry-run] are set none of the others can be; [dry-run validate] were \
                        all set";
            return Err(HelmError::Usage(both.to_owned()));
        }
        return Ok(true);
    }
    let invalid = |mode: &str, modes: &str| {
        Err(HelmError::Usage(format!("invalid dry-run value ({mode:?}). Must be {modes}")))
    };
    match args.dry_run.as_deref() {
        None | Some("client") => Ok(false),
        Some("server") => Ok(true),
        Some("unset") => {
            warn("--dry-run is deprecated and should be replaced with '--dry-run=client'");
            Ok(false)
        }
        Some(yes @ ("1" | "t" | "T" | "true" | "TRUE" | "True")) => {
            warn(&format!(
                "boolean '--dry-run={yes}' flag is deprecated and must be replaced with '--dry-run=client'"
            ));
            Ok(false)
        }
        Some(no @ ("none" | "0" | "f" | "F" | "false" | "FALSE" | "False")) => {
            invalid(no, "\"server\" or \"client\"")
        }
        Some(other) => invalid(other, "\"none\", \"server\", or \"client\""),
    }
}

/// A line of Helm's log.
fn warn(text: &str) {
    eprintln!("level=WARN msg={text:?}");
}

fn name_and_chart(args: &TemplateArgs) -> Result<(String, &str), HelmError> {
    let usage = |text: &str| Err(HelmError::Usage(text.to_owned()));
    match args.arguments.as_slice() {
        [] => usage(
            "\"pilothouse template\" requires at least 1 argument\n\nUsage:  pilothouse template [NAME] [CHART] [flags]",
        ),
        [chart] => Ok(("release-name".to_owned(), chart)),
        [_, _] if args.generate_name => usage("cannot set --generate-name and also specify a name"),
        [_, _] if !args.name_template.is_empty() => {
            usage("cannot set --name-template and also specify a name")
        }
        [name, chart] => Ok((name.clone(), chart)),
        [_, _, more @ ..] => {
            let more = more.join(", ");
            usage(&format!("expected at most two arguments, unexpected arguments: {more}"))
        }
    }
}
