//! Which lane is served next, and which of its objects.
//!
//! Shares are fair by wall time: every lane has a clock of the worker time it has used, running calls included, and
//! the lane with the smallest clock goes first. A lane that comes back after a rest starts at the clock of the lanes
//! that are busy, so that idling saves up nothing. This is fair queueing as the Linux scheduler does it, which unlike
//! a round robin also holds when one plugin's calls take a second and another's a millisecond.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::reason::Priority;
use super::snapshot::LaneSnapshot;
use crate::object::ObjectKey;

/// A call counts as at least so much, so that calls too short to be measured take turns as well.
const SMALLEST_CHARGE: Duration = Duration::from_millis(1);

/// So many urgent objects of a lane in a row, then one that is not.
const HIGH_IN_A_ROW: u32 = 4;

fn charge(now: Instant, started: Instant) -> Duration {
    now.saturating_duration_since(started).max(SMALLEST_CHARGE)
}

#[derive(Debug, Default)]
struct Lane {
    high: BTreeMap<u64, ObjectKey>,
    low: BTreeMap<u64, ObjectKey>,
    /// Urgent objects handed out since the last one that was not.
    high_in_a_row: u32,
    /// When each running call started, by ticket.
    running: HashMap<u64, Instant>,
    used: Duration,
    limit: Option<usize>,
    adds: u64,
    retries: u64,
    removed: bool,
}

impl Lane {
    fn list(&mut self, priority: Priority) -> &mut BTreeMap<u64, ObjectKey> {
        match priority {
            Priority::High => &mut self.high,
            Priority::Low => &mut self.low,
        }
    }

    fn waits(&self) -> bool {
        !(self.high.is_empty() && self.low.is_empty())
    }

    fn is_idle(&self) -> bool {
        self.running.is_empty() && !self.waits()
    }

    fn clock(&self, now: Instant) -> Duration {
        self.running.values().fold(self.used, |sum, started| sum + charge(now, *started))
    }

    fn next_priority(&self) -> Priority {
        let lows_turn = self.high_in_a_row >= HIGH_IN_A_ROW && !self.low.is_empty();
        if self.high.is_empty() || lows_turn { Priority::Low } else { Priority::High }
    }
}

/// All lanes.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: HashMap<Arc<str>, Lane>,
    default_limit: usize,
    /// Clock of the lane served last: where a lane starts when no other is busy.
    clock: Duration,
}

impl Lanes {
    pub(super) fn new(default_limit: usize) -> Self {
        Self { lanes: HashMap::new(), default_limit, clock: Duration::ZERO }
    }

    /// Makes an object ready; `order` is its place among those of equal priority.
    pub(super) fn push(
        &mut self,
        now: Instant,
        lane: &Arc<str>,
        priority: Priority,
        order: u64,
        key: ObjectKey,
    ) {
        let floor = self.busy_clock(now);
        let lane = self.lane(lane);
        if lane.is_idle() {
            lane.used = lane.used.max(floor);
        }
        lane.removed = false;
        lane.list(priority).insert(order, key);
    }

    /// Takes a ready object back.
    pub(super) fn withdraw(&mut self, lane: &str, priority: Priority, order: u64) -> Option<ObjectKey> {
        self.lanes.get_mut(lane)?.list(priority).remove(&order)
    }

    /// Hands out the next object under a ticket; `None` when nothing may run.
    pub(super) fn pop(&mut self, now: Instant, ticket: u64) -> Option<ObjectKey> {
        let name = self.next_lane(now)?;
        let lane = self.lanes.get_mut(&name)?;
        let clock = lane.clock(now);
        let priority = lane.next_priority();
        let (_, key) = lane.list(priority).pop_first()?;
        match priority {
            Priority::High => lane.high_in_a_row = lane.high_in_a_row.saturating_add(1),
            Priority::Low => lane.high_in_a_row = 0,
        }
        lane.running.insert(ticket, now);
        self.clock = self.clock.max(clock);
        Some(key)
    }

    /// Whether `pop` would hand something out.
    pub(super) fn has_next(&self, now: Instant) -> bool {
        self.next_lane(now).is_some()
    }

    /// Ends a running call and charges its time; the time it took.
    pub(super) fn finished(&mut self, now: Instant, lane: &str, ticket: u64) -> Duration {
        let Some(record) = self.lanes.get_mut(lane) else { return Duration::ZERO };
        let Some(started) = record.running.remove(&ticket) else { return Duration::ZERO };
        record.used += charge(now, started);
        if record.removed && record.is_idle() {
            self.lanes.remove(lane);
        }
        now.saturating_duration_since(started)
    }

    pub(super) fn count_add(&mut self, lane: &Arc<str>) {
        self.lane(lane).adds += 1;
    }

    pub(super) fn count_retry(&mut self, lane: &Arc<str>) {
        self.lane(lane).retries += 1;
    }

    pub(super) fn limit(&mut self, lane: &Arc<str>, limit: usize) {
        self.lane(lane).limit = Some(limit.max(1));
    }

    /// Forgets a lane as soon as nothing of it runs. Its ready objects must have been withdrawn.
    pub(super) fn remove(&mut self, lane: &str) {
        if let Some(record) = self.lanes.get_mut(lane) {
            record.removed = true;
            if record.is_idle() {
                self.lanes.remove(lane);
            }
        }
    }

    pub(super) fn snapshot(&self, now: Instant) -> Vec<LaneSnapshot> {
        let mut all: Vec<_> = self.lanes.iter().map(|(name, lane)| self.describe(now, name, lane)).collect();
        all.sort_by(|a, b| a.lane.cmp(&b.lane));
        all
    }

    fn describe(&self, now: Instant, name: &Arc<str>, lane: &Lane) -> LaneSnapshot {
        let ages = lane.running.values().map(|started| now.saturating_duration_since(*started));
        LaneSnapshot {
            lane: Arc::clone(name),
            depth_high: lane.high.len(),
            depth_low: lane.low.len(),
            running: lane.running.len(),
            limit: lane.limit.unwrap_or(self.default_limit),
            adds: lane.adds,
            retries: lane.retries,
            longest_running: ages.clone().max().unwrap_or_default(),
            unfinished: ages.sum(),
        }
    }

    fn lane(&mut self, name: &Arc<str>) -> &mut Lane {
        self.lanes.entry(Arc::clone(name)).or_default()
    }

    fn next_lane(&self, now: Instant) -> Option<Arc<str>> {
        self.lanes
            .iter()
            .filter(|(_, lane)| lane.waits() && lane.running.len() < lane.limit.unwrap_or(self.default_limit))
            .min_by(|(a, x), (b, y)| x.clock(now).cmp(&y.clock(now)).then_with(|| a.cmp(b)))
            .map(|(name, _)| Arc::clone(name))
    }

    fn busy_clock(&self, now: Instant) -> Duration {
        let busy = self.lanes.values().filter(|lane| !lane.is_idle());
        busy.map(|lane| lane.clock(now)).min().unwrap_or(self.clock)
    }
}
