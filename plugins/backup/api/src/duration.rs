//! Lengths of time as Kubernetes people write them: `90s`, `1h30m`, `7d`.

use std::{fmt, str::FromStr, time};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Units, the longest first, in seconds.
const UNITS: [(char, u64); 5] = [('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// A length of time in whole seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

/// What is no length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no length of time: write numbers with w, d, h, m or s in this order, such as 90s, 1h30m or 7d"
)]
pub struct DurationError(String);

impl Duration {
    /// So many minutes.
    pub const fn minutes(minutes: u64) -> Self {
        Self(minutes.saturating_mul(60))
    }

    /// For arithmetic with time stamps.
    pub fn signed(self) -> jiff::SignedDuration {
        jiff::SignedDuration::from_secs(i64::try_from(self.0).unwrap_or(i64::MAX))
    }
}

impl From<Duration> for time::Duration {
    fn from(duration: Duration) -> Self {
        Self::from_secs(duration.0)
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let wrong = || DurationError(text.to_owned());
        let (mut rest, mut seconds) = (text, 0_u64);
        for (unit, length) in UNITS {
            let Some((digits, after)) = rest.split_once(unit) else { continue };
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(wrong());
            }
            let number: u64 = digits.parse().map_err(|_| wrong())?;
            let part = number.checked_mul(length).ok_or_else(wrong)?;
            seconds = seconds.checked_add(part).ok_or_else(wrong)?;
            rest = after;
        }
        if text.is_empty() || !rest.is_empty() { Err(wrong()) } else { Ok(Self(seconds)) }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0;
        for (unit, length) in UNITS {
            let number = left.checked_div(length).unwrap_or_default();
            left = left.checked_rem(length).unwrap_or_default();
            if number > 0 {
                write!(f, "{number}{unit}")?;
            }
        }
        if self.0 == 0 { f.write_str("0s") } else { Ok(()) }
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Duration {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "maxLength": 32,
            "pattern": "^([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?$",
            "minLength": 2,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Duration;

    #[test]
    fn lengths_are_read_and_written_as_people_write_them() {
        for (text, seconds) in
            [("0s", 0), ("90s", 90), ("1h30m", 5_400), ("7d", 604_800), ("2w1d", 1_296_000)]
        {
            assert_eq!(text.parse(), Ok(Duration(seconds)), "{text}");
        }
        assert_eq!(Duration(5_400).to_string(), "1h30m");
        assert_eq!(Duration(90).to_string(), "1m30s");
        assert_eq!(Duration(0).to_string(), "0s");
        for seconds in [1, 59, 60, 3_661, 604_801, 90_061] {
            assert_eq!(Duration(seconds).to_string().parse(), Ok(Duration(seconds)));
        }
    }

    #[test]
    fn what_is_no_length_is_told() {
        for bad in [
            "",
            "5",
            "h",
            "1m1h",
            "-1s",
            "+1s",
            "1.5h",
            "1h 5m",
            "99999999999999999999s",
            "9999999999999999999w",
        ] {
            assert!(bad.parse::<Duration>().is_err(), "{bad}");
        }
    }
}
