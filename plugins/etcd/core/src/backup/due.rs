//! When a backup is due.

use etcd_api::{BackupPolicy, BackupRequest, BackupStatus};
use jiff::{SignedDuration, Timestamp};
use schedule::{Schedule, ScheduleError};

use super::request::is_over;

/// Whether a backup is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Now; it had been due at this time.
    Now(Timestamp),
    /// It had been due at this time, too long ago to be begun: it is left out.
    Missed(Timestamp),
    /// Not before this time.
    At(Timestamp),
    /// Not by itself.
    Never,
}

/// Whether a backup is due, for an `EtcdBackup` of which none is being taken. One that repeats begins a whole interval after it was first
/// seen, as the old operator did it; one that does not is taken once for what is asked for.
///
/// # Errors
/// The schedule cannot be read.
pub fn due(
    policy: Option<&BackupPolicy>,
    status: &BackupStatus,
    asked: &BackupRequest,
    now: Timestamp,
) -> Result<Due, ScheduleError> {
    let once = BackupPolicy::default();
    let policy = policy.unwrap_or(&once);
    if policy.suspend {
        return Ok(Due::Never);
    }
    let interval = SignedDuration::from_secs(policy.backup_interval_in_second);
    let schedule = match &policy.schedule {
        Some(text) => Some(Schedule::new(text, policy.time_zone.as_deref())?),
        None => None,
    };
    let found = match (schedule, status.last_schedule_time) {
        (None, _) if interval.is_zero() => {
            let over = is_over(status, asked, policy.verification);
            return Ok(if over { Due::Never } else { Due::Now(now) });
        }
        (Some(schedule), None) => return Ok(schedule.next_after(now).map_or(Due::Never, Due::At)),
        (None, None) => return Ok(Due::At(now.saturating_add(interval).unwrap_or(Timestamp::MAX))),
        (Some(schedule), Some(last)) => {
            let next = || schedule.next_after(now).map_or(Due::Never, Due::At);
            schedule.last_between(last, now).ok_or_else(next)
        }
        (None, Some(last)) => last_multiple(last, interval, now),
    };
    let due = match found {
        Ok(due) => due,
        Err(later) => return Ok(later),
    };
    let late = policy.starting_deadline_second.map(SignedDuration::from_secs);
    let missed = late.is_some_and(|late| now.duration_since(due) > late);
    Ok(if missed { Due::Missed(due) } else { Due::Now(due) })
}

/// The last time up to now that lies a whole number of intervals, at least one, after another; else the first one after now.
fn last_multiple(last: Timestamp, interval: SignedDuration, now: Timestamp) -> Result<Timestamp, Due> {
    let step = interval.as_secs().max(1);
    let times = now.duration_since(last).as_secs().div_euclid(step).max(0);
    let at = |times: i64| {
        let offset = SignedDuration::from_secs(step.saturating_mul(times));
        last.saturating_add(offset).unwrap_or(Timestamp::MAX)
    };
    if times >= 1 { Ok(at(times)) } else { Err(Due::At(at(1))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(
        policy: Option<&BackupPolicy>,
        status: &BackupStatus,
        now: Timestamp,
    ) -> Result<Due, ScheduleError> {
        super::due(policy, status, &BackupRequest::default(), now)
    }

    fn at(text: &str) -> Timestamp {
        format!("2026-01-10T{text}Z").parse().unwrap()
    }

    fn seen(last: &str) -> BackupStatus {
        BackupStatus { last_schedule_time: Some(at(last)), ..BackupStatus::default() }
    }

    fn every(seconds: i64) -> BackupPolicy {
        BackupPolicy { backup_interval_in_second: seconds, ..BackupPolicy::default() }
    }

    fn daily() -> BackupPolicy {
        BackupPolicy { schedule: Some("0 2 * * *".to_owned()), ..BackupPolicy::default() }
    }

    #[test]
    fn one_that_does_not_repeat_is_taken_once_whether_it_succeeds_or_not() {
        let new = BackupStatus::default();
        assert_eq!(due(None, &new, at("01:00:00")), Ok(Due::Now(at("01:00:00"))));
        let done = BackupStatus { succeeded: true, ..BackupStatus::default() };
        assert_eq!(due(None, &done, at("01:00:00")), Ok(Due::Never));
        let failed = BackupStatus { reason: "no space".to_owned(), ..BackupStatus::default() };
        assert_eq!(due(None, &failed, at("01:00:00")), Ok(Due::Never));
    }

    #[test]
    fn one_that_repeats_begins_an_interval_after_it_was_seen_and_does_not_drift() {
        assert_eq!(
            due(Some(&every(600)), &BackupStatus::default(), at("01:00:00")),
            Ok(Due::At(at("01:10:00")))
        );
        assert_eq!(due(Some(&every(600)), &seen("01:00:00"), at("01:09:59")), Ok(Due::At(at("01:10:00"))));
        assert_eq!(due(Some(&every(600)), &seen("01:00:00"), at("01:10:07")), Ok(Due::Now(at("01:10:00"))));
        assert_eq!(due(Some(&every(600)), &seen("01:00:00"), at("01:35:00")), Ok(Due::Now(at("01:30:00"))));
    }

    #[test]
    fn a_clock_that_went_back_makes_nothing_due() {
        assert_eq!(due(Some(&every(600)), &seen("05:00:00"), at("01:00:00")), Ok(Due::At(at("05:10:00"))));
    }

    #[test]
    fn a_schedule_is_kept_and_a_start_that_is_too_late_is_left_out() {
        assert_eq!(
            due(Some(&daily()), &BackupStatus::default(), at("01:00:00")),
            Ok(Due::At(at("02:00:00")))
        );
        assert_eq!(due(Some(&daily()), &seen("01:00:00"), at("02:00:00")), Ok(Due::Now(at("02:00:00"))));
        assert_eq!(due(Some(&daily()), &seen("01:00:00"), at("09:00:00")), Ok(Due::Now(at("02:00:00"))));
        let strict = BackupPolicy { starting_deadline_second: Some(3600), ..daily() };
        assert_eq!(due(Some(&strict), &seen("01:00:00"), at("03:00:00")), Ok(Due::Now(at("02:00:00"))));
        assert_eq!(due(Some(&strict), &seen("01:00:00"), at("03:00:01")), Ok(Due::Missed(at("02:00:00"))));
    }

    #[test]
    fn nothing_is_due_while_it_is_suspended_and_no_schedule_is_told() {
        let suspended = BackupPolicy { suspend: true, ..daily() };
        assert_eq!(due(Some(&suspended), &seen("01:00:00"), at("09:00:00")), Ok(Due::Never));
        let odd = BackupPolicy { schedule: Some("often".to_owned()), ..BackupPolicy::default() };
        assert!(due(Some(&odd), &BackupStatus::default(), at("01:00:00")).is_err());
    }
}
