//! Where post-renderers are: plugins below `$HELM_PLUGINS`, programs in `$PATH`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use super::manifest::{FILE, Loaded, Manifest, TYPE};

/// The plugin of this name.
///
/// # Errors
/// Helm's words.
pub(super) fn plugin(name: &str) -> Result<Manifest, String> {
    let directories = match std::env::var_os("HELM_PLUGINS") {
        Some(paths) if paths.is_empty() => Vec::new(),
        Some(paths) => std::env::split_paths(&paths).collect(),
        None => vec![data_home().join("plugins")],
    };
    plugin_in(name, &directories)
}

/// Helm's directory for what it keeps.
fn data_home() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let xdg = || set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    set("HELM_DATA_HOME").or_else(|| Some(xdg()?.join("helm"))).unwrap_or_default()
}

pub(super) fn plugin_in(name: &str, directories: &[PathBuf]) -> Result<Manifest, String> {
    let mut found = None;
    for directory in directories {
        let mut names: BTreeMap<String, PathBuf> = BTreeMap::new();
        for directory in plugins_below(directory) {
            let plugin = match Loaded::read(&directory) {
                Ok(plugin) => plugin,
                Err(why) => {
                    tell_ignored(&directory, &why);
                    continue;
                }
            };
            if let Some(before) = names.insert(plugin.name().to_owned(), directory.clone()) {
                let (before, now) = (before.display().to_string(), directory.display().to_string());
                return Err(format!(
                    "two plugins claim the name {:?} at {before:?} and {now:?}",
                    plugin.name()
                ));
            }
            if let Loaded::PostRenderer(manifest) = plugin
                && manifest.name == name
            {
                found.get_or_insert(manifest);
            }
        }
    }
    found.ok_or_else(|| format!("plugin: {{Name:{name} Type:{TYPE}}} not found"))
}

/// The directories with a description of a plugin, by name.
fn plugins_below(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| directory.join(entry.file_name())).collect();
    found.retain(|path| path.join(FILE).symlink_metadata().is_ok());
    found.sort();
    found
}

fn tell_ignored(directory: &Path, why: &str) {
    let why = format!("failed to load plugin {:?}: {why}", directory.display().to_string());
    let file = directory.join(FILE);
    eprintln!(
        "level=WARN msg=\"failed to load plugin (ignoring)\" plugin_yaml={} error={why:?}",
        file.display()
    );
}

/// The path of a program, as Go's `exec.LookPath` finds it.
///
/// # Errors
/// Go's words.
pub(super) fn program(name: &str) -> Result<PathBuf, Error> {
    program_in(name, &std::env::var_os("PATH").unwrap_or_default())
}

fn program_in(name: &str, paths: &OsStr) -> Result<PathBuf, Error> {
    let failed = |why: &str| Error::new(ErrorKind::NotFound, format!("exec: {name:?}: {why}"));
    if name.contains('/') {
        let path = Path::new(name);
        return match path.metadata() {
            Err(_) => Err(failed(&format!("stat {name}: no such file or directory"))),
            Ok(found) if found.is_dir() => Err(failed("is a directory")),
            Ok(found) if !is_executable(&found) => Err(failed("permission denied")),
            Ok(_) => Ok(path.to_owned()),
        };
    }
    let here = |directory: PathBuf| if directory == OsStr::new("") { PathBuf::from(".") } else { directory };
    let candidates = std::env::split_paths(paths).map(|directory| here(directory).join(name));
    let runs = |path: &PathBuf| path.metadata().is_ok_and(|found| found.is_file() && is_executable(&found));
    let found = candidates.into_iter().find(runs);
    let found = found.ok_or_else(|| failed("executable file not found in $PATH"))?;
    // Whoever may write where the person happens to be could have a program of theirs run.
    if found.is_relative() {
        return Err(failed("cannot run executable found relative to current directory"));
    }
    Ok(found)
}

#[cfg(unix)]
fn is_executable(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_found: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_program_that_lies_where_the_person_happens_to_be_is_not_run_by_its_name() {
        use std::os::unix::fs::PermissionsExt as _;
        // Below the directory that tests run in, so that a relative path leads to it.
        let directory = tempfile::tempdir_in(".").unwrap();
        let path = directory.path().join("mine");
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let relative = Path::new(directory.path().file_name().unwrap());
        let refused = program_in("mine", relative.as_os_str()).unwrap_err().to_string();
        assert_eq!(refused, "exec: \"mine\": cannot run executable found relative to current directory");
        let whole = directory.path().canonicalize().unwrap();
        assert_eq!(program_in("mine", whole.as_os_str()).unwrap(), whole.join("mine"));
    }
}
