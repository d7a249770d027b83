//! From one type to another, as spf13/cast does it for sprig: what cannot be read is zero.

use helm_template::strconv::{self, NumberFault};
use helm_template::{Signature, Type, Value};

use crate::register::{Register, arg, fail, text};

pub(crate) fn register(all: &mut Register) {
    all.add("int", Signature::new(&[Type::Any], Type::INT), |args| Ok(Value::int(to_int64(arg(args, 0)))));
    all.add("int64", Signature::new(&[Type::Any], Type::INT64), |args| {
        Ok(Value::from(to_int64(arg(args, 0))))
    });
    all.add("float64", Signature::new(&[Type::Any], Type::FLOAT64), |args| {
        Ok(Value::from(to_float64(arg(args, 0))))
    });
    all.add("atoi", Signature::new(&[Type::String], Type::INT), |args| {
        Ok(Value::int(atoi(&String::from_utf8_lossy(text(args, 0)))))
    });
    all.add("toDecimal", Signature::new(&[Type::Any], Type::INT64), |args| {
        let shown = helm_template::fmt::sprint(args).map_err(|error| fail(error.to_string()))?;
        Ok(Value::from(strconv::parse_int(&shown.to_str_lossy(), 8, 64).unwrap_or(0)))
    });
}

/// `strconv.Atoi` without its error: what is too large is the largest.
pub(crate) fn atoi(source: &str) -> i64 {
    match strconv::parse_int(source, 10, 64) {
        Ok(number) => number,
        Err(error) if error.fault == NumberFault::Range => {
            if source.starts_with('-') {
                i64::MIN
            } else {
                i64::MAX
            }
        }
        Err(_) => 0,
    }
}

/// `cast.ToInt64`.
pub(crate) fn to_int64(value: &Value) -> i64 {
    match value {
        Value::Int(number, _) => *number,
        #[expect(clippy::cast_possible_wrap, reason = "Go's conversion wraps as well")]
        Value::Uint(number, _) => *number as i64,
        Value::Float(number, _) => truncated(*number),
        Value::Bool(yes) => i64::from(*yes),
        Value::String(source) => {
            strconv::parse_int(trim_zero_decimal(&source.to_str_lossy()), 0, 64).unwrap_or(0)
        }
        Value::Object(object) if is_calendar(object.ty()) => {
            object.underlying().and_then(|number| number.as_i64()).unwrap_or(0)
        }
        _ => 0,
    }
}

/// `int64(float)`, as processors of the amd64 family do it: what does not fit is the smallest number.
pub(crate) fn truncated(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    #[expect(clippy::cast_possible_truncation, reason = "that is what is wanted")]
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

/// Of defined types only these count as numbers.
fn is_calendar(ty: Type) -> bool {
    matches!(ty, Type::Named(named) if matches!(named.name, "time.Month" | "time.Weekday"))
}

/// Without a point and zeros at the end.
fn trim_zero_decimal(source: &str) -> &str {
    match source.rsplit_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => source,
    }
}

/// `cast.ToFloat64`.
pub(crate) fn to_float64(value: &Value) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "Go's conversion rounds as well")]
    match value {
        Value::Int(number, _) => *number as f64,
        Value::Uint(number, _) => *number as f64,
        Value::Float(number, _) => *number,
        Value::String(source) => strconv::parse_float(&source.to_str_lossy()).unwrap_or(0.0),
        Value::Bool(_) | Value::Object(_) => to_int64(value) as f64,
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
