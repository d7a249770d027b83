//! Which of many points in time are kept: the last one of each of so many hours, days, weeks, months and years.

use std::collections::BTreeSet;

use jiff::{
    Timestamp, Zoned,
    civil::{Date, ISOWeekDate},
    tz::TimeZone,
};

/// What stands for a stretch of time, by its day and hour.
type Period = fn(&Zoned) -> (Date, i8);

/// Of how many periods of each length that have a point in time at all the last one is kept. Weeks begin on Monday.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Periods {
    /// Hours.
    pub hourly: usize,
    /// Days.
    pub daily: usize,
    /// Weeks.
    pub weekly: usize,
    /// Months.
    pub monthly: usize,
    /// Years.
    pub yearly: usize,
}

impl Periods {
    /// The indexes of `times` that are kept. `times` come with the newest first; days begin where they do in `zone`.
    pub fn kept(&self, times: &[Timestamp], zone: &TimeZone) -> BTreeSet<usize> {
        let local: Vec<Zoned> = times.iter().map(|time| time.to_zoned(zone.clone())).collect();
        let periods: [(usize, Period); 5] = [
            (self.hourly, |time| (time.date(), time.hour())),
            (self.daily, |time| (time.date(), 0)),
            (self.weekly, |time| (monday(time.date()), 0)),
            (self.monthly, |time| (time.date().first_of_month(), 0)),
            (self.yearly, |time| (time.date().first_of_year(), 0)),
        ];
        periods.into_iter().flat_map(|(count, period)| last_of_each(&local, count, period)).collect()
    }
}

fn monday(date: Date) -> Date {
    date.iso_week_date().first_of_week().map_or(date, ISOWeekDate::date)
}

fn last_of_each(times: &[Zoned], count: usize, period: Period) -> Vec<usize> {
    let mut found: Vec<(usize, (Date, i8))> = Vec::new();
    for (at, time) in times.iter().enumerate() {
        let own = period(time);
        if found.len() < count && found.last().is_none_or(|(_, last)| *last != own) {
            found.push((at, own));
        }
    }
    found.into_iter().map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(periods: Periods, zone: &TimeZone) -> Vec<usize> {
        let times = [
            "2026-02-03T10:00:00Z",
            "2026-02-02T10:00:00Z",
            "2026-02-01T23:30:00Z",
            "2026-02-01T10:00:00Z",
            "2026-01-31T23:00:00Z",
            "2025-12-31T23:30:00Z",
            "2024-06-01T00:00:00Z",
        ];
        let times: Vec<Timestamp> = times.iter().map(|time| time.parse().unwrap()).collect();
        periods.kept(&times, zone).into_iter().collect()
    }

    #[test]
    fn the_last_of_each_period_is_kept() {
        let utc = TimeZone::UTC;
        assert_eq!(kept(Periods { hourly: 2, ..Periods::default() }, &utc), [0, 1]);
        assert_eq!(kept(Periods { daily: 3, ..Periods::default() }, &utc), [0, 1, 2]);
        // 1 February 2026 is a Sunday.
        assert_eq!(kept(Periods { weekly: 2, ..Periods::default() }, &utc), [0, 2]);
        assert_eq!(kept(Periods { monthly: 3, ..Periods::default() }, &utc), [0, 4, 5]);
        assert_eq!(kept(Periods { yearly: 9, ..Periods::default() }, &utc), [0, 5, 6]);
        assert_eq!(kept(Periods::default(), &utc), Vec::<usize>::new());
    }

    #[test]
    fn days_begin_where_they_do_in_the_time_zone() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        // 23:30 in London is the next day in Berlin, and once the next year.
        assert_eq!(kept(Periods { daily: 3, ..Periods::default() }, &berlin), [0, 1, 3]);
        assert_eq!(kept(Periods { yearly: 2, ..Periods::default() }, &berlin), [0, 6]);
    }
}
