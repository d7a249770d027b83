//! Text to numbers and back out of quotes, by Go's rules (package strconv).

use std::fmt;

use thiserror::Error;

use crate::fmt::quote;
use crate::runes;

/// Why text is no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberFault {
    /// Not the syntax of a number.
    Syntax,
    /// A number, but not of that many bits.
    Range,
}

impl fmt::Display for NumberFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "invalid syntax",
            Self::Range => "value out of range",
        })
    }
}

/// Go's `*strconv.NumError`: `strconv.ParseInt: parsing "x": invalid syntax`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("strconv.{function}: parsing {quoted}: {fault}")]
pub struct NumberError {
    /// The Go function that failed.
    pub function: &'static str,
    /// The text, quoted.
    pub quoted: String,
    /// Why.
    pub fault: NumberFault,
}

impl NumberError {
    fn new(function: &'static str, text: &str, fault: NumberFault) -> Self {
        Self { function, quoted: quote(text.as_bytes()), fault }
    }
}

/// Text is no quoted Go literal (`strconv.ErrSyntax`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("invalid syntax")]
pub struct SyntaxError;

/// `strconv.ParseUint(text, base, bits)`. Base 0 goes by the prefix and allows underscores.
///
/// # Errors
/// [`NumberError`] with Go's text.
pub fn parse_uint(text: &str, base: u32, bits: u32) -> Result<u64, NumberError> {
    magnitude(text, base, bits).map_err(|fault| NumberError::new("ParseUint", text, fault))
}

/// `strconv.ParseInt(text, base, bits)`. Base 0 goes by the prefix and allows underscores.
///
/// # Errors
/// [`NumberError`] with Go's text.
pub fn parse_int(text: &str, base: u32, bits: u32) -> Result<i64, NumberError> {
    let error = |fault| NumberError::new("ParseInt", text, fault);
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let magnitude = match magnitude(digits, base, bits) {
        Err(NumberFault::Range) => u64::MAX,
        other => other.map_err(error)?,
    };
    let limit = 1u64 << (bits.clamp(1, 64) - 1);
    match i64::try_from(magnitude) {
        Ok(number) if magnitude < limit => Ok(if negative { -number } else { number }),
        _ if negative && magnitude == limit => Ok(i64::MIN >> (64 - bits.clamp(1, 64))),
        _ => Err(error(NumberFault::Range)),
    }
}

fn magnitude(text: &str, base: u32, bits: u32) -> Result<u64, NumberFault> {
    let (base, digits, prefixed) = match (base, text.as_bytes()) {
        (_, []) => return Err(NumberFault::Syntax),
        (0, [b'0', b'b' | b'B', _, ..]) => (2, text.get(2..), true),
        (0, [b'0', b'o' | b'O', _, ..]) => (8, text.get(2..), true),
        (0, [b'0', b'x' | b'X', _, ..]) => (16, text.get(2..), true),
        (0, [b'0', ..]) => (8, text.get(1..), true),
        (0, _) => (10, Some(text), true),
        (base, _) => (base, Some(text), false),
    };
    let (mut number, mut underscores) = (0u64, false);
    for character in digits.unwrap_or_default().chars() {
        if character == '_' && prefixed {
            underscores = true;
            continue;
        }
        let digit = character.to_digit(base).ok_or(NumberFault::Syntax)?;
        number = number
            .checked_mul(base.into())
            .and_then(|number| number.checked_add(digit.into()))
            .filter(|&number| bits >= 64 || number >> bits == 0)
            .ok_or(NumberFault::Range)?;
    }
    if underscores && !underscores_fit(text.as_bytes()) { Err(NumberFault::Syntax) } else { Ok(number) }
}

/// Whether every underscore stands between digits, or between a base prefix and a digit.
fn underscores_fit(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let (hex, digits, mut last) = match text {
        [b'0', b'x' | b'X', rest @ ..] => (true, rest, b'0'),
        [b'0', b'b' | b'B' | b'o' | b'O', rest @ ..] => (false, rest, b'0'),
        _ => (false, text, b'^'),
    };
    for &byte in digits {
        let class = match byte {
            b'0'..=b'9' => b'0',
            b'a'..=b'f' | b'A'..=b'F' if hex => b'0',
            b'_' => b'_',
            _ => b'!',
        };
        if (class == b'_' && last != b'0') || (class == b'!' && last == b'_') {
            return false;
        }
        last = class;
    }
    last != b'_'
}

/// `strconv.ParseFloat(text, 64)`: decimal and hexadecimal, `inf` and `nan` in any case.
///
/// # Errors
/// [`NumberError`] with Go's text; a number too large for a `float64` is out of range.
pub fn parse_float(text: &str) -> Result<f64, NumberError> {
    float(text).map_err(|fault| NumberError::new("ParseFloat", text, fault))
}

fn float(text: &str) -> Result<f64, NumberFault> {
    let bytes = text.as_bytes();
    let unsigned = bytes.strip_prefix(b"-").or_else(|| bytes.strip_prefix(b"+")).unwrap_or(bytes);
    if bytes.contains(&b'_') && !underscores_fit(bytes) {
        return Err(NumberFault::Syntax);
    }
    if matches!(unsigned, [b'0', b'x' | b'X', _, ..]) {
        return hex_float(unsigned.get(2..).unwrap_or_default(), bytes.first() == Some(&b'-'));
    }
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    let number: f64 = plain.parse().map_err(|_| NumberFault::Syntax)?;
    let word = unsigned.first().is_some_and(u8::is_ascii_alphabetic);
    if word && number.is_nan() && unsigned.len() != bytes.len() {
        return Err(NumberFault::Syntax);
    }
    if number.is_infinite() && !word { Err(NumberFault::Range) } else { Ok(number) }
}

/// `h.hhhp±d` after the `0x`.
fn hex_float(text: &[u8], negative: bool) -> Result<f64, NumberFault> {
    let split = text.iter().position(|byte| matches!(byte, b'p' | b'P')).ok_or(NumberFault::Syntax)?;
    let (digits, exponent) = text.split_at_checked(split).ok_or(NumberFault::Syntax)?;
    let (mut mantissa, mut scale, mut seen, mut point) = (0u64, 0i64, false, false);
    for &byte in digits {
        match (byte, char::from(byte).to_digit(16)) {
            (b'_', _) => {}
            (b'.', _) if !point => point = true,
            (_, Some(digit)) => {
                seen = true;
                if mantissa >> 60 == 0 {
                    mantissa = mantissa << 4 | u64::from(digit);
                    scale -= if point { 4 } else { 0 };
                } else {
                    // What does not fit any more counts for rounding only.
                    mantissa |= u64::from(digit != 0);
                    scale += if point { 0 } else { 4 };
                }
            }
            _ => return Err(NumberFault::Syntax),
        }
    }
    let exponent: String = String::from_utf8_lossy(exponent.get(1..).unwrap_or_default())
        .chars()
        .filter(|&c| c != '_')
        .collect();
    let after_sign = exponent.trim_start_matches(['+', '-']);
    if !seen || after_sign.is_empty() || exponent.len() > after_sign.len() + 1 {
        return Err(NumberFault::Syntax);
    }
    if !after_sign.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberFault::Syntax);
    }
    let power = exponent.parse::<i64>().unwrap_or(i64::MAX >> 1).clamp(-20_000, 20_000) + scale;
    let number = scale_by_power_of_two(mantissa, power);
    match number.is_infinite() {
        true => Err(NumberFault::Range),
        false => Ok(if negative { -number } else { number }),
    }
}

/// `mantissa × 2^power`, in steps that do not overflow on the way.
fn scale_by_power_of_two(mantissa: u64, power: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rounding to a float64 is what is wanted")]
    let mut number = mantissa as f64;
    let mut left = power;
    while left != 0 && number != 0.0 && number.is_finite() {
        let step = left.clamp(-1000, 1000);
        number *= 2f64.powi(i32::try_from(step).unwrap_or(0));
        left -= step;
    }
    number
}

/// `strconv.Unquote` of a double-quoted or backquoted literal.
///
/// # Errors
/// [`SyntaxError`] when it is none.
pub fn unquote(literal: &[u8]) -> Result<Vec<u8>, SyntaxError> {
    if let Some(inner) = verbatim(literal) {
        return Ok(inner.to_vec());
    }
    match literal {
        [b'`', inner @ .., b'`'] if !inner.contains(&b'`') => {
            Ok(inner.iter().copied().filter(|&byte| byte != b'\r').collect())
        }
        [b'"', inner @ .., b'"'] => {
            let (mut rest, mut out) = (inner, Vec::with_capacity(inner.len()));
            while !rest.is_empty() {
                let (code, multibyte, tail) = unquote_char(rest, b'"')?;
                if rest.first() == Some(&b'\n') {
                    return Err(SyntaxError);
                }
                match char::from_u32(code) {
                    Some(rune) if multibyte => {
                        out.extend_from_slice(rune.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                    _ => out.push(u8::try_from(code).map_err(|_| SyntaxError)?),
                }
                rest = tail;
            }
            Ok(out)
        }
        _ => Err(SyntaxError),
    }
}

/// What is between the quotes, where that means what it says.
pub(crate) fn verbatim(literal: &[u8]) -> Option<&[u8]> {
    match literal {
        [b'`', inner @ .., b'`'] => memchr::memchr2(b'`', b'\r', inner).is_none().then_some(inner),
        [b'"', inner @ .., b'"'] => inner.iter().all(|&byte| is_itself(byte)).then_some(inner),
        _ => None,
    }
}

/// Whether a byte stands for itself in double quotes, whatever is around it.
fn is_itself(byte: u8) -> bool {
    byte.is_ascii() && !matches!(byte, b'\\' | b'"' | b'\n')
}

/// `strconv.UnquoteChar`: the first character, whether it is a rune rather than a byte, the rest.
pub(crate) fn unquote_char(text: &[u8], mark: u8) -> Result<(u32, bool, &[u8]), SyntaxError> {
    match text {
        [] => Err(SyntaxError),
        [first, ..] if *first == mark => Err(SyntaxError),
        [first, ..] if !first.is_ascii() => {
            let (rune, width) = runes::decode(text);
            Ok((rune.into(), true, text.get(width..).unwrap_or_default()))
        }
        [b'\\', escape, rest @ ..] => unescape(*escape, rest, mark),
        [b'\\'] => Err(SyntaxError),
        [first, rest @ ..] => Ok(((*first).into(), false, rest)),
    }
}

fn unescape(escape: u8, rest: &[u8], mark: u8) -> Result<(u32, bool, &[u8]), SyntaxError> {
    let simple = match escape {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0C,
        b'n' => 0x0A,
        b'r' => 0x0D,
        b't' => 0x09,
        b'v' => 0x0B,
        b'\\' => b'\\',
        b'\'' | b'"' if escape == mark => mark,
        b'x' => return digits(rest, 0, 2, 16).map(|(code, rest)| (code, false, rest)),
        b'u' => return rune_escape(rest, 4),
        b'U' => return rune_escape(rest, 8),
        b'0'..=b'7' => {
            let (code, rest) = digits(rest, u32::from(escape - b'0'), 2, 8)?;
            return if code > 255 { Err(SyntaxError) } else { Ok((code, false, rest)) };
        }
        _ => return Err(SyntaxError),
    };
    Ok((simple.into(), false, rest))
}

fn rune_escape(text: &[u8], count: usize) -> Result<(u32, bool, &[u8]), SyntaxError> {
    let (code, rest) = digits(text, 0, count, 16)?;
    char::from_u32(code).map(|_| (code, true, rest)).ok_or(SyntaxError)
}

/// Reads exactly `count` digits after those of `start`.
fn digits(text: &[u8], start: u32, count: usize, base: u32) -> Result<(u32, &[u8]), SyntaxError> {
    let (read, rest) = text.split_at_checked(count).ok_or(SyntaxError)?;
    let mut code = start;
    for &byte in read {
        let digit = char::from(byte).to_digit(base).ok_or(SyntaxError)?;
        code = code.checked_mul(base).and_then(|code| code.checked_add(digit)).ok_or(SyntaxError)?;
    }
    Ok((code, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_go_by_their_prefix_in_base_zero() {
        for (text, wanted) in [
            ("0", 0),
            ("-0", 0),
            ("0x1F", 31),
            ("0b101", 5),
            ("0o17", 15),
            ("017", 15),
            ("1_000", 1000),
            ("0x_f", 15),
            ("-9223372036854775808", i64::MIN),
            ("+5", 5),
        ] {
            assert_eq!(parse_int(text, 0, 64), Ok(wanted), "{text}");
        }
        for text in ["", "-", "08", "0x", "1__0", "_1", "1_", "0_x1", "1.0", "9223372036854775808", "a"] {
            assert!(parse_int(text, 0, 64).is_err(), "{text}");
        }
        assert_eq!(parse_uint("18446744073709551615", 0, 64), Ok(u64::MAX));
        assert_eq!(parse_int("-128", 10, 8), Ok(-128));
        let error = parse_int("128", 10, 8).unwrap_err();
        assert_eq!(error.to_string(), "strconv.ParseInt: parsing \"128\": value out of range");
        assert_eq!(parse_int("1_0", 10, 64).unwrap_err().fault, NumberFault::Syntax);
    }

    #[test]
    fn floats_may_be_hexadecimal() {
        for (text, wanted) in [
            ("1.5", 1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("0x1p-2", 0.25),
            ("0x1.8p1", 3.0),
            ("-0X.8P0", -0.5),
            ("1_000.5", 1000.5),
            ("0x1_0p0", 16.0),
            ("0x1p-1074", 5e-324),
        ] {
            assert_eq!(parse_float(text), Ok(wanted), "{text}");
        }
        for text in ["", ".", "e5", "1e", "0x1", "0x.p1", "1__0.0", "--1", "0x1p", "-nan", "0x1p+-2"] {
            assert!(parse_float(text).is_err(), "{text}");
        }
        assert_eq!(parse_float("1e400").unwrap_err().fault, NumberFault::Range);
        assert_eq!(parse_float("-Inf"), Ok(f64::NEG_INFINITY));
        assert_eq!(parse_float("InFinity"), Ok(f64::INFINITY));
        assert!(parse_float("NaN").unwrap().is_nan());
    }

    #[test]
    fn literals_are_unquoted() {
        for (literal, wanted) in [
            (&br#""a\tb""#[..], &b"a\tb"[..]),
            (br#""\x41\101\u00e9\U0001F600\xff""#, b"AA\xc3\xa9\xf0\x9f\x98\x80\xff"),
            (br#""\a\b\f\n\r\t\v\\\"""#, b"\x07\x08\x0c\n\r\t\x0b\\\""),
            (b"`raw\\n\r\n`", b"raw\\n\n"),
            (b"\"\xff\"", b"\xef\xbf\xbd"),
            (b"\"\"", b""),
        ] {
            assert_eq!(unquote(literal).unwrap(), wanted);
        }
        for literal in [
            &br#""\'""#[..],
            br#""\q""#,
            br#""\x4""#,
            br#""\ud800""#,
            br#""\400""#,
            b"\"a\nb\"",
            b"'a'",
            b"\"",
        ] {
            assert!(unquote(literal).is_err(), "{}", String::from_utf8_lossy(literal));
        }
    }
}
