//! Charts that lie elsewhere: in OCI registries and chart repositories. The host fetches them behind the call.

/// A chart that is wished for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChartSource {
    /// `oci://host/path` of a registry, or the address of a repository.
    pub repository: String,
    /// The chart's name.
    pub name: String,
    /// A version or a range; empty: the newest.
    pub version: String,
    /// `sha256:…` of the archive, or in a registry of the manifest.
    pub digest: Option<String>,
    /// How often a range is resolved again.
    pub interval: std::time::Duration,
    /// Namespace and name of a Secret with credentials. Watch it to be called when it changes.
    pub secret: Option<(String, String)>,
    /// The registry has no TLS.
    pub plain_http: bool,
    /// Credentials also go to other servers that the repository's index names.
    pub pass_credentials: bool,
}

/// A chart that is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartArchive {
    /// Its name for [`Context::asset_files`](crate::Context::asset_files) during this call: a tree of one file.
    pub asset: String,
    /// sha256 of the archive, `sha256:…`.
    pub digest: String,
    /// Of the chart; empty when only a digest was named.
    pub version: String,
    /// Where it was found, as it may be told.
    pub location: String,
}

/// Why the last attempt failed. There will be another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartTrouble {
    /// UpperCamelCase, from a small set.
    pub reason: String,
    /// A sentence for people. No secret material.
    pub message: String,
}

/// How a wish stands. Neither: it is on its way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChartStanding {
    /// The chart that it came to last. Stays when a later attempt fails.
    pub found: Option<ChartArchive>,
    /// What went wrong since.
    pub trouble: Option<ChartTrouble>,
}

/// Why nothing is wished for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChartError {
    /// It may not come from there; the sentence says what to do.
    #[error("{0}")]
    Denied(String),
    /// It is no wish: the sentence says what is wrong with it.
    #[error("{0}")]
    Invalid(String),
    /// The Secret is not there or of no use now.
    #[error("{0}")]
    Credentials(String),
}
