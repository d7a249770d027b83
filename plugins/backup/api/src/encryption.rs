//! Encryption before anything leaves the pod or the host.

use serde::{Deserialize, Serialize};

use crate::SecretKey;

/// How artefacts are encrypted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Encryption {
    /// With age.
    pub age: Age,
}

/// Keys of age.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("x-kubernetes-validations" = [{
        "rule": "(has(self.recipients) && size(self.recipients) > 0) || has(self.recipientsSecret) || has(self.identitySecret)",
        "message": "name recipients or recipientsSecret for backups, or identitySecret for restores",
    }]))
)]
#[serde(rename_all = "camelCase", default)]
pub struct Age {
    /// Who can read the artefacts: public keys, `age1…`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = 16), inner(length(max = 128), regex(pattern = "^age1[0-9a-z]+$")))
    )]
    pub recipients: Vec<String>,
    /// The same from a Secret, one on each line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipients_secret: Option<SecretKey>,
    /// The private key that restores and trial restores read with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_secret: Option<SecretKey>,
}
