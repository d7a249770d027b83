//! Charts into `charts/`.

use std::fs;
use std::path::Path;

use super::repositories::{Repositories, same};
use super::{Locked, Update, is_oci, tell};
use crate::chart_source::arguments::ChartArgs;
use crate::chart_source::repository::{self, Entry};
use crate::chart_source::{LocateError, registry};
use crate::error_text::without_login;

/// Fetches everything, and then takes the place of what was there.
pub(super) fn fetch(
    update: &Update<'_>,
    locked: &mut [Locked],
    repositories: &Repositories,
) -> Result<(), LocateError> {
    let charts = update.chart.join("charts");
    if charts.exists() && !charts.is_dir() {
        return Err(LocateError::NotFound(format!("{:?} is not a directory", charts.display().to_string())));
    }
    fs::create_dir_all(&charts)?;
    // Beside its target, so that what was fetched can be moved.
    let fetched = tempfile::Builder::new().prefix("tmpcharts-").tempdir_in(update.chart)?;
    tell(&format!("Saving {} charts", locked.len()));
    let mut urls = Vec::new();
    for dependency in locked.iter_mut() {
        let result = one(update, dependency, repositories, fetched.path(), &mut urls);
        if let Err(error) = result {
            tell(&format!("Save error occurred:  {error}"));
            return Err(error);
        }
    }
    exchange(update, locked, fetched.path(), &charts)
}

fn one(
    update: &Update<'_>,
    dependency: &mut Locked,
    repositories: &Repositories,
    into: &Path,
    urls: &mut Vec<String>,
) -> Result<(), LocateError> {
    let Locked { name, version, repository } = dependency;
    if repository.is_empty() {
        tell(&format!(
            "Dependency {name} did not declare a repository. Assuming it exists in the charts directory"
        ));
        return in_place(update, name, version);
    }
    if repository.starts_with("file://") {
        if update.settings.debug {
            tell(&format!("Archiving {name} from repo {}", without_login(repository)));
        }
        return packed(update, dependency, into);
    }
    let what = format!("{name} from repo {}", without_login(repository));
    let found = if is_oci(repository) {
        Source::Registry(format!("{repository}/{name}:{version}"))
    } else {
        Source::find(update, dependency, repositories)?
    };
    if urls.iter().any(|url| url == found.url()) {
        tell(&format!("Already downloaded {what}"));
        return Ok(());
    }
    tell(&format!("Downloading {what}"));
    urls.push(found.url().to_owned());
    found.download(update, dependency, into)
}

/// Where an archive is.
enum Source {
    Registry(String),
    Web { url: String, found: serde_json::Value, entry: Box<Entry> },
}

impl Source {
    fn find(
        update: &Update<'_>,
        dependency: &Locked,
        repositories: &Repositories,
    ) -> Result<Self, LocateError> {
        let Locked { name, version, repository } = dependency;
        let known = repositories.known.iter().find(|entry| same(&entry.url, repository)).cloned();
        let entry = known.unwrap_or_else(|| Entry::unknown("", repository));
        let missing = |message: &str| LocateError::NotFound(format!("could not find : {message}"));
        let (_, index) = repositories.index_of(name).ok_or_else(|| missing("entry not found"))?;
        let found = repository::find_quietly(&index, name, version, update.settings)?;
        let found = found.map_err(|message| missing(&message))?;
        let url = repository::url(&entry.url, &found);
        Ok(Self::Web { url, found, entry: Box::new(entry) })
    }

    fn url(&self) -> &str {
        match self {
            Self::Registry(url) | Self::Web { url, .. } => url,
        }
    }

    fn download(&self, update: &Update<'_>, dependency: &Locked, into: &Path) -> Result<(), LocateError> {
        let refused = |error: LocateError| {
            let url = match self {
                Self::Registry(_) => format!("{}/{}", without_login(&dependency.repository), dependency.name),
                Self::Web { url, .. } => without_login(url),
            };
            LocateError::NotFound(format!("could not download {url}: {error}"))
        };
        let located = match self {
            Self::Registry(_) => {
                let reference = format!("{}/{}", dependency.repository, dependency.name);
                let version = dependency.version.clone();
                let args = ChartArgs { version, devel: false, ..update.args.clone() };
                registry::fetch(&reference, &args, update.settings)
            }
            Self::Web { found, entry, .. } => repository::fetch_found(entry, found),
        };
        let located = located.map_err(refused)?;
        let name = located.path().file_name().unwrap_or_default();
        fs::copy(located.path(), into.join(name))?;
        Ok(())
    }
}

/// A chart that somebody put into `charts/`.
fn in_place(update: &Update<'_>, name: &str, range: &str) -> Result<(), LocateError> {
    let path = update.chart.join("charts").join(name);
    let (found, _) = update.inspect(&path, Some(range), false).map_err(|error| {
        LocateError::NotFound(format!("unable to load chart '{}': {error}", path.display()))
    })?;
    if let Some(error) = found.version_error {
        return Err(LocateError::NotFound(format!("invalid version {range} for dependency {name}: {error}")));
    }
    if found.satisfies == Some(true) {
        return Ok(());
    }
    Err(LocateError::NotFound(format!(
        "dependency {name} at version {} does not satisfy the constraint {range}",
        found.version
    )))
}

/// A chart beside this one, as an archive.
fn packed(update: &Update<'_>, dependency: &mut Locked, into: &Path) -> Result<(), LocateError> {
    let path = update.local(&dependency.repository)?;
    let (found, answer) = update.inspect(&path, Some(&dependency.version), true)?;
    if found.satisfies != Some(true) {
        let name = &dependency.name;
        return Err(LocateError::NotFound(format!("can't get a valid version for dependency {name}")));
    }
    for file in &answer.files {
        // A name only: nothing is written elsewhere.
        let name = Path::new(&file.path).file_name().unwrap_or_default();
        fs::write(into.join(name), &file.content)?;
    }
    dependency.version = found.version;
    Ok(())
}

/// Moves what was fetched, and deletes archives of charts that are none of the dependencies any more.
fn exchange(update: &Update<'_>, locked: &[Locked], from: &Path, charts: &Path) -> Result<(), LocateError> {
    let before = files(charts)?;
    let new = files(from)?;
    for name in &new {
        let source = from.join(name);
        if let Err(error) = update.inspect(&source, None, false) {
            tell(&format!("Could not verify {} for moving: {error} (Skipping)", source.display()));
            continue;
        }
        fs::rename(&source, charts.join(name))?;
    }
    tell("Deleting outdated charts");
    for name in before.iter().filter(|name| !new.contains(name)) {
        let path = charts.join(name);
        let (found, _) = match update.inspect(&path, None, false) {
            Ok(found) => found,
            Err(error) => {
                tell(&format!("Could not verify {} for deletion: {error} (Skipping)", path.display()));
                continue;
            }
        };
        let is_local =
            |dependency: &Locked| dependency.repository.is_empty() && dependency.name == found.name;
        if !locked.iter().any(is_local) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Names of the files in a directory.
fn files(directory: &Path) -> Result<Vec<std::ffi::OsString>, LocateError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            names.push(entry.file_name());
        }
    }
    names.sort();
    Ok(names)
}
