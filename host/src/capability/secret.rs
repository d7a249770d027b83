//! Entries of Secrets that the host uses in a plugin's stead.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A Secret by its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Named {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret {}/{}", self.namespace, self.name)
    }
}

/// Why an entry is of no use. Never what stands in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EntryError {
    /// It is not there.
    #[error("{0} has no entry {1}")]
    Missing(Named, String),
    /// It cannot be read.
    #[error("{0}: entry {1} is not base64")]
    Encoding(Named, String),
}

/// All entries of a Secret.
pub(crate) fn entries(secret: &Value, name: &Named) -> Result<BTreeMap<String, Vec<u8>>, EntryError> {
    let data = secret.get("data").and_then(Value::as_object);
    data.into_iter().flatten().map(|(key, _)| Ok((key.clone(), entry(secret, name, key)?))).collect()
}

/// An entry of a Secret.
pub(crate) fn entry(secret: &Value, name: &Named, key: &str) -> Result<Vec<u8>, EntryError> {
    let text = secret.get("data").and_then(|data| data.get(key)).and_then(Value::as_str);
    let text = text.ok_or_else(|| EntryError::Missing(name.clone(), key.to_owned()))?;
    STANDARD.decode(text).map_err(|_| EntryError::Encoding(name.clone(), key.to_owned()))
}
