//! `time.Parse`.

use super::Time;
use super::civil::{days_in, days_since_epoch, is_leap, seconds_since_epoch};
use super::duration::quote;
use super::layout::{LONG_DAYS, LONG_MONTHS, OffsetForm, Part, next};
use super::zone::Zone;

/// Why a text is no time of a layout (`time.ParseError`). What is shown is quoted already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    /// A part does not fit.
    #[error("parsing time {value} as {layout}: cannot parse {rest} as {part}")]
    Mismatch { value: String, layout: String, rest: String, part: String },
    /// Something else: the message follows the time.
    #[error("parsing time {value}{message}")]
    Message { value: String, message: String },
}

/// Why a part does not fit.
enum Fault {
    Mismatch,
    Range(&'static str),
}

type Parsed<T> = Result<T, Fault>;

/// What was read so far.
#[derive(Default)]
struct Fields {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanosecond: u32,
    am: bool,
    pm: bool,
    utc: bool,
    offset: Option<i64>,
    zone: Option<String>,
}

/// `time.ParseInLocation(layout, value, time.Local)`.
pub(crate) fn parse(layout: &[u8], value: &[u8]) -> Result<Time, ParseError> {
    let (whole_layout, whole) = (layout, value);
    let message = |message: &str| ParseError::Message { value: quote(whole), message: message.to_owned() };
    let mismatch = |part: &[u8], rest: &[u8]| ParseError::Mismatch {
        value: quote(whole),
        layout: quote(whole_layout),
        rest: quote(rest),
        part: quote(part),
    };
    let mut fields = Fields::default();
    let (mut layout, mut value) = (layout, value);
    loop {
        let (prefix, found, suffix) = next(layout);
        value = skip(value, prefix).map_err(|rest| mismatch(prefix, rest))?;
        let Some((part, text)) = found else {
            if !value.is_empty() {
                return Err(message(&format!(": extra text: {}", quote(value))));
            }
            break;
        };
        layout = suffix;
        let hold = value;
        match fields.read(part, layout, &mut value) {
            Ok(()) => {}
            Err(Fault::Mismatch) => return Err(mismatch(text, hold)),
            Err(Fault::Range(what)) => return Err(message(&format!(": {what} out of range"))),
        }
    }
    fields.finish().map_err(message)
}

/// What follows the literal text of a layout; a space there stands for any number of them.
fn skip<'v>(mut value: &'v [u8], mut prefix: &[u8]) -> Result<&'v [u8], &'v [u8]> {
    fn without_spaces(text: &[u8]) -> &[u8] {
        text.get(text.iter().take_while(|byte| **byte == b' ').count()..).unwrap_or_default()
    }
    while let Some((wanted, rest)) = prefix.split_first() {
        if *wanted == b' ' {
            if value.first().is_some_and(|byte| *byte != b' ') {
                return Err(value);
            }
            (prefix, value) = (without_spaces(prefix), without_spaces(value));
            continue;
        }
        match value.split_first() {
            Some((byte, after)) if byte == wanted => (prefix, value) = (rest, after),
            _ => return Err(value),
        }
    }
    Ok(value)
}

fn is_digit(value: &[u8], at: usize) -> bool {
    value.get(at).is_some_and(u8::is_ascii_digit)
}

/// Takes so many bytes.
fn take<'v>(value: &mut &'v [u8], count: usize) -> Parsed<&'v [u8]> {
    let (taken, rest) = value.split_at_checked(count).ok_or(Fault::Mismatch)?;
    *value = rest;
    Ok(taken)
}

/// Digits with an optional sign, all of them.
fn atoi(text: &[u8]) -> Parsed<i64> {
    let text = std::str::from_utf8(text).map_err(|_| Fault::Mismatch)?;
    text.parse().map_err(|_| Fault::Mismatch)
}

/// One or two digits, two when `fixed`.
fn number(value: &mut &[u8], fixed: bool) -> Parsed<i64> {
    let count = if is_digit(value, 1) { 2 } else { 1 };
    if !is_digit(value, 0) || (fixed && count == 1) {
        return Err(Fault::Mismatch);
    }
    atoi(take(value, count)?)
}

/// The index of the name at the start, whatever its case.
fn name(value: &mut &[u8], names: &[&str], length: Option<usize>) -> Parsed<i64> {
    for (index, name) in names.iter().enumerate() {
        let name = name.get(..length.unwrap_or(name.len())).unwrap_or(name).as_bytes();
        if value.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            take(value, name.len())?;
            return i64::try_from(index).map_err(|_| Fault::Mismatch);
        }
    }
    Err(Fault::Mismatch)
}

/// A separator and digits, of which nine count.
fn nanoseconds(text: &[u8]) -> Parsed<u32> {
    let digits: String = text.iter().skip(1).take(9).map(|byte| char::from(*byte)).collect();
    if !matches!(text.first(), Some(b'.' | b',')) {
        return Err(Fault::Mismatch);
    }
    let parsed = atoi(digits.as_bytes())?;
    if parsed < 0 {
        return Err(Fault::Range("fractional second"));
    }
    let missing = u32::try_from(9 - digits.len()).unwrap_or(0);
    u32::try_from(parsed).map(|number| number * 10_u32.pow(missing)).map_err(|_| Fault::Mismatch)
}

fn in_range(number: i64, range: std::ops::Range<i64>, what: &'static str) -> Parsed<i64> {
    if range.contains(&number) { Ok(number) } else { Err(Fault::Range(what)) }
}

impl Fields {
    fn read(&mut self, part: Part, layout: &[u8], value: &mut &[u8]) -> Parsed<()> {
        match part {
            Part::Year => {
                let year = atoi(take(value, 2)?)?;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
            }
            Part::LongYear if is_digit(value, 0) => self.year = atoi(take(value, 4)?)?,
            Part::LongYear => return Err(Fault::Mismatch),
            Part::Month => self.month = Some(name(value, &LONG_MONTHS, Some(3))? + 1),
            Part::LongMonth => self.month = Some(name(value, &LONG_MONTHS, None)? + 1),
            Part::NumMonth | Part::ZeroMonth => {
                self.month = Some(in_range(number(value, part == Part::ZeroMonth)?, 1..13, "month")?);
            }
            Part::WeekDay => drop(name(value, &LONG_DAYS, Some(3))?),
            Part::LongWeekDay => drop(name(value, &LONG_DAYS, None)?),
            Part::Day | Part::UnderDay | Part::ZeroDay => {
                if part == Part::UnderDay && value.starts_with(b" ") {
                    take(value, 1)?;
                }
                self.day = Some(number(value, part == Part::ZeroDay)?);
            }
            Part::UnderYearDay | Part::ZeroYearDay => self.read_year_day(part == Part::ZeroYearDay, value)?,
            Part::UpperPm | Part::LowerPm => self.read_half(part == Part::UpperPm, value)?,
            Part::Offset(form) => self.read_offset(form, value)?,
            Part::ZoneName => self.read_zone(value)?,
            Part::Fraction { digits, trim, .. } => self.read_fraction(digits, trim, value)?,
            _ => self.read_clock(part, layout, value)?,
        }
        Ok(())
    }

    fn read_clock(&mut self, part: Part, layout: &[u8], value: &mut &[u8]) -> Parsed<()> {
        // A number that cannot be read counts as 0 for the check of its range.
        match part {
            Part::Hour => self.hour = in_range(number(value, false)?, 0..24, "hour")?,
            Part::Hour12 | Part::ZeroHour12 => {
                self.hour = in_range(number(value, part == Part::ZeroHour12)?, 0..13, "hour")?;
            }
            Part::Minute | Part::ZeroMinute => {
                self.minute = in_range(number(value, part == Part::ZeroMinute)?, 0..60, "minute")?;
            }
            _ => {
                self.second = in_range(number(value, part == Part::ZeroSecond)?, 0..60, "second")?;
                // A fraction may follow even where the layout has none.
                let in_layout = matches!(next(layout).1, Some((Part::Fraction { .. }, _)));
                if !in_layout && matches!(value.first(), Some(b'.' | b',')) && is_digit(value, 1) {
                    let digits = value.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
                    self.nanosecond = nanoseconds(take(value, digits + 1)?)?;
                }
            }
        }
        Ok(())
    }

    fn read_year_day(&mut self, fixed: bool, value: &mut &[u8]) -> Parsed<()> {
        for _ in 0..2 {
            if !fixed && value.starts_with(b" ") {
                take(value, 1)?;
            }
        }
        let digits = value.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || (fixed && digits != 3) {
            return Err(Fault::Mismatch);
        }
        self.year_day = Some(atoi(take(value, digits)?)?);
        Ok(())
    }

    fn read_half(&mut self, upper: bool, value: &mut &[u8]) -> Parsed<()> {
        match (upper, take(value, 2)?) {
            (true, b"PM") | (false, b"pm") => self.pm = true,
            (true, b"AM") | (false, b"am") => self.am = true,
            _ => return Err(Fault::Mismatch),
        }
        Ok(())
    }

    fn read_offset(&mut self, form: OffsetForm, value: &mut &[u8]) -> Parsed<()> {
        if form.zulu && value.starts_with(b"Z") {
            take(value, 1)?;
            self.utc = true;
            return Ok(());
        }
        let step = if form.colons { 3 } else { 2 };
        let length = 3 + step * (usize::from(form.numbers) - 1);
        let text = value.get(..length).ok_or(Fault::Mismatch)?;
        let (mut numbers, mut malformed) = ([0; 3], None);
        for (index, slot) in numbers.iter_mut().take(usize::from(form.numbers)).enumerate() {
            let at = 1 + step * index;
            if form.colons && index > 0 && text.get(at - 1) != Some(&b':') {
                return Err(Fault::Mismatch);
            }
            let mut digits = text.get(at..at + 2).unwrap_or_default();
            match number(&mut digits, true) {
                Ok(number) => *slot = number,
                Err(fault) => {
                    malformed = Some(fault);
                    break;
                }
            }
        }
        *value = value.get(length..).unwrap_or_default();
        let [hours, minutes, seconds] = numbers;
        // Go tells the last number that is out of its range, and that before one that is none.
        in_range(seconds, 0..61, "time zone offset second")?;
        in_range(minutes, 0..61, "time zone offset minute")?;
        in_range(hours, 0..25, "time zone offset hour")?;
        if let Some(fault) = malformed {
            return Err(fault);
        }
        let offset = (hours * 60 + minutes) * 60 + seconds;
        self.offset = Some(match text.first() {
            Some(b'+') => offset,
            Some(b'-') => -offset,
            _ => return Err(Fault::Mismatch),
        });
        Ok(())
    }

    fn read_zone(&mut self, value: &mut &[u8]) -> Parsed<()> {
        if value.starts_with(b"UTC") {
            take(value, 3)?;
            self.utc = true;
            return Ok(());
        }
        let length = zone_length(value).ok_or(Fault::Mismatch)?;
        self.zone = Some(String::from_utf8_lossy(take(value, length)?).into_owned());
        Ok(())
    }

    fn read_fraction(&mut self, digits: usize, trim: bool, value: &mut &[u8]) -> Parsed<()> {
        if !trim {
            let text = value.get(..=digits).ok_or(Fault::Mismatch)?;
            self.nanosecond = nanoseconds(text)?;
            take(value, digits + 1)?;
        } else if matches!(value.first(), Some(b'.' | b',')) && is_digit(value, 1) {
            let digits = value.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
            self.nanosecond = nanoseconds(take(value, digits + 1)?)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Time, &'static str> {
        if self.pm && self.hour < 12 {
            self.hour += 12;
        } else if self.am && self.hour == 12 {
            self.hour = 0;
        }
        if let Some(year_day) = self.year_day {
            self.resolve_year_day(year_day)?;
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        if day < 1 || day > days_in(month, self.year) {
            return Err(": day out of range");
        }
        let seconds = seconds_since_epoch([self.year, month, day], [self.hour, self.minute, self.second]);
        let at = |seconds: i64, zone: Zone| Time {
            nanoseconds: self.nanosecond,
            ..Time::unix(seconds).with_zone(zone)
        };
        if self.utc {
            return Ok(at(seconds, Zone::Utc));
        }
        if let Some(offset) = self.offset {
            // The local zone, where it fits.
            let zone = match (offset, self.zone) {
                (0, None) => Zone::Local,
                (offset, name) => Zone::Fixed(name.unwrap_or_default(), offset),
            };
            return Ok(at(seconds.wrapping_sub(offset), zone));
        }
        Ok(match self.zone {
            // A zone whose offset is not known, but for GMT+3.
            Some(name) => {
                let hours = name.strip_prefix("GMT").and_then(|hours| hours.parse::<i64>().ok()).unwrap_or(0);
                at(seconds, Zone::Fixed(name, hours * 3600))
            }
            None => at(seconds, Zone::Local),
        })
    }

    fn resolve_year_day(&mut self, year_day: i64) -> Result<(), &'static str> {
        if year_day < 1 || year_day > 365 + i64::from(is_leap(self.year)) {
            return Err(": day-of-year out of range");
        }
        let date =
            super::civil::civil((days_since_epoch(self.year, 1, 1) + year_day - 1) * super::civil::DAY);
        if self.month.is_some_and(|month| month != date.month) {
            return Err(": day-of-year does not match month");
        }
        if self.day.is_some_and(|day| day != date.day) {
            return Err(": day-of-year does not match day");
        }
        (self.month, self.day) = (Some(date.month), Some(date.day));
        Ok(())
    }
}

/// `parseTimeZone`: how long the abbreviation at the start is.
fn zone_length(value: &[u8]) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with(b"ChST") || value.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(rest) = value.strip_prefix(b"GMT") {
        return Some(3 + signed_offset(rest));
    }
    if matches!(value.first(), Some(b'+' | b'-')) {
        return Some(signed_offset(value)).filter(|length| *length > 0);
    }
    let capitals = value.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count();
    match capitals {
        3 => Some(3),
        4 if value.get(3) == Some(&b'T') || value.starts_with(b"WITA") => Some(4),
        5 if value.get(4) == Some(&b'T') => Some(5),
        _ => None,
    }
}

/// A sign and hours up to 23; 0 for anything else.
fn signed_offset(value: &[u8]) -> usize {
    if !matches!(value.first(), Some(b'+' | b'-')) {
        return 0;
    }
    let digits = value.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
    let hours = value.get(1..=digits).and_then(|digits| atoi(digits).ok());
    if digits > 0 && hours.is_some_and(|hours| hours <= 23) { digits + 1 } else { 0 }
}
