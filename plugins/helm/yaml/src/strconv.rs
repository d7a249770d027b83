//! Numbers as Go's `strconv` reads and prints them.

//!
//! Only the layouts that the YAML and JSON of Helm need: shortest floats in 'g' and encoding/json's own, integers with
//! Go's base prefixes, decimal floats.

mod integer;

use std::fmt::Write as _;

pub(crate) use self::integer::{
    parse_int, parse_int_radix, parse_uint, parse_uint_radix, push_i64, push_u64, upper_hex,
};

/// Which of Go's float layouts to print; always with the fewest digits that read back the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FloatStyle {
    /// `strconv.FormatFloat(f, 'g', -1, 64)`: exponent below 1e-4 and from 1e6 on.
    General,
    /// The layout of encoding/json: exponent below 1e-6 and from 1e21 on, one-digit exponents kept short.
    Json,
}

/// Decimal digits of a finite float and where its decimal point stands (`0.digits × 10^point`).
struct Decimal {
    digits: [u8; 17],
    len: usize,
    point: i32,
}

/// Collects what `{:e}` prints without touching the heap.
struct Shortest {
    decimal: Decimal,
    exponent: i32,
    negative_exponent: bool,
    in_exponent: bool,
}

impl std::fmt::Write for Shortest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            match byte {
                b'e' => self.in_exponent = true,
                b'-' => self.negative_exponent = true,
                b'0'..=b'9' if self.in_exponent => {
                    self.exponent = self.exponent * 10 + i32::from(byte - b'0');
                }
                b'0'..=b'9' => {
                    if let Some(slot) = self.decimal.digits.get_mut(self.decimal.len) {
                        *slot = byte;
                        self.decimal.len += 1;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Shortest {
    fn print(arguments: std::fmt::Arguments<'_>) -> Decimal {
        let mut out = Shortest {
            decimal: Decimal { digits: [0; 17], len: 0, point: 0 },
            exponent: 0,
            negative_exponent: false,
            in_exponent: false,
        };
        // Writing into `Shortest` cannot fail.
        let _ = out.write_fmt(arguments);
        let exponent = if out.negative_exponent { -out.exponent } else { out.exponent };
        out.decimal.point = exponent + 1;
        out.decimal
    }
}

impl Decimal {
    /// The shortest digits that parse back to `value` (finite, its sign is ignored). Of two equally near ones Go takes
    /// the one with the even last digit, Rust the larger.
    fn shortest<F>(value: &F, always_nearest: usize) -> Self
    where
        F: std::fmt::LowerExp + std::str::FromStr + PartialEq,
    {
        let shortest = Shortest::print(format_args!("{value:e}"));
        if shortest.len < always_nearest {
            return shortest;
        }
        let rounded = Shortest::print(format_args!("{value:.*e}", shortest.len - 1));
        if rounded.digits() == shortest.digits() {
            return shortest;
        }
        let mut text = Vec::new();
        rounded.push_exponent_form(&mut text, 1);
        let same =
            std::str::from_utf8(&text).is_ok_and(|text| text.parse::<F>().is_ok_and(|read| read == *value));
        if same { rounded } else { shortest }
    }

    /// With fewer digits than this the next number of one digit more or less is too far away to be read as the same.
    const NEAREST: usize = 15;
    /// The same for single precision.
    const NEAREST_32: usize = 6;

    fn digits(&self) -> &[u8] {
        self.digits.get(..self.len).unwrap_or_default()
    }

    /// `d.ddde±xx`, the exponent with at least `exponent_digits` digits.
    fn push_exponent_form(&self, out: &mut Vec<u8>, exponent_digits: usize) {
        let (first, rest) = self.digits().split_first().unwrap_or((&b'0', &[]));
        out.push(*first);
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
        let exponent = self.point - 1;
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        let text = exponent.unsigned_abs();
        if text < 10 && exponent_digits > 1 {
            out.push(b'0');
        }
        push_u64(out, u64::from(text));
    }

    /// Digits with a decimal point and as many zeros as needed.
    fn push_plain_form(&self, out: &mut Vec<u8>) {
        let digits = self.digits();
        if self.point <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + self.point.unsigned_abs() as usize, b'0');
            out.extend_from_slice(digits);
            return;
        }
        let whole = self.point.unsigned_abs() as usize;
        match (digits.get(..whole), digits.get(whole..)) {
            (Some(before), Some(after)) => {
                out.extend_from_slice(before);
                if !after.is_empty() {
                    out.push(b'.');
                    out.extend_from_slice(after);
                }
            }
            _ => {
                out.extend_from_slice(digits);
                out.resize(out.len() + whole - digits.len(), b'0');
            }
        }
    }
}

/// Appends `value` as Go prints it in `style`; infinities and NaN as `+Inf`, `-Inf` and `NaN`.
pub(crate) fn push_float(out: &mut Vec<u8>, value: f64, style: FloatStyle) {
    if !value.is_finite() {
        out.extend_from_slice(non_finite(value).as_bytes());
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    let decimal = Decimal::shortest(&value.abs(), Decimal::NEAREST);
    match style {
        FloatStyle::General => push_general(out, &decimal),
        FloatStyle::Json => push_json(out, &decimal, value.abs()),
    }
}

/// Appends a `float32`, held as the `f64` of the same value, as encoding/json does.
pub(crate) fn push_json_float32(out: &mut Vec<u8>, value: f64) {
    #[expect(clippy::cast_possible_truncation, reason = "the value is that of a float32")]
    let value = value as f32;
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    push_json(out, &Decimal::shortest(&value.abs(), Decimal::NEAREST_32), f64::from(value.abs()));
}

/// The layout of encoding/json, `AppendFloat` of its `jsonwire`. The bounds are doubles for single floats as well: none
/// of those lies between the bound and its own rounding of it.
fn push_json(out: &mut Vec<u8>, decimal: &Decimal, magnitude: f64) {
    if (1e-6..1e21).contains(&magnitude) {
        decimal.push_plain_form(out);
    } else {
        decimal.push_exponent_form(out, 1);
    }
}

/// Appends `value` rounded to single precision as `strconv.FormatFloat(f, 'g', -1, 32)` prints it.
pub(crate) fn push_float32(out: &mut Vec<u8>, value: f64) {
    #[expect(clippy::cast_possible_truncation, reason = "Go rounds to the nearest float32 here as well")]
    let value = value as f32;
    if !value.is_finite() {
        out.extend_from_slice(non_finite(f64::from(value)).as_bytes());
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    push_general(out, &Decimal::shortest(&value.abs(), Decimal::NEAREST_32));
}

/// The 'g' layout with the shortest digits, `formatDigits` of Go's `ftoa.go`.
fn push_general(out: &mut Vec<u8>, decimal: &Decimal) {
    let exponent = decimal.point - 1;
    if !(-4..6).contains(&exponent) {
        decimal.push_exponent_form(out, 2);
    } else {
        decimal.push_plain_form(out);
    }
}

/// The name Go prints for a float without digits.
pub(crate) fn non_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value.is_sign_negative() {
        "-Inf"
    } else {
        "+Inf"
    }
}

/// `strconv.ParseFloat(text, 64)` for decimal text; `None` where Go returns an error, a value out of range included.
///
/// An underscore is accepted between two digits.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let mut underscores = false;
    let mut after_digit = false;
    for byte in text.bytes() {
        match byte {
            b'_' if after_digit => underscores = true,
            b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E' => {}
            _ => return None,
        }
        after_digit = byte.is_ascii_digit();
    }
    let value = if underscores {
        let separates = |at: usize| text.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
        if !text.match_indices('_').all(|(at, _)| separates(at)) {
            return None;
        }
        text.replace('_', "").parse::<f64>()
    } else {
        text.parse::<f64>()
    };
    value.ok().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn general(value: f64) -> String {
        let mut out = Vec::new();
        push_float(&mut out, value, FloatStyle::General);
        String::from_utf8(out).unwrap()
    }

    fn json(value: f64) -> String {
        let mut out = Vec::new();
        push_float(&mut out, value, FloatStyle::Json);
        String::from_utf8(out).unwrap()
    }

    fn single(value: f64) -> String {
        let mut out = Vec::new();
        push_float32(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn general_floats_take_the_exponent_form_outside_of_1e_minus_4_to_1e6() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (1.5, "1.5"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (123_456_789.5, "1.234567895e+08"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1e100, "1e+100"),
            (-1.25e-7, "-1.25e-07"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            // Exactly in the middle between …2 and …3.
            (6_971_206_066_447_821.0 / 4.0, "1.7428015166119552e+15"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn json_floats_take_the_exponent_form_outside_of_1e_minus_6_to_1e21() {
        for (value, text) in [
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-6, "0.000001"),
            (9.9e-7, "9.9e-7"),
            (1e-10, "1e-10"),
            (1_000_000.0, "1000000"),
            (12.5, "12.5"),
            (-0.0, "-0"),
        ] {
            assert_eq!(json(value), text);
        }
    }

    #[test]
    fn map_keys_are_printed_with_single_precision() {
        for (value, text) in
            [(1.1, "1.1"), (16_777_217.0, "1.6777216e+07"), (1e39, "+Inf"), (0.1, "0.1"), (-2.5, "-2.5")]
        {
            assert_eq!(single(value), text);
        }
    }

    #[test]
    fn a_float_out_of_range_is_refused() {
        assert_eq!(parse_float("1e999"), None);
        assert_eq!(parse_float(".5"), Some(0.5));
        assert_eq!(parse_float("1e-999"), Some(0.0));
        assert_eq!(parse_float("."), None);
        assert_eq!(parse_float("nan"), None);
    }

    #[test]
    fn an_underscore_in_a_float_stands_between_digits() {
        assert_eq!(parse_float(".5_0"), Some(0.5));
        assert_eq!(parse_float("._5"), None);
        assert_eq!(parse_float(".5_"), None);
        assert_eq!(parse_float(".5__0"), None);
    }
}
