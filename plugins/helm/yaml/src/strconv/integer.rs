//! Integers with Go's base prefixes.

/// Appends `value` in decimal.
pub(crate) fn push_u64(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut used = 0;
    for slot in digits.iter_mut().rev() {
        // The remainder of ten is a single digit.
        *slot = b'0' + u8::try_from(value % 10).unwrap_or(0);
        used += 1;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
}

/// Appends `value` in decimal.
pub(crate) fn push_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_u64(out, value.unsigned_abs());
}

/// The last hexadecimal digit of a number, in upper case.
pub(crate) fn upper_hex(value: u32) -> u8 {
    let digit = u8::try_from(value & 0xF).unwrap_or(0);
    if digit < 10 { b'0' + digit } else { b'A' + digit - 10 }
}

/// `strconv.ParseInt(text, 0, 64)` for text without underscores; `None` where Go returns an error.
pub(crate) fn parse_int(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(rest) => 0_i64.checked_sub_unsigned(parse_uint(rest)?),
        None => i64::try_from(parse_uint(text.strip_prefix('+').unwrap_or(text))?).ok(),
    }
}

/// `strconv.ParseUint(text, 0, 64)` for text without underscores; `None` where Go returns an error.
pub(crate) fn parse_uint(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (digits, radix) = match bytes {
        [b'0', b'x' | b'X', rest @ ..] if !rest.is_empty() => (rest, 16),
        [b'0', b'o' | b'O', rest @ ..] if !rest.is_empty() => (rest, 8),
        [b'0', b'b' | b'B', rest @ ..] if !rest.is_empty() => (rest, 2),
        [b'0', rest @ ..] => (rest, 8),
        [] => return None,
        all => (all, 10),
    };
    accumulate(digits, radix)
}

/// `strconv.ParseInt(text, radix, 64)`.
pub(crate) fn parse_int_radix(text: &str, radix: u32) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(rest) => 0_i64.checked_sub_unsigned(parse_uint_radix(rest, radix)?),
        None => i64::try_from(parse_uint_radix(text.strip_prefix('+').unwrap_or(text), radix)?).ok(),
    }
}

/// `strconv.ParseUint(text, radix, 64)`.
pub(crate) fn parse_uint_radix(text: &str, radix: u32) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    accumulate(text.as_bytes(), radix)
}

/// The value of `digits`; empty digits are zero, as after the lone `0` of an octal.
fn accumulate(digits: &[u8], radix: u32) -> Option<u64> {
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = char::from(*digit).to_digit(radix)?;
        value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_the_base_prefixes_of_go() {
        for (text, value) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("0777", Some(511)),
            ("0o777", Some(511)),
            ("0x1F", Some(31)),
            ("0b101", Some(5)),
            ("+5", Some(5)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("08", None),
            ("0x", None),
            ("", None),
            ("-", None),
            ("+-1", None),
            ("1e3", None),
        ] {
            assert_eq!(parse_int(text), value, "{text}");
        }
        assert_eq!(parse_uint("18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_uint("18446744073709551616"), None);
        assert_eq!(parse_uint("+1"), None);
    }
}
