//! Where a chart comes from: a directory, an archive, or somewhere it has to be fetched from (Helm's `LocateChart`).
//!
//! What is fetched goes to a file of its own and is gone with the program. Which version is meant is the plugin's affair;
//! here is the network.

pub mod arguments;
pub(crate) mod credentials;
pub mod dependencies;
pub(crate) mod guard;
pub(crate) mod oci;
mod person;
pub mod provenance;
mod registry;
mod repository;
pub mod unpack;
pub(crate) mod web;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::AskError;
use arguments::{ChartArgs, SourceArgs};
use person::Person;
use provenance::ProvenanceError;
use web::FetchError;

/// Why a chart is not to be had. Texts are Helm's where it has some.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// No such path.
    #[error("path {0:?} not found")]
    NoPath(String),
    /// Neither a path nor a reference.
    #[error("non-absolute URLs should be in form of repo_name/path_to_chart, got: {0}")]
    NoReference(String),
    /// A repository nobody added.
    #[error("repo {0} not found")]
    NoRepository(String),
    /// A file about repositories or registries cannot be used.
    #[error("{path}: {message}")]
    Settings {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// The index of a repository was never fetched.
    #[error("no cached repo found. (try 'helm repo update'): open {0}: no such file or directory")]
    NoIndex(String),
    /// The index cannot be fetched.
    #[error("looks like {url:?} is not a valid chart repository or cannot be reached: {source}")]
    NotARepository {
        /// The repository.
        url: String,
        /// Why.
        #[source]
        source: FetchError,
    },
    /// The index does not have it.
    #[error("{0}")]
    NotFound(String),
    /// It cannot be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A registry does not give it.
    #[error("{reference}: {message}")]
    Registry {
        /// What was asked for.
        reference: String,
        /// What the registry said, or what to do.
        message: String,
    },
    /// It is another one than the index promises.
    #[error(
        "{url} is not what the repository's index promises: its sha256 is {found}, the index says {promised}; the archive was \
         replaced or the index is wrong. To take it all the same, give its URL as the chart"
    )]
    Digest {
        /// Where it came from.
        url: String,
        /// What the index says.
        promised: String,
        /// What came.
        found: String,
    },
    /// Nobody vouches for it.
    #[error(transparent)]
    Provenance(#[from] ProvenanceError),
    /// It cannot be kept.
    #[error("cannot read or keep it: {0}")]
    Keep(#[from] std::io::Error),
    /// The plugin cannot be asked which version is meant.
    #[error(transparent)]
    Ask(#[from] AskError),
}

/// A chart on disk; one that was fetched goes when this does.
#[derive(Debug)]
pub struct Located {
    path: PathBuf,
    _fetched: Option<TempDir>,
}

impl Located {
    /// Where it is, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// As plugins are told of it.
    pub fn option(&self, asset: &str, chart: &ChartArgs) -> Value {
        json!({
            "name": self.path.display().to_string(),
            "asset": asset,
            "directory": self.path.is_dir(),
            "version": chart.version,
            "devel": chart.devel,
        })
    }

    /// Something that is on disk.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), _fetched: None }
    }

    /// Bytes that were fetched, under the name that their URL ends with.
    pub(crate) fn fetched(name: &str, bytes: &[u8]) -> Result<Self, LocateError> {
        let directory = tempfile::Builder::new().prefix("pilothouse-").tempdir()?;
        let name = name.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("chart.tgz");
        let path = directory.path().join(name);
        std::fs::File::create_new(&path)?.write_all(bytes)?;
        Ok(Self { path, _fetched: Some(directory) })
    }
}

/// Finds the chart that a person means.
///
/// # Errors
/// [`LocateError`].
pub fn locate(reference: &str, chart: &ChartArgs, settings: &SourceArgs) -> Result<Located, LocateError> {
    let name = reference.trim();
    if chart.repo.is_empty() {
        let path = Path::new(name);
        if path.exists() {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            if chart.verify {
                provenance::verify_beside(&path, chart, settings)?;
            }
            return Ok(Located { path, _fetched: None });
        }
        if path.is_absolute() || name.starts_with('.') {
            return Err(LocateError::NoPath(name.to_owned()));
        }
        if name.starts_with("oci://") {
            return registry::fetch(name, chart, settings);
        }
        if web::is_url(name) {
            let client = Person::new(chart)?;
            let archive = Located::fetched(web::path_of(name), &client.get(name, name)?)?;
            if chart.verify {
                let source = format!("{name}.prov");
                provenance::verify_fetched(&archive, client.get(&source, name), &source, chart, settings)?;
            }
            return Ok(archive);
        }
        return repository::fetch_named(name, chart, settings);
    }
    repository::fetch_from(&chart.repo, name, chart, settings)
}

/// The version that is wanted.
fn wanted_version(chart: &ChartArgs) -> &str {
    let version = chart.version.trim();
    if version.is_empty() && chart.devel { ">0.0.0-0" } else { version }
}

/// A values file that is somewhere on the web.
///
/// # Errors
/// [`LocateError::Fetch`], [`LocateError::Keep`].
pub fn fetch_file(url: &str) -> Result<Located, LocateError> {
    Located::fetched(web::path_of(url), &Person::new(&ChartArgs::default())?.get(url, url)?)
}

/// Whether a name is one for [`fetch_file`].
pub fn is_url(name: &str) -> bool {
    web::is_url(name)
}
