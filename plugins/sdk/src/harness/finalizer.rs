//! The finalizer: put on before the first call, taken off when the hook says everything is cleaned up.

use serde_json::{Value, json};

use super::{
    object::{text, texts},
    runner::Runner,
};
use crate::{KubeError, ObjectRef, Patch};

impl Runner {
    /// Does the object carry our finalizer, or one of an earlier tool that we took over?
    pub(super) fn is_held(&self, object: &ObjectRef, live: &Value) -> bool {
        texts(live, "/metadata/finalizers").any(|name| self.is_ours(object, name))
    }

    /// Puts the finalizer on where the kind has one, in place of those of earlier tools.
    pub(super) fn ensure_finalizer(&self, object: &ObjectRef, live: Value) -> Result<Value, KubeError> {
        let by_host = !self.setup.kept_by_plugin.contains(&object.kind);
        let Some(finalizer) = self.finalizer_of(object).filter(|_| by_host) else { return Ok(live) };
        let present: Vec<_> = texts(&live, "/metadata/finalizers").collect();
        let mut wanted: Vec<_> = present.iter().copied().filter(|name| !self.is_ours(object, name)).collect();
        wanted.push(finalizer);
        if wanted.len() == present.len() && wanted.iter().all(|name| present.contains(name)) {
            return Ok(live);
        }
        self.set_finalizers(object, &live, &wanted)
    }

    /// The clean-up is done: far children go, and then the finalizer.
    pub(super) fn let_go(&mut self, object: &ObjectRef, live: &Value) -> Result<(), KubeError> {
        self.delete_far_children(object, live)?;
        let Some(live) = self.live(object) else { return Ok(()) };
        let rest: Vec<_> =
            texts(&live, "/metadata/finalizers").filter(|name| !self.is_ours(object, name)).collect();
        self.set_finalizers(object, &live, &rest).map(drop)
    }

    fn finalizer_of(&self, object: &ObjectRef) -> Option<&str> {
        let (_, finalizer) = self.setup.kinds.iter().find(|(kind, _)| *kind == object.kind)?;
        finalizer.as_deref()
    }

    fn is_ours(&self, object: &ObjectRef, name: &str) -> bool {
        let legacy = || self.setup.legacy_finalizers.iter().any(|legacy| legacy == name);
        self.finalizer_of(object).is_some_and(|ours| ours == name || legacy())
    }

    fn set_finalizers(&self, object: &ObjectRef, live: &Value, all: &[&str]) -> Result<Value, KubeError> {
        // The version makes sure that nobody's finalizer is lost by the list.
        let version = text(live, "/metadata/resourceVersion");
        let patch = Patch::merge(&json!({"metadata": {"resourceVersion": version, "finalizers": all}}))?;
        self.host_kube(object).patch_ref(object, &patch)
    }
}
