//! How releases stand, what would be changed, and the way back: `releases`, `history`, `diff`, `rollback`.
//!
//! The Helm plugin knows releases; here are the words of the command line, the cluster and the terminal.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::asking::{self, AskingError};
use crate::cluster::kubeconfig::ClusterArgs;
use crate::command::{AskError, CommandArgs, Session};
use crate::error_text::chain;
use crate::object::Gvk;
use crate::watches_file::{self, WatchEntry};
use kind::{Kind, KindError};

pub mod diff;
pub mod history;
mod kind;
pub mod list;
pub mod rollback;

/// The watches file where nobody names one, as for `pilothouse run`.
const WATCHES_FILE: &str = "watches.yaml";

/// Flags that all of them have.
#[derive(Clone, Debug, Default, Args)]
pub struct ReleaseArgs {
    /// Where the cluster is.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Namespace. Default: that of the kubeconfig's context.
    #[arg(short, long, env = "PILOTHOUSE_NAMESPACE", value_name = "NS")]
    pub namespace: Option<String>,
    /// operator-sdk's watches file: charts and the kinds they reconcile. Default: ./watches.yaml where it exists.
    #[arg(long, env = "PILOTHOUSE_WATCHES_FILE", value_name = "FILE")]
    pub watches_file: Option<PathBuf>,
    /// Which plugin answers.
    #[command(flatten)]
    pub plugin: CommandArgs,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The arguments do not fit.
    #[error("{0}")]
    Usage(String),
    /// The watches file cannot be read.
    #[error("{path}: {source}")]
    Watches {
        /// The file.
        path: String,
        /// The system's words.
        #[source]
        source: std::io::Error,
    },
    /// No entry of the watches file is of the kind.
    #[error("no entry of {path} reconciles {kind}; its kinds are {}", listed(kinds))]
    NoEntry {
        /// The file.
        path: String,
        /// The kind.
        kind: Gvk,
        /// Those of its entries.
        kinds: Vec<String>,
    },
    /// Nobody says which chart is meant.
    #[error(
        "which chart {0} stands for is told by a watches file, and there is no ./watches.yaml; name one with --watches-file"
    )]
    NoWatches(Gvk),
    /// The API server refuses.
    #[error("{0}")]
    Refused(String),
    /// The kind is not to be had.
    #[error(transparent)]
    Kind(#[from] KindError),
    /// The plugin gives no answer.
    #[error(transparent)]
    Asking(#[from] AskingError),
    /// The plugin, or the operator, says why.
    #[error("{0}")]
    Failed(String),
    /// The answer cannot be understood or written.
    #[error("{0}")]
    Answer(String),
}

impl From<AskError> for ReleaseError {
    fn from(error: AskError) -> Self {
        Self::Asking(error.into())
    }
}

impl ReleaseError {
    /// 2 for a wrong usage, else 1.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::Usage(_)) { 2 } else { 1 }
    }
}

fn listed(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

/// A watches file.
struct Watches {
    path: PathBuf,
    entries: Vec<WatchEntry>,
}

impl ReleaseArgs {
    /// The namespace that is meant.
    fn namespace(&self) -> String {
        asking::namespace(self.namespace.as_ref(), &self.cluster)
    }

    /// The watches file, if there is one. What is wrong with an entry is said aloud.
    fn watches(&self) -> Result<Option<Watches>, ReleaseError> {
        let default = Path::new(WATCHES_FILE);
        let found = self.watches_file.clone().or_else(|| default.is_file().then(|| default.to_owned()));
        let Some(path) = found else { return Ok(None) };
        let text = std::fs::read_to_string(&path)
            .map_err(|source| ReleaseError::Watches { path: path.display().to_string(), source })?;
        let watches_file::Read { entries, errors, ignored } =
            watches_file::parse(&path, &text, &|name| std::env::var(name).ok());
        for error in errors.iter().chain(&ignored) {
            eprintln!("pilothouse: {error}");
        }
        Ok(Some(Watches { path, entries }))
    }

    fn open(&self) -> Result<Session, ReleaseError> {
        Ok(asking::open(&self.plugin, &self.cluster)?)
    }

    /// What a failed request means.
    fn failure(&self, error: &kube::Error) -> ReleaseError {
        match error {
            kube::Error::Api(status) => ReleaseError::Refused(status.message.clone()),
            other => asking::no_cluster(&self.cluster, chain(other)).into(),
        }
    }

    /// The kind of a word, as kubectl takes it; those of the watches file first.
    fn kind(&self, session: &Session, word: &str, watches: Option<&Watches>) -> Result<Kind, ReleaseError> {
        let (core, groups) = session.wait(async {
            let client = session.client();
            let core =
                client.list_core_api_versions_aggregated().await.map_err(|error| self.failure(&error))?;
            let groups = client.list_api_groups_aggregated().await.map_err(|error| self.failure(&error))?;
            Ok::<_, ReleaseError>((core.items, groups.items))
        })?;
        let own: Vec<&Gvk> =
            watches.iter().flat_map(|watches| &watches.entries).map(|entry| &entry.gvk).collect();
        let found = kind::find(word, &[core, groups].concat(), &own)?;
        if found.namespaced { Ok(found) } else { Err(KindError::ClusterScoped(found.gvk).into()) }
    }
}

/// An object of the command line: `KIND/NAME` or `KIND NAME`, and what stands behind it.
fn object_of(words: &[String]) -> Result<(&str, &str, &[String]), ReleaseError> {
    let usage = |what: &str| ReleaseError::Usage(format!("{what}; say KIND/NAME, such as web/shop"));
    let (first, rest) = words.split_first().ok_or_else(|| usage("no object"))?;
    let (kind, name, rest) = match (first.split_once('/'), rest.split_first()) {
        (Some((kind, name)), _) => (kind, name, rest),
        (None, Some((name, rest))) => (first.as_str(), name.as_str(), rest),
        (None, None) => return Err(usage(&format!("{first:?} names no object"))),
    };
    if kind.is_empty() || name.is_empty() || name.contains('/') {
        return Err(usage(&format!("{first:?} is no object")));
    }
    Ok((kind, name, rest))
}

/// An object as the plugin's commands take it.
fn object_option(kind: &Kind, namespace: &str, name: &str) -> Value {
    let Gvk { kind: name_of_kind, .. } = &kind.gvk;
    json!({"apiVersion": kind.gvk.api_version(), "kind": name_of_kind, "namespace": namespace, "name": name})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_in_one_word_or_in_two() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let read = |line: &[&str]| {
            let all = words(line);
            object_of(&all)
                .map(|(kind, name, rest)| (kind.to_owned(), name.to_owned(), rest.to_vec()))
                .map_err(|error| error.to_string())
        };
        let found =
            |kind: &str, name: &str, rest: &[&str]| Ok((kind.to_owned(), name.to_owned(), words(rest)));
        assert_eq!(read(&["web/shop"]), found("web", "shop", &[]));
        assert_eq!(
            read(&["webs.charts.example.com/shop", "3"]),
            found("webs.charts.example.com", "shop", &["3"])
        );
        assert_eq!(read(&["web", "shop", "3"]), found("web", "shop", &["3"]));
        for wrong in [&["web"][..], &[], &["web/"], &["/shop"], &["a/b/c"], &["web", "a/b"]] {
            assert!(read(wrong).unwrap_err().contains("KIND/NAME"), "{wrong:?}");
        }
    }
}
