//! What the queue looks like from outside at one moment.

use std::sync::Arc;
use std::time::Duration;

/// The whole queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Each lane, by name.
    pub lanes: Vec<LaneSnapshot>,
    /// Objects that wait for a time: delayed or backing off.
    pub delayed: usize,
    /// Objects the queue knows anything about, running ones included.
    pub known: usize,
}

/// One lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSnapshot {
    /// Its name.
    pub lane: Arc<str>,
    /// Urgent objects that could run now.
    pub depth_high: usize,
    /// The others that could run now.
    pub depth_low: usize,
    /// Calls that have been handed out and not finished.
    pub running: usize,
    /// Most calls at once.
    pub limit: usize,
    /// Adds since the start, merged ones included.
    pub adds: u64,
    /// Retries since the start.
    pub retries: u64,
    /// Age of the oldest running call.
    pub longest_running: Duration,
    /// Sum of the ages of all running calls.
    pub unfinished: Duration,
}
