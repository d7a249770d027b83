//! A chart for a project: fetched, with what it needs, and looked at.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::transaction::Transaction;
use super::{ApiArgs, ProjectCommandError};
use crate::chart_source::arguments::{ChartArgs, SourceArgs};
use crate::chart_source::{LocateError, Located, dependencies, locate, unpack};
use crate::command::{self, PersonFile, Question};
use crate::plugin::bindings::CommandAnswer;
use crate::project::naming::check_chart;
use crate::project::survey::Survey;

const CHART: &str = "chart";

/// A chart in the workshop.
pub(super) struct Surveyed {
    pub(super) directory: PathBuf,
    pub(super) survey: Survey,
}

/// Brings the chart that the flags mean into the workshop, and asks what it is.
pub(super) fn fetch(
    args: &ApiArgs,
    domain: &str,
    transaction: &Transaction,
) -> Result<Surveyed, ProjectCommandError> {
    let directory = transaction.workshop("chart")?;
    let settings = args.access.source();
    if args.helm_chart.trim().is_empty() {
        start(&args.kind.to_ascii_lowercase(), &directory, &settings)?;
    } else {
        bring(args, &directory, &settings)?;
    }
    let survey = survey(&directory, args, domain, &settings)?;
    check_chart(&survey.chart.name)?;
    Ok(Surveyed { directory, survey })
}

/// A new chart, as `helm create` makes it.
fn start(name: &str, directory: &Path, settings: &SourceArgs) -> Result<(), ProjectCommandError> {
    let answer = ask("starter", json!({"name": name}), Vec::new(), settings)?;
    let written = |path: PathBuf, content: &[u8]| {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)
    };
    for file in &answer.files {
        // The name comes from the plugin.
        let inside =
            Path::new(&file.path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !inside {
            return Err(ProjectCommandError::Survey(format!("the plugin wanted to write {:?}", file.path)));
        }
        let path = directory.join(&file.path);
        written(path.clone(), &file.content).map_err(|source| ProjectCommandError::file(&path, source))?;
    }
    Ok(())
}

fn bring(args: &ApiArgs, directory: &Path, settings: &SourceArgs) -> Result<(), ProjectCommandError> {
    let failed = |source| ProjectCommandError::Chart { chart: args.helm_chart.clone(), source };
    let chart = args.chart_args();
    let located = locate(&args.helm_chart, &chart, settings).map_err(failed)?;
    if located.path().is_dir() && !located.path().join("Chart.yaml").is_file() {
        return Err(failed(LocateError::NotFound("no Chart.yaml in this directory".to_owned())));
    }
    unpack::into_directory(located.path(), directory).map_err(|source| failed(LocateError::Keep(source)))?;
    // What the chart needs comes by its own URLs, not by the flags for this one.
    let plain =
        ChartArgs { plain_http: chart.plain_http, ca_file: chart.ca_file.clone(), ..ChartArgs::default() };
    let copy = Located::at(directory);
    dependencies::update_copy(&copy, located.path(), &plain, settings).map_err(failed)
}

fn survey(
    directory: &Path,
    args: &ApiArgs,
    domain: &str,
    settings: &SourceArgs,
) -> Result<Survey, ProjectCommandError> {
    let names = json!({
        "domain": domain,
        "group": args.group,
        "version": args.version,
        "kind": args.kind,
        "plural": args.plural,
    });
    survey_of(directory, names, settings)
}

/// Asks what a chart on disk is, and takes.
pub(super) fn survey_of(
    directory: &Path,
    names: Value,
    settings: &SourceArgs,
) -> Result<Survey, ProjectCommandError> {
    let mut options = names;
    if let Value::Object(map) = &mut options {
        map.insert("chart".to_owned(), Located::at(directory).option(CHART, &ChartArgs::default()));
    }
    let answer = ask("survey", options, vec![PersonFile::tree(CHART, directory)], settings)?;
    serde_json::from_slice(&answer.output).map_err(|error| {
        ProjectCommandError::Survey(format!("the plugin's answer cannot be understood: {error}"))
    })
}

fn ask(
    command: &'static str,
    options: Value,
    files: Vec<PersonFile>,
    settings: &SourceArgs,
) -> Result<CommandAnswer, ProjectCommandError> {
    let question = Question { command, options, files, output_dir: None, cluster: None, debug: false };
    let mut answer = command::ask(&question, &settings.plugin)?;
    for line in &answer.messages {
        eprintln!("{line}");
    }
    match answer.failure.take() {
        Some(failure) => Err(ProjectCommandError::Survey(failure)),
        None => Ok(answer),
    }
}

/// Whether two directories hold the same.
pub(super) fn same_tree(a: &Path, b: &Path) -> bool {
    let names = |directory: &Path| {
        let entries = fs::read_dir(directory).ok()?;
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        Some(names)
    };
    let (Some(left), Some(right)) = (names(a), names(b)) else { return false };
    left == right
        && left.iter().all(|name| {
            let (a, b) = (a.join(name), b.join(name));
            match (a.is_dir(), b.is_dir()) {
                (true, true) => same_tree(&a, &b),
                (false, false) => {
                    fs::read(&a).ok().is_some_and(|bytes| fs::read(&b).is_ok_and(|other| other == bytes))
                }
                _ => false,
            }
        })
}
