//! Where the plugin is, and where it is compiled.

use std::path::{Path, PathBuf};

use super::{AskError, Respondent};
use crate::plugin::compiled::PREBUILT_DIR;

/// The plugin's file.
pub(super) fn find(respondent: &Respondent) -> Result<PathBuf, AskError> {
    let Respondent { name, file, flag, .. } = *respondent;
    if let Some(path) = &respondent.given {
        return Ok(path.clone());
    }
    let places = places();
    let found = places.iter().map(|place| place.join(file)).find(|path| path.is_file());
    found.ok_or_else(|| AskError::NoPlugin {
        name,
        flag,
        places: places.iter().map(|place| place.display().to_string()).collect(),
    })
}

fn places() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let own = home("XDG_DATA_HOME", ".local/share").map(|data| data.join("pilothouse/plugins"));
    [Some(PathBuf::from("/plugins")), beside.map(|dir| dir.join("plugins")), beside.map(Path::to_owned), own]
        .into_iter()
        .flatten()
        .collect()
}

/// Where compiled code is kept: what the image brings is found by itself.
pub(super) fn cache_dir(given: Option<&Path>) -> PathBuf {
    let own = || home("XDG_CACHE_HOME", ".cache").map(|cache| cache.join("pilothouse"));
    given.map(Path::to_owned).or_else(own).unwrap_or_else(|| PathBuf::from(PREBUILT_DIR))
}

fn home(variable: &str, below: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable).or_else(|| Some(set("HOME")?.join(below)))
}
