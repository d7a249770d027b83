//! Where things lie. The only place of this crate that reads the environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Tools, build results and clusters: `$PILOTHOUSE_CACHE`, else `$XDG_CACHE_HOME/pilothouse`, else `~/.cache/pilothouse`.
pub fn cache() -> PathBuf {
    cache_of(|name| std::env::var_os(name))
}

fn cache_of(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PILOTHOUSE_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|directory| directory.join("pilothouse")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/pilothouse")))
        .unwrap_or_else(|| std::env::temp_dir().join("pilothouse-cache"))
}

/// Programs, by version.
pub fn tools() -> PathBuf {
    cache().join("tools")
}

/// One directory for each cluster.
pub fn clusters() -> PathBuf {
    cache().join("clusters")
}

/// What `KUBEBUILDER_ASSETS` names, where people who use envtest have a control plane.
pub(crate) fn kubebuilder_assets() -> Option<PathBuf> {
    std::env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A program on the PATH, and where Debian keeps the ones for administrators.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(administrators)
        .map(|directory| directory.join(name))
        .find(|file| is_executable(file))
}

/// Whether clusters of tests keep their directory, with its logs, when the test ends: `PILOTHOUSE_KEEP=1`.
pub(crate) fn keep() -> bool {
    std::env::var_os("PILOTHOUSE_KEEP").is_some_and(|value| !value.is_empty() && value != "0")
}

/// The directory of the Go modules (`testbed/` of the repository).
pub(crate) fn modules() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_with(variables: &[(&str, &str)]) -> PathBuf {
        let variables: Vec<(String, OsString)> =
            variables.iter().map(|(k, v)| ((*k).to_owned(), v.into())).collect();
        cache_of(|name| variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()))
    }

    #[test]
    fn the_cache_is_where_the_most_specific_variable_says() {
        assert_eq!(cache_with(&[("PILOTHOUSE_CACHE", "/a"), ("HOME", "/h")]), Path::new("/a"));
        assert_eq!(cache_with(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]), Path::new("/x/pilothouse"));
        assert_eq!(
            cache_with(&[("PILOTHOUSE_CACHE", ""), ("HOME", "/h")]),
            Path::new("/h/.cache/pilothouse")
        );
    }

    #[test]
    fn without_any_variable_the_cache_is_still_somewhere() {
        assert!(cache_with(&[]).ends_with("pilothouse-cache"));
    }
}
