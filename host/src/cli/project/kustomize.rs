//! Kustomizations, put together by kustomize or by kubectl.

use std::path::Path;
use std::process::{Command, Stdio};

use super::ProjectCommandError;

/// What is tried when nothing is named.
const PROGRAMS: [&str; 2] = ["kustomize build", "kubectl kustomize"];

/// The objects of a kustomization, as YAML.
pub(super) fn build(
    program: Option<&str>,
    root: &Path,
    directory: &str,
) -> Result<String, ProjectCommandError> {
    let programs: Vec<&str> = program.map_or_else(|| PROGRAMS.to_vec(), |program| vec![program]);
    for line in &programs {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let ran =
            Command::new(name).args(words).arg(directory).current_dir(root).stdin(Stdio::null()).output();
        let output = match ran {
            Ok(output) => output,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(ProjectCommandError::Kustomize(format!("{name}: {error}"))),
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let words = errors.trim();
            return Err(ProjectCommandError::Kustomize(format!("{line} {directory}: {words}")));
        }
        return String::from_utf8(output.stdout)
            .map_err(|_| ProjectCommandError::Kustomize(format!("{line} {directory} wrote no text")));
    }
    Err(ProjectCommandError::Kustomize(format!(
        "{directory} has to be put together, and there is no program {}; name one with --kustomize, or pipe the objects in: \
         `… | pilothouse bundle --input -`",
        programs
            .iter()
            .filter_map(|line| line.split_whitespace().next())
            .collect::<Vec<_>>()
            .join(" and no program ")
    )))
}
