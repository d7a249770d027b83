//! Charts that are used only when somebody vouches for them (`--verify`; Helm's `downloader.VerifyChart`). What a provenance
//! file says is the plugin's affair; here are the files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{LocateError, Located};
use crate::chart_source::arguments::{ChartArgs, SourceArgs};
use crate::command::{self, PersonFile, Question};
use crate::error_text::{go_words, without_login};

/// Why nobody vouches for a chart. Texts are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum ProvenanceError {
    /// Only archives are vouched for.
    #[error("unpacked charts cannot be verified")]
    Directory,
    /// By its name it is no archive.
    #[error("chart must be a tgz file")]
    NoArchive,
    /// No provenance file beside the archive.
    #[error("could not load provenance file {path}: stat {path}: {}", go_words(source))]
    Missing {
        /// The file.
        path: String,
        /// The system's words.
        #[source]
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("{what}: {operation} {path}: {}", go_words(source))]
    Unreadable {
        /// What for.
        what: &'static str,
        /// What was tried, in Go's words.
        operation: &'static str,
        /// The file.
        path: String,
        /// The system's words.
        #[source]
        source: io::Error,
    },
    /// It cannot be had from where the chart came from.
    #[error("failed to fetch provenance {0:?}")]
    NotFetched(String),
    /// The provenance file does not vouch for the archive.
    #[error("{0}")]
    Refused(String),
}

/// Verifies an archive with the provenance file beside it.
pub(super) fn verify_beside(
    path: &Path,
    chart: &ChartArgs,
    settings: &SourceArgs,
) -> Result<(), LocateError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".prov");
    verify(path, Path::new(&beside), chart, settings)
}

/// Verifies an archive that was fetched with what was fetched as its provenance file, from `source` (which is told).
pub(super) fn verify_fetched<E>(
    archive: &Located,
    provenance: Result<Vec<u8>, E>,
    source: &str,
    chart: &ChartArgs,
    settings: &SourceArgs,
) -> Result<(), LocateError> {
    let provenance = provenance.map_err(|_| ProvenanceError::NotFetched(without_login(source)))?;
    let provenance = Located::fetched("provenance", &provenance)?;
    verify(archive.path(), provenance.path(), chart, settings)
}

/// Verifies an archive under the name it has.
fn verify(
    path: &Path,
    provenance: &Path,
    chart: &ChartArgs,
    settings: &SourceArgs,
) -> Result<(), LocateError> {
    if path.is_dir() {
        return Err(ProvenanceError::Directory.into());
    }
    if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tgz")) {
        return Err(ProvenanceError::NoArchive.into());
    }
    let shown = |path: &Path| path.display().to_string();
    provenance.metadata().map_err(|source| ProvenanceError::Missing { path: shown(provenance), source })?;
    let keyring = keyring(chart);
    readable("failed to load keyring", &keyring)?;
    readable("failed to read chart archive", path)?;
    readable("failed to read provenance file", provenance)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let question = Question {
        command: "verify",
        options: json!({
            "archive": {"name": name, "asset": "archive"},
            "provenance": "provenance",
            "keyring": {"name": shown(&keyring), "asset": "keyring"},
        }),
        files: vec![
            PersonFile::tree("archive", path),
            PersonFile::tree("provenance", provenance),
            PersonFile::tree("keyring", &keyring),
        ],
        output_dir: None,
        cluster: None,
        debug: settings.debug,
    };
    match command::ask(&question, &settings.plugin)?.failure {
        Some(why) => Err(ProvenanceError::Refused(why).into()),
        None => Ok(()),
    }
}

/// Tells of a file that cannot be read, before somebody else does in other words.
fn readable(what: &'static str, path: &Path) -> Result<(), ProvenanceError> {
    let failed = |operation, source| ProvenanceError::Unreadable {
        what,
        operation,
        path: path.display().to_string(),
        source,
    };
    // A pipe without a writer would keep us waiting.
    if path.metadata().map_err(|source| failed("open", source))?.is_dir() || path.is_file() {
        let mut file = File::open(path).map_err(|source| failed("open", source))?;
        file.read(&mut [0]).map_err(|source| failed("read", source))?;
        return Ok(());
    }
    Err(failed("read", io::Error::other("not a regular file")))
}

/// The keys whose signatures count: those that are named, or those of GnuPG's home.
fn keyring(chart: &ChartArgs) -> PathBuf {
    if let Some(named) = &chart.keyring {
        return named.clone();
    }
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let home = variable("GNUPGHOME").unwrap_or_else(|| variable("HOME").unwrap_or_default().join(".gnupg"));
    let absent = |path: &PathBuf| path.metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let places = ["pubring.gpg", "pubring.kbx"].map(|name| home.join(name));
    places.into_iter().find(|path| !absent(path)).unwrap_or_else(|| home.join("pubring.gpg"))
}
