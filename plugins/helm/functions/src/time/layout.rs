//! Layouts: the reference time Mon Jan 2 15:04:05 MST 2006 in parts (`nextStdChunk`).

/// How an offset is written: with `Z` for UTC, with colons, how many of its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OffsetForm {
    pub(super) zulu: bool,
    pub(super) colons: bool,
    /// Hours only, hours and minutes, or seconds as well.
    pub(super) numbers: u8,
}

/// A part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekDay,
    WeekDay,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    ZoneName,
    Offset(OffsetForm),
    /// A separator and digits; zeros at the end are left out when `trim`.
    Fraction {
        separator: u8,
        digits: usize,
        trim: bool,
    },
}

pub(super) const LONG_MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const LONG_DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Parts that are recognised by their text alone, longer ones first.
const PARTS: [(&str, Part); 33] = [
    ("January", Part::LongMonth),
    ("Monday", Part::LongWeekDay),
    ("MST", Part::ZoneName),
    ("01", Part::ZeroMonth),
    ("002", Part::ZeroYearDay),
    ("02", Part::ZeroDay),
    ("03", Part::ZeroHour12),
    ("04", Part::ZeroMinute),
    ("05", Part::ZeroSecond),
    ("06", Part::Year),
    ("15", Part::Hour),
    ("1", Part::NumMonth),
    ("2006", Part::LongYear),
    ("2", Part::Day),
    ("__2", Part::UnderYearDay),
    ("3", Part::Hour12),
    ("4", Part::Minute),
    ("5", Part::Second),
    ("PM", Part::UpperPm),
    ("pm", Part::LowerPm),
    ("-070000", offset(false, false, 3)),
    ("-07:00:00", offset(false, true, 3)),
    ("-0700", offset(false, false, 2)),
    ("-07:00", offset(false, true, 2)),
    ("-07", offset(false, false, 1)),
    ("Z070000", offset(true, false, 3)),
    ("Z07:00:00", offset(true, true, 3)),
    ("Z0700", offset(true, false, 2)),
    ("Z07:00", offset(true, true, 2)),
    ("Z07", offset(true, false, 1)),
    ("Jan", Part::Month),
    ("Mon", Part::WeekDay),
    ("_2", Part::UnderDay),
];

const fn offset(zulu: bool, colons: bool, numbers: u8) -> Part {
    Part::Offset(OffsetForm { zulu, colons, numbers })
}

/// A part and its text in the layout.
type Found<'l> = (Part, &'l [u8]);

/// What the layout has before its first part, the part with its text, and what follows.
pub(super) fn next(layout: &[u8]) -> (&[u8], Option<Found<'_>>, &[u8]) {
    for at in 0..layout.len() {
        let rest = layout.get(at..).unwrap_or_default();
        if let Some((part, skipped, length)) = part_at(rest) {
            let (before, text) = (layout.get(..at + skipped), rest.get(skipped..length));
            return (
                before.unwrap_or_default(),
                Some((part, text.unwrap_or_default())),
                rest.get(length..).unwrap_or_default(),
            );
        }
    }
    (layout, None, &[])
}

/// The part at the start, how many bytes before it belong to no part, and where it ends.
fn part_at(rest: &[u8]) -> Option<(Part, usize, usize)> {
    if rest.starts_with(b"_2006") {
        return Some((Part::LongYear, 1, 5));
    }
    if let Some(found) = fraction(rest) {
        return Some(found);
    }
    let (text, part) = PARTS.iter().find(|(text, _)| rest.starts_with(text.as_bytes()))?;
    // `Jan` and `Mon` are parts unless they begin a longer word.
    if matches!(part, Part::Month | Part::WeekDay) && rest.get(3).is_some_and(u8::is_ascii_lowercase) {
        return None;
    }
    Some((*part, 0, text.len()))
}

/// `.000` or `,999`, where no digit follows.
fn fraction(rest: &[u8]) -> Option<(Part, usize, usize)> {
    let (separator, rest) = rest.split_first().filter(|(first, _)| matches!(first, b'.' | b','))?;
    let digit = *rest.first().filter(|digit| matches!(digit, b'0' | b'9'))?;
    let digits = rest.iter().take_while(|byte| **byte == digit).count();
    if rest.get(digits).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some((Part::Fraction { separator: *separator, digits, trim: digit == b'9' }, 0, digits + 1))
}
