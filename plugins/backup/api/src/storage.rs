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

/// Object storage, or a directory of the host, such as a claim in its pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// `s3://bucket/prefix`, `s3+https://host:port/bucket/prefix` (or `s3+http`) for a server of one's own, `gs://bucket/prefix`,
    /// `az://account/container/prefix` (`az+https`), `file:///directory` of the host.
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 1024), regex(pattern = "^(s3|s3[+]https?|gs|az|az[+]https?|file)://[^?#]+$"))
    )]
    pub url: String,
    /// Region of S3; by default what the Secret says (`region`, or the file `config` of AWS's tools), else `us-east-1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 63)))]
    pub region: Option<String>,
    /// Secret that says who one is. S3: `access-key-id` and `secret-access-key` (`session-token`), or `credentials`, a file of AWS's
    /// form. Google: `credentials.json` or `access-token`. Azure: `storage-key`, and `storage-account` where the account in the address is `ACCOUNT`.
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
    /// An artefact that becomes larger fails.
    #[serde(default = "largest")]
    pub max_size: Quantity,
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
        format!("{}/{key}", self.url.trim_end_matches('/'))
    }
}
