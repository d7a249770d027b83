//! Handovers: a token for one object goes into a Secret, and the plugin sees neither.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{end_of_call, wit_error, wit_progress};
use crate::blob::table::Standing;
use crate::capability::charts::sentence;
use crate::handover::table::{Errand, Handovers, Order, Ticket};
use crate::plugin::bindings::blob::{self, Error};
use crate::plugin::bindings::{ObjectRef, WitGvk, kube};
use crate::plugin::context::HookContext;
use crate::plugin::instance::HookState;

impl HookState {
    pub(super) async fn open_upload_named(
        &mut self,
        name: &str,
        upload: blob::Upload,
    ) -> Result<blob::Progress, Error> {
        let (handovers, namespace) = self.handovers(name)?;
        let task = fingerprint(&upload);
        let blob::Upload { store, key, max_bytes, seconds } = upload;
        let (store, path) = self.lasting_place(store, &key).await?;
        let errand = Errand::Upload { store, path, most: max_bytes };
        let order = self.context.order(task, errand, seconds);
        self.context.hand_over(&handovers, (&namespace, name), order).await
    }

    pub(super) async fn open_download_named(
        &mut self,
        name: &str,
        download: blob::Download,
    ) -> Result<blob::Progress, Error> {
        let (handovers, namespace) = self.handovers(name)?;
        let task = fingerprint(&download);
        let blob::Download { store, key, seconds } = download;
        let (store, path) = self.lasting_place(store, &key).await?;
        let errand = Errand::Download { store, path };
        let order = self.context.order(task, errand, seconds);
        self.context.hand_over(&handovers, (&namespace, name), order).await
    }

    pub(super) fn opened_named(&mut self, name: &str) -> Option<blob::Progress> {
        self.pay(name.len()).ok()?;
        let handovers = self.context.handovers.as_ref()?;
        handovers.find(&self.context.owner.key, name).map(wit_progress)
    }

    pub(super) async fn close_named(&mut self, name: &str) -> Result<(), Error> {
        let (handovers, namespace) = self.handovers(name)?;
        self.context.take_back(&handovers, (namespace, name)).await
    }

    /// All handovers, and the namespace of the Secret.
    fn handovers(&mut self, name: &str) -> Result<(Arc<Handovers>, String), Error> {
        self.pay(name.len())?;
        let context = &self.context;
        let Some(handovers) = &context.handovers else {
            let message = "nothing is handed over here: the host serves none (--handover-bind-address)";
            return Err(Error::Denied(message.to_owned()));
        };
        if name.is_empty() || name.len() > 253 {
            return Err(Error::Invalid("a handover needs a name of at most 253 bytes".to_owned()));
        }
        let namespace = context.owner.key.namespace.as_deref().map(ToOwned::to_owned);
        let namespace = namespace.ok_or_else(|| {
            Error::Invalid("the object at hand is in no namespace, and a Secret has to be".to_owned())
        })?;
        Ok((Arc::clone(handovers), namespace))
    }

    /// A place in a store whose requests may go on when the call is over.
    async fn lasting_place(
        &mut self,
        store: blob::Store,
        key: &str,
    ) -> Result<(crate::blob::store::Store, object_store::path::Path), Error> {
        self.pay(store.url.len() + key.len())?;
        let store = self.open(store, None).await?;
        let path = store.path(key).map_err(|error| wit_error(&error))?;
        Ok((store, path))
    }
}

/// Of this type are the Secrets of handovers. A type never changes, so the API server keeps anybody else's Secret of the name from
/// becoming one.
const TYPE: &str = "pilothouse.dev/handover";

impl HookContext {
    fn order(&self, task: String, errand: Errand, seconds: u64) -> Order {
        let plugin = self.plugin.name.to_string();
        Order { task, errand, time: Duration::from_secs(seconds), plugin }
    }

    /// Opens it, and writes what is to be known of it into the Secret, each time: somebody may have deleted that, or it is of the
    /// host before this one.
    async fn hand_over(
        &self,
        handovers: &Arc<Handovers>,
        (namespace, name): (&str, &str),
        order: Order,
    ) -> Result<blob::Progress, Error> {
        let owner = &self.owner.key;
        let opening = tokio::time::timeout_at(end_of_call(), handovers.open(owner, name, order));
        let late = || Error::Unavailable("another one of the name is at its end; ask again".to_owned());
        let Ticket { url, token, certificate } =
            opening.await.map_err(|_| late())?.map_err(|error| wit_error(&error))?;
        let data = json!({
            "url": STANDARD.encode(url),
            "token": STANDARD.encode(token.reveal()),
            "ca.crt": STANDARD.encode(certificate),
        });
        let metadata = json!({"name": name, "namespace": namespace});
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "type": TYPE, "metadata": metadata, "data": data});
        self.put_secret(secret).await.map_err(|error| refused(name, &error))?;
        let standing = handovers.find(owner, name);
        Ok(wit_progress(standing.unwrap_or(Standing { ended: None, bytes: 0 })))
    }

    async fn take_back(&self, handovers: &Handovers, (namespace, name): (String, &str)) -> Result<(), Error> {
        // The token first: from now on nobody comes in, whatever becomes of the Secret.
        let closing = handovers.close(&self.owner.key, name);
        if tokio::time::timeout_at(end_of_call(), closing).await.is_err() {
            let message = "what was sent is being made an object; ask again".to_owned();
            return Err(Error::Unavailable(message));
        }
        let secret = ObjectRef {
            kind: WitGvk { group: String::new(), version: "v1".to_owned(), kind: "Secret".to_owned() },
            namespace: Some(namespace),
            name: name.to_owned(),
        };
        self.delete_secret(&secret).await.map_err(|error| refused(name, &error))
    }
}

fn refused(name: &str, error: &kube::Error) -> Error {
    let said = format!("Secret {name}: {}", sentence(error));
    match error {
        kube::Error::Denied(_) => Error::Denied(said),
        kube::Error::Exhausted(_) => Error::Exhausted(said),
        kube::Error::Throttled(_) | kube::Error::Unavailable(_) => Error::Unavailable(said),
        // Also where the Secret of the name has another type, or another owner. No conflict, which is that the object is there already.
        _ => Error::Credentials(said),
    }
}

/// Equal tasks, equal fingerprints.
fn fingerprint<T: std::fmt::Debug>(task: &T) -> String {
    let digest = Sha256::digest(format!("{task:?}"));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
