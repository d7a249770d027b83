//! What the host tells of itself.

/// What manifests need to know of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The host's own image, which brings artefacts to the host and back (`pilothouse upload`, `pilothouse download`).
    pub image: String,
}
