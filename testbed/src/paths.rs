//! Where things lie. The only place that reads the environment.

use std::path::PathBuf;

/// Tools, build results and clusters: `$PILOTHOUSE_CACHE`, else `$XDG_CACHE_HOME/pilothouse`, else `~/.cache/pilothouse`.
pub fn cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PILOTHOUSE_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("pilothouse")))
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

/// What `KUBEBUILDER_ASSETS` names.
pub fn kubebuilder_assets() -> Option<PathBuf> {
    std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from)
}

/// A program on the PATH.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// The repository's `testbed` directory, where the Go modules are.
pub fn modules() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
