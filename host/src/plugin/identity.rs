//! Which plugin.

use std::sync::Arc;

/// Which plugin, and which revision of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The manifest's name.
    pub name: Arc<str>,
    /// The manifest's version.
    pub version: String,
    /// sha256 of the component, lower-case hex.
    pub digest: String,
}

impl Identity {
    /// The first twelve digits of the digest: what people see.
    pub fn short(&self) -> &str {
        self.digest.get(..12).unwrap_or(&self.digest)
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({})", self.name, self.version, self.short())
    }
}
