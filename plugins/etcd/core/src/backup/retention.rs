//! Which backups are kept.

use std::collections::BTreeSet;

use etcd_api::BackupPolicy;
use jiff::{
    Timestamp,
    civil::{Date, ISOWeekDate},
    tz::TimeZone,
};

use super::key::Key;

/// What stands for a stretch of time, by its day and hour.
type Period = fn(Timestamp) -> (Date, i8);

/// Backups that are not kept any more. The newest ones are, counted by time and revision as numbers, and beside them the last one of each
/// of so many hours, days, weeks and months.
pub fn expired(policy: &BackupPolicy, mut keys: Vec<Key>) -> Vec<Key> {
    let newest = usize::try_from(policy.max_backups).unwrap_or_default();
    let Some(retention) = policy.retention.clone().or((newest > 0).then(Default::default)) else {
        return Vec::new();
    };
    keys.sort_by(|a, b| b.cmp(a));
    // Without a number, the newest one is never thrown away.
    let mut kept: BTreeSet<usize> = (0..newest.max(1)).collect();
    let periods: [(i32, Period); 4] = [
        (retention.hourly, |time| (date(time), time.to_zoned(TimeZone::UTC).hour())),
        (retention.daily, |time| (date(time), 0)),
        (retention.weekly, |time| {
            let monday = date(time).iso_week_date();
            (monday.first_of_week().map_or(date(time), ISOWeekDate::date), 0)
        }),
        (retention.monthly, |time| (date(time).first_of_month(), 0)),
    ];
    for (times, period) in periods {
        kept.extend(last_of_each(&keys, times, period));
    }
    keys.into_iter().enumerate().filter(|(at, _)| !kept.contains(at)).map(|(_, key)| key).collect()
}

fn date(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

/// The last backup of each of the last so many periods that have one; `keys` are the newest first.
fn last_of_each<P: PartialEq>(keys: &[Key], times: i32, period: impl Fn(Timestamp) -> P) -> Vec<usize> {
    let times = usize::try_from(times).unwrap_or_default();
    let mut found: Vec<(usize, P)> = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let own = period(key.taken);
        if found.len() < times && found.last().is_none_or(|(_, last)| *last != own) {
            found.push((at, own));
        }
    }
    found.into_iter().map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use etcd_api::Retention;

    use super::*;

    fn key(revision: i64, time: &str) -> Key {
        Key::new("p", revision, format!("2026-{time}Z").parse().unwrap())
    }

    fn kept(policy: &BackupPolicy, keys: &[Key]) -> Vec<i64> {
        let expired = expired(policy, keys.to_vec());
        keys.iter().filter(|key| !expired.contains(key)).map(|key| key.revision).collect()
    }

    #[test]
    fn the_newest_are_kept_and_99_is_older_than_100() {
        let keys = [key(99, "01-01T00:00:00"), key(100, "01-02T00:00:00"), key(9, "01-01T00:00:00")];
        let policy = BackupPolicy { max_backups: 2, ..BackupPolicy::default() };
        assert_eq!(kept(&policy, &keys), [99, 100]);
    }

    #[test]
    fn a_restored_cluster_counts_its_revisions_anew_and_keeps_what_it_takes() {
        let keys = [key(5000, "01-01T00:00:00"), key(7, "01-02T00:00:00")];
        let policy = BackupPolicy { max_backups: 1, ..BackupPolicy::default() };
        assert_eq!(kept(&policy, &keys), [7]);
    }

    #[test]
    fn without_a_number_all_are_kept() {
        let keys = [key(1, "01-01T00:00:00"), key(2, "01-02T00:00:00")];
        assert_eq!(kept(&BackupPolicy::default(), &keys), [1, 2]);
    }

    #[test]
    fn the_last_of_each_day_week_and_month_stays() {
        let keys = [
            key(1, "01-31T23:00:00"),
            key(2, "02-01T10:00:00"),
            key(3, "02-01T22:00:00"),
            key(4, "02-02T10:00:00"),
            key(5, "02-03T10:00:00"),
        ];
        let with = |retention| BackupPolicy { retention: Some(retention), ..BackupPolicy::default() };
        assert_eq!(kept(&with(Retention { daily: 3, ..Retention::default() }), &keys), [3, 4, 5]);
        assert_eq!(kept(&with(Retention { monthly: 2, ..Retention::default() }), &keys), [1, 5]);
        // 1 February 2026 is a Sunday.
        assert_eq!(kept(&with(Retention { weekly: 2, ..Retention::default() }), &keys), [3, 5]);
        assert_eq!(kept(&with(Retention { hourly: 2, ..Retention::default() }), &keys), [4, 5]);
        assert_eq!(kept(&with(Retention::default()), &keys), [5]);
    }
}
