//! Trees of files that the operator of the cluster gave to the plugin, such as charts. Read-only.

/// A tree, by the name under which the settings mention it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetTree {
    /// The name it was asked by.
    pub name: String,
    /// sha256 over paths and contents, lower-case hex. Equal digests, equal trees: keep what you parsed by it.
    pub digest: String,
    /// Sum of the files' sizes in bytes.
    pub size: u64,
}

/// One file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetFile {
    /// Relative, with `/`, never with `..`.
    pub path: String,
    /// The bytes as they lie there.
    pub content: Vec<u8>,
}

/// One file of a tree without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetEntry {
    /// Relative, with `/`, never with `..`.
    pub path: String,
    /// In bytes.
    pub size: u64,
}

/// Why a tree cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssetError {
    /// No such tree was given to this plugin.
    #[error("no such asset was given to this plugin")]
    Unknown,
    /// The tree cannot be read now: the sentence says which file and why.
    #[error("{0}")]
    Unreadable(String),
    /// It is larger than the host allows.
    #[error("{0}")]
    TooLarge(String),
}
