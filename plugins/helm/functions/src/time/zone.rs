//! Time zones: `time.LoadLocation`.

use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{Timestamp, tz};

/// `*time.Location`.
#[derive(Clone, Debug)]
pub(crate) enum Zone {
    /// `time.UTC`.
    Utc,
    /// `time.Local`. A component has no time zone of its own, so it shows UTC.
    Local,
    /// One of the tz database.
    Named(TimeZone),
    /// `time.FixedZone`: a name and seconds east of UTC.
    Fixed(String, i64),
}

impl Zone {
    /// `time.LoadLocation`; `None` for a name there is no zone of. Names are told apart by their case, as files are.
    pub(crate) fn load(name: &str) -> Option<Self> {
        match name {
            "" | "UTC" => return Some(Self::Utc),
            "Local" => return Some(Self::Local),
            _ => {}
        }
        thread_local! {
            static DATABASE: TimeZoneDatabase = TimeZoneDatabase::bundled();
        }
        let zone = DATABASE.with(|database| database.get(name)).ok()?;
        (zone.iana_name() == Some(name)).then_some(Self::Named(zone))
    }

    /// Name and seconds east of UTC at a time.
    pub(crate) fn lookup(&self, seconds: i64) -> (String, i64) {
        match self {
            Self::Utc | Self::Local => ("UTC".to_owned(), 0),
            Self::Fixed(name, offset) => (name.clone(), *offset),
            Self::Named(zone) => with_info(zone, seconds, |info| {
                (info.abbreviation().to_owned(), i64::from(info.offset().seconds()))
            }),
        }
    }

    /// Whether daylight saving time is in effect.
    pub(crate) fn is_dst(&self, seconds: i64) -> bool {
        match self {
            Self::Named(zone) => with_info(zone, seconds, |info| info.dst().is_dst()),
            _ => false,
        }
    }

    /// `Location.String`.
    pub(crate) fn name(&self) -> &str {
        match self {
            // That is Go's name for the local zone of a machine which has none.
            Self::Utc | Self::Local => "UTC",
            Self::Fixed(name, _) => name,
            Self::Named(zone) => zone.iana_name().unwrap_or_default(),
        }
    }
}

/// Times that the database cannot tell of are as the first or last it can.
fn with_info<R>(zone: &TimeZone, seconds: i64, read: impl FnOnce(&tz::TimeZoneOffsetInfo<'_>) -> R) -> R {
    let at =
        Timestamp::from_second(seconds).unwrap_or(if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX });
    read(&zone.to_offset_info(at))
}
