//! From one type to another, as spf13/cast does it for sprig: what cannot be read is zero.

use helm_template::{Signature, Type, Value};

use crate::register::{Register, arg, text};

pub(crate) fn register(all: &mut Register) {
    all.add("int", Signature::new(&[Type::Any], Type::INT), |args| Ok(Value::int(to_int64(arg(args, 0)))));
    all.add("int64", Signature::new(&[Type::Any], Type::INT64), |args| {
        Ok(Value::from(to_int64(arg(args, 0))))
    });
    all.add("float64", Signature::new(&[Type::Any], Type::FLOAT64), |args| {
        Ok(Value::from(to_float64(arg(args, 0))))
    });
    all.add("atoi", Signature::new(&[Type::String], Type::INT), |args| {
        let source = String::from_utf8_lossy(text(args, 0)).into_owned();
        Ok(Value::int(source.parse().unwrap_or(0)))
    });
    all.add("toDecimal", Signature::new(&[Type::Any], Type::INT64), |args| {
        let shown = crate::strval::strval(arg(args, 0))?;
        Ok(Value::from(i64::from_str_radix(&shown.to_str_lossy(), 8).unwrap_or(0)))
    });
}

/// `cast.ToInt64`.
pub(crate) fn to_int64(value: &Value) -> i64 {
    match value {
        Value::Int(number, _) => *number,
        Value::Uint(number, _) => i64::try_from(*number).unwrap_or(i64::MAX),
        #[expect(clippy::cast_possible_truncation, reason = "Go's conversion truncates towards zero as well")]
        Value::Float(number, _) => *number as i64,
        Value::Bool(yes) => i64::from(*yes),
        Value::String(source) => parse_int(&source.to_str_lossy()),
        _ => 0,
    }
}

/// `strconv.ParseInt(trimZeroDecimal(s), 0, 0)`: a prefix chooses the base, `.0…` at the end does not matter.
fn parse_int(source: &str) -> i64 {
    let source = match source.rsplit_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.chars().all(|c| c == '0') => whole,
        _ => source,
    };
    let (negative, digits) = match source.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, source.strip_prefix('+').unwrap_or(source)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = [("0x", 16), ("0b", 2), ("0o", 8)]
        .iter()
        .find_map(|(prefix, radix)| lower.strip_prefix(prefix).map(|rest| (*radix, rest.to_owned())))
        .unwrap_or_else(|| match lower.strip_prefix('0') {
            Some(rest) if !rest.is_empty() => (8, rest.to_owned()),
            _ => (10, lower.clone()),
        });
    let number = i64::from_str_radix(&digits.replace('_', ""), radix).unwrap_or(0);
    if negative { -number } else { number }
}

/// `cast.ToFloat64`.
pub(crate) fn to_float64(value: &Value) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "Go's conversion rounds as well")]
    match value {
        Value::Int(number, _) => *number as f64,
        Value::Uint(number, _) => *number as f64,
        Value::Float(number, _) => *number,
        Value::Bool(yes) => f64::from(u8::from(*yes)),
        Value::String(source) => source.to_str_lossy().parse().unwrap_or(0.0),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_numbers_with_their_prefixes_and_nothing_else_does() {
        for (source, number) in
            [("12", 12), ("-7", -7), ("0x1F", 31), ("010", 8), ("3.00", 3), ("3.5", 0), ("x", 0), ("", 0)]
        {
            assert_eq!(to_int64(&Value::from(source)), number, "{source}");
        }
        assert_eq!(to_int64(&Value::from(3.9)), 3);
        assert_eq!(to_int64(&Value::Nil), 0);
    }
}
