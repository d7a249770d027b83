//! `time.Duration`: nanoseconds.

use helm_template::strconv;

/// Nanoseconds of the units.
const NANOS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

pub(crate) const SECOND: i64 = 1_000_000_000;

/// The magnitude of the smallest duration.
const LIMIT: u64 = 1 << 63;

/// Why a text is no duration; the text is `time: … "…"`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DurationError {
    #[error("time: invalid duration {0}")]
    Invalid(String),
    #[error("time: missing unit in duration {0}")]
    MissingUnit(String),
    #[error("time: unknown unit {unit} in duration {text}")]
    UnknownUnit { unit: String, text: String },
}

/// The quotes of package time: bytes that are not printable ASCII in hexadecimal.
pub(crate) fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in text {
        match *byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*byte));
            }
            b' '..=0x7F => out.push(char::from(*byte)),
            byte => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

/// `time.ParseDuration`.
pub(crate) fn parse(text: &[u8]) -> Result<i64, DurationError> {
    let invalid = || DurationError::Invalid(quote(text));
    // Anything that is no UTF-8 is in no unit either.
    let source = String::from_utf8_lossy(text);
    let (negative, mut rest) = match source.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, source.strip_prefix('+').unwrap_or(&source)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let (nanoseconds, after) = part(rest, text)?;
        rest = after;
        total = total.checked_add(nanoseconds).filter(|total| *total <= LIMIT).ok_or_else(invalid)?;
    }
    if negative {
        return Ok(0_i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// A number and its unit.
fn part<'t>(source: &'t str, text: &[u8]) -> Result<(u64, &'t str), DurationError> {
    let invalid = || DurationError::Invalid(quote(text));
    let (digits, rest) = split_digits(source);
    let whole: u64 = if digits.is_empty() {
        0
    } else {
        digits.parse().ok().filter(|v| *v <= LIMIT).ok_or_else(invalid)?
    };
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), split_digits);
    if digits.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
    if unit.is_empty() {
        return Err(DurationError::MissingUnit(quote(text)));
    }
    let Some((_, nanos)) = NANOS.iter().find(|(name, _)| *name == unit) else {
        return Err(DurationError::UnknownUnit { unit: quote(unit.as_bytes()), text: quote(text) });
    };
    if whole > LIMIT / nanos {
        return Err(invalid());
    }
    let value = (whole * nanos).saturating_add(scaled(fraction, *nanos));
    if value > LIMIT { Err(invalid()) } else { Ok((value, rest)) }
}

fn split_digits(source: &str) -> (&str, &str) {
    let length = source.bytes().take_while(u8::is_ascii_digit).count();
    source.split_at_checked(length).unwrap_or((source, ""))
}

/// A fraction of a unit, truncated; digits that do not fit into an integer are left out.
fn scaled(digits: &str, nanos: u64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1.0_f64);
    for digit in digits.bytes().map(|byte| u64::from(byte - b'0')) {
        if value > (LIMIT - 1) / 10 || value * 10 + digit > LIMIT {
            break;
        }
        value = value * 10 + digit;
        scale *= 10.0;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "Go computes in floats as well; the result is less than a unit"
    )]
    if value > 0 { (value as f64 * (nanos as f64 / scale)) as u64 } else { 0 }
}

/// `Duration.String`: `1h2m3.5s`, and smaller units below a second.
pub(crate) fn text(nanoseconds: i64) -> String {
    let magnitude = nanoseconds.unsigned_abs();
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let decimal = |unit: u64, digits: usize| {
        let (whole, rest) = (magnitude / unit, magnitude % unit);
        let fraction = format!("{rest:0digits$}");
        let fraction = if digits == 0 { "" } else { fraction.trim_end_matches('0') };
        if fraction.is_empty() { format!("{whole}") } else { format!("{whole}.{fraction}") }
    };
    match magnitude {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{magnitude}ns"),
        1_000..1_000_000 => format!("{sign}{}\u{b5}s", decimal(1_000, 3)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", decimal(1_000_000, 6)),
        _ => {
            let seconds = magnitude / 1_000_000_000;
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            let rest = magnitude % 1_000_000_000;
            let fraction = format!("{rest:09}");
            let fraction = fraction.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            let shown = format!("{}{point}{fraction}s", seconds % 60);
            match (hours, minutes) {
                (0, 0) => format!("{sign}{shown}"),
                (0, minutes) => format!("{sign}{minutes}m{shown}"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{shown}"),
            }
        }
    }
}

/// `Duration.Truncate`.
pub(crate) fn truncate(value: i64, multiple: i64) -> i64 {
    if multiple <= 0 { value } else { value - value % multiple }
}

/// `Duration.Round`: halves away from zero; what would be too large is the largest.
pub(crate) fn round(value: i64, multiple: i64) -> i64 {
    if multiple <= 0 {
        return value;
    }
    let rest = value % multiple;
    let down = value - rest;
    if rest.unsigned_abs().saturating_mul(2) < multiple.unsigned_abs() {
        return down;
    }
    if value < 0 { down.saturating_sub(multiple) } else { down.saturating_add(multiple) }
}

/// `Duration.Seconds`, `.Minutes` and `.Hours`: a unit of so many nanoseconds.
pub(crate) fn in_units(value: i64, unit: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "Go computes in floats as well")]
    {
        (value / unit) as f64 + (value % unit) as f64 / unit as f64
    }
}

/// `strconv.ParseInt(text, 10, 64)` without its error.
pub(crate) fn seconds(text: &str) -> i64 {
    match strconv::parse_int(text, 10, 64) {
        Ok(number) => number,
        Err(_) => crate::conversion::atoi(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_as_go_does() {
        for (source, shown) in [
            ("1h30m", "1h30m0s"),
            ("-1.5h", "-1h30m0s"),
            ("100ms", "100ms"),
            ("1µs500ns", "1.5\u{b5}s"),
            ("0", "0s"),
            ("2562047h47m16.854775807s", "2562047h47m16.854775807s"),
            (".5s", "500ms"),
        ] {
            assert_eq!(text(parse(source.as_bytes()).unwrap()), shown, "{source}");
        }
        for (source, error) in [
            ("", "time: invalid duration \"\""),
            ("1", "time: missing unit in duration \"1\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("2562048h", "time: invalid duration \"2562048h\""),
        ] {
            assert_eq!(parse(source.as_bytes()).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn rounding_goes_away_from_zero_and_stays_within_limits() {
        assert_eq!(round(150, 100), 200);
        assert_eq!(round(-150, 100), -200);
        assert_eq!(round(149, 100), 100);
        assert_eq!(round(i64::MAX, 1 << 62), i64::MAX);
        assert_eq!(truncate(-150, 100), -100);
    }
}
