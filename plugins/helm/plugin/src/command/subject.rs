//! The custom resource that a command is about, and its release.

use std::rc::Rc;

use helm_release::History;
use jiff::Timestamp;
use pilothouse_sdk::{Context, Dynamic, Gvk, Host, ObjectRef, Resource as _};
use serde::Deserialize;
use serde_json::Value;

use super::standing::Standing;
use crate::{decorate::Owner, store::Store};

/// The object as the host names it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Subject {
    /// `group/version`.
    api_version: String,
    /// Its kind.
    kind: String,
    /// Its namespace.
    namespace: String,
    /// Its name, which is the release's.
    name: String,
}

/// The object as it was read, and what the cluster is asked with about it.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) ctx: Context,
    pub(super) object: Dynamic,
    pub(super) now: Timestamp,
    owner: Owner,
    reference: ObjectRef,
}

/// The resource of our own.
pub(super) const RELEASE: (&str, &str, &str) = ("helm.pilothouse.dev", "v1alpha1", "Release");

/// What an object calls its release: like itself, but a resource of our own may name it.
pub(super) fn release_name<'o>(kind: &Gvk, object: &'o Value) -> &'o str {
    let text =
        |pointer: &str| object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let named = text("/spec/releaseName").filter(|_| (&*kind.group, &*kind.kind) == (RELEASE.0, RELEASE.2));
    named.or_else(|| text("/metadata/name")).unwrap_or_default()
}

impl Subject {
    /// Reads the object.
    ///
    /// # Errors
    /// It is not there, or may not be read.
    pub(super) fn open(&self, host: &Rc<dyn Host>) -> Result<Opened, String> {
        let gvk = Gvk::from_api_version(&self.api_version, self.kind.clone());
        let ctx = Context::of_command(Rc::clone(host), gvk.clone());
        let reference = ObjectRef::new(gvk, self.namespace.as_str(), self.name.as_str());
        let found: Option<Value> =
            ctx.kube().live().get_ref(&reference).map_err(|error| error.to_string())?;
        let Some(found) = found else {
            return Err(format!(
                "there is no {} {:?} in namespace {:?}",
                self.kind, self.name, self.namespace
            ));
        };
        let object = Dynamic::from_json(found.to_string()).map_err(|error| error.message().to_owned())?;
        let now = Timestamp::try_from(ctx.now()).map_err(|error| error.to_string())?;
        let owner = Owner {
            kind: reference.kind.clone(),
            name: object.name().to_owned(),
            release: release_name(&reference.kind, object.value()).to_owned(),
            namespace: object.namespace().unwrap_or_default().to_owned(),
            uid: object.uid().to_owned(),
            is_woken: true,
        };
        Ok(Opened { ctx, object, now, owner, reference })
    }
}

impl Opened {
    /// `Web "game" in namespace "shop"`.
    pub(super) fn told(&self) -> String {
        let namespace = self.object.namespace().unwrap_or_default();
        format!("{} {:?} in namespace {namespace:?}", self.reference.kind.kind, self.object.name())
    }

    /// The records of its release.
    pub(super) fn store(&self) -> Store<'_> {
        Store::new(&self.ctx, &self.owner, self.now)
    }

    /// The revisions of its release; none when nothing was ever installed.
    ///
    /// # Errors
    /// They may not be read, or are of a release that another object keeps.
    pub(super) fn history(&self) -> Result<History, String> {
        let history = self.store().history().map_err(|error| error.message().to_owned())?;
        let keeper = history.latest().and_then(|latest| latest.controller.as_ref());
        let Gvk { group, kind, .. } = &self.reference.kind;
        match keeper.filter(|keeper| !keeper.is(group, kind, self.object.name())) {
            Some(keeper) => Err(format!(
                "the release {:?} is not of {}: it belongs to {} {:?}",
                self.owner.release,
                self.told(),
                keeper.kind,
                keeper.name
            )),
            None => Ok(history),
        }
    }

    /// The revisions of its release.
    ///
    /// # Errors
    /// Also when there are none, with what the object says of that.
    pub(super) fn installed(&self) -> Result<History, String> {
        let history = self.history()?;
        if history.latest().is_some() { Ok(history) } else { Err(self.not_installed()) }
    }

    fn not_installed(&self) -> String {
        let standing = Standing::of(self.object.value());
        let said = if standing.is_known() {
            format!("it says of itself: {standing}")
        } else {
            "no operator has looked at it yet; is one running that watches its kind here?".to_owned()
        };
        format!("{} is not installed, there is no release {:?}; {said}", self.told(), self.owner.release)
    }

    /// What it is called.
    pub(super) fn reference(&self) -> &ObjectRef {
        &self.reference
    }
}
