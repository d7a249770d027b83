//! Versions for what a chart needs (Helm's `internal/resolver`).

use serde_json::Value;

use super::repositories::Repositories;
use super::{Locked, Requirement, Update, is_oci};
use crate::chart_source::{LocateError, registry, repository};
use crate::error_text::without_login;

/// A version for each requirement.
pub(super) fn resolve(
    update: &Update<'_>,
    requirements: &[Requirement],
    repositories: &Repositories,
) -> Result<Vec<Locked>, LocateError> {
    let (mut locked, mut missing) = (Vec::new(), Vec::new());
    for requirement in requirements {
        match version(update, requirement, repositories)? {
            Some(version) => locked.push(Locked {
                name: requirement.name.clone(),
                version,
                repository: requirement.repository.clone(),
            }),
            None => {
                let Requirement { name, repository, version, .. } = requirement;
                let repository = without_login(repository);
                missing.push(format!("{name:?} (repository {repository:?}, version {version:?})"));
            }
        }
    }
    if missing.is_empty() {
        return Ok(locked);
    }
    Err(LocateError::NotFound(format!(
        "can't get a valid version for {} subchart(s): {}. Make sure a matching chart version exists in the repo, or change the \
         version constraint in Chart.yaml",
        missing.len(),
        missing.join(", ")
    )))
}

/// The version; none: nothing fits.
fn version(
    update: &Update<'_>,
    requirement: &Requirement,
    repositories: &Repositories,
) -> Result<Option<String>, LocateError> {
    let Requirement { name, version, repository, constraint_error, exact } = requirement;
    if let Some(error) = constraint_error {
        return Err(LocateError::NotFound(format!(
            "dependency {name:?} has an invalid version/constraint format: {error}"
        )));
    }
    if repository.is_empty() {
        update.local(&format!("charts/{name}"))?;
        return Ok(Some(version.clone()));
    }
    if repository.starts_with("file://") {
        let path = update.local(repository)?;
        let (found, _) = update.inspect(&path, Some(version), false)?;
        return Ok(Some(found.version).filter(|_| found.satisfies == Some(true)));
    }
    if is_oci(repository) {
        if *exact {
            return Ok(Some(version.clone()));
        }
        // A range that no tag is in is what the registry then does not have.
        let reference = format!("{repository}/{name}");
        let tag = registry::newest(&reference, version, update.args, update.settings).map_err(|error| {
            LocateError::NotFound(format!(
                "could not retrieve list of tags for repository {}: {error}",
                without_login(repository)
            ))
        })?;
        return Ok(Some(tag.unwrap_or_else(|| version.clone())));
    }
    let Some((index_name, index)) = repositories.index_of(name) else { return Ok(Some(version.clone())) };
    if !index.is_file() {
        return Err(LocateError::NotFound(format!(
            "no cached repository for {index_name} found. (try 'helm repo update'): open {}: no such file or directory",
            index.display()
        )));
    }
    match repository::find_quietly(&index, name, version, update.settings)? {
        Ok(found) => Ok(found.get("version").and_then(Value::as_str).map(ToOwned::to_owned)),
        Err(message) if message.contains("no chart name found") => {
            let repository = without_login(repository);
            Err(LocateError::NotFound(format!("{name} chart not found in repo {repository}")))
        }
        Err(_) => Ok(None),
    }
}
