//! Object storage: small things within the call, large ones behind it.

use std::{
    rc::Rc,
    time::{Duration, SystemTime},
};

use crate::{Host, HttpRequest, SecretKey};

/// Object storage, as far as the grants reach (`rights.stores` of the manifest, `stores` of the grant).
#[derive(Debug, Clone)]
pub struct Blob {
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "a component has its imports"))]
    host: Rc<dyn Host>,
}

/// One call, to the component's imports or to the harness.
macro_rules! ask {
    ($own:ident, $function:ident($($argument:expr),*)) => {{
        #[cfg(target_family = "wasm")]
        let answer = crate::guest::blob::$function($($argument),*);
        #[cfg(not(target_family = "wasm"))]
        let answer = match $own.host.stores() {
            Some(stores) => stores.$function($($argument),*),
            None => Err(BlobError::new(BlobErrorKind::Denied, "this host has no object storage")),
        };
        answer
    }};
}

impl Blob {
    /// For commands, which have no [`Context`](crate::Context).
    pub fn new(host: Rc<dyn Host>) -> Self {
        Self { host }
    }

    /// Objects whose key begins with the parts of `prefix` (`a/b` has `a/b/c`, not `a/bc`), in order of keys; at most `limit` and
    /// 1,000, after the one of key `after`.
    ///
    /// # Errors
    /// [`BlobError`]. So for all of these.
    pub fn list(
        &self,
        store: &Store,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BlobPage, BlobError> {
        ask!(self, list(store, prefix, after, limit))
    }

    /// One object without its content, if it is there.
    ///
    /// # Errors
    /// [`BlobError`].
    pub fn head(&self, store: &Store, key: &str) -> Result<Option<BlobObject>, BlobError> {
        ask!(self, head(store, key))
    }

    /// A part of an object. Less comes where it ends.
    ///
    /// # Errors
    /// [`BlobError`].
    pub fn get(&self, store: &Store, key: &str, offset: u64, length: u32) -> Result<Vec<u8>, BlobError> {
        ask!(self, get(store, key, offset, length))
    }

    /// Writes a small object, whole or not at all.
    ///
    /// # Errors
    /// [`BlobError`]; of kind [`Conflict`](BlobErrorKind::Conflict) where the condition does not hold.
    pub fn put(
        &self,
        store: &Store,
        key: &str,
        content: &[u8],
        condition: &PutCondition,
    ) -> Result<BlobObject, BlobError> {
        ask!(self, put(store, key, content, condition))
    }

    /// Deletes an object. False: there was none. Some stores do not tell, and it is true.
    ///
    /// # Errors
    /// [`BlobError`].
    pub fn delete(&self, store: &Store, key: &str) -> Result<bool, BlobError> {
        ask!(self, delete(store, key))
    }

    /// Starts a transfer of the object at hand behind the call, or finds it: one name is one transfer, whose outcome stays until it is
    /// forgotten or another task or attempt is given under the name, which begins anew. The object is called when it has ended (reason
    /// `Configuration`). Nothing of it survives the host: a hook that asks again finds it running from the start, and
    /// nothing half-written.
    ///
    /// # Errors
    /// [`BlobError`] where it cannot begin. How it ended is told by its progress.
    pub fn transfer(&self, name: &str, attempt: u32, task: &Transfer) -> Result<Progress, BlobError> {
        ask!(self, transfer(name, attempt, task))
    }

    /// Lets whoever has a token write one object, once. Address, token and authority go into a Secret of this name beside the object at
    /// hand (`url`, `token`, `ca.crt`), for `pilothouse upload` in a Job; the plugin never sees them, and needs the rights to create,
    /// patch and delete that Secret. The content becomes an object only when its sender says at the end what it sent; the object at
    /// hand is called then (reason `Configuration`).
    ///
    /// Opened twice it is the same token. Another task under the name closes the one before. Nothing of it survives the
    /// host: what [`opened`](Self::opened) does not know has to be opened again, and whoever had the token of before fails.
    ///
    /// # Errors
    /// [`BlobError`]; of kind [`Denied`](BlobErrorKind::Denied) also where the host hands nothing over.
    pub fn open_upload(&self, name: &str, upload: &Upload) -> Result<Progress, BlobError> {
        ask!(self, open_upload(name, upload))
    }

    /// The same for reading one object, as often as wanted, with `pilothouse download`.
    ///
    /// # Errors
    /// As [`open_upload`](Self::open_upload).
    pub fn open_download(&self, name: &str, download: &Download) -> Result<Progress, BlobError> {
        ask!(self, open_download(name, download))
    }

    /// How what was opened under a name stands: running also while nobody has come yet. None: nothing is open.
    pub fn opened(&self, name: &str) -> Option<Progress> {
        #[cfg(target_family = "wasm")]
        let answer = crate::guest::blob::opened(name);
        #[cfg(not(target_family = "wasm"))]
        let answer = self.host.stores().and_then(|stores| stores.opened(name));
        answer
    }

    /// Takes a token back and its Secret away. When it returns well, nothing appears under the key any more.
    ///
    /// # Errors
    /// [`BlobError`]; of kind [`Unavailable`](BlobErrorKind::Unavailable) while an object is being made of what was sent.
    pub fn close(&self, name: &str) -> Result<(), BlobError> {
        ask!(self, close(name))
    }

    /// Stops a transfer if it runs, and forgets it.
    pub fn forget(&self, name: &str) {
        #[cfg(target_family = "wasm")]
        crate::guest::blob::forget(name);
        #[cfg(not(target_family = "wasm"))]
        if let Some(stores) = self.host.stores() {
            stores.forget(name);
        }
    }
}

/// What the harness answers in place of a component's imports: the methods of [`Blob`].
#[cfg(not(target_family = "wasm"))]
#[expect(missing_docs, clippy::missing_errors_doc, reason = "they are those of `Blob`")]
pub trait Stores: std::fmt::Debug {
    fn list(
        &self,
        store: &Store,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BlobPage, BlobError>;
    fn head(&self, store: &Store, key: &str) -> Result<Option<BlobObject>, BlobError>;
    fn get(&self, store: &Store, key: &str, offset: u64, length: u32) -> Result<Vec<u8>, BlobError>;
    fn put(
        &self,
        store: &Store,
        key: &str,
        content: &[u8],
        condition: &PutCondition,
    ) -> Result<BlobObject, BlobError>;
    fn delete(&self, store: &Store, key: &str) -> Result<bool, BlobError>;
    fn transfer(&self, name: &str, attempt: u32, task: &Transfer) -> Result<Progress, BlobError>;
    fn forget(&self, name: &str);
    fn open_upload(&self, name: &str, upload: &Upload) -> Result<Progress, BlobError>;
    fn open_download(&self, name: &str, download: &Download) -> Result<Progress, BlobError>;
    fn opened(&self, name: &str) -> Option<Progress>;
    fn close(&self, name: &str) -> Result<(), BlobError>;
}

/// Where objects are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Store {
    /// `s3://bucket/prefix`, `s3+https://host:port/bucket/prefix` (or `s3+http`) for a server of one's own, `gs://bucket/prefix`,
    /// `az://account/container/prefix` (`az+https`), `file:///directory`.
    pub url: String,
    /// S3's region; `us-east-1` when absent.
    pub region: Option<String>,
    /// Namespace and name of a Secret. S3: `access-key-id` and `secret-access-key` (`session-token`), or `credentials`, a file of AWS's
    /// form. Google: `credentials.json` or `access-token`. Azure: `storage-key`, and `storage-account` where the account in the address is `ACCOUNT`.
    pub credentials: Option<(String, String)>,
    /// PEM of the authorities that may have signed the server's certificate, and no others.
    pub authorities: Option<SecretKey>,
    /// The bucket is a part of the host's name and not of the path, with a server of one's own.
    pub virtual_hosted: bool,
    /// S3's own checksums are sent beside the signature. Some servers refuse them.
    pub checksums: bool,
}

impl Store {
    /// A store whose login is in a Secret.
    pub fn new(url: impl Into<String>, namespace: &str, secret: &str) -> Self {
        let credentials = Some((namespace.to_owned(), secret.to_owned()));
        Self { url: url.into(), credentials, ..Self::default() }
    }

    /// A store without a login.
    pub fn open(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

/// One object without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobObject {
    /// Below the store's prefix.
    pub key: String,
    /// In bytes.
    pub size: u64,
    /// Changes with the content.
    pub etag: Option<String>,
    /// When it was written.
    pub modified: SystemTime,
}

/// Objects in order of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlobPage {
    /// The objects.
    pub objects: Vec<BlobObject>,
    /// Where the next page begins: give it as `after`.
    pub next: Option<String>,
}

/// What has to be so for an object to be written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PutCondition {
    /// Nothing.
    #[default]
    None,
    /// There is none of its key.
    Absent,
    /// It is the one of this etag.
    Etag(String),
}

/// How content stands in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Encoding {
    /// As it is.
    #[default]
    Plain,
    /// One JSON value on each line, with base64 at a JSON pointer, and an error at another.
    JsonLines {
        /// Pointer to the content.
        content: String,
        /// Pointer to an error.
        error: String,
    },
}

impl Encoding {
    /// As gateways of gRPC stream a field of bytes: `{"result":{"blob":"…"}}` on each line, or `{"error":…}`.
    pub fn gateway(field: &str) -> Self {
        Self::JsonLines { content: format!("/result/{field}"), error: "/error".to_owned() }
    }
}

/// How whole content is known. Without any, by the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proof {
    /// sha256 of all of it, lower-case hex.
    pub sha256: Option<String>,
    /// Its last 32 bytes are the sha256 of those before, as in etcd's snapshots.
    pub sha256_trailer: bool,
}

/// What the host does behind the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transfer {
    /// The answer to a request becomes an object, if it is whole.
    Fetch {
        /// The request; identities of this call hold for it.
        request: HttpRequest,
        /// How content stands in the answer.
        encoding: Encoding,
        /// How it is known to be whole.
        proof: Proof,
        /// Where the object goes.
        store: Store,
        /// Its key.
        key: String,
        /// Do not write over an object.
        absent: bool,
        /// No more bytes than this.
        max_bytes: u64,
    },
    /// An object becomes the body of a request.
    Deliver {
        /// From where.
        store: Store,
        /// Its key.
        key: String,
        /// The request, without a body.
        request: HttpRequest,
        /// A longer object goes in pieces of so many bytes, one request after another, with `offset=BYTES&size=BYTES` as the query of
        /// the address. Each but the last has to be answered with success.
        piece: Option<u64>,
    },
    /// An object is read and held against a proof.
    Check {
        /// Where it is.
        store: Store,
        /// Its key.
        key: String,
        /// What it should be.
        proof: Proof,
    },
}

/// One object that something in the cluster may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Where it goes.
    pub store: Store,
    /// Its key; there must be no object of it.
    pub key: String,
    /// No more bytes than this.
    pub max_bytes: u64,
    /// How long it stays open; whole seconds, a week at most.
    pub time: Duration,
}

/// One object that something in the cluster may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// Where it is.
    pub store: Store,
    /// Its key.
    pub key: String,
    /// How long it stays open; whole seconds, a week at most.
    pub time: Duration,
}

/// Where a transfer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferState {
    /// Not yet at its end.
    Running,
    /// At its end.
    Done,
    /// Nothing was written.
    Failed {
        /// UpperCamelCase, from a small set.
        reason: String,
        /// A sentence for people.
        message: String,
    },
}

/// How a transfer stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Where it is.
    pub state: TransferState,
    /// Bytes of content up to now.
    pub bytes: u64,
    /// sha256 of the content, lower-case hex, once all of it was read.
    pub sha256: Option<String>,
    /// Of the object that was written.
    pub etag: Option<String>,
    /// Of a delivery: the answer's status and the first 64 KiB of its body.
    pub answer: Option<(u16, Vec<u8>)>,
}

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlobErrorKind {
    /// The grants do not have the store, or the store refuses whom the credentials name.
    Denied,
    /// There is no such object, or no such bucket.
    NotFound,
    /// The condition does not hold.
    Conflict,
    /// The Secret is not there or of no use.
    Credentials,
    /// It is no store, no key or no transfer.
    Invalid,
    /// The store does not answer, or not in time. A write may or may not have happened.
    Unavailable,
    /// A budget of the call is used up, or too many transfers are under way.
    Exhausted,
    /// Anything else.
    Other,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BlobError {
    /// What kind of failure.
    pub kind: BlobErrorKind,
    /// A sentence for people.
    pub message: String,
}

impl BlobError {
    /// A failure.
    pub fn new(kind: BlobErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// UpperCamelCase, for conditions.
    pub fn reason(&self) -> &'static str {
        match self.kind {
            BlobErrorKind::Denied => "StoreDenied",
            BlobErrorKind::NotFound => "ObjectNotFound",
            BlobErrorKind::Conflict => "ObjectConflict",
            BlobErrorKind::Credentials => "InvalidCredentials",
            BlobErrorKind::Invalid => "InvalidStore",
            BlobErrorKind::Unavailable => "StoreUnavailable",
            BlobErrorKind::Exhausted => "Exhausted",
            BlobErrorKind::Other => "StoreFailed",
        }
    }
}

/// Milliseconds since 1970 as a time.
#[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "for components"))]
pub(crate) fn at_millis(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}
