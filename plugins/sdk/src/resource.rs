//! What a reconciler can be called with: a Rust type, or any kind as JSON.

use serde_json::Value;

use crate::{Error, Gvk};

/// What a reconciler can be called with.
///
/// Every Rust type of a kind is one: those of `kube`'s `#[derive(CustomResource)]` and those of `k8s-openapi` (feature
/// `typed`, on by default). [`Dynamic`] is the form for plugins whose kinds come from configuration.
pub trait Resource: Sized + 'static {
    /// The kind it stands for; none for any.
    fn gvk() -> Option<Gvk>;

    /// Reads the object.
    ///
    /// # Errors
    /// Permanent, reason `InvalidObject`, with the place where the object differs from the type: it is not tried again
    /// until the object changes.
    fn from_json(text: String) -> Result<Self, Error>;
}

#[cfg(feature = "typed")]
impl<K> Resource for K
where
    K: kube_core::Resource<DynamicType = ()> + serde::de::DeserializeOwned + 'static,
{
    fn gvk() -> Option<Gvk> {
        Some(Gvk::of::<K>())
    }

    fn from_json(text: String) -> Result<Self, Error> {
        serde_json::from_str(&text).map_err(|error| invalid(&Gvk::of::<K>().to_string(), &error))
    }
}

/// An object of any kind: its text as the host sent it, and the same parsed.
#[derive(Debug, Clone, PartialEq)]
pub struct Dynamic {
    text: String,
    value: Value,
}

impl Dynamic {
    /// The object as the host sent it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The object as JSON value.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// `metadata.name`; empty when there is none.
    pub fn name(&self) -> &str {
        self.metadata("name")
    }

    /// `metadata.namespace`; none for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        Some(self.metadata("namespace")).filter(|namespace| !namespace.is_empty())
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &str {
        self.metadata("uid")
    }

    /// `metadata.generation`; 0 when there is none.
    pub fn generation(&self) -> u64 {
        self.value.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or_default()
    }

    /// Is it being deleted?
    pub fn is_deleting(&self) -> bool {
        !self.metadata("deletionTimestamp").is_empty()
    }

    fn metadata(&self, field: &str) -> &str {
        let metadata = self.value.get("metadata");
        metadata.and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Resource for Dynamic {
    fn gvk() -> Option<Gvk> {
        None
    }

    fn from_json(text: String) -> Result<Self, Error> {
        let value = serde_json::from_str(&text).map_err(|error| invalid("JSON", &error))?;
        Ok(Self { text, value })
    }
}

fn invalid(what: &str, error: &serde_json::Error) -> Error {
    Error::permanent("InvalidObject", format!("the object cannot be read as {what}: {error}"))
}
