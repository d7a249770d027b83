//! Go's `time` package, as far as templates reach it.

pub(crate) mod civil;
pub(crate) mod duration;
pub(crate) mod format;
mod layout;
mod marshal;
mod methods;
pub(crate) mod object;
pub(crate) mod parse;
pub(crate) mod zone;

use std::time::{Duration, SystemTime};

use self::zone::Zone;

/// `time.Time`: seconds since 1970 and nanoseconds, where it is shown, and for the present the reading of a clock that
/// never goes back.
#[derive(Clone, Debug)]
pub(crate) struct Time {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
    pub(crate) zone: Zone,
    pub(crate) monotonic: Option<Duration>,
}

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;

/// The seconds of the first of January of year 1, Go's zero time.
const ZERO: i64 = -62_135_596_800;

/// Whether a text is a time as JSON has it.
///
/// # Errors
/// Why not, in Go's words.
pub fn check(text: &[u8]) -> Result<(), String> {
    parse::parse(b"2006-01-02T15:04:05Z07:00", text).map(drop).map_err(|error| error.to_string())
}

impl Time {
    /// `time.Time{}`.
    pub(crate) fn zero() -> Self {
        Self::unix(ZERO).with_zone(Zone::Utc)
    }

    /// `time.Unix(seconds, 0)`.
    pub(crate) fn unix(seconds: i64) -> Self {
        Self { seconds, nanoseconds: 0, zone: Zone::Local, monotonic: None }
    }

    /// `time.Now()`.
    pub(crate) fn present((wall, monotonic): (SystemTime, Option<Duration>)) -> Self {
        let since = wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        Self { nanoseconds: since.subsec_nanos(), monotonic, ..Self::unix(seconds) }
    }

    /// `Time.In`. Like there the monotonic clock is forgotten.
    pub(crate) fn with_zone(mut self, zone: Zone) -> Self {
        self.zone = zone;
        self.monotonic = None;
        self
    }

    /// `Time.Add`, wrapping as Go's integers do.
    pub(crate) fn plus(&self, nanoseconds: i64) -> Self {
        let total =
            i128::from(self.seconds) * SECOND + i128::from(self.nanoseconds) + i128::from(nanoseconds);
        let monotonic = self.monotonic.and_then(|reading| {
            let moved = i64::try_from(reading.as_nanos()).ok()?.checked_add(nanoseconds)?;
            Some(Duration::from_nanos(u64::try_from(moved).ok()?))
        });
        #[expect(clippy::cast_possible_truncation, reason = "what does not fit wraps, as Go's integers do")]
        let seconds = total.div_euclid(SECOND) as i64;
        let nanoseconds = u32::try_from(total.rem_euclid(SECOND)).unwrap_or(0);
        Self { seconds, nanoseconds, zone: self.zone.clone(), monotonic }
    }

    /// `Time.Sub` in nanoseconds: the largest or smallest where it is more.
    pub(crate) fn minus(&self, other: &Self) -> i64 {
        // Go counts from year 1; what is beyond 64 bits from there is before it.
        let of =
            |time: &Self| i128::from(time.seconds.wrapping_sub(ZERO)) * SECOND + i128::from(time.nanoseconds);
        let difference = of(self) - of(other);
        i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
    }

    /// Name and offset of the zone at this time.
    pub(crate) fn offset(&self) -> (String, i64) {
        self.zone.lookup(self.seconds)
    }

    /// Seconds as if the zone's clock were UTC's.
    pub(crate) fn local_seconds(&self) -> i64 {
        self.seconds.wrapping_add(self.offset().1)
    }
}
