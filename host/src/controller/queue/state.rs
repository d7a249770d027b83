//! The queue without locks, tasks and clocks: every function is told the time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::entry::{Due, Entry, Ready, Running};
use super::reason::{Priority, Reason};
use super::{Options, Verdict, backoff::Backoff, bounds::Bounds, lanes::Lanes, snapshot::Snapshot};
use crate::object::{Gvk, ObjectKey};

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
    bounds: Bounds,
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
            bounds: Bounds::default(),
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
        self.enter(now, key, lane).wish(now, reason, priority);
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
        self.enter(now, key, lane).wish_later(Due { at: now + delay, reason, priority });
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
        self.leave(now, &key.gvk);
        took
    }

    pub(super) fn remove(&mut self, now: Instant, key: &ObjectKey) {
        self.withdraw(now, key);
        let Some(entry) = self.entries.get_mut(key) else { return };
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

    pub(super) fn remove_lane(&mut self, now: Instant, lane: &str) {
        let keys: Vec<_> = self
            .entries
            .iter()
            .filter(|(_, entry)| *entry.lane == *lane)
            .map(|(key, _)| key.clone())
            .collect();
        for key in &keys {
            self.remove(now, key);
        }
        self.lanes.remove(lane);
    }

    pub(super) fn limit(&mut self, lane: &Arc<str>, limit: usize) {
        self.lanes.limit(lane, limit);
    }

    pub(super) fn bound(&mut self, now: Instant, kind: &Arc<Gvk>, limit: Option<usize>) {
        let entries = &self.entries;
        let is_inside = |entry: &Entry| entry.ready.is_some() || entry.running.is_some();
        let of_kind = |(key, entry): &(&ObjectKey, &Entry)| key.gvk == *kind && is_inside(entry);
        self.bounds.set(kind, limit, || entries.iter().filter(of_kind).count());
        self.promote(now, kind);
    }

    pub(super) fn drain(&mut self) {
        self.draining = true;
    }

    pub(super) fn running(&self) -> usize {
        self.running
    }

    pub(super) fn snapshot(&self, now: Instant) -> Snapshot {
        let mut lanes = self.lanes.snapshot(now);
        for (key, priority) in self.bounds.waiting() {
            let lane = self.entries.get(key).map(|entry| &entry.lane);
            let Some(lane) = lanes.iter_mut().find(|found| Some(&found.lane) == lane) else { continue };
            match priority {
                Priority::High => lane.depth_high += 1,
                Priority::Low => lane.depth_low += 1,
            }
        }
        Snapshot { lanes, delayed: self.timers.len(), known: self.entries.len() }
    }

    /// The entry of a key. A key that comes with another lane moves there: its kind has a new plugin.
    fn enter(&mut self, now: Instant, key: &ObjectKey, lane: &Arc<str>) -> &mut Entry {
        if self.entries.get(key).is_some_and(|entry| entry.lane != *lane) {
            self.withdraw(now, key);
        }
        let entry = self.entries.entry(key.clone()).or_insert_with(|| Entry::new(lane));
        if entry.lane != *lane {
            entry.lane = Arc::clone(lane);
        }
        entry
    }

    /// An object is not ready any more.
    fn withdraw(&mut self, now: Instant, key: &ObjectKey) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let Some(ready) = entry.ready.take() else { return };
        if !self.bounds.withdraw(key, ready.priority, ready.order) {
            self.lanes.withdraw(&entry.lane, ready.priority, ready.order);
            self.leave(now, &key.gvk);
        }
    }

    /// An object of a kind made room for another one.
    fn leave(&mut self, now: Instant, kind: &Gvk) {
        self.bounds.leave(kind);
        self.promote(now, kind);
    }

    fn promote(&mut self, now: Instant, kind: &Gvk) {
        while let Some(key) = self.bounds.promote(kind) {
            match self.entries.get(&key).and_then(|entry| Some((entry, entry.ready.as_ref()?))) {
                Some((entry, ready)) => self.lanes.push(now, &entry.lane, ready.priority, ready.order, key),
                None => self.bounds.leave(kind),
            }
        }
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
        let Some(entry) = self.entries.get_mut(key) else { return };
        let (order, since) = match &entry.ready {
            Some(ready) if ready.priority >= priority => return,
            // It keeps its place by age among the more urgent ones.
            Some(ready) => (ready.order, ready.since),
            None => (self.count(), now),
        };
        self.withdraw(now, key);
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.ready = Some(Ready { priority, order, since });
        if self.bounds.enter(key, priority, order) {
            self.lanes.push(now, &entry.lane, priority, order, key.clone());
        }
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
