//! Times for people.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

/// How long ago a time was, as kubectl writes ages; empty when the text is none.
pub(crate) fn age(time: &str, now: Timestamp) -> String {
    let Ok(time) = time.parse::<Timestamp>() else { return String::new() };
    duration(now.duration_since(time).max(SignedDuration::ZERO))
}

fn duration(age: SignedDuration) -> String {
    let seconds = age.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let two = |much: i64, unit: &str, less: i64, of: &str| {
        if less == 0 { format!("{much}{unit}") } else { format!("{much}{unit}{less}{of}") }
    };
    if minutes < 2 {
        format!("{seconds}s")
    } else if minutes < 10 {
        two(minutes, "m", seconds % 60, "s")
    } else if hours < 3 {
        format!("{minutes}m")
    } else if hours < 8 {
        two(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        two(days, "d", hours % 24, "h")
    } else {
        format!("{days}d")
    }
}

/// A time as `helm history` writes it: `Mon Jan  2 15:04:05 2006`, where the person is.
pub(crate) fn local(time: &str, zone: &TimeZone) -> String {
    match time.parse::<Timestamp>() {
        Ok(time) => time.to_zoned(zone.clone()).strftime("%a %b %e %H:%M:%S %Y").to_string(),
        Err(_) => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_kubectl() {
        for (seconds, told) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (330, "5m30s"),
            (3600, "60m"),
            (4 * 3600 + 60, "4h1m"),
            (47 * 3600, "47h"),
            (3 * 86400, "3d"),
            (3 * 86400 + 7200, "3d2h"),
            (400 * 86400, "400d"),
        ] {
            assert_eq!(duration(SignedDuration::from_secs(seconds)), told);
        }
        let now = "2026-01-01T00:00:10Z".parse().unwrap();
        assert_eq!(age("2026-01-01T00:00:00Z", now), "10s");
        assert_eq!(age("2026-01-01T00:00:20Z", now), "0s", "clocks differ");
        assert_eq!(age("", now), "");
    }

    #[test]
    fn times_are_written_as_helm_writes_them() {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        assert_eq!(local("2026-01-02T03:04:05.678Z", &zone), "Fri Jan  2 04:04:05 2026");
    }
}
