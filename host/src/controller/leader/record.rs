//! Who may lead, from what the lease says and how long it has said so. Pure.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;

/// What a lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// `metadata.resourceVersion`; empty for a lease that does not exist yet. A write is conditional on it.
    pub resource_version: String,
    /// Who leads; empty: nobody.
    pub holder: String,
    /// How long others have to wait for a silent holder.
    pub duration: Duration,
    /// Since when it leads, by its own clock. For people.
    pub acquired: Option<Timestamp>,
    /// When it renewed, by its own clock. For others only a sign of life.
    pub renewed: Option<Timestamp>,
    /// How often the lease changed hands.
    pub transitions: i32,
}

/// What to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Somebody else leads, or may.
    Wait,
    /// Write this: the lease is ours then.
    Write(Record),
}

/// One candidate's view of a lease.
#[derive(Debug)]
pub struct Election {
    identity: String,
    duration: Duration,
    /// The record as seen last, and since when it has been the same.
    seen: Option<(Record, Instant)>,
}

impl Election {
    /// A candidate that has seen nothing.
    pub fn new(identity: &str, duration: Duration) -> Self {
        Self { identity: identity.to_owned(), duration, seen: None }
    }

    /// Takes in what the lease says now (`None`: there is none) and decides. `clock` is written down for people.
    pub fn look(&mut self, found: Option<Record>, now: Instant, clock: Timestamp) -> Step {
        let Some(found) = found else {
            self.seen = None;
            return Step::Write(self.claim(Record::default(), clock));
        };
        let since = match &self.seen {
            Some((seen, since)) if *seen == found => *since,
            _ => now,
        };
        let ours = found.holder == self.identity;
        let free = found.holder.is_empty() || now.saturating_duration_since(since) >= found.duration;
        self.seen = Some((found.clone(), since));
        if ours {
            Step::Write(Record { renewed: Some(clock), duration: self.duration, ..found })
        } else if free {
            Step::Write(self.claim(found, clock))
        } else {
            Step::Wait
        }
    }

    /// The record was written; as the server returned it.
    pub fn wrote(&mut self, record: Record, now: Instant) {
        self.seen = Some((record, now));
    }

    /// Whether the lease, as seen last, is this candidate's.
    pub fn leads(&self) -> bool {
        self.holder() == self.identity
    }

    /// Who leads, as seen last; empty: nobody.
    pub fn holder(&self) -> &str {
        self.seen.as_ref().map_or("", |(seen, _)| seen.holder.as_str())
    }

    /// The record that gives the lease back; `None` when it is not ours. As client-go writes it: no holder, and a second
    /// to live.
    pub fn released(&self, clock: Timestamp) -> Option<Record> {
        let (seen, _) = self.seen.as_ref().filter(|_| self.leads())?;
        Some(Record {
            holder: String::new(),
            duration: Duration::from_secs(1),
            acquired: Some(clock),
            renewed: Some(clock),
            ..seen.clone()
        })
    }

    fn claim(&self, before: Record, clock: Timestamp) -> Record {
        let first = before.resource_version.is_empty();
        Record {
            holder: self.identity.clone(),
            duration: self.duration,
            acquired: Some(clock),
            renewed: Some(clock),
            transitions: if first { 0 } else { before.transitions.saturating_add(1) },
            resource_version: before.resource_version,
        }
    }
}
