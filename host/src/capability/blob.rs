//! `blob`: small things with object storage within the call, large ones behind it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStoreExt as _};
use tokio::time::Instant;

use super::charts::sentence;
use super::secret::{Named, entries};
use crate::blob::client::Connector;
use crate::blob::login::Login;
use crate::blob::place::{Address, Service};
use crate::blob::store::{Options, Store};
use crate::blob::upload::{self, Condition};
use crate::blob::{BlobError, transfer};
use crate::cluster::request;
use crate::egress::exchange::Times;
use crate::egress::identity::tls;
use crate::plugin::bindings::blob::{self, Error};
use crate::plugin::bindings::kube;
use crate::plugin::instance::HookState;

mod handover;
mod task;

/// Objects in a page.
const PAGE: usize = 1_000;

impl blob::Host for HookState {
    async fn list(
        &mut self,
        store: blob::Store,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Result<blob::Page, Error>> {
        Ok(self.list_objects_of(store, &prefix, after.as_deref(), limit).await)
    }

    async fn head(
        &mut self,
        store: blob::Store,
        key: String,
    ) -> wasmtime::Result<Result<Option<blob::Object>, Error>> {
        Ok(self.head_of(store, &key).await)
    }

    async fn get(
        &mut self,
        store: blob::Store,
        key: String,
        offset: u64,
        length: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        Ok(self.get_of(store, &key, offset, length).await)
    }

    async fn put(
        &mut self,
        store: blob::Store,
        key: String,
        content: Vec<u8>,
        condition: blob::Condition,
    ) -> wasmtime::Result<Result<blob::Object, Error>> {
        Ok(self.put_to(store, &key, content, condition).await)
    }

    async fn delete(&mut self, store: blob::Store, key: String) -> wasmtime::Result<Result<bool, Error>> {
        Ok(self.delete_of(store, &key).await)
    }

    async fn transfer(
        &mut self,
        name: String,
        attempt: u32,
        task: blob::Task,
    ) -> wasmtime::Result<Result<blob::Progress, Error>> {
        Ok(self.transfer_named(&name, attempt, task).await)
    }

    async fn open_upload(
        &mut self,
        name: String,
        upload: blob::Upload,
    ) -> wasmtime::Result<Result<blob::Progress, Error>> {
        Ok(self.open_upload_named(&name, upload).await)
    }

    async fn open_download(
        &mut self,
        name: String,
        download: blob::Download,
    ) -> wasmtime::Result<Result<blob::Progress, Error>> {
        Ok(self.open_download_named(&name, download).await)
    }

    async fn opened(&mut self, name: String) -> wasmtime::Result<Option<blob::Progress>> {
        Ok(self.opened_named(&name))
    }

    async fn close(&mut self, name: String) -> wasmtime::Result<Result<(), Error>> {
        Ok(self.close_named(&name).await)
    }

    async fn forget(&mut self, name: String) -> wasmtime::Result<()> {
        if self.budget.take(name.len()).is_ok()
            && let Some(transfers) = &self.context.transfers
        {
            transfers.forget(&self.context.owner.key, &name);
        }
        Ok(())
    }
}

impl HookState {
    fn pay(&mut self, bytes: usize) -> Result<(), Error> {
        self.budget.take(bytes).map_err(|reason| Error::Exhausted(reason.to_owned()))
    }

    /// A store that the grants have. With an end of the call, its requests are over by then.
    async fn open(&mut self, store: blob::Store, end: Option<Instant>) -> Result<Store, Error> {
        let mut address: Address =
            store.url.parse::<Address>().map_err(|error| Error::Invalid(format!("{error}")))?;
        let context = Arc::clone(&self.context);
        let namespace = context.owner.key.namespace.as_deref();
        let asked = address.clone();
        let mut login = None;
        if address.lacks_account() {
            let secret = store.credentials.clone().ok_or_else(|| {
                Error::Invalid(format!("{address} leaves the account to a Secret, and there is none"))
            })?;
            let found = self.login(secret).await?;
            let account = found.account().map_err(|error| wit_error(&error))?;
            address = address.with_account(&account).map_err(|_| {
                Error::Credentials(format!("{}: entry storage-account is no name of an account", found.place))
            })?;
            login = Some(found);
        }
        let reach = context.grants.may_store(&address, namespace);
        let reach = reach.map_err(|why| Error::Denied(as_asked(&why, &address, &asked)))?;
        if let (None, Some(secret)) = (&login, store.credentials) {
            login = Some(self.login(secret).await?);
        }
        let tls = match store.authorities {
            None => None,
            Some(key) => {
                let pem = self.pem(&mut super::egress::Known::new(), key).await.map_err(of_egress)?;
                let trusting = tls(&context.egress.roots, Some(&pem), None, None);
                Some(trusting.map_err(|error| Error::Credentials(error.to_string()))?)
            }
        };
        let connector = Connector {
            egress: Arc::clone(&context.egress),
            plugin: context.plugin.name.to_string(),
            reach,
            server: address.endpoint.clone(),
            tls,
            times: Times {
                end,
                between: Duration::from_secs(60),
                first_byte: Duration::from_secs(60),
                ..Times::default()
            },
        };
        let blob::Store { region, virtual_hosted, checksums, .. } = store;
        let options = Options { region, virtual_hosted, checksums };
        Store::open(address, &options, login.as_ref(), connector).map_err(|error| wit_error(&error))
    }

    async fn login(&mut self, secret: crate::plugin::bindings::egress::SecretRef) -> Result<Login, Error> {
        let secret = Named { namespace: secret.namespace, name: secret.name };
        let found = self.refer_to(&secret.namespace, &secret.name).await.map_err(|error| {
            let said = format!("{secret} cannot be used: {}", sentence(&error));
            match error {
                kube::Error::Denied(_) => Error::Denied(said),
                kube::Error::Exhausted(_) => Error::Exhausted(said),
                kube::Error::Throttled(_) | kube::Error::Unavailable(_) => Error::Unavailable(said),
                _ => Error::Credentials(said),
            }
        })?;
        let found = found.ok_or_else(|| Error::Credentials(format!("{secret} is not there")))?;
        let entries = entries(&found, &secret).map_err(|error| Error::Credentials(error.to_string()))?;
        Ok(Login { place: secret.to_string(), entries })
    }

    /// A store and a place in it, for what is done within the call.
    async fn place(&mut self, store: blob::Store, key: &str, bytes: usize) -> Result<(Store, Path), Error> {
        self.pay(store.url.len() + key.len() + bytes)?;
        let store = self.open(store, Some(end_of_call())).await?;
        let path = store.path(key).map_err(|error| wit_error(&error))?;
        Ok((store, path))
    }

    async fn list_objects_of(
        &mut self,
        store: blob::Store,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<blob::Page, Error> {
        self.pay(store.url.len() + prefix.len())?;
        let store = self.open(store, Some(end_of_call())).await?;
        let limit = usize::try_from(limit).unwrap_or(PAGE).clamp(1, PAGE);
        let (found, more) = in_time(upload::list(&store, prefix, after, limit)).await?;
        let objects: Vec<blob::Object> = found.iter().map(|meta| wit_object(&store, meta)).collect();
        let bytes = objects.iter().map(|object| object.key.len() + 64).sum();
        self.budget.take_bytes(bytes).map_err(|reason| Error::Exhausted(reason.to_owned()))?;
        let next = objects.last().filter(|_| more).map(|object| object.key.clone());
        Ok(blob::Page { objects, next })
    }

    async fn head_of(&mut self, store: blob::Store, key: &str) -> Result<Option<blob::Object>, Error> {
        let (store, path) = self.place(store, key, 0).await?;
        let found = in_time(async { Ok(store.objects().head(&path).await?) }).await;
        match found {
            Ok(meta) => Ok(Some(wit_object(&store, &meta))),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn get_of(
        &mut self,
        store: blob::Store,
        key: &str,
        offset: u64,
        length: u32,
    ) -> Result<Vec<u8>, Error> {
        let (store, path) = self.place(store, key, 0).await?;
        let wanted = usize::try_from(length).unwrap_or(usize::MAX);
        // Before anything is read into the host's memory.
        self.budget.take_bytes(wanted).map_err(|reason| Error::Exhausted(reason.to_owned()))?;
        let reading = async {
            let meta = store.objects().head(&path).await?;
            let end = meta.size.min(offset.saturating_add(u64::from(length)));
            if offset >= end {
                return Ok(Bytes::new());
            }
            let options = GetOptions::new().with_range(Some(GetRange::Bounded(offset..end)));
            Ok(store.objects().get_opts(&path, options).await?.bytes().await?)
        };
        in_time(reading).await.map(|bytes| bytes.to_vec())
    }

    async fn put_to(
        &mut self,
        store: blob::Store,
        key: &str,
        content: Vec<u8>,
        condition: blob::Condition,
    ) -> Result<blob::Object, Error> {
        let size = content.len();
        let (store, path) = self.place(store, key, size).await?;
        let condition = match condition {
            blob::Condition::None => Condition::None,
            blob::Condition::Absent => Condition::Absent,
            blob::Condition::Etag(_) if store.address.service == Service::Directory => {
                return Err(Error::Invalid("a directory has no etags to hold a writer to".to_owned()));
            }
            blob::Condition::Etag(etag) => Condition::Etag(etag),
        };
        let written = in_time(upload::put(&store, &path, content.into(), condition)).await?;
        let modified_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        Ok(blob::Object { key: key.to_owned(), size, etag: written.e_tag, modified_ms })
    }

    async fn delete_of(&mut self, store: blob::Store, key: &str) -> Result<bool, Error> {
        let (store, path) = self.place(store, key, 0).await?;
        match in_time(async { upload::delete(&store, &path).await }).await {
            Ok(()) => Ok(true),
            Err(Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A call's end, or what a command may take.
fn end_of_call() -> Instant {
    request::deadline().unwrap_or_else(|| Instant::now() + request::TIMEOUT)
}

/// The library waits between its attempts, which the end of the call does not wait for.
async fn in_time<T>(work: impl Future<Output = Result<T, BlobError>>) -> Result<T, Error> {
    match tokio::time::timeout_at(end_of_call(), work).await {
        Ok(result) => result.map_err(|error| wit_error(&error)),
        Err(_) => Err(Error::Unavailable("the call's time was up before the store had answered".to_owned())),
    }
}

fn wit_object(store: &Store, meta: &ObjectMeta) -> blob::Object {
    blob::Object {
        key: store.key(&meta.location),
        size: meta.size,
        etag: meta.e_tag.clone(),
        modified_ms: u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or(0),
    }
}

fn of_egress(error: crate::plugin::bindings::egress::Error) -> Error {
    use crate::plugin::bindings::egress::Error as Egress;
    match error {
        Egress::Denied(said) => Error::Denied(said),
        Egress::Unusable(said) => Error::Credentials(said),
        Egress::Invalid(said) => Error::Invalid(said),
        Egress::Unavailable(said) => Error::Unavailable(said),
    }
}

/// A server's words are cut to so many characters.
const WORDS: usize = 1_024;

fn wit_error(error: &BlobError) -> Error {
    let said = error.to_string().chars().take(WORDS).collect();
    match error {
        BlobError::Denied(_) => Error::Denied(said),
        BlobError::NotFound(_) => Error::NotFound(said),
        BlobError::Conflict(_) => Error::Conflict(said),
        BlobError::Credentials(_) => Error::Credentials(said),
        BlobError::Invalid(_) => Error::Invalid(said),
        BlobError::Unavailable(_) => Error::Unavailable(said),
        BlobError::TooLarge(_) => Error::Exhausted(said),
        BlobError::Corrupt(_) | BlobError::Other(_) => Error::Other(said),
    }
}

/// How a transfer stands, in the words of the interface.
fn wit_progress(standing: crate::blob::table::Standing) -> blob::Progress {
    let running = blob::Progress {
        state: blob::State::Running,
        bytes: standing.bytes,
        sha256: None,
        etag: None,
        answer: None,
    };
    match standing.ended {
        None => running,
        Some(Ok(transfer::Outcome { sha256, etag, answer })) => {
            blob::Progress { state: blob::State::Done, sha256, etag, answer, ..running }
        }
        Some(Err(error)) => {
            let said: String = error.to_string().chars().take(WORDS).collect();
            blob::Progress { state: blob::State::Failed((error.reason().to_owned(), said)), ..running }
        }
    }
}

/// Why a store may not be used, in the words it was asked for with: what only a Secret says is not for the plugin.
fn as_asked(why: &str, used: &Address, asked: &Address) -> String {
    why.replace(&used.to_string(), &asked.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_does_not_tell_the_account_that_only_the_secret_names() {
        let asked: Address = "az://ACCOUNT/backups/shop".parse().unwrap();
        let used = asked.clone().with_account("hidden7").unwrap();
        let said = as_asked(&format!("{used} may not be used: no grant has it"), &used, &asked);
        assert_eq!(said, "az://ACCOUNT/backups/shop may not be used: no grant has it");
    }
}
