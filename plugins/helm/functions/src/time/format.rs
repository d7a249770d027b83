//! `Time.Format` and `Time.String`.

use std::fmt::Write as _;

use helm_template::fmt::quote;

use super::Time;
use super::civil::{Civil, civil};
use super::layout::{LONG_DAYS, LONG_MONTHS, OffsetForm, Part, next};
use super::zone::Zone;

/// The name of a month, from 1; `%!Month(13)` where there is none.
pub(super) fn month_name(month: i64) -> String {
    let name = usize::try_from(month - 1).ok().and_then(|index| LONG_MONTHS.get(index));
    name.map_or_else(|| format!("%!Month({month})"), ToString::to_string)
}

/// The name of a day of the week, from 0.
pub(super) fn day_name(day: i64) -> String {
    let name = usize::try_from(day).ok().and_then(|index| LONG_DAYS.get(index));
    name.map_or_else(|| format!("%!Weekday({day})"), ToString::to_string)
}

impl Time {
    /// `Time.Format`. The layout may be any bytes.
    pub(crate) fn format(&self, layout: &[u8]) -> Vec<u8> {
        let (zone, offset) = self.offset();
        let shown = civil(self.seconds.wrapping_add(offset));
        let mut out = Vec::with_capacity(layout.len() + 16);
        let mut rest = layout;
        loop {
            let (before, found, after) = next(rest);
            out.extend_from_slice(before);
            let Some((part, _)) = found else { return out };
            let text = self.part(part, &shown, (&zone, offset));
            out.extend_from_slice(text.as_bytes());
            rest = after;
        }
    }

    /// `Time.String`.
    pub(crate) fn text(&self) -> String {
        let text = self.format(b"2006-01-02 15:04:05.999999999 -0700 MST");
        let mut text = String::from_utf8_lossy(&text).into_owned();
        if let Some(reading) = self.monotonic {
            // Writing to a string does not fail.
            let _ = write!(text, " m=+{}.{:09}", reading.as_secs(), reading.subsec_nanos());
        }
        text
    }

    /// `Time.GoString`.
    pub(crate) fn go_text(&self) -> String {
        let at = civil(self.local_seconds());
        let month = match at.month {
            1..=12 => format!("time.{}", month_name(at.month)),
            other => other.to_string(),
        };
        let zone = match &self.zone {
            Zone::Utc => "time.UTC".to_owned(),
            Zone::Local => "time.Local".to_owned(),
            other => format!("time.Location({})", quote(other.name().as_bytes())),
        };
        let Civil { year, day, hour, minute, second, .. } = at;
        let nanoseconds = self.nanoseconds;
        format!("time.Date({year}, {month}, {day}, {hour}, {minute}, {second}, {nanoseconds}, {zone})")
    }

    fn part(&self, part: Part, at: &Civil, (zone, offset): (&str, i64)) -> String {
        let short = |name: String| name.get(..3).unwrap_or(&name).to_owned();
        let hour12 = (at.hour + 11) % 12 + 1;
        match part {
            Part::LongMonth => month_name(at.month),
            Part::Month => short(month_name(at.month)),
            Part::NumMonth => at.month.to_string(),
            Part::ZeroMonth => format!("{:02}", at.month),
            Part::LongWeekDay => day_name(at.week_day),
            Part::WeekDay => short(day_name(at.week_day)),
            Part::Day => at.day.to_string(),
            Part::UnderDay => format!("{:2}", at.day),
            Part::ZeroDay => format!("{:02}", at.day),
            Part::UnderYearDay => format!("{:3}", at.year_day),
            Part::ZeroYearDay => format!("{:03}", at.year_day),
            Part::Hour => format!("{:02}", at.hour),
            Part::Hour12 => hour12.to_string(),
            Part::ZeroHour12 => format!("{hour12:02}"),
            Part::Minute => at.minute.to_string(),
            Part::ZeroMinute => format!("{:02}", at.minute),
            Part::Second => at.second.to_string(),
            Part::ZeroSecond => format!("{:02}", at.second),
            Part::LongYear if at.year < 0 => format!("-{:04}", -at.year),
            Part::LongYear => format!("{:04}", at.year),
            Part::Year => format!("{:02}", at.year.max(0) % 100),
            Part::UpperPm => if at.hour >= 12 { "PM" } else { "AM" }.to_owned(),
            Part::LowerPm => if at.hour >= 12 { "pm" } else { "am" }.to_owned(),
            Part::ZoneName if zone.is_empty() => minutes_form(offset),
            Part::ZoneName => zone.to_owned(),
            Part::Offset(form) => offset_text(form, offset),
            Part::Fraction { separator, digits, trim } => self.fraction(separator, digits, trim),
        }
    }

    fn fraction(&self, separator: u8, digits: usize, trim: bool) -> String {
        let all = format!("{:09}", self.nanoseconds);
        let shown = all.get(..digits.min(9)).unwrap_or_default();
        let shown = if trim { shown.trim_end_matches('0') } else { shown };
        if trim && shown.is_empty() {
            return String::new();
        }
        format!("{}{shown}", char::from(separator))
    }
}

/// What stands for a zone without a name.
fn minutes_form(offset: i64) -> String {
    let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, (offset / 60).abs());
    format!("{sign}{:02}{:02}", minutes / 60, minutes % 60)
}

fn offset_text(form: OffsetForm, offset: i64) -> String {
    if form.zulu && offset == 0 {
        return "Z".to_owned();
    }
    let (minutes, seconds) = (offset / 60, offset.abs() % 60);
    let sign = if minutes < 0 { '-' } else { '+' };
    let minutes = minutes.abs();
    let mut text = format!("{sign}{:02}", minutes / 60);
    let colon = if form.colons { ":" } else { "" };
    // Writing to a string does not fail.
    if form.numbers >= 2 {
        let _ = write!(text, "{colon}{:02}", minutes % 60);
    }
    if form.numbers >= 3 {
        let _ = write!(text, "{colon}{seconds:02}");
    }
    text
}
