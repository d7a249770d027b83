//! When kinds are read again without being asked for.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, select};
use futures::{Stream, StreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Resource};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep_until, timeout};

use super::{DefinitionMetrics, Discovery};

/// When kinds are read after the last change of a definition. Several definitions usually change together; and the
/// discovery document follows a definition with some delay, so one look is not enough.
const AFTER_A_CHANGE: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(8)];
/// How often kinds are read where definitions cannot be watched.
const BLIND: Duration = Duration::from_secs(30);
/// How often they are read where nothing changes.
const SAFETY_NET: Duration = Duration::from_secs(300);

/// Between two tries of a watch of definitions.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A watch that is not refused for so long after its list runs.
const SETTLED: Duration = Duration::from_secs(5);

/// Something that a definition's watch said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// A definition was there, came, moved or went.
    Moved,
    /// The watch is refused, or nobody answers.
    Blind,
}

/// When to look again. Pure.
#[derive(Debug)]
struct Schedule {
    /// Next entry of [`AFTER_A_CHANGE`].
    step: usize,
    from: Instant,
    blind: bool,
}

impl Schedule {
    fn new(now: Instant) -> Self {
        Self { step: 0, from: now, blind: false }
    }

    fn sign(&mut self, sign: Sign, now: Instant) {
        match sign {
            Sign::Moved => *self = Self::new(now),
            Sign::Blind => self.blind = true,
        }
    }

    fn due(&self) -> Instant {
        let plain = if self.blind { BLIND } else { SAFETY_NET };
        self.from + AFTER_A_CHANGE.get(self.step).copied().unwrap_or(plain)
    }

    fn looked(&mut self, now: Instant) {
        self.step = (self.step + 1).min(AFTER_A_CHANGE.len());
        if self.step == AFTER_A_CHANGE.len() {
            self.from = now;
        }
    }
}

impl Discovery {
    /// Follows definitions for ever.
    pub async fn follow(self: Arc<Self>) {
        let mut signs = signs(&self.client, &self.definitions);
        let mut schedule = Schedule::new(Instant::now());
        loop {
            tokio::select! {
                Some(sign) = signs.next() => schedule.sign(sign, Instant::now()),
                () = sleep_until(schedule.due()) => {
                    if let Err(error) = self.refresh().await {
                        tracing::debug!(%error, "kinds not read");
                    }
                    schedule.looked(Instant::now());
                }
            }
        }
    }
}

/// What the watches of definitions say, names only: their schemas are large.
fn signs(client: &Client, metrics: &DefinitionMetrics) -> BoxStream<'static, Sign> {
    let definitions = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client.clone());
    let services = Api::<PartialObjectMeta<APIService>>::all(client.clone());
    let definitions = Followed::new(definitions, "customresourcedefinitions", metrics.clone());
    let services = Followed::new(services, "apiservices", metrics.clone());
    select(definitions.signs(), services.signs()).boxed()
}

type Events<K> = BoxStream<'static, watcher::Result<watcher::Event<PartialObjectMeta<K>>>>;

/// One watch of definitions. operator-sdk's role does not allow it, for one: then it is tried ever more seldom.
struct Followed<K> {
    events: Events<K>,
    resource: &'static str,
    metrics: DefinitionMetrics,
    /// Whether the last thing heard was good; `None` before anything was heard.
    up: Option<bool>,
    listed: bool,
    failures: u32,
    last_failure: Option<Instant>,
    not_before: Option<Instant>,
}

impl<K> Followed<K>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Send + Sync + 'static,
{
    fn new(api: Api<PartialObjectMeta<K>>, resource: &'static str, metrics: DefinitionMetrics) -> Self {
        let config = watcher::Config { page_size: None, ..watcher::Config::default() };
        let events = watcher(api, config).boxed();
        Self {
            events,
            resource,
            metrics,
            up: None,
            listed: false,
            failures: 0,
            last_failure: None,
            not_before: None,
        }
    }

    fn signs(self) -> impl Stream<Item = Sign> + Send {
        stream::unfold(self, |mut followed| async { followed.next().await.map(|sign| (sign, followed)) })
    }

    async fn next(&mut self) -> Option<Sign> {
        loop {
            let Ok(event) = self.event().await else {
                // A list that nothing refused for a while is followed by a watch.
                self.is_up();
                continue;
            };
            match event? {
                Ok(watcher::Event::Init) => self.listed = false,
                Ok(watcher::Event::InitDone) => {
                    self.listed = true;
                    return Some(Sign::Moved);
                }
                Ok(watcher::Event::InitApply(_)) => {}
                Ok(watcher::Event::Apply(_) | watcher::Event::Delete(_)) => {
                    self.is_up();
                    return Some(Sign::Moved);
                }
                Err(error) => {
                    self.is_down(&error);
                    return Some(Sign::Blind);
                }
            }
        }
    }

    async fn event(
        &mut self,
    ) -> Result<Option<watcher::Result<watcher::Event<PartialObjectMeta<K>>>>, Elapsed> {
        if let Some(at) = self.not_before.take() {
            sleep_until(at).await;
        }
        if self.listed && self.up != Some(true) {
            return timeout(SETTLED, self.events.next()).await;
        }
        Ok(self.events.next().await)
    }

    fn is_up(&mut self) {
        self.metrics.set(self.resource, true);
        if self.up.replace(true) == Some(false) {
            tracing::info!(resource = self.resource, "definitions are watched again");
        }
    }

    /// Said once, until it is over.
    fn is_down(&mut self, error: &watcher::Error) {
        let long_ago = self.last_failure.is_none_or(|at| at.elapsed() > LONGEST_WAIT * 2);
        self.failures = if long_ago { 1 } else { self.failures.saturating_add(1) };
        let now = Instant::now();
        (self.last_failure, self.listed) = (Some(now), false);
        self.not_before = Some(now + backoff(self.failures, fastrand::f64()));
        self.metrics.set(self.resource, false);
        if self.up.replace(false) == Some(false) {
            tracing::debug!(%error, resource = self.resource, "definitions cannot be watched");
        } else {
            tracing::warn!(
                %error,
                resource = self.resource,
                "definitions cannot be watched: new kinds are seen within {BLIND:?} instead of at once"
            );
        }
    }
}

/// Doubles from a second to [`LONGEST_WAIT`]; `random` in `0.0..1.0` takes up to a fifth of it away.
fn backoff(failures: u32, random: f64) -> Duration {
    let doubled = FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_WAIT);
    doubled.mul_f64(1.0 - random.clamp(0.0, 1.0) / 5.0)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::client::Body;

    use super::*;

    /// An API server that refuses everything, or from some request on only watches.
    fn refusing(lists: bool) -> (Client, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let serve = move |request: http::Request<Body>| {
            count.fetch_add(1, Ordering::Relaxed);
            let list = lists && !request.uri().query().unwrap_or_default().contains("watch=true");
            let (code, body) = if list {
                (
                    200,
                    r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}"#,
                )
            } else {
                (
                    403,
                    r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}"#,
                )
            };
            let response = http::Response::builder().status(code).body(Body::from(body.as_bytes().to_vec()));
            async move { Ok::<_, Infallible>(response.unwrap()) }
        };
        (Client::new(tower::service_fn(serve), "default"), asked)
    }

    #[tokio::test(start_paused = true)]
    async fn a_role_that_does_not_allow_to_watch_definitions_costs_a_request_a_minute_each() {
        for lists in [false, true] {
            let (client, asked) = refusing(lists);
            let metrics = DefinitionMetrics::default();
            let mut signs = signs(&client, &metrics);
            let hear = async { while signs.next().await.is_some() {} };
            assert!(timeout(seconds(600), hear).await.is_err());
            let (first, both) = (asked.load(Ordering::Relaxed), 2);
            assert!(first <= both * 20 * if lists { 2 } else { 1 }, "{first} requests in ten minutes");
            assert!(first >= both * 10, "{first} requests: it must go on trying");
            assert!(!metrics.is_up("customresourcedefinitions"));
        }
    }

    #[test]
    fn waits_between_tries_grow_to_a_minute() {
        let waits: Vec<_> = [1, 2, 3, 6, 7, 100].iter().map(|n| backoff(*n, 0.0).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 32, 60, 60]);
        assert!(backoff(7, 1.0) >= seconds(30));
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test(start_paused = true)]
    async fn kinds_are_read_several_times_after_a_change_and_rarely_then() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        let mut times = Vec::new();
        for _ in 0..6 {
            let due = schedule.due();
            times.push((due - start).as_millis());
            schedule.looked(due);
        }
        assert_eq!(times, [200, 1000, 3000, 8000, 308_000, 608_000]);
        schedule.sign(Sign::Moved, start + seconds(700));
        assert_eq!(schedule.due(), start + seconds(700) + AFTER_A_CHANGE[0]);
    }

    #[tokio::test(start_paused = true)]
    async fn where_definitions_cannot_be_watched_kinds_are_read_every_half_minute() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start);
        for _ in 0..AFTER_A_CHANGE.len() {
            schedule.looked(start);
        }
        schedule.sign(Sign::Blind, start);
        assert_eq!(schedule.due(), start + BLIND);
        schedule.looked(start + BLIND);
        assert_eq!(schedule.due(), start + BLIND * 2);
        schedule.sign(Sign::Moved, start);
        assert!(!schedule.blind);
    }
}
