//! What backups are called in a store.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

/// How the old operator wrote times into keys, in UTC.
const TIME: &str = "%Y-%m-%d-%H:%M:%S";

/// The key of a backup that repeats: `PATH_vREVISION_TIME`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When it was taken, to the second.
    pub taken: Timestamp,
    /// The revision it was taken at.
    pub revision: i64,
    /// All of it.
    pub text: String,
}

impl Key {
    /// The key of a backup.
    pub fn new(path: &str, revision: i64, taken: Timestamp) -> Self {
        let text = format!("{path}_v{revision}_{}", taken.to_zoned(TimeZone::UTC).strftime(TIME));
        let taken = Timestamp::from_second(taken.as_second()).unwrap_or(taken);
        Self { taken, revision, text }
    }

    /// Reads the key of a backup of this path; none: it is something else's, though it may begin alike.
    pub fn read(path: &str, text: &str) -> Option<Self> {
        let (revision, time) = text.strip_prefix(path)?.strip_prefix("_v")?.split_once('_')?;
        let digits = !revision.is_empty() && revision.bytes().all(|byte| byte.is_ascii_digit());
        let revision = revision.parse().ok().filter(|_| digits)?;
        let taken = DateTime::strptime(TIME, time).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
        let key = Self { taken, revision, text: text.to_owned() };
        (Self::new(path, revision, taken) == key).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_as_the_old_operator_wrote_it_and_is_read_back() {
        let taken = "2026-01-10T02:03:04.567Z".parse().unwrap();
        let key = Key::new("etcd/daily", 99, taken);
        assert_eq!(key.text, "etcd/daily_v99_2026-01-10-02:03:04");
        assert_eq!(Key::read("etcd/daily", &key.text), Some(key));
    }

    #[test]
    fn keys_of_others_that_begin_alike_are_not_ours() {
        for other in [
            "etcd/daily",
            "etcd/daily2_v1_2026-01-10-02:03:04",
            "etcd/daily_v_2026-01-10-02:03:04",
            "etcd/daily_v+1_2026-01-10-02:03:04",
            "etcd/daily_v1_2026-01-10-02:03:04.tmp",
            "etcd/daily_v1_2026-13-10-02:03:04",
            "etcd/daily_v01_2026-01-10-02:03:04",
            "etcd/daily_v1_v2_2026-01-10-02:03:04",
        ] {
            assert_eq!(Key::read("etcd/daily", other), None, "{other}");
        }
    }
}
