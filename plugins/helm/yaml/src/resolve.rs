//! What an untagged or tagged YAML scalar means to go-yaml v2: its `resolve.go`.
//!
//! The reader asks for the value, the writer only whether a string would be read back as something else.

use std::borrow::Cow;

use crate::strconv;
use crate::timestamp::is_timestamp;

/// The long form of YAML's own tags.
pub(crate) const TAG_PREFIX: &str = "tag:yaml.org,2002:";
/// `!!merge`.
pub(crate) const MERGE_TAG: &str = "tag:yaml.org,2002:merge";
/// `!!binary`.
pub(crate) const BINARY_TAG: &str = "tag:yaml.org,2002:binary";

/// The meaning of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    /// Nothing: empty, `~`, `null`.
    Null,
    /// `true`, `yes`, `on`, `y` and their opposites.
    Bool(bool),
    /// A number that fits a Go `int`.
    Int(i64),
    /// A number that only fits an `uint64`.
    Uint(u64),
    /// Any other number.
    Float(f64),
    /// A date, kept as its text when read.
    Timestamp,
    /// The text itself.
    Text,
}

impl Scalar {
    /// The short tag go-yaml names in its messages.
    fn short_tag(self) -> &'static str {
        match self {
            Scalar::Null => "!!null",
            Scalar::Bool(_) => "!!bool",
            Scalar::Int(_) | Scalar::Uint(_) => "!!int",
            Scalar::Float(_) => "!!float",
            Scalar::Timestamp => "!!timestamp",
            Scalar::Text => "!!str",
        }
    }
}

/// What an untagged plain scalar means.
pub(crate) fn resolve_plain(text: &str) -> Scalar {
    resolve_untagged(text, true)
}

/// Whether `text` written plain would be read back as this very string.
pub(crate) fn reads_back_as_string(text: &str) -> bool {
    matches!(resolve_plain(text), Scalar::Text)
}

/// What a scalar with an explicit tag means.
///
/// # Errors
///
/// The message of go-yaml v2 when the text does not fit the tag.
pub(crate) fn resolve_tagged(tag: &str, text: &str) -> Result<Scalar, String> {
    let Some(kind) = tag.strip_prefix(TAG_PREFIX) else { return Ok(Scalar::Text) };
    let scalar = match kind {
        "str" => return Ok(Scalar::Text),
        "bool" | "int" | "float" | "null" => resolve_untagged(text, false),
        "timestamp" => resolve_untagged(text, true),
        _ => return Ok(Scalar::Text),
    };
    let found = scalar.short_tag();
    match scalar {
        _ if found.strip_prefix("!!") == Some(kind) => Ok(scalar),
        #[expect(clippy::cast_precision_loss, reason = "Go converts the same way")]
        Scalar::Int(value) if kind == "float" => Ok(Scalar::Float(value as f64)),
        _ => Err(format!("cannot decode {found} `{text}` as a !!{kind}")),
    }
}

/// go-yaml's `resolve` once the tag allows any meaning; dates are looked for only without a tag or with `!!timestamp`.
fn resolve_untagged(text: &str, timestamps: bool) -> Scalar {
    let Some(first) = text.bytes().next() else { return Scalar::Null };
    match first {
        b'0'..=b'9' | b'+' | b'-' => infinity(text).unwrap_or_else(|| resolve_number(text, timestamps)),
        b'.' => match text {
            ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
            _ => infinity(text)
                .or_else(|| strconv::parse_float(text).map(Scalar::Float))
                .unwrap_or(Scalar::Text),
        },
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => resolve_word(text),
        // go-yaml looks for "<<" only behind a hint that '<' does not have, so the text is a plain string here and
        // the merge key is recognised by the mapping that holds it.
        _ => Scalar::Text,
    }
}

fn infinity(text: &str) -> Option<Scalar> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(Scalar::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => Some(Scalar::Float(f64::NEG_INFINITY)),
        _ => None,
    }
}

fn resolve_word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text,
    }
}

fn resolve_number(text: &str, timestamps: bool) -> Scalar {
    if timestamps && is_timestamp(text) {
        return Scalar::Timestamp;
    }
    let plain = if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) };
    if let Some(value) = strconv::parse_int(&plain) {
        return Scalar::Int(value);
    }
    if let Some(value) = strconv::parse_uint(&plain) {
        return Scalar::Uint(value);
    }
    if is_yaml_float(&plain)
        && let Some(value) = strconv::parse_float(&plain)
    {
        return Scalar::Float(value);
    }
    resolve_prefixed(&plain, "0b", 2).unwrap_or(Scalar::Text)
}

/// The leftovers of YAML 1.1's numbers: a sign behind the prefix.
fn resolve_prefixed(plain: &str, prefix: &str, radix: u32) -> Option<Scalar> {
    if let Some(digits) = plain.strip_prefix(prefix) {
        return strconv::parse_int_radix(digits, radix)
            .map(Scalar::Int)
            .or_else(|| strconv::parse_uint_radix(digits, radix).map(Scalar::Uint));
    }
    let digits = plain.strip_prefix('-')?.strip_prefix(prefix)?;
    strconv::parse_int_radix(&format!("-{digits}"), radix).map(Scalar::Int)
}

/// Whether go-yaml v3, unlike v2, takes `text` for an octal number: one with a sign behind its `0o`.
pub(crate) fn is_octal_of_v3(text: &str) -> bool {
    text.starts_with(['0', '-']) && resolve_prefixed(&text.replace('_', ""), "0o", 8).is_some()
}

/// The short tag that go-yaml v3 gives a plain scalar. It knows fewer words than v2, and octal numbers with a sign.
pub(crate) fn tag_of_v3(text: &str) -> &'static str {
    match resolve_plain(text) {
        Scalar::Bool(_) if !matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE") => "!!str",
        Scalar::Text if is_octal_of_v3(text) => "!!int",
        scalar => scalar.short_tag(),
    }
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`
fn is_yaml_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !unsigned.is_empty() && digits(unsigned)
    });
    mantissa_fits && exponent_fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_yaml_1_1_are_booleans_and_nulls() {
        for (text, scalar) in [
            ("yes", Scalar::Bool(true)),
            ("Off", Scalar::Bool(false)),
            ("y", Scalar::Bool(true)),
            ("yEs", Scalar::Text),
            ("~", Scalar::Null),
            ("", Scalar::Null),
            ("NULL", Scalar::Null),
            ("nULL", Scalar::Text),
        ] {
            assert_eq!(resolve_plain(text), scalar, "{text}");
        }
    }

    #[test]
    fn numbers_take_every_spelling_of_go_yaml() {
        for (text, scalar) in [
            ("0777", Scalar::Int(511)),
            ("0o777", Scalar::Int(511)),
            ("08", Scalar::Float(8.0)),
            ("0x1F", Scalar::Int(31)),
            ("1_000", Scalar::Int(1000)),
            ("0b11", Scalar::Int(3)),
            ("0b+11", Scalar::Int(3)),
            ("-0b11", Scalar::Int(-3)),
            ("18446744073709551615", Scalar::Uint(u64::MAX)),
            ("18446744073709551616", Scalar::Float(18_446_744_073_709_551_616.0)),
            ("1.", Scalar::Float(1.0)),
            (".5", Scalar::Float(0.5)),
            ("1e3", Scalar::Float(1000.0)),
            ("1e999", Scalar::Text),
            ("1:30", Scalar::Text),
            ("0x", Scalar::Text),
            ("-", Scalar::Text),
            ("+.inf", Scalar::Float(f64::INFINITY)),
            ("-.INF", Scalar::Float(f64::NEG_INFINITY)),
            ("..5", Scalar::Text),
        ] {
            assert_eq!(resolve_plain(text), scalar, "{text}");
        }
    }

    #[test]
    fn a_date_is_a_timestamp_and_the_merge_key_is_text() {
        assert_eq!(resolve_plain("2001-01-01"), Scalar::Timestamp);
        assert_eq!(resolve_plain("<<"), Scalar::Text);
    }

    #[test]
    fn a_tag_takes_only_what_fits() {
        let tag = |kind: &str| format!("{TAG_PREFIX}{kind}");
        assert_eq!(resolve_tagged(&tag("float"), "3"), Ok(Scalar::Float(3.0)));
        assert_eq!(resolve_tagged(&tag("str"), "3"), Ok(Scalar::Text));
        assert_eq!(resolve_tagged("!mine", "3"), Ok(Scalar::Text));
        assert_eq!(resolve_tagged(&tag("int"), "x"), Err("cannot decode !!str `x` as a !!int".into()));
        assert_eq!(
            resolve_tagged(&tag("timestamp"), "5"),
            Err("cannot decode !!int `5` as a !!timestamp".into())
        );
        assert_eq!(
            resolve_tagged(&tag("int"), "2001-01-01"),
            Err("cannot decode !!str `2001-01-01` as a !!int".into())
        );
    }
}
