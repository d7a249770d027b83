//! The wishes of all objects, what they came to, and one task for each that keeps it up to date.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::Instant;

use super::cache::{Cache, CacheError};
use super::fetch::{Brought, Failure, Fetch};
use super::pace;
use super::secret::Credentials;
use super::wish::{Key, Resolution, Wish};
use crate::object::ObjectKey;

/// Attempts at once.
const AT_ONCE: usize = 4;

/// What went wrong with the last attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// UpperCamelCase, from a small set.
    pub reason: &'static str,
    /// Host, what it said, what to do. Never credentials.
    pub message: String,
}

/// How a wish stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The chart that it came to last.
    pub found: Option<Resolution>,
    /// What went wrong since.
    pub trouble: Option<Trouble>,
}

/// Counts attempts by how they ended.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Family<ResultLabels, Counter>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

impl Metrics {
    /// Under the name `pilothouse_chart_fetches`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let help = "Attempts to resolve and fetch charts from elsewhere, by how they ended";
        registry.register("pilothouse_chart_fetches", help, metrics.0.clone());
        metrics
    }

    fn count(&self, result: &'static str) {
        self.0.get_or_create(&ResultLabels { result }).inc();
    }
}

#[derive(Debug)]
struct Entry {
    wish: Wish,
    /// Who wishes for it, and how often each wants it resolved.
    owners: HashMap<ObjectKey, Duration>,
    credentials: Option<Credentials>,
    standing: Standing,
    failures: u32,
    /// When it is tried; none: when somebody says so.
    due: Option<Instant>,
    wake: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Table {
    entries: HashMap<Key, Entry>,
    of_owner: HashMap<ObjectKey, HashSet<Key>>,
}

/// The charts that hooks wish for. A wish lives as long as the last call of some object repeats it.
#[derive(Debug)]
pub struct Charts {
    cache: Result<Cache, String>,
    fetch: Box<dyn Fetch>,
    permits: Semaphore,
    table: Mutex<Table>,
    changed: mpsc::UnboundedSender<Vec<ObjectKey>>,
    metrics: Metrics,
}

impl Charts {
    pub(super) fn new(
        cache: Result<Cache, String>,
        fetch: Box<dyn Fetch>,
        metrics: Metrics,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Vec<ObjectKey>>) {
        let (changed, receiver) = mpsc::unbounded_channel();
        let permits = Semaphore::new(AT_ONCE);
        (Arc::new(Self { cache, fetch, permits, table: Mutex::default(), changed, metrics }), receiver)
    }

    /// Notes a wish of an object and says how it stands. What is missing is fetched behind it; the object is called when
    /// something has changed.
    pub async fn want(
        self: &Arc<Self>,
        owner: &ObjectKey,
        wish: Wish,
        interval: Duration,
        credentials: Option<Credentials>,
    ) -> (Key, Standing) {
        let key = wish.key();
        let recalled = if self.table().entries.contains_key(&key) { None } else { self.recall(&key).await };
        let mut table = self.table();
        table.of_owner.entry(owner.clone()).or_default().insert(key.clone());
        let mut is_new = false;
        let entry = table.entries.entry(key.clone()).or_insert_with(|| {
            is_new = true;
            Entry::new(wish, recalled, credentials.clone(), interval)
        });
        entry.owners.insert(owner.clone(), interval);
        if !is_new {
            entry.heed(credentials, |digest| self.cache.as_ref().is_ok_and(|cache| cache.holds(digest)));
        }
        let standing = entry.standing.clone();
        if is_new {
            tokio::spawn(Arc::clone(self).keep(key.clone(), Arc::clone(&entry.wake)));
        }
        (key, standing)
    }

    /// The archive of a digest, held against it. One that is not whole is fetched again, and who wishes for it is called.
    ///
    /// # Errors
    /// [`CacheError::Broken`].
    pub async fn read(self: &Arc<Self>, digest: &str) -> Result<Vec<u8>, CacheError> {
        let (charts, wanted) = (Arc::clone(self), digest.to_owned());
        let read = move || match &charts.cache {
            Ok(cache) => cache.read(&wanted),
            Err(_) => Err(CacheError::Broken(wanted)),
        };
        let bytes = blocking(read).await.unwrap_or_else(|| Err(CacheError::Broken(digest.to_owned())));
        if bytes.is_err() {
            for entry in self.table().entries.values_mut() {
                if entry.standing.found.as_ref().is_some_and(|found| found.digest == digest) {
                    entry.standing.found = None;
                    entry.try_now();
                }
            }
        }
        bytes
    }

    /// The wishes of an object are these and no others.
    pub fn keep_only(&self, owner: &ObjectKey, wished: &HashSet<Key>) {
        let mut table = self.table();
        let Some(before) = table.of_owner.remove(owner) else { return };
        for key in before.difference(wished) {
            if let Some(entry) = table.entries.get_mut(key) {
                entry.owners.remove(owner);
                entry.wake.notify_one();
            }
        }
        if !wished.is_empty() {
            table.of_owner.insert(owner.clone(), wished.clone());
        }
    }

    /// An object is gone, and its wishes with it.
    pub fn forget(&self, owner: &ObjectKey) {
        self.keep_only(owner, &HashSet::new());
    }

    async fn recall(self: &Arc<Self>, key: &Key) -> Option<Resolution> {
        let (charts, key) = (Arc::clone(self), key.clone());
        blocking(move || charts.cache.as_ref().ok()?.recall(&key)).await.flatten()
    }

    /// Keeps one wish up to date until nobody has it any more.
    async fn keep(self: Arc<Self>, key: Key, wake: Arc<Notify>) {
        while let Some(due) = self.due(&key) {
            match due {
                None => wake.notified().await,
                Some(due) if due > Instant::now() => {
                    tokio::select! {
                        () = tokio::time::sleep_until(due) => {}
                        () = wake.notified() => {}
                    }
                }
                Some(_) => {
                    let Ok(_permit) = self.permits.acquire().await else { return };
                    self.attempt(&key).await;
                }
            }
        }
    }

    /// When a wish is due (none: nobody knows). None at all: nobody has it, and it is let go.
    #[expect(clippy::option_option, reason = "two questions of one lock")]
    fn due(&self, key: &Key) -> Option<Option<Instant>> {
        let mut table = self.table();
        let entry = table.entries.get(key)?;
        if entry.owners.is_empty() {
            table.entries.remove(key);
            return None;
        }
        Some(entry.due)
    }

    async fn attempt(self: &Arc<Self>, key: &Key) {
        let Some((wish, credentials)) =
            self.table().entries.get(key).map(|entry| (entry.wish.clone(), entry.credentials.clone()))
        else {
            return;
        };
        let known = |digest: &str| self.cache.as_ref().is_ok_and(|cache| cache.holds(digest));
        let brought = match &self.cache {
            Ok(_) => self.fetch.fetch(&wish, credentials.as_ref(), &known).await,
            Err(why) => Err(Failure::new("NoCache", why.clone())),
        };
        let kept = match brought {
            Ok(brought) => self.keep_archive(key, brought).await,
            Err(failure) => Err(failure),
        };
        self.settle(key, credentials.as_ref(), kept);
    }

    async fn keep_archive(self: &Arc<Self>, key: &Key, brought: Brought) -> Result<Resolution, Failure> {
        let Brought { resolution, archive } = brought;
        let in_use: HashSet<String> = {
            let table = self.table();
            let found = table.entries.values().filter_map(|entry| entry.standing.found.as_ref());
            found.map(|found| found.digest.clone()).collect()
        };
        let (charts, key, noted) = (Arc::clone(self), key.clone(), resolution.clone());
        let kept = blocking(move || {
            let Ok(cache) = &charts.cache else { return Ok(()) };
            if let Some(archive) = archive {
                cache.keep(&noted.digest, &archive, &in_use)?;
            }
            cache.remember(&key, &noted)
        });
        match kept.await {
            Some(Ok(())) => Ok(resolution),
            Some(Err(error)) => Err(Failure::new("NoCache", error.to_string())),
            None => Err(Failure::new("NoCache", "the chart could not be kept")),
        }
    }

    /// Notes how an attempt ended, and has those called whom it concerns.
    fn settle(&self, key: &Key, with: Option<&Credentials>, result: Result<Resolution, Failure>) {
        let mut table = self.table();
        let Some(entry) = table.entries.get_mut(key) else { return };
        let before = entry.standing.clone();
        let wish = entry.wish.to_string();
        match result {
            Ok(resolution) => {
                self.metrics.count("success");
                if before.found.as_ref().is_none_or(|found| found.differs(&resolution)) {
                    let Resolution { version, digest, location, .. } = &resolution;
                    tracing::info!(wish, version, digest, location, "chart fetched");
                }
                entry.succeeded(resolution);
            }
            Err(failure) => {
                self.metrics.count("error");
                let Failure { reason, message, retry_after } = failure;
                let trouble = Trouble { reason, message };
                if before.trouble.as_ref() != Some(&trouble) {
                    tracing::warn!(
                        wish,
                        reason,
                        message = trouble.message,
                        "chart not fetched; it is tried again"
                    );
                }
                entry.failed(trouble, retry_after);
            }
        }
        if entry.credentials.as_ref().map(|given| &given.version) != with.map(|given| &given.version) {
            // They changed meanwhile.
            entry.try_now();
        }
        if is_news(&before, &entry.standing) {
            let _ = self.changed.send(entry.owners.keys().cloned().collect());
        }
    }

    /// Whether some wish came to nothing up to now.
    pub fn has_trouble(&self) -> bool {
        let in_trouble = |entry: &Entry| entry.standing.found.is_none() && entry.standing.trouble.is_some();
        self.table().entries.values().any(in_trouble)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether those who wish for it have to be called.
fn is_news(before: &Standing, now: &Standing) -> bool {
    let other_chart = match (&before.found, &now.found) {
        (Some(before), Some(now)) => before.differs(now),
        (None, None) => false,
        _ => true,
    };
    other_chart || before.trouble != now.trouble
}

impl Entry {
    fn new(
        wish: Wish,
        recalled: Option<Resolution>,
        credentials: Option<Credentials>,
        interval: Duration,
    ) -> Self {
        let now = Instant::now();
        let due = match &recalled {
            None => Some(now),
            Some(found) => {
                let age = jiff::Timestamp::now().as_second().saturating_sub(found.at);
                let age = Duration::from_secs(u64::try_from(age).unwrap_or(0));
                pace::after_success(wish.is_fixed(), interval, age).map(|wait| now + wait)
            }
        };
        let standing = Standing { found: recalled, trouble: None };
        let (owners, wake) = (HashMap::new(), Arc::default());
        Self { wish, owners, credentials, standing, failures: 0, due, wake }
    }

    /// Takes notice of what may have changed since the last wish.
    fn heed(&mut self, credentials: Option<Credentials>, holds: impl Fn(&str) -> bool) {
        let version = |given: &Option<Credentials>| given.as_ref().map(|given| given.version.clone());
        if version(&credentials) != version(&self.credentials) {
            self.credentials = credentials;
            self.try_now();
        }
        if self.standing.found.as_ref().is_some_and(|found| !holds(&found.digest)) {
            self.standing.found = None;
            self.try_now();
        }
        if self.failures == 0
            && self.standing.found.is_some()
            && let Some(wait) = pace::after_success(self.wish.is_fixed(), self.interval(), Duration::ZERO)
        {
            let latest = Instant::now() + wait;
            if self.due.is_some_and(|due| due > latest) {
                self.due = Some(latest);
                self.wake.notify_one();
            }
        }
    }

    fn try_now(&mut self) {
        self.failures = 0;
        self.due = Some(Instant::now());
        self.wake.notify_one();
    }

    /// The shortest of those who wish for it.
    fn interval(&self) -> Duration {
        self.owners.values().min().copied().unwrap_or(super::INTERVAL)
    }

    fn succeeded(&mut self, resolution: Resolution) {
        self.failures = 0;
        self.standing = Standing { found: Some(resolution), trouble: None };
        let wait = pace::after_success(self.wish.is_fixed(), self.interval(), Duration::ZERO);
        self.due = wait.map(|wait| Instant::now() + wait);
    }

    fn failed(&mut self, trouble: Trouble, retry_after: Option<Duration>) {
        self.failures += 1;
        self.standing.trouble = Some(trouble);
        self.due = Some(Instant::now() + pace::after_failures(self.failures, retry_after, fastrand::f64()));
    }
}

/// Off the async workers. None: it panicked.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

#[cfg(test)]
#[path = "table/tests.rs"]
mod tests;
