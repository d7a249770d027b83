//! Number and character constants (`newNumber` of text/template/parse/node.go).

use crate::fmt::quote;
use crate::strconv::{parse_float, parse_int, parse_uint, unquote_char};
use crate::value::Complex;

/// A numeric constant: everything its text can be taken for. Which of it counts depends on the
/// parameter it is given to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number {
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    /// Whether the text asks for a float where nothing else says what is wanted.
    pub(crate) prefers_float: bool,
    /// What it is where nothing says what is wanted, if it was spelled as that.
    pub(crate) complex: Option<Complex>,
}

impl Number {
    /// Reads a character constant, quotes included.
    pub(super) fn character(text: &[u8]) -> Result<Self, String> {
        let inner = text.get(1..).unwrap_or_default();
        let (code, _, tail) = unquote_char(inner, b'\'').map_err(|error| error.to_string())?;
        if tail != b"'" {
            return Err(format!("malformed character constant: {}", String::from_utf8_lossy(text)));
        }
        Ok(Self {
            int: Some(code.into()),
            uint: Some(code.into()),
            float: Some(code.into()),
            prefers_float: false,
            complex: None,
        })
    }

    /// Reads a number.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(imaginary) = text.strip_suffix('i').and_then(|text| parse_float(text).ok()) {
            return Ok(Self::of_complex(Complex { real: 0.0, imaginary }));
        }
        let mut number = Self {
            int: parse_int(text, 0, 64).ok(),
            uint: parse_uint(text, 0, 64).ok(),
            float: None,
            prefers_float: !is_hex_int(text) && text.contains(['.', 'e', 'E', 'p', 'P']),
            complex: None,
        };
        if number.int == Some(0) {
            number.uint = Some(0);
        }
        #[expect(clippy::cast_precision_loss, reason = "Go rounds here too")]
        if let Some(int) = number.int {
            number.float = Some(int as f64);
        } else if let Some(uint) = number.uint {
            number.float = Some(uint as f64);
        } else if let Ok(float) = parse_float(text) {
            if !text.contains(['.', 'e', 'E', 'p', 'P']) {
                return Err(format!("integer overflow: {}", quote(text.as_bytes())));
            }
            number.float = Some(float);
            number.int = whole(float);
            number.uint = whole_unsigned(float);
        } else {
            return Err(format!("illegal number syntax: {}", quote(text.as_bytes())));
        }
        Ok(number)
    }

    /// Reads two parts, the second with a sign and an `i`.
    pub(super) fn complex(text: &str) -> Result<Self, String> {
        const WRONG: &str = "syntax error scanning complex number";
        let parts = text.strip_suffix('i').ok_or(WRONG)?;
        let is_exponent =
            |at: usize| parts.get(..at).is_some_and(|before| before.ends_with(['e', 'E', 'p', 'P']));
        let mut signs =
            parts.match_indices(['+', '-']).map(|(at, _)| at).filter(|&at| at > 0 && !is_exponent(at));
        let (real, imaginary) = signs.next().and_then(|at| parts.split_at_checked(at)).ok_or(WRONG)?;
        if imaginary.len() == 1 {
            return Err(WRONG.to_owned());
        }
        let part = |text: &str| parse_float(text).map_err(|error| error.to_string());
        Ok(Self::of_complex(Complex { real: part(real)?, imaginary: part(imaginary)? }))
    }

    /// A number that is real can be taken for one (`simplifyComplex`).
    fn of_complex(complex: Complex) -> Self {
        let real = (complex.imaginary == 0.0).then_some(complex.real);
        Self {
            int: real.and_then(whole),
            uint: real.and_then(whole_unsigned),
            float: real,
            prefers_float: false,
            complex: Some(complex),
        }
    }
}

fn is_hex_int(text: &str) -> bool {
    text.len() > 2 && (text.starts_with("0x") || text.starts_with("0X")) && !text.contains(['p', 'P'])
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

#[expect(clippy::cast_possible_truncation, reason = "the range is checked, the fraction is zero")]
fn whole(float: f64) -> Option<i64> {
    (float.trunc() == float && (-TWO_TO_63..TWO_TO_63).contains(&float)).then_some(float as i64)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn whole_unsigned(float: f64) -> Option<u64> {
    (float.trunc() == float && (0.0..2.0 * TWO_TO_63).contains(&float)).then_some(float as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_float_is_an_integer_as_well() {
        let number = Number::parse("1e3").unwrap();
        assert_eq!((number.int, number.uint, number.float), (Some(1000), Some(1000), Some(1000.0)));
        assert!(number.prefers_float);
        assert_eq!(Number::parse("1.5").unwrap().int, None);
        assert_eq!(Number::parse("-1.0").unwrap().uint, None);
        assert_eq!(Number::parse("9223372036854775808.0").unwrap().int, None);
    }

    #[test]
    fn a_hex_number_with_an_e_is_no_float() {
        let number = Number::parse("0xe").unwrap();
        assert_eq!(number.int, Some(14));
        assert!(!number.prefers_float);
    }

    #[test]
    fn wrong_numbers_are_refused_with_gos_texts() {
        for (text, wanted) in [
            ("99999999999999999999", "integer overflow: \"99999999999999999999\""),
            ("08", "integer overflow: \"08\""),
            ("0x", "illegal number syntax: \"0x\""),
            ("+", "illegal number syntax: \"+\""),
            ("1e400i", "illegal number syntax: \"1e400i\""),
        ] {
            assert_eq!(Number::parse(text).unwrap_err(), wanted);
        }
    }

    #[test]
    fn a_complex_number_without_imaginary_part_is_a_real_one_as_well() {
        assert_eq!(Number::parse("0i").unwrap().int, Some(0));
        assert_eq!(Number::parse("2i").unwrap().float, None);
        let number = Number::complex("-1.5e+3-0.25i").unwrap();
        assert_eq!(number.complex, Some(Complex { real: -1500.0, imaginary: -0.25 }));
        assert_eq!(Number::complex("3+0i").unwrap().uint, Some(3));
        for wrong in ["1+i", "1+2", "12i"] {
            assert_eq!(
                Number::complex(wrong).unwrap_err(),
                "syntax error scanning complex number",
                "{wrong}"
            );
        }
    }

    #[test]
    fn characters_are_their_code_points() {
        for (text, wanted) in [(&b"'a'"[..], 97), (b"'\\n'", 10), ("'é'".as_bytes(), 233), (b"'\\''", 39)] {
            assert_eq!(Number::character(text).unwrap().int, Some(wanted));
        }
        assert_eq!(Number::character(b"'ab'").unwrap_err(), "malformed character constant: 'ab'");
        assert_eq!(Number::character(b"''").unwrap_err(), "invalid syntax");
    }
}
