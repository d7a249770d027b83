//! The plugin's own objects as they were read, and their statuses as they are written.

use backup_api::{
    BackupPolicySpec, BackupPolicyStatus, BackupSpec, BackupStatus, RestoreSpec, RestoreStatus, names,
};
use pilothouse_sdk::{
    Context, DeleteOptions, Error, Gvk, Kube, KubeError, ObjectRef, Patch, Resource, merge_difference,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// One of the three kinds.
pub(crate) trait Kind: 'static {
    const NAME: &'static str;
    type Spec: DeserializeOwned;
    type Status: DeserializeOwned + Serialize + Default;
}

/// `BackupPolicy`.
pub(crate) enum Policy {}
/// `Backup`.
pub(crate) enum Backup {}
/// `Restore`.
pub(crate) enum Restore {}

impl Kind for Policy {
    const NAME: &'static str = names::POLICY;
    type Spec = BackupPolicySpec;
    type Status = BackupPolicyStatus;
}

impl Kind for Backup {
    const NAME: &'static str = names::BACKUP;
    type Spec = BackupSpec;
    type Status = BackupStatus;
}

impl Kind for Restore {
    const NAME: &'static str = names::RESTORE;
    type Spec = RestoreSpec;
    type Status = RestoreStatus;
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default)]
    pub(crate) uid: String,
    #[serde(default)]
    pub(crate) resource_version: String,
    #[serde(default)]
    deletion_timestamp: Option<String>,
}

/// An object of a kind.
#[derive(Deserialize)]
#[serde(bound = "")]
pub(crate) struct Of<K: Kind> {
    pub(crate) metadata: Metadata,
    pub(crate) spec: K::Spec,
    /// As it stands there: what is to vanish from it has to be named.
    #[serde(default)]
    status: Value,
}

/// An object that cannot be read, where none may be missed.
pub(crate) struct Unreadable {
    kind: &'static str,
    error: serde_json::Error,
    /// As it stands there.
    pub(crate) object: Value,
}

impl Unreadable {
    pub(crate) fn words(&self) -> String {
        let name = self.object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        format!("the {} {name} cannot be read: {}", self.kind, self.error)
    }
}

/// Worth another try: somebody may mend it.
impl From<Unreadable> for Error {
    fn from(unreadable: Unreadable) -> Self {
        Self::retry("InvalidObject", unreadable.words())
    }
}

impl<K: Kind> Resource for Of<K> {
    fn gvk() -> Option<Gvk> {
        Some(gvk(K::NAME))
    }

    fn from_json(text: String) -> Result<Self, Error> {
        serde_json::from_str(&text).map_err(|error| {
            Error::permanent("InvalidObject", format!("the {} cannot be read: {error}", K::NAME))
        })
    }
}

/// A kind of the group.
pub(crate) fn gvk(kind: &str) -> Gvk {
    Gvk::new(names::GROUP, names::VERSION, kind)
}

/// A status that says what is waited for.
pub(crate) trait Tells {
    fn tell(&mut self, message: String);
}

impl Tells for BackupStatus {
    fn tell(&mut self, message: String) {
        self.message = message;
    }
}

impl Tells for RestoreStatus {
    fn tell(&mut self, message: String) {
        self.message = message;
    }
}

impl<K: Kind<Status: Tells>> Of<K> {
    /// Writes down why what was decided could not be done: should it never be possible, that is why it failed.
    ///
    /// # Errors
    /// Always the one that was given.
    pub(crate) fn refused<T>(
        &mut self,
        ctx: &Context,
        mut status: K::Status,
        error: Error,
    ) -> Result<T, Error> {
        status.tell(error.message().to_owned());
        // That it could not be written down is no news.
        let _ = self.write(ctx, &status);
        Err(error)
    }
}

impl<K: Kind> Of<K> {
    /// An object, if it is there.
    ///
    /// # Errors
    /// As for any request; what is there and cannot be read is permanent.
    pub(crate) fn read(ctx: &Context, namespace: &str, name: &str) -> Result<Option<Self>, Error> {
        Self::read_with(&ctx.kube(), namespace, name)
    }

    /// The same from the API server itself.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub(crate) fn read_live(ctx: &Context, namespace: &str, name: &str) -> Result<Option<Self>, Error> {
        Self::read_with(&ctx.kube().live(), namespace, name)
    }

    fn read_with(kube: &Kube, namespace: &str, name: &str) -> Result<Option<Self>, Error> {
        let found: Option<Value> = kube.get_ref(&ObjectRef::new(gvk(K::NAME), namespace, name))?;
        found.map(|found| Self::from_json(found.to_string())).transpose()
    }

    /// All objects of a namespace: of each what it says, or that it cannot be read.
    ///
    /// # Errors
    /// As for any request.
    pub(crate) fn list(kube: &Kube, namespace: &str) -> Result<Vec<Result<Self, Unreadable>>, Error> {
        let found = kube.list_ref::<Value>(gvk(K::NAME), namespace).all()?;
        let read = |object: Value| {
            Self::deserialize(&object).map_err(|error| Unreadable { kind: K::NAME, error, object })
        };
        Ok(found.into_iter().map(read).collect())
    }

    pub(crate) fn reference(&self) -> ObjectRef {
        ObjectRef::new(gvk(K::NAME), self.metadata.namespace.as_str(), self.metadata.name.as_str())
    }

    pub(crate) fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// What is remembered of it.
    ///
    /// # Errors
    /// Permanent: what is remembered cannot be read, so nothing may be done that it might forbid.
    pub(crate) fn status(&self) -> Result<K::Status, Error> {
        if self.status.is_null() {
            return Ok(K::Status::default());
        }
        K::Status::deserialize(&self.status).map_err(|error| {
            Error::permanent("InvalidRecord", format!("status cannot be read, so nothing is done: {error}"))
        })
    }

    /// Writes what is to be remembered, if the object is still the one that was read. True: it was another one before.
    ///
    /// # Errors
    /// As for any request; a conflict where somebody was faster.
    pub(crate) fn write(&mut self, ctx: &Context, status: &K::Status) -> Result<bool, Error> {
        let mut known = self.status.clone();
        let mut wanted = serde_json::to_value(status)?;
        for part in [&mut known, &mut wanted] {
            if let Some(fields) = part.as_object_mut() {
                // These are the host's.
                fields.retain(|name, _| name != "conditions" && name != "observedGeneration");
            }
        }
        if known.is_null() {
            known = json!({});
        }
        let Some(difference) = merge_difference(&known, &wanted) else { return Ok(false) };
        let version = &self.metadata.resource_version;
        let patch = json!({"metadata": {"resourceVersion": version}, "status": difference});
        let patch = Patch::merge(&patch)?.subresource("status");
        let written: Value = ctx.kube().patch_ref(&self.reference(), &patch)?;
        *self = Self::from_json(written.to_string())?;
        Ok(true)
    }

    /// Reads it anew from the API server. False: it is gone.
    ///
    /// # Errors
    /// As for any request.
    pub(crate) fn refresh(&mut self, ctx: &Context) -> Result<bool, Error> {
        let found: Option<Value> = ctx.kube().live().get_ref(&self.reference())?;
        match found {
            Some(found) => {
                *self = Self::from_json(found.to_string())?;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// Creates an object; one of its name is left as it is.
///
/// # Errors
/// As for any request.
pub(crate) fn create(
    ctx: &Context,
    object: &Value,
    ownership: pilothouse_sdk::Ownership,
) -> Result<(), Error> {
    match ctx.kube().create(object, ownership) {
        Ok(_) | Err(KubeError::AlreadyExists(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Deletes an object of ours, if it is there. What it has at rest is released by its finalizer.
///
/// # Errors
/// As for any request.
pub(crate) fn delete(
    ctx: &Context,
    kind: &str,
    (namespace, name): (&str, &str),
    options: &DeleteOptions,
) -> Result<(), Error> {
    let reference = ObjectRef::new(gvk(kind), namespace, name);
    Ok(ctx.kube().delete_ref(&reference, options).map(drop)?)
}
