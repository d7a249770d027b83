//! When kinds are read again without being asked for.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{BoxStream, select};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client};
use tokio::time::{Instant, sleep_until};

use super::Discovery;

/// When kinds are read after the last change of a definition. Several definitions usually change together; and the
/// discovery document follows a definition with some delay, so one look is not enough.
const AFTER_A_CHANGE: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(8)];
/// How often kinds are read where definitions cannot be watched.
const BLIND: Duration = Duration::from_secs(30);
/// How often they are read where nothing changes.
const SAFETY_NET: Duration = Duration::from_secs(300);

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
        let mut signs = signs(&self.client);
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
fn signs(client: &Client) -> BoxStream<'static, Sign> {
    let definitions = Api::<PartialObjectMeta<CustomResourceDefinition>>::all(client.clone());
    let services = Api::<PartialObjectMeta<APIService>>::all(client.clone());
    let config = || watcher::Config { page_size: None, ..watcher::Config::default() };
    let definitions = watcher(definitions, config()).default_backoff();
    let services = watcher(services, config()).default_backoff();
    select(definitions.filter_map(sign("definitions")), services.filter_map(sign("API services"))).boxed()
}

type Answer<K> = watcher::Result<watcher::Event<PartialObjectMeta<K>>>;

fn sign<K>(what: &'static str) -> impl FnMut(Answer<K>) -> std::future::Ready<Option<Sign>> {
    move |answer| {
        std::future::ready(match answer {
            Ok(watcher::Event::Init) => None,
            Ok(_) => Some(Sign::Moved),
            Err(error) => {
                tracing::debug!(%error, "{what} cannot be watched");
                Some(Sign::Blind)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
