//! Points in time by a cron expression and a time zone.

use std::fmt;

use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use jiff::{Timestamp, tz::TimeZone};

/// Points in time.
#[derive(Clone)]
pub struct Schedule {
    cron: Cron,
    zone: TimeZone,
    text: String,
}

/// Why there are no points in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// No cron expression.
    #[error("{text:?} is no schedule: {why}")]
    Expression {
        /// What was given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// One that never comes, such as 30 February.
    #[error("the schedule {0:?} never comes")]
    Never(String),
    /// No time zone.
    #[error("{0:?} is no time zone of the IANA database, such as Europe/Berlin")]
    Zone(String),
}

impl Schedule {
    /// Reads five fields (or a word such as `@daily`) and the name of a time zone; none is UTC.
    ///
    /// # Errors
    /// [`ScheduleError`]: what cannot be read.
    pub fn new(expression: &str, zone: Option<&str>) -> Result<Self, ScheduleError> {
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(expression).map_err(|error| ScheduleError::Expression {
            text: expression.to_owned(),
            why: error.to_string().trim_end_matches('.').to_owned(),
        })?;
        let zone = match zone {
            None | Some("UTC") => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|_| ScheduleError::Zone(name.to_owned()))?,
        };
        let schedule = Self { cron, zone, text: expression.to_owned() };
        match schedule.next_after(Timestamp::UNIX_EPOCH) {
            Some(_) => Ok(schedule),
            None => Err(ScheduleError::Never(schedule.text)),
        }
    }

    /// The first point in time after `time`.
    pub fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        let local = time.to_zoned(self.zone.clone());
        self.cron.find_next_occurrence(&local, false).ok().map(|next| next.timestamp())
    }

    /// The last point in time up to `now`, if there is one after `since`.
    pub fn last_between(&self, since: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let local = now.to_zoned(self.zone.clone());
        let last = self.cron.find_previous_occurrence(&local, true).ok()?.timestamp();
        (last > since).then_some(last)
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in {:?}", self.text, self.zone.iana_name())
    }
}

impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, &self.zone) == (&other.text, &other.zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn schedule(text: &str, zone: &str) -> Schedule {
        Schedule::new(text, Some(zone)).unwrap()
    }

    #[test]
    fn the_next_and_the_last_point_in_time_are_found_in_their_time_zone() {
        let daily = schedule("30 2 * * *", "Europe/Berlin");
        assert_eq!(daily.next_after(at("2026-01-10T01:30:00Z")), Some(at("2026-01-11T01:30:00Z")));
        assert_eq!(daily.next_after(at("2026-07-10T00:00:00Z")), Some(at("2026-07-10T00:30:00Z")));
        let now = at("2026-01-10T05:00:00Z");
        assert_eq!(daily.last_between(at("2026-01-08T00:00:00Z"), now), Some(at("2026-01-10T01:30:00Z")));
        assert_eq!(daily.last_between(at("2026-01-10T01:30:00Z"), now), None);
        assert_eq!(
            daily.last_between(at("2026-01-01T00:00:00Z"), at("2026-01-10T01:30:00Z")),
            Some(at("2026-01-10T01:30:00Z"))
        );
    }

    #[test]
    fn the_hour_that_is_left_out_in_spring_and_doubled_in_autumn_runs_once() {
        let daily = schedule("30 2 * * *", "Europe/Berlin");
        let mut runs = Vec::new();
        let mut time = at("2026-03-28T00:00:00Z");
        while time < at("2026-03-31T00:00:00Z") {
            time = daily.next_after(time).unwrap();
            runs.push(time);
        }
        let days: std::collections::BTreeSet<String> =
            runs.iter().map(|run| run.to_string()[..10].to_owned()).collect();
        assert_eq!(days.len(), runs.len(), "{runs:?}");
        assert_eq!(daily.next_after(at("2026-10-24T23:00:00Z")), Some(at("2026-10-25T00:30:00Z")));
        assert_eq!(daily.next_after(at("2026-10-25T00:30:00Z")), Some(at("2026-10-26T01:30:00Z")));
    }

    #[test]
    fn what_is_no_schedule_is_told() {
        for bad in ["", "often", "* * * *", "61 * * * *", "* * * * * *", "* * * 13 *"] {
            assert!(matches!(Schedule::new(bad, None), Err(ScheduleError::Expression { .. })), "{bad:?}");
        }
        assert!(matches!(Schedule::new("@daily", Some("Mars/Olympus")), Err(ScheduleError::Zone(_))));
        assert!(matches!(Schedule::new("0 0 30 2 *", None), Err(ScheduleError::Never(_))));
        assert!(Schedule::new("@weekly", None).is_ok());
    }
}
