//! Object storage in memory, with failures on purpose.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{cluster::Cluster, places::Place, session::Session, transfers::Task};
use crate::{
    BlobError, BlobErrorKind, BlobObject, BlobPage, Download, HttpRequest, IdentityError, Progress,
    PutCondition, SecretKey, Store, Stores, Transfer, TransferState, Upload,
};

#[derive(Debug, Clone)]
struct Stored {
    content: Vec<u8>,
    object: BlobObject,
}

/// A failure of object storage on purpose; given to [`Cluster::fail_store`].
#[derive(Debug, Clone)]
#[must_use]
pub struct StoreFault {
    error: BlobError,
    operation: Option<&'static str>,
    times: u32,
    after_commit: bool,
}

impl StoreFault {
    /// The next operation, transfers' included, is answered with this.
    pub fn new(kind: BlobErrorKind, message: &str) -> Self {
        Self { error: BlobError::new(kind, message), operation: None, times: 1, after_commit: false }
    }

    /// The store does not answer.
    pub fn unavailable() -> Self {
        Self::new(BlobErrorKind::Unavailable, "the store does not answer")
    }

    /// Only of `list`, `head`, `get`, `put` or `delete`.
    pub fn operation(mut self, operation: &'static str) -> Self {
        self.operation = Some(operation);
        self
    }

    /// So many in a row.
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// It is done, and its answer replaced by the error.
    pub fn after_commit(mut self) -> Self {
        self.after_commit = true;
        self
    }
}

/// Everything that is stored, by URL and key. Survives crashes of the host.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    objects: BTreeMap<String, Stored>,
    faults: Vec<StoreFault>,
    writes: u64,
}

impl Shelf {
    /// Carries an operation out, or fails on purpose.
    pub(super) fn operate<T>(
        &mut self,
        operation: &str,
        act: impl FnOnce(&mut Self) -> Result<T, BlobError>,
    ) -> Result<T, BlobError> {
        let due = |fault: &&mut StoreFault| {
            fault.times > 0 && fault.operation.is_none_or(|wanted| wanted == operation)
        };
        let struck = self.faults.iter_mut().find(due).map(|fault| {
            fault.times -= 1;
            fault.clone()
        });
        match struck {
            Some(fault) if fault.after_commit => act(self).and(Err(fault.error)),
            Some(fault) => Err(fault.error),
            None => act(self),
        }
    }

    pub(super) fn write(
        &mut self,
        (place, key): (&str, &str),
        content: Vec<u8>,
        condition: &PutCondition,
        now: std::time::SystemTime,
    ) -> Result<BlobObject, BlobError> {
        let path = format!("{place}/{key}");
        let known = self.objects.get(&path).and_then(|stored| stored.object.etag.as_ref());
        let holds = match condition {
            PutCondition::None => true,
            PutCondition::Absent => known.is_none(),
            PutCondition::Etag(etag) => known == Some(etag),
        };
        if !holds {
            return Err(BlobError::new(
                BlobErrorKind::Conflict,
                format!("{key}: the condition does not hold"),
            ));
        }
        self.writes += 1;
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        let etag = Some(format!("\"{}\"", self.writes));
        let object = BlobObject { key: key.to_owned(), size, etag, modified: now };
        self.objects.insert(path, Stored { content, object: object.clone() });
        Ok(object)
    }

    pub(super) fn content(&self, place: &str, key: &str) -> Option<&[u8]> {
        self.objects.get(&format!("{place}/{key}")).map(|stored| stored.content.as_slice())
    }
}

/// A store's URL without what does not matter.
pub(super) fn place_of(store: &Store) -> String {
    store.url.trim_end_matches('/').to_owned()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Cluster {
    /// What is stored under a key.
    pub fn stored(&self, url: &str, key: &str) -> Option<Vec<u8>> {
        self.state().shelf.content(url.trim_end_matches('/'), key).map(<[u8]>::to_vec)
    }

    /// Stores an object, as somebody else would.
    pub fn store(&self, url: &str, key: &str, content: impl Into<Vec<u8>>) {
        let mut state = self.state();
        let now = state.store.now;
        // Nothing stands in its way.
        let _ = state.shelf.write((url.trim_end_matches('/'), key), content.into(), &PutCondition::None, now);
    }

    /// Every key below a URL, in order.
    pub fn stored_keys(&self, url: &str) -> Vec<String> {
        let below = format!("{}/", url.trim_end_matches('/'));
        let state = self.state();
        state.shelf.objects.keys().filter_map(|path| path.strip_prefix(&below).map(str::to_owned)).collect()
    }

    /// Fails operations of object storage on purpose.
    pub fn fail_store(&self, fault: StoreFault) {
        self.state().shelf.faults.push(fault);
    }
}

impl Session {
    /// Checks what the host would before it opens a store.
    pub(super) fn place(&self, store: &Store, bytes: usize) -> Result<String, BlobError> {
        let over = |error: crate::KubeError| BlobError::new(BlobErrorKind::Exhausted, error.to_string());
        self.budget.borrow_mut().call(bytes).map_err(over)?;
        let place = place_of(store);
        let known =
            ["s3://", "s3+https://", "s3+http://", "gs://", "az://", "az+https://", "az+http://", "file:///"];
        if !known.iter().any(|scheme| place.len() > scheme.len() && place.starts_with(scheme)) {
            return Err(BlobError::new(BlobErrorKind::Invalid, format!("{:?} is no store", store.url)));
        }
        if let Some(stores) = self.rights.as_ref().and_then(|rights| rights.stores.as_ref())
            && !stores.iter().any(|granted| self.is_below(granted, &place))
        {
            let message = format!(
                "{place} may not be used: the plugin's manifest does not ask for it (`rights.stores`)"
            );
            return Err(BlobError::new(BlobErrorKind::Denied, message));
        }
        if let Some((namespace, name)) = &store.credentials {
            self.refer(namespace, name).map_err(|error| match error {
                IdentityError::Denied(why) => BlobError::new(BlobErrorKind::Denied, why),
                error => BlobError::new(BlobErrorKind::Credentials, error.to_string()),
            })?;
        }
        Ok(place)
    }

    fn is_below(&self, granted: &str, place: &str) -> bool {
        let namespace = self.namespace().unwrap_or_default();
        let own = granted.trim_end_matches('/').replace("NAMESPACE", &namespace);
        let (own, place): (Vec<&str>, Vec<&str>) = (own.split('/').collect(), place.split('/').collect());
        // Servers are patterns as in `egress`.
        let server = |one: &str, other: &str| {
            Place::parse(&format!("https://{one}"))
                .is_some_and(|one| one.holds(&format!("https://{other}"), None))
        };
        let same = |index: usize, one: &str, other: &str| {
            one == other || one == "*" || (index == 2 && server(one, other))
        };
        own.len() <= place.len()
            && own.iter().zip(&place).enumerate().all(|(index, (one, other))| same(index, one, other))
    }

    fn operate<T>(
        &self,
        operation: &str,
        act: impl FnOnce(&mut Shelf, std::time::SystemTime) -> Result<T, BlobError>,
    ) -> Result<T, BlobError> {
        let mut state = self.cluster.state();
        let now = state.store.now;
        let before = state.shelf.writes;
        let result = state.shelf.operate(operation, |shelf| act(shelf, now));
        let changed = state.shelf.writes > before;
        state.crash.after_call(changed);
        result
    }
}

impl Stores for Session {
    fn list(
        &self,
        store: &Store,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<BlobPage, BlobError> {
        let place = self.place(store, prefix.len())?;
        let below = format!("{place}/");
        let prefix = prefix.trim_end_matches('/');
        let in_prefix = |key: &str| {
            prefix.is_empty() || key.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
        };
        let limit = usize::try_from(limit).unwrap_or(1_000).clamp(1, 1_000);
        self.operate("list", |shelf, _| {
            let keys =
                shelf.objects.iter().filter_map(|(path, stored)| Some((path.strip_prefix(&below)?, stored)));
            let keys = keys.filter(|(key, _)| in_prefix(key) && after.is_none_or(|after| *key > after));
            let mut objects: Vec<BlobObject> = keys
                .map(|(key, stored)| BlobObject { key: key.to_owned(), ..stored.object.clone() })
                .take(limit + 1)
                .collect();
            let more = objects.len() > limit;
            objects.truncate(limit);
            let next = objects.last().filter(|_| more).map(|object| object.key.clone());
            Ok(BlobPage { objects, next })
        })
    }

    fn head(&self, store: &Store, key: &str) -> Result<Option<BlobObject>, BlobError> {
        let place = self.place(store, key.len())?;
        self.operate("head", |shelf, _| {
            let stored = shelf.objects.get(&format!("{place}/{key}"));
            Ok(stored.map(|stored| BlobObject { key: key.to_owned(), ..stored.object.clone() }))
        })
    }

    fn get(&self, store: &Store, key: &str, offset: u64, length: u32) -> Result<Vec<u8>, BlobError> {
        let place = self.place(store, key.len() + usize::try_from(length).unwrap_or(usize::MAX))?;
        self.operate("get", |shelf, _| {
            let missing = || BlobError::new(BlobErrorKind::NotFound, format!("there is no object {key}"));
            let content = shelf.content(&place, key).ok_or_else(missing)?;
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
            let end = start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)).min(content.len());
            Ok(content.get(start..end).unwrap_or_default().to_vec())
        })
    }

    fn put(
        &self,
        store: &Store,
        key: &str,
        content: &[u8],
        condition: &PutCondition,
    ) -> Result<BlobObject, BlobError> {
        let place = self.place(store, key.len() + content.len())?;
        self.operate("put", |shelf, now| shelf.write((&place, key), content.to_vec(), condition, now))
    }

    fn delete(&self, store: &Store, key: &str) -> Result<bool, BlobError> {
        let place = self.place(store, key.len())?;
        self.operate("delete", |shelf, _| {
            let gone = shelf.objects.remove(&format!("{place}/{key}")).is_some();
            shelf.writes += u64::from(gone);
            Ok(gone)
        })
    }

    fn transfer(&self, name: &str, attempt: u32, task: &Transfer) -> Result<Progress, BlobError> {
        let Some(owner) = self.owner.as_ref().map(|owner| owner.reference.clone()) else {
            return Err(BlobError::new(BlobErrorKind::Denied, "nothing is transferred by commands"));
        };
        let wanted = Task { attempt, transfer: task.clone(), identity: None };
        if let Some(standing) = self.cluster.state().transfers.find(&owner, name, &wanted) {
            return Ok(standing);
        }
        let (store, request): (&Store, Option<&HttpRequest>) = match task {
            Transfer::Fetch { store, request, .. } | Transfer::Deliver { store, request, .. } => {
                (store, Some(request))
            }
            Transfer::Check { store, .. } => (store, None),
        };
        let denied = |error: crate::HttpError| BlobError::new(BlobErrorKind::Denied, error.message);
        request.map_or(Ok(()), |request| self.may_reach(&request.url)).map_err(denied)?;
        self.place(store, name.len())?;
        let identity = request.and_then(|request| self.identity_for(&request.url));
        self.cluster.state().transfers.start(owner, name, Task { identity, ..wanted });
        Ok(Progress { state: TransferState::Running, bytes: 0, sha256: None, etag: None, answer: None })
    }

    fn forget(&self, name: &str) {
        if let Some(owner) = &self.owner {
            self.cluster.state().transfers.forget(&owner.reference, name);
        }
    }

    fn open_upload(&self, name: &str, upload: &Upload) -> Result<Progress, BlobError> {
        self.open_handover_upload(name, upload)
    }

    fn open_download(&self, name: &str, download: &Download) -> Result<Progress, BlobError> {
        self.open_handover_download(name, download)
    }

    fn opened(&self, name: &str) -> Option<Progress> {
        self.handover_standing(name)
    }

    fn close(&self, name: &str) -> Result<(), BlobError> {
        self.close_handover(name)
    }
}

impl Session {
    /// Whether a Secret may be used, whatever is in it.
    fn refer(&self, namespace: &str, name: &str) -> Result<(), IdentityError> {
        match self.entry(&SecretKey::new(namespace, name, "")) {
            // Which entries it needs is the store's affair.
            Err(IdentityError::Unusable(why)) if why.contains("has no entry") => Ok(()),
            other => other,
        }
    }
}
