//! Floating-point numbers as text: Go's `strconv.FormatFloat`.

use std::fmt::Write as _;

/// More digits than any `float64` has in decimal; what is asked for beyond is zeros.
const MAX_DIGITS: usize = 1100;

/// Decimal digits `d` without trailing zeros, standing for `0.d × 10^point`.
#[derive(Debug, Default)]
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

impl Digits {
    /// The fewest digits that read back as the same number. Where two such numbers are equally
    /// near, Go takes the one with the even last digit and Rust the larger.
    fn shortest(value: f64, bits: u32) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a float32 is formatted as one")]
        let narrow = value as f32;
        let text = if bits == 32 { format!("{narrow:e}") } else { format!("{value:e}") };
        let digits = Self::from_scientific(&text);
        // With fewer digits the next number is too far away to be read back as the same.
        if digits.len() < if bits == 32 { 6 } else { 15 } {
            return digits;
        }
        let text = format!("{value:.0$e}", digits.digits.len() - 1);
        let same = if bits == 32 { text.parse() == Ok(narrow) } else { text.parse() == Ok(value) };
        if same { Self::from_scientific(&text) } else { digits }
    }

    /// The exact number rounded (half to even) to `count` significant digits.
    fn significant(value: f64, count: usize) -> Self {
        let after_point = count.clamp(1, MAX_DIGITS) - 1;
        Self::from_scientific(&format!("{value:.after_point$e}"))
    }

    /// The exact number rounded to `count` digits after the decimal point.
    fn fraction(value: f64, count: usize) -> Self {
        let text = format!("{:.*}", count.min(MAX_DIGITS), value);
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        Self::trimmed(&digits, i32::try_from(whole.len()).unwrap_or(i32::MAX))
    }

    /// Reads Rust's `d.ddde±x`.
    fn from_scientific(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        Self::trimmed(&digits, exponent.parse::<i32>().unwrap_or(0) + 1)
    }

    fn trimmed(digits: &[u8], point: i32) -> Self {
        let Some(first) = digits.iter().position(|&digit| digit != b'0') else { return Self::default() };
        let last = digits.iter().rposition(|&digit| digit != b'0').unwrap_or(first);
        let digits = digits.get(first..=last).unwrap_or_default().to_vec();
        Self { digits, point: point - i32::try_from(first).unwrap_or(0) }
    }

    fn len(&self) -> i32 {
        i32::try_from(self.digits.len()).unwrap_or(i32::MAX)
    }

    fn digit(&self, index: i32) -> char {
        usize::try_from(index)
            .ok()
            .and_then(|index| self.digits.get(index))
            .map_or('0', |&digit| digit.into())
    }

    /// `d.ddde±dd` with `precision` digits after the point.
    fn scientific(&self, out: &mut String, precision: i32, letter: char) {
        out.push(self.digit(0));
        if precision > 0 {
            out.push('.');
            out.extend((1..=precision).map(|index| self.digit(index)));
        }
        let exponent = if self.digits.is_empty() { 0 } else { self.point - 1 };
        push_exponent(out, letter, exponent);
    }

    /// `ddd.ddd` with `precision` digits after the point.
    fn plain(&self, out: &mut String, precision: i32) {
        if self.point > 0 {
            out.extend((0..self.point).map(|index| self.digit(index)));
        } else {
            out.push('0');
        }
        if precision > 0 {
            out.push('.');
            out.extend((0..precision).map(|index| self.digit(self.point.saturating_add(index))));
        }
    }

    /// `%g`: whichever of the two is Go's choice.
    fn general(&self, out: &mut String, precision: Option<i32>, letter: char) {
        let wanted = precision.unwrap_or_else(|| self.len());
        let threshold = match precision {
            None => 6,
            Some(precision) if precision > self.len() && self.len() >= self.point => self.len(),
            Some(precision) => precision,
        };
        let exponent = self.point - 1;
        if exponent < -4 || exponent >= threshold {
            return self.scientific(out, wanted.min(self.len()) - 1, letter);
        }
        let shown = if wanted > self.point { self.len() } else { wanted };
        self.plain(out, (shown - self.point).max(0));
    }
}

/// Formats a number as Go's `strconv.FormatFloat(value, verb, precision, bits)`.
///
/// `verb` is one of `b e E f g G x X`; `precision` `None` means the fewest digits that read back as
/// the same number; `bits` is 32 or 64.
pub fn format_float(value: f64, verb: char, precision: Option<usize>, bits: u32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let mut out = String::with_capacity(24);
    if value.is_sign_negative() {
        out.push('-');
    }
    let magnitude = value.abs();
    match verb {
        'b' => binary_exponent(&mut out, magnitude, bits),
        'x' | 'X' => hexadecimal(&mut out, magnitude, bits, precision, verb),
        _ => decimal(&mut out, magnitude, bits, precision, verb),
    }
    out
}

fn decimal(out: &mut String, value: f64, bits: u32, precision: Option<usize>, verb: char) {
    let width = precision.map(|digits| i32::try_from(digits).unwrap_or(i32::MAX));
    let digits = match (precision, verb) {
        (None, _) => Digits::shortest(value, bits),
        (Some(count), 'e' | 'E') => Digits::significant(value, count.saturating_add(1)),
        (Some(count), 'f') => Digits::fraction(value, count),
        (Some(count), _) => Digits::significant(value, count),
    };
    match verb {
        'e' | 'E' => digits.scientific(out, width.unwrap_or_else(|| digits.len() - 1), verb),
        'f' => digits.plain(out, width.unwrap_or_else(|| (digits.len() - digits.point).max(0))),
        'G' => digits.general(out, width.map(|width| width.max(1)), 'E'),
        _ => digits.general(out, width.map(|width| width.max(1)), 'e'),
    }
}

/// A sign and at least two digits.
fn push_exponent(out: &mut String, letter: char, exponent: i32) {
    let sign = if exponent < 0 { '-' } else { '+' };
    let _ = write!(out, "{letter}{sign}{:02}", exponent.unsigned_abs());
}

/// Mantissa and binary exponent such that the value is `mantissa × 2^exponent`, and the mantissa's
/// bits after the leading one.
fn parts(value: f64, bits: u32) -> (u64, i32, u32) {
    let (raw, fraction_bits, exponent_bits) = if bits == 32 {
        #[expect(clippy::cast_possible_truncation, reason = "a float32 is formatted as one")]
        let narrow = value as f32;
        (u64::from(narrow.to_bits()), 23, 8)
    } else {
        (value.to_bits(), 52, 11)
    };
    let bias = (1 << (exponent_bits - 1)) - 1 + i32::try_from(fraction_bits).unwrap_or(0);
    let fraction = raw & ((1 << fraction_bits) - 1);
    match i32::try_from((raw >> fraction_bits) & ((1 << exponent_bits) - 1)).unwrap_or(0) {
        0 => (fraction, 1 - bias, fraction_bits),
        exponent => (fraction | (1 << fraction_bits), exponent - bias, fraction_bits),
    }
}

/// `%b`: `ddddp±ddd`.
fn binary_exponent(out: &mut String, value: f64, bits: u32) {
    let (mantissa, exponent, _) = parts(value, bits);
    let _ = write!(out, "{mantissa}p{exponent:+}");
}

/// `%x`: `0x1.hhhp±dd`.
fn hexadecimal(out: &mut String, value: f64, bits: u32, precision: Option<usize>, verb: char) {
    let (mut mantissa, mut exponent, fraction_bits) = parts(value, bits);
    exponent += i32::try_from(fraction_bits).unwrap_or(0);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // The leading one goes to bit 60, so that the fraction is fifteen whole hex digits.
        let shift = mantissa.leading_zeros() - 3;
        exponent -= i32::try_from(shift).unwrap_or(0) - (60 - i32::try_from(fraction_bits).unwrap_or(0));
        mantissa <<= shift;
    }
    if let Some(digits @ 0..15) = precision {
        (mantissa, exponent) = round_hex(mantissa, exponent, digits);
    }
    let leading = if mantissa >> 60 & 1 == 1 { '1' } else { '0' };
    let _ = write!(out, "0{verb}{leading}");
    let fraction = mantissa & ((1 << 60) - 1);
    let mut digits = format!("{fraction:015x}");
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(count) => {
            digits.truncate(count);
            digits.extend(std::iter::repeat_n('0', count - digits.len()));
        }
    }
    if !digits.is_empty() {
        out.push('.');
        out.push_str(&if verb == 'X' { digits.to_ascii_uppercase() } else { digits });
    }
    push_exponent(out, if verb == 'X' { 'P' } else { 'p' }, exponent);
}

/// Rounds the fraction below bit 60 to that many hex digits, half to even.
fn round_hex(mantissa: u64, exponent: i32, digits: usize) -> (u64, i32) {
    let dropped = 60 - 4 * u32::try_from(digits).unwrap_or(0);
    let (kept, rest) = (mantissa >> dropped, mantissa & ((1 << dropped) - 1));
    let half = 1 << (dropped - 1);
    let up = rest > half || (rest == half && kept & 1 == 1);
    let rounded = (kept + u64::from(up)) << dropped;
    if rounded >> 61 & 1 == 1 { (rounded >> 1, exponent + 1) } else { (rounded, exponent) }
}

#[cfg(test)]
mod tests {
    use super::format_float;

    #[test]
    fn numbers_are_formatted_as_strconv_formats_them() {
        let cases: &[(f64, char, Option<usize>, u32, &str)] = &[
            (1e6, 'g', None, 64, "1e+06"),
            (100_000.0, 'g', None, 64, "100000"),
            (12_345_678_901_234_567.0, 'g', None, 64, "1.2345678901234568e+16"),
            (0.0001, 'g', None, 64, "0.0001"),
            (0.00001, 'g', None, 64, "1e-05"),
            (0.0, 'g', None, 64, "0"),
            (-0.0, 'g', None, 64, "-0"),
            (0.0, 'e', None, 64, "0e+00"),
            (5e-324, 'g', None, 64, "5e-324"),
            (f64::MAX, 'f', None, 64, &format!("17976931348623157{}", "0".repeat(292))),
            (100.0, 'g', Some(3), 64, "100"),
            (1000.0, 'g', Some(3), 64, "1e+03"),
            (1.0, 'g', Some(5), 64, "1"),
            (12345.0, 'g', Some(0), 64, "1e+04"),
            (2.5, 'f', Some(0), 64, "2"),
            (3.5, 'f', Some(0), 64, "4"),
            (0.5, 'f', Some(0), 64, "0"),
            (1.005, 'f', Some(2), 64, "1.00"),
            (123.456, 'e', Some(2), 64, "1.23e+02"),
            (123.456, 'E', Some(0), 64, "1E+02"),
            (0.1, 'g', None, 32, "0.1"),
            (190_854.625, 'g', None, 32, "190854.62"),
            (70_368_744_177_664.0 + 0.125, 'f', None, 64, "70368744177664.12"),
            (16_777_216.0, 'g', None, 32, "1.6777216e+07"),
            (1.0, 'b', None, 64, "4503599627370496p-52"),
            (1.0, 'x', None, 64, "0x1p+00"),
            (0.1, 'x', None, 64, "0x1.999999999999ap-04"),
            (0.1, 'x', Some(3), 64, "0x1.99ap-04"),
            (1.9375, 'X', Some(1), 64, "0X1.FP+00"),
            (1.99, 'x', Some(0), 64, "0x1p+01"),
            (0.0, 'x', None, 64, "0x0p+00"),
            (1.0, 'x', Some(20), 64, "0x1.00000000000000000000p+00"),
            (5e-324, 'x', None, 64, "0x1p-1074"),
            (1.5, 'x', None, 32, "0x1.8p+00"),
        ];
        for (value, verb, precision, bits, wanted) in cases {
            assert_eq!(
                &format_float(*value, *verb, *precision, *bits),
                wanted,
                "{value} {verb} {precision:?}"
            );
        }
    }

    #[test]
    fn a_huge_precision_is_padded_with_zeros() {
        let text = format_float(1.5, 'f', Some(100_000), 64);
        assert_eq!(text.len(), 100_002);
        assert!(text.starts_with("1.50") && text.ends_with("00"));
    }
}
