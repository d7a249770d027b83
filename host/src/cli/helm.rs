//! Subcommands that the Helm plugin answers, with the names, flags and meanings they have in `helm`.

use std::path::{Component, Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::chart_source::arguments::SourceArgs;
use crate::chart_source::{self, LocateError};
use crate::cluster::kubeconfig::ClusterArgs;
use crate::command::{self, AskError, CommandArgs, PersonFile, Question};
use crate::plugin::bindings::{CommandAnswer, CommandFile};

pub mod lint;
pub mod post_renderer;
pub mod refusal;
pub mod show;
pub mod template;

/// The asset that is the chart.
const CHART: &str = "chart";

/// Flags that give values.
#[derive(Clone, Debug, Default, Args)]
pub struct ValuesArgs {
    /// Specify values in a YAML file or a URL (can specify multiple).
    #[arg(short = 'f', long, value_name = "FILE", value_delimiter = ',')]
    pub values: Vec<String>,
    /// Set values on the command line (can specify multiple or separate values with commas: key1=val1,key2=val2).
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Set STRING values on the command line.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set_string: Vec<String>,
    /// Set JSON values on the command line (key1=jsonval1,key2=jsonval2, or a whole object).
    #[arg(long, value_name = "KEY=JSON")]
    pub set_json: Vec<String>,
    /// Set values from files (key1=path1,key2=path2).
    #[arg(long, value_name = "KEY=PATH")]
    pub set_file: Vec<String>,
    /// Set a literal STRING value on the command line.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set_literal: Vec<String>,
}

impl ValuesArgs {
    /// As the plugin takes them; the files become assets.
    ///
    /// # Errors
    /// When a file on the web cannot be fetched.
    pub(super) fn options(&self, files: &mut Vec<PersonFile>) -> Result<Value, LocateError> {
        let mut named = Vec::new();
        for (index, name) in self.values.iter().enumerate() {
            let asset = format!("values:{index}");
            files.push(if chart_source::is_url(name) {
                PersonFile::fetched(&asset, chart_source::fetch_file(name)?)
            } else {
                PersonFile::at(&asset, name)?
            });
            named.push(json!({"name": name, "asset": asset}));
        }
        for path in self.set_file.iter().flat_map(|line| paths_in(line)) {
            files.push(PersonFile::at(&format!("set-file:{path}"), &path)?);
        }
        Ok(json!({
            "files": named, "set": self.set, "setString": self.set_string, "setJson": self.set_json,
            "setFile": self.set_file, "setLiteral": self.set_literal,
        }))
    }
}

/// What may be a path in `key1=path1,key2=path2`: the plugin knows the grammar, and reads those that are. It cannot ask for
/// a file whose path the person did not write.
fn paths_in(line: &str) -> Vec<String> {
    let unescaped = |text: &str| text.replace('\\', "");
    let starts = line.match_indices('=').filter_map(|(at, _)| line.get(at + 1..));
    let ends = |rest: &str| {
        let cut = rest.match_indices(',').filter_map(|(at, _)| rest.get(..at)).map(unescaped);
        cut.chain([unescaped(rest)]).collect::<Vec<_>>()
    };
    starts.flat_map(ends).filter(|path| !path.is_empty()).collect()
}

/// Flags that all of them have.
#[derive(Clone, Debug, Default, Args)]
pub struct GlobalArgs {
    /// Namespace scope for this request. Default: that of the kubeconfig's context.
    #[arg(short, long, env = "HELM_NAMESPACE", value_name = "NS")]
    pub namespace: Option<String>,
    /// Path to the kubeconfig file.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Name of the kubeconfig context to use.
    #[arg(long, env = "HELM_KUBECONTEXT", value_name = "NAME")]
    pub kube_context: Option<String>,
    /// What has to do with charts elsewhere.
    #[command(flatten)]
    pub source: SourceArgs,
}

impl GlobalArgs {
    /// The namespace: the flag's, or the one of the kubeconfig's context, or `default`.
    pub(super) fn namespace(&self) -> String {
        let given = self.namespace.clone().filter(|name| !name.is_empty());
        given.or_else(|| self.cluster().context_namespace()).unwrap_or_else(|| "default".to_owned())
    }

    /// The cluster that is meant.
    pub(super) fn cluster(&self) -> ClusterArgs {
        ClusterArgs { kubeconfig: self.kubeconfig.clone(), context: self.kube_context.clone() }
    }
}

/// Why a subcommand failed, in Helm's words where it has some.
#[derive(Debug, thiserror::Error)]
pub enum HelmError {
    /// The arguments do not fit.
    #[error("{0}")]
    Usage(String),
    /// The chart is not to be had.
    #[error(transparent)]
    Chart(#[from] LocateError),
    /// The plugin cannot be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The plugin says why.
    #[error("{0}")]
    Failed(String),
    /// A file cannot be written.
    #[error("{path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
}

/// Asks, and gives the person what comes back: lines on standard error, output, files.
fn answer(question: &Question, plugin: &CommandArgs) -> Result<(), HelmError> {
    hand_over(&command::ask(question, plugin)?, question)
}

fn tell(answer: &CommandAnswer) {
    for line in &answer.messages {
        eprintln!("{line}");
    }
}

fn hand_over(answer: &CommandAnswer, question: &Question) -> Result<(), HelmError> {
    let (debug, directory) = (question.debug, question.output_dir.clone());
    tell(answer);
    if answer.failure.is_none() || debug {
        write_files(directory.as_deref(), &answer.files)?;
    }
    let written = std::io::Write::write_all(&mut std::io::stdout().lock(), &answer.output);
    match written {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(source) => return Err(HelmError::Write { path: "standard output".to_owned(), source }),
        Ok(()) => {}
    }
    answer.failure.clone().map_or(Ok(()), |failure| Err(HelmError::Failed(failure)))
}

fn write_files(directory: Option<&Path>, files: &[CommandFile]) -> Result<(), HelmError> {
    let Some(directory) = directory else { return Ok(()) };
    for file in files {
        let path = directory.join(&file.path);
        let failed = |source| HelmError::Write { path: path.display().to_string(), source };
        let inside = Path::new(&file.path).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside {
            return Err(failed(std::io::Error::other("the plugin wanted to write outside of the directory")));
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        std::fs::write(&path, &file.content).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_that_a_set_file_line_may_mean_can_be_read_and_no_other() {
        assert_eq!(paths_in("a=x.txt"), ["x.txt"]);
        assert_eq!(paths_in("a=x,b=y"), ["x", "x,b=y", "y"]);
        assert_eq!(paths_in("a=x\\,y"), ["x", "x,y"]);
        assert!(paths_in("a").is_empty());
    }

    #[test]
    fn a_plugin_cannot_write_outside_of_the_directory_that_the_person_named() {
        let directory = tempfile::tempdir().unwrap();
        let inside = directory.path().join("inside");
        let file = |path: &str| CommandFile { path: path.to_owned(), content: b"x".to_vec() };
        for path in ["../out", "/tmp/out", "a/../../out", ""] {
            assert!(write_files(Some(&inside), &[file(path)]).is_err(), "{path}");
        }
        write_files(Some(&inside), &[file("a/b.yaml")]).unwrap();
        assert_eq!(std::fs::read(inside.join("a/b.yaml")).unwrap(), b"x");
    }
}
