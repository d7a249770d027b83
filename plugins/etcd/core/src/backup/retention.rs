//! Which backups are kept.

use etcd_api::BackupPolicy;
use jiff::{Timestamp, tz::TimeZone};
use schedule::Periods;

use super::key::Key;

/// Backups that are not kept any more. The newest ones are, counted by time and revision as numbers, and beside them the last one of each
/// of so many hours, days, weeks and months.
pub fn expired(policy: &BackupPolicy, mut keys: Vec<Key>) -> Vec<Key> {
    let newest = usize::try_from(policy.max_backups).unwrap_or_default();
    let Some(retention) = policy.retention.clone().or((newest > 0).then(Default::default)) else {
        return Vec::new();
    };
    keys.sort_by(|a, b| b.cmp(a));
    let count = |number: i32| usize::try_from(number).unwrap_or_default();
    let periods = Periods {
        hourly: count(retention.hourly),
        daily: count(retention.daily),
        weekly: count(retention.weekly),
        monthly: count(retention.monthly),
        yearly: 0,
    };
    let times: Vec<Timestamp> = keys.iter().map(|key| key.taken).collect();
    let mut kept = periods.kept(&times, &TimeZone::UTC);
    // Without a number, the newest one is never thrown away.
    kept.extend(0..newest.max(1));
    keys.into_iter().enumerate().filter(|(at, _)| !kept.contains(at)).map(|(_, key)| key).collect()
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
