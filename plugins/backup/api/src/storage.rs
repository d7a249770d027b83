//! Where artefacts go.

use serde::{Deserialize, Serialize};

use crate::Quantity;

/// A key of a Secret of the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SecretKey {
    /// Name of the Secret.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub name: String,
    /// The key in it.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub key: String,
}

/// Object storage, or a directory of a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [
        {"rule": "has(self.url) != has(self.claim)", "message": "set either url or claim"},
        {
            "rule": "!has(self.claim) || !(has(self.region) || has(self.credentialsSecret) || has(self.authoritiesSecret) || (has(self.virtualHosted) && self.virtualHosted))",
            "message": "region, credentialsSecret, authoritiesSecret and virtualHosted are for url",
        },
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// `s3://bucket/prefix`, `s3+https://host:port/bucket/prefix` (or `s3+http`) for a server of one's own, `gs://bucket/prefix`,
    /// `az://account/container/prefix`, `file:///directory` of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 1024), regex(pattern = "^(s3|s3[+]https?|gs|az|file)://[^?#]+$"))
    )]
    pub url: Option<String>,
    /// Region of S3; `us-east-1` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 63)))]
    pub region: Option<String>,
    /// Secret that says who one is. S3: `access-key-id` and `secret-access-key` (`session-token`), or `credentials`, a file of AWS's
    /// form. Google: `credentials.json` or `access-token`. Azure: `storage-key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub credentials_secret: Option<String>,
    /// PEM of the authorities that may have signed the server's certificate, and no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities_secret: Option<SecretKey>,
    /// The bucket is a part of the host's name and not of the path, with a server of one's own.
    #[serde(default)]
    pub virtual_hosted: bool,
    /// S3's own checksums are sent beside the signature. Some servers refuse them.
    #[serde(default = "yes")]
    pub checksums: bool,
    /// A directory of a claim instead of object storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimStorage>,
    /// An artefact that becomes larger fails.
    #[serde(default = "largest")]
    pub max_size: Quantity,
}

/// A directory of a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimStorage {
    /// Name of the PersistentVolumeClaim.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 253)))]
    pub name: String,
    /// Directory in it; its root by default.
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 512), regex(pattern = "^([^/.][^/]*(/[^/.][^/]*)*)?$"))
    )]
    pub path: String,
}

pub(crate) fn yes() -> bool {
    true
}

fn largest() -> Quantity {
    Quantity(1 << 40)
}

impl Storage {
    /// The address of an object below it.
    pub fn uri(&self, key: &str) -> String {
        match (&self.url, &self.claim) {
            (Some(url), _) => format!("{}/{key}", url.trim_end_matches('/')),
            (None, Some(claim)) if claim.path.is_empty() => format!("claim://{}/{key}", claim.name),
            (None, Some(claim)) => format!("claim://{}/{}/{key}", claim.name, claim.path),
            (None, None) => key.to_owned(),
        }
    }
}
