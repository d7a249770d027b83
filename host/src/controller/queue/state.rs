//! The queue without locks, tasks and clocks: every function is told the time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::reason::{self, Priority, Reason};
use super::{Options, Verdict, backoff::Backoff, lanes::Lanes, snapshot::Snapshot};
use crate::object::ObjectKey;

/// A changed object may end its back-off at most so often: a hook that changes its own object and then fails must
/// not become a busy loop.
const RESET_SPACING: Duration = Duration::from_secs(1);

/// A wish to run at some time.
#[derive(Debug)]
struct Due {
    at: Instant,
    reason: Reason,
    priority: Priority,
}

#[derive(Debug)]
struct Ready {
    priority: Priority,
    order: u64,
    since: Instant,
}

#[derive(Debug)]
struct Running {
    ticket: u64,
    lane: Arc<str>,
    priority: Priority,
}

/// What is known about one object.
#[derive(Debug)]
struct Entry {
    lane: Arc<str>,
    /// Since it was handed out last.
    reasons: Vec<Reason>,
    /// It has to run as soon as `hold` and `running` allow.
    want: Option<Priority>,
    ready: Option<Ready>,
    due: Option<Due>,
    /// Its place in `State::timers`.
    timer: Option<(Instant, u64)>,
    /// Failed calls in a row.
    failures: u32,
    /// Not before.
    hold: Option<Instant>,
    /// When a back-off was last ended early, or will be.
    reset: Option<Instant>,
    /// A reason that ends back-offs arrived while it ran.
    reset_after_run: bool,
    running: Option<Running>,
    /// It was removed while it ran: the verdict is of no interest any more.
    forgotten: bool,
}

impl Entry {
    fn new(lane: &Arc<str>) -> Self {
        Self {
            lane: Arc::clone(lane),
            reasons: Vec::new(),
            want: None,
            ready: None,
            due: None,
            timer: None,
            failures: 0,
            hold: None,
            reset: None,
            reset_after_run: false,
            running: None,
            forgotten: false,
        }
    }

    fn wish(&mut self, now: Instant, reason: Reason, priority: Priority) {
        if reason.ends_backoff() {
            if self.running.is_some() { self.reset_after_run = true } else { self.end_backoff(now) }
        }
        reason::merge(&mut self.reasons, reason);
        self.want = self.want.max(Some(priority));
    }

    /// Forgets the failures and runs at once, or [`RESET_SPACING`] after the last time this was done.
    fn end_backoff(&mut self, now: Instant) {
        let Some(hold) = self.hold else { return };
        let earliest = self.reset.map_or(now, |last| now.max(last + RESET_SPACING));
        if earliest <= hold.max(now) {
            self.failures = 0;
            self.hold = Some(earliest);
            self.reset = Some(earliest);
        }
    }

    fn wish_later(&mut self, due: Due) {
        if self.due.as_ref().is_none_or(|known| due.at < known.at) {
            self.due = Some(due);
        }
    }

    fn succeeded(&mut self) {
        self.failures = 0;
        self.hold = None;
    }

    fn failed(&mut self, now: Instant, wait: Duration, priority: Priority) {
        self.hold = Some(now + wait);
        reason::merge(&mut self.reasons, Reason::Retry);
        self.want = self.want.max(Some(priority));
    }

    fn is_empty(&self) -> bool {
        self.want.is_none() && self.due.is_none() && self.running.is_none()
    }
}

/// An object that was handed out.
#[derive(Debug)]
pub(super) struct Handout {
    pub(super) key: ObjectKey,
    pub(super) lane: Arc<str>,
    pub(super) reasons: Vec<Reason>,
    pub(super) priority: Priority,
    pub(super) failures: u32,
    pub(super) waited: Duration,
    pub(super) ticket: u64,
}

/// What a worker gets.
#[derive(Debug)]
pub(super) enum Next {
    /// Work.
    Run(Handout),
    /// Nothing until then, unless something is added or finished before.
    Wait(Option<Instant>),
    /// Nothing ever again.
    Drained,
}

#[derive(Debug)]
pub(super) struct State {
    entries: HashMap<ObjectKey, Entry>,
    lanes: Lanes,
    timers: BTreeMap<(Instant, u64), ObjectKey>,
    backoff: Backoff,
    random: fastrand::Rng,
    counter: u64,
    running: usize,
    draining: bool,
}

impl State {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            entries: HashMap::new(),
            lanes: Lanes::new(options.lane_concurrency.max(1)),
            timers: BTreeMap::new(),
            backoff: options.backoff,
            random: options.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
            counter: 0,
            running: 0,
            draining: false,
        }
    }

    pub(super) fn add(
        &mut self,
        now: Instant,
        key: &ObjectKey,
        lane: &Arc<str>,
        reason: Reason,
        priority: Priority,
    ) {
        self.lanes.count_add(lane);
        self.enter(key, lane).wish(now, reason, priority);
        self.settle(now, key);
    }

    pub(super) fn is_running(&self, key: &ObjectKey) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.running.is_some())
    }

    pub(super) fn add_after(
        &mut self,
        now: Instant,
        key: &ObjectKey,
        lane: &Arc<str>,
        reason: Reason,
        priority: Priority,
        delay: Duration,
    ) {
        self.enter(key, lane).wish_later(Due { at: now + delay, reason, priority });
        self.settle(now, key);
    }

    pub(super) fn next(&mut self, now: Instant) -> Next {
        if self.draining {
            return Next::Drained;
        }
        self.fire(now);
        let ticket = self.count();
        match self.lanes.pop(now, ticket).and_then(|key| self.hand_out(now, key, ticket)) {
            Some(handout) => Next::Run(handout),
            None => Next::Wait(self.timers.first_key_value().map(|((at, _), _)| *at)),
        }
    }

    /// Whether another worker would find something to do at once.
    pub(super) fn has_next(&self, now: Instant) -> bool {
        !self.draining && self.lanes.has_next(now)
    }

    /// The time the call took.
    pub(super) fn finish(
        &mut self,
        now: Instant,
        key: &ObjectKey,
        ticket: u64,
        verdict: Verdict,
    ) -> Duration {
        let random = self.random.f64();
        let Some(entry) = self.entries.get_mut(key) else { return Duration::ZERO };
        let Some(run) = entry.running.take_if(|run| run.ticket == ticket) else { return Duration::ZERO };
        self.running -= 1;
        let took = self.lanes.finished(now, &run.lane, ticket);
        if !std::mem::take(&mut entry.forgotten) {
            match verdict {
                Verdict::Done => entry.succeeded(),
                Verdict::RequeueAfter(delay) => {
                    entry.succeeded();
                    entry.wish_later(Due { at: now + delay, reason: Reason::Timer, priority: run.priority });
                }
                Verdict::Retry | Verdict::RetryAfter(_) => {
                    entry.failures = entry.failures.saturating_add(1);
                    let wait = self.backoff.after(entry.failures, random).max(verdict.at_least());
                    entry.failed(now, wait, run.priority);
                    self.lanes.count_retry(&run.lane);
                }
            }
        }
        if std::mem::take(&mut entry.reset_after_run) {
            entry.end_backoff(now);
        }
        self.settle(now, key);
        took
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if let Some(ready) = entry.ready.take() {
            self.lanes.withdraw(&entry.lane, ready.priority, ready.order);
        }
        if let Some(timer) = entry.timer.take() {
            self.timers.remove(&timer);
        }
        if let Some(running) = entry.running.take() {
            let lane = Arc::clone(&entry.lane);
            *entry = Entry { running: Some(running), forgotten: true, ..Entry::new(&lane) };
        } else {
            self.entries.remove(key);
        }
    }

    pub(super) fn remove_lane(&mut self, lane: &str) {
        let keys: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, entry)| *entry.lane == *lane)
            .map(|(key, _)| key.clone())
            .collect();
        for key in &keys {
            self.remove(key);
        }
        self.lanes.remove(lane);
    }

    pub(super) fn limit(&mut self, lane: &Arc<str>, limit: usize) {
        self.lanes.limit(lane, limit);
    }

    pub(super) fn drain(&mut self) {
        self.draining = true;
    }

    pub(super) fn running(&self) -> usize {
        self.running
    }

    pub(super) fn snapshot(&self, now: Instant) -> Snapshot {
        Snapshot { lanes: self.lanes.snapshot(now), delayed: self.timers.len(), known: self.entries.len() }
    }

    /// The entry of a key. A key that comes with another lane moves there: its kind has a new plugin.
    fn enter(&mut self, key: &ObjectKey, lane: &Arc<str>) -> &mut Entry {
        let entry = self.entries.entry(key.clone()).or_insert_with(|| Entry::new(lane));
        if entry.lane != *lane {
            if let Some(ready) = entry.ready.take() {
                self.lanes.withdraw(&entry.lane, ready.priority, ready.order);
            }
            entry.lane = Arc::clone(lane);
        }
        entry
    }

    /// Puts an object where it belongs: into its lane, among the timers, or out.
    fn settle(&mut self, now: Instant, key: &ObjectKey) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if let Some(timer) = entry.timer.take() {
            self.timers.remove(&timer);
        }
        if let Some(due) = entry.due.take_if(|due| due.at <= now) {
            self.lanes.count_add(&entry.lane);
            entry.wish(now, due.reason, due.priority);
        }
        if entry.is_empty() {
            self.entries.remove(key);
            return;
        }
        if entry.running.is_some() {
            return;
        }
        let due = entry.due.as_ref().map(|due| due.at);
        let held = entry.hold.filter(|hold| *hold > now);
        match (entry.want, held) {
            (Some(priority), None) => self.make_ready(now, key, priority),
            (Some(_), Some(hold)) => self.set_timer(key, due.map_or(hold, |due| due.min(hold))),
            (None, _) => due.into_iter().for_each(|due| self.set_timer(key, due)),
        }
    }

    fn make_ready(&mut self, now: Instant, key: &ObjectKey, priority: Priority) {
        let fresh = self.count();
        let Some(entry) = self.entries.get_mut(key) else { return };
        let (order, since) = match entry.ready.take() {
            Some(ready) if ready.priority >= priority => {
                entry.ready = Some(ready);
                return;
            }
            // It keeps its place by age among the more urgent ones.
            Some(ready) => {
                self.lanes.withdraw(&entry.lane, ready.priority, ready.order);
                (ready.order, ready.since)
            }
            None => (fresh, now),
        };
        entry.ready = Some(Ready { priority, order, since });
        self.lanes.push(now, &entry.lane, priority, order, key.clone());
    }

    fn hand_out(&mut self, now: Instant, key: ObjectKey, ticket: u64) -> Option<Handout> {
        let entry = self.entries.get_mut(&key)?;
        let ready = entry.ready.take()?;
        let priority = entry.want.take().unwrap_or(ready.priority);
        // This call sees everything that a delayed one would have seen later; its outcome asks anew.
        entry.due = None;
        entry.hold = None;
        entry.running = Some(Running { ticket, lane: Arc::clone(&entry.lane), priority });
        self.running += 1;
        Some(Handout {
            lane: Arc::clone(&entry.lane),
            reasons: std::mem::take(&mut entry.reasons),
            priority,
            failures: entry.failures,
            waited: now.saturating_duration_since(ready.since),
            ticket,
            key,
        })
    }

    fn fire(&mut self, now: Instant) {
        while let Some(first) = self.timers.first_entry()
            && first.key().0 <= now
        {
            let key = first.remove();
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.timer = None;
            }
            self.settle(now, &key);
        }
    }

    fn set_timer(&mut self, key: &ObjectKey, at: Instant) {
        let timer = (at, self.count());
        if let Some(entry) = self.entries.get_mut(key) {
            entry.timer = Some(timer);
            self.timers.insert(timer, key.clone());
        }
    }

    fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }
}
