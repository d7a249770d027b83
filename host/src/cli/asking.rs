//! A plugin that is asked about a cluster: who answers, where, and in which form.

use clap::ValueEnum;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cluster::kubeconfig::ClusterArgs;
use crate::command::{AskError, Question, Respondent, Session, Subject};
use crate::error_text::chain;
use crate::plugin::bindings::CommandAnswer;
use crate::project::yaml_text;

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people.
    #[default]
    Table,
    /// The same with everything there is to tell.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskingError {
    /// The API server gives no answer.
    #[error("no answer from the cluster ({place}): {why}; look at --kubeconfig and --context")]
    NoCluster {
        /// Where it was looked for.
        place: String,
        /// Why.
        why: String,
    },
    /// The plugin cannot be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The plugin, or the operator, says why.
    #[error("{0}")]
    Failed(String),
    /// The answer cannot be understood or written.
    #[error("{0}")]
    Answer(String),
}

/// A plugin that may ask a cluster.
pub(super) fn open(plugin: impl Into<Respondent>, cluster: &ClusterArgs) -> Result<Session, AskingError> {
    Session::open(plugin, Some(cluster)).map_err(|error| match error {
        AskError::Cluster(why) => no_cluster(cluster, why),
        other => other.into(),
    })
}

pub(super) fn no_cluster(cluster: &ClusterArgs, why: String) -> AskingError {
    let kubeconfig = cluster.kubeconfig.as_ref().map(|path| path.display().to_string());
    let kubeconfig = kubeconfig.unwrap_or_else(|| "the kubeconfig of the environment".to_owned());
    let context = cluster.context.as_deref();
    let place =
        context.map_or_else(|| kubeconfig.clone(), |context| format!("{kubeconfig}, context {context}"));
    AskingError::NoCluster { place, why }
}

/// What a failed request means.
pub(super) fn failure(cluster: &ClusterArgs, error: &kube::Error) -> AskingError {
    match error {
        kube::Error::Api(status) => AskingError::Failed(status.message.clone()),
        other => no_cluster(cluster, chain(other)),
    }
}

/// The namespace that is meant.
pub(super) fn namespace(given: Option<&String>, cluster: &ClusterArgs) -> String {
    let given = given.cloned().filter(|name| !name.is_empty());
    given.or_else(|| cluster.context_namespace()).unwrap_or_else(|| "default".to_owned())
}

/// Asks the plugin; what it says beside goes to standard error.
pub(super) fn ask<T: DeserializeOwned>(
    session: &Session,
    question: &Question,
    subject: Option<&Subject>,
) -> Result<T, AskingError> {
    let CommandAnswer { output, messages, failure, .. } = session.ask_about(question, subject)?;
    for line in &messages {
        eprintln!("pilothouse: {line}");
    }
    if let Some(failure) = failure {
        return Err(AskingError::Failed(failure));
    }
    serde_json::from_slice(&output)
        .map_err(|error| AskingError::Answer(format!("the plugin's answer cannot be understood: {error}")))
}

/// A question without files.
pub(super) fn question(command: &'static str, options: Value) -> Question {
    Question { command, options, files: Vec::new(), output_dir: None, cluster: None, debug: false }
}

/// JSON or YAML of an answer.
pub(super) fn encoded(value: &Value, output: Output) -> Result<String, AskingError> {
    let failed = |error: String| AskingError::Answer(error);
    match output {
        Output::Yaml => yaml_text::write(value).map_err(|error| failed(error.to_string())),
        _ => {
            let text = serde_json::to_string_pretty(value).map_err(|error| failed(error.to_string()))?;
            Ok(text + "\n")
        }
    }
}
