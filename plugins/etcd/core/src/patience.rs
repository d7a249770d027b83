//! Members that are to join and do not come up: the next one waits longer each time.

use etcd_api::{FailedJoins, Record};
use jiff::{SignedDuration, Timestamp};

use crate::situation::Situation;

/// How long the second one waits; each further one twice as long, up to the longest.
const FIRST: SignedDuration = SignedDuration::from_secs(10);
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// Remembers that one did not come up. What failed under another spec says nothing about this one.
pub(crate) fn failed(situation: &Situation<'_>, record: &mut Record, why: &str) {
    let generation = situation.cluster.generation;
    let before = record.failed_joins.as_ref().filter(|joins| joins.generation == generation);
    let times = before.map_or(0, |joins| joins.times).saturating_add(1);
    record.failed_joins =
        Some(FailedJoins { times, last: situation.now, generation, reason: why.to_owned() });
}

/// Until when no other one is added, and what to tell meanwhile; none if one may be.
pub(crate) fn until(situation: &Situation<'_>) -> Option<(Timestamp, String)> {
    let joins = situation.record.failed_joins.as_ref()?;
    let end = joins.last.saturating_add(pause(joins.times)).unwrap_or(Timestamp::MAX);
    // A clock that went back must not hold members back for ever.
    let waits = joins.generation == situation.cluster.generation
        && situation.now < end
        && situation.now >= joins.last;
    let message = format!("{} ({} in a row); the next one is added at {end}", joins.reason, joins.times);
    waits.then_some((end, message))
}

fn pause(times: u32) -> SignedDuration {
    let doubled = 1_i32 << times.saturating_sub(1).min(10);
    (FIRST * doubled).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_have_an_end() {
        let pauses: Vec<i64> = [1, 2, 3, 6, 7, 8, u32::MAX].map(|times| pause(times).as_secs()).to_vec();
        assert_eq!(pauses, [10, 20, 40, 320, 600, 600, 600]);
    }
}
