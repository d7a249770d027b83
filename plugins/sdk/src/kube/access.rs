//! Reads and writes by Rust type, or by reference with JSON.

use std::rc::Rc;

use serde::{Serialize, de::DeserializeOwned};

use super::{list::List, types::to_json};
use crate::{
    Applied, ApplyItem, ApplyOptions, Consistency, DeleteOptions, EvictOptions, ExecCommand, ExecProgress,
    Gvk, Host, KubeError, ObjectRef, Ownership, Patch, ReadOptions, ServedKind, ServerVersion,
};

/// The cluster, as far as the plugin's grants reach; from [`Context::kube`](crate::Context::kube).
///
/// Every call is made under the plugin's own account and counts against the budget of the running hook call. No call
/// waits for the cluster to change. Methods ending in `_ref` take the kind as a value and any type that can be read
/// from JSON, `serde_json::Value` above all; the others take it from a Rust type.
#[derive(Debug, Clone)]
pub struct Kube {
    pub(crate) host: Rc<dyn Host>,
    pub(crate) options: ReadOptions,
}

impl Kube {
    /// The cluster behind a host. Hooks have it from their [`Context`](crate::Context).
    pub fn new(host: Rc<dyn Host>) -> Self {
        Self { host, options: ReadOptions::default() }
    }

    /// The same cluster, with reads answered by the API server instead of a cache.
    #[must_use]
    pub fn live(mut self) -> Self {
        self.options.consistency = Consistency::Live;
        self
    }

    /// The same cluster, with reads that keep only these dotted paths (and what names the object): fewer bytes cross.
    #[must_use]
    pub fn only<F: Into<String>>(mut self, fields: impl IntoIterator<Item = F>) -> Self {
        self.options.fields = fields.into_iter().map(Into::into).collect();
        self
    }

    /// The object, or none when there is no such object.
    ///
    /// # Errors
    /// See [`KubeError`]; [`KubeError::Malformed`] when the object does not have the type's shape. So for all methods.
    pub fn get_ref<T: DeserializeOwned>(&self, object: &ObjectRef) -> Result<Option<T>, KubeError> {
        let Some(text) = self.host.get(object, &self.options)? else { return Ok(None) };
        read(&text, || object.to_string()).map(Some)
    }

    /// Objects of a kind: a namespace, or all with `None`.
    pub fn list_ref<'a, T: DeserializeOwned>(
        &self,
        kind: Gvk,
        namespace: impl Into<Option<&'a str>>,
    ) -> List<T> {
        List::new(self.clone(), kind, namespace.into())
    }

    /// Server-side apply of many objects, in the order given, under the plugin's field manager. One answer for each.
    pub fn apply(&self, items: &[ApplyItem], options: ApplyOptions) -> Vec<Result<Applied, KubeError>> {
        self.host.apply(items, options)
    }

    /// What objects would be after a server-side apply that takes fields over from others; a strict one also takes away what
    /// they added. The API server is asked, and nothing changes. One answer for each: the whole object, also when it would be
    /// a new one.
    pub fn preview<T: DeserializeOwned>(
        &self,
        items: &[ApplyItem],
        strict: bool,
    ) -> Vec<Result<T, KubeError>> {
        let answers = self.host.preview(items, strict).into_iter();
        answers.map(|answer| read(&answer?, || "a previewed object".to_owned())).collect()
    }

    /// Server-side apply of one object that the one being reconciled owns, without force.
    ///
    /// # Errors
    /// [`KubeError::Conflict`] names the manager of a field that is not ours.
    pub fn apply_one(&self, object: &impl Serialize) -> Result<Applied, KubeError> {
        let item = ApplyItem::new(object)?;
        let mut answers = self.host.apply(&[item], ApplyOptions::default());
        answers
            .pop()
            .unwrap_or_else(|| Err(KubeError::Malformed("the host did not answer for the object".into())))
    }

    /// Creates an object as given (`generateName` is allowed) and answers with the created one.
    ///
    /// # Errors
    /// [`KubeError::AlreadyExists`] when there is one of this name.
    pub fn create<T: Serialize + DeserializeOwned>(
        &self,
        object: &T,
        ownership: Ownership,
    ) -> Result<T, KubeError> {
        let text = self.host.create(&to_json(object)?, ownership)?;
        read(&text, || "the created object".to_owned())
    }

    /// Replaces an object that was read before; `metadata.resourceVersion` must be there and is a precondition.
    ///
    /// # Errors
    /// [`KubeError::Conflict`] when it moved since.
    pub fn replace<T: Serialize + DeserializeOwned>(&self, object: &T) -> Result<T, KubeError> {
        let text = self.host.replace(&to_json(object)?)?;
        read(&text, || "the replaced object".to_owned())
    }

    /// Patches an object or one of its subresources and answers with the patched object.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] when there is none.
    pub fn patch_ref<T: DeserializeOwned>(&self, object: &ObjectRef, patch: &Patch) -> Result<T, KubeError> {
        let text = self.host.patch(object, patch)?;
        read(&text, || object.to_string())
    }

    /// Asks for deletion. True: the object is gone or on its way; false: there was none.
    ///
    /// # Errors
    /// [`KubeError::Conflict`] when a precondition does not hold.
    pub fn delete_ref(&self, object: &ObjectRef, options: &DeleteOptions) -> Result<bool, KubeError> {
        self.host.delete(object, options)
    }

    /// The last lines of a container's log, at most `bytes` (bounded by the host: 64 KiB). For messages to people.
    ///
    /// # Errors
    /// [`KubeError::NotFound`] when there is no such pod; [`KubeError::Invalid`] while it has not started.
    pub fn logs<'a>(
        &self,
        namespace: &str,
        pod: &str,
        container: impl Into<Option<&'a str>>,
        bytes: u32,
    ) -> Result<String, KubeError> {
        self.host.logs(namespace, pod, container.into(), bytes)
    }

    /// Asks for a pod's eviction. True: it is gone or on its way; false: there was none. Needs the right to `create`
    /// `pods/eviction`.
    ///
    /// # Errors
    /// [`KubeError::Conflict`] when a disruption budget does not allow it now, or the pod is another one.
    pub fn evict(&self, namespace: &str, pod: &str, options: &EvictOptions) -> Result<bool, KubeError> {
        self.host.evict(namespace, pod, options)
    }

    /// Starts a command in a container behind the call, or finds it: one name is one command of the object at hand, whose end stays
    /// until it is forgotten, or another command or attempt is given under the name, which begins anew. The object is called when it
    /// has ended (reason `Configuration`). Nothing of it survives the host: a hook that gives it again runs it again. Needs the
    /// right to `create` `pods/exec`.
    ///
    /// # Errors
    /// Where it cannot begin: [`KubeError::Conflict`] when the pod is another one, [`KubeError::Throttled`] when too many run. How it
    /// ended is told by its progress.
    pub fn exec(&self, name: &str, attempt: u32, command: &ExecCommand) -> Result<ExecProgress, KubeError> {
        self.host.exec(name, attempt, command)
    }

    /// How a command stands, without beginning it. None: the host knows of none under the name and attempt; it was never begun, or
    /// forgotten, or begun before the host was.
    ///
    /// # Errors
    /// [`KubeError::Exhausted`].
    pub fn exec_progress(&self, name: &str, attempt: u32) -> Result<Option<ExecProgress>, KubeError> {
        self.host.exec_progress(name, attempt)
    }

    /// Stops a command if it runs, and forgets it.
    pub fn forget_exec(&self, name: &str) {
        self.host.forget_exec(name);
    }

    /// May the plugin's account do this?
    ///
    /// # Errors
    /// [`KubeError::UnknownKind`] when the cluster does not serve the kind.
    pub fn allowed<'a>(
        &self,
        verb: &str,
        kind: &Gvk,
        namespace: impl Into<Option<&'a str>>,
        name: impl Into<Option<&'a str>>,
    ) -> Result<bool, KubeError> {
        self.host.allowed(verb, kind, namespace.into(), name.into())
    }

    /// Every kind the cluster serves, from the host's discovery cache.
    ///
    /// # Errors
    /// [`KubeError::Unavailable`] when discovery has failed.
    pub fn served_kinds(&self) -> Result<Vec<ServedKind>, KubeError> {
        self.host.served_kinds()
    }

    /// The version of the API server.
    ///
    /// # Errors
    /// [`KubeError::Unavailable`] when nobody answered.
    pub fn version(&self) -> Result<ServerVersion, KubeError> {
        self.host.version()
    }
}

#[cfg(feature = "typed")]
impl Kube {
    /// The object of a Rust type, or none when there is no such object.
    ///
    /// # Errors
    /// As for [`get_ref`](Self::get_ref).
    pub fn get<'a, K>(
        &self,
        namespace: impl Into<Option<&'a str>>,
        name: &str,
    ) -> Result<Option<K>, KubeError>
    where
        K: kube_core::Resource<DynamicType = ()> + DeserializeOwned,
    {
        self.get_ref(&ObjectRef::of::<K>(namespace, name))
    }

    /// Objects of a Rust type: a namespace, or all with `None`.
    pub fn list<'a, K>(&self, namespace: impl Into<Option<&'a str>>) -> List<K>
    where
        K: kube_core::Resource<DynamicType = ()> + DeserializeOwned,
    {
        self.list_ref(Gvk::of::<K>(), namespace)
    }

    /// Patches an object of a Rust type.
    ///
    /// # Errors
    /// As for [`patch_ref`](Self::patch_ref).
    pub fn patch<'a, K>(
        &self,
        namespace: impl Into<Option<&'a str>>,
        name: &str,
        patch: &Patch,
    ) -> Result<K, KubeError>
    where
        K: kube_core::Resource<DynamicType = ()> + DeserializeOwned,
    {
        self.patch_ref(&ObjectRef::of::<K>(namespace, name), patch)
    }

    /// Asks for deletion of an object of a Rust type.
    ///
    /// # Errors
    /// As for [`delete_ref`](Self::delete_ref).
    pub fn delete<'a, K>(
        &self,
        namespace: impl Into<Option<&'a str>>,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<bool, KubeError>
    where
        K: kube_core::Resource<DynamicType = ()>,
    {
        self.delete_ref(&ObjectRef::of::<K>(namespace, name), options)
    }
}

/// Reads the text of an answer as a type; `what` names it in the error.
pub(super) fn read<T: DeserializeOwned>(text: &str, what: impl FnOnce() -> String) -> Result<T, KubeError> {
    serde_json::from_str(text).map_err(|error| {
        let name = std::any::type_name::<T>();
        KubeError::Malformed(format!("{} cannot be read as {name}: {error}", what()))
    })
}
