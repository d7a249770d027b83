//! Durations (`pkg/engine/funcs.go` of Helm).

use helm_template::{CallError, Signature, Type, Value, fmt, strconv};

use crate::conversion::truncated;
use crate::register::{Register, arg, fail};
use crate::runes::is_space;
use crate::time::duration::{self, SECOND, in_units};
use crate::time::object::{self, DURATION_TYPE};

const TWO: Signature = Signature::new(&[Type::Any, Type::Any], DURATION_TYPE);

pub(crate) fn register(all: &mut Register) {
    all.add("mustToDuration", Signature::new(&[Type::Any], DURATION_TYPE), |args| {
        as_duration(arg(args, 0)).map(object::duration)
    });
    type Convert = fn(i64) -> f64;
    type Round = fn(i64, i64) -> i64;
    let floats: [(&'static str, Convert); 5] = [
        ("durationSeconds", |value| in_units(value, SECOND)),
        ("durationMinutes", |value| in_units(value, 60 * SECOND)),
        ("durationHours", |value| in_units(value, 3600 * SECOND)),
        ("durationDays", |value| in_units(value, 3600 * SECOND) / 24.0),
        ("durationWeeks", |value| in_units(value, 3600 * SECOND) / 24.0 / 7.0),
    ];
    for (name, convert) in floats {
        all.add(name, Signature::new(&[Type::Any], Type::FLOAT64), move |args| {
            Ok(Value::from(as_duration(arg(args, 0)).map_or(0.0, convert)))
        });
    }
    let integers =
        [("durationMilliseconds", 1_000_000), ("durationMicroseconds", 1_000), ("durationNanoseconds", 1)];
    for (name, unit) in integers {
        all.add(name, Signature::new(&[Type::Any], Type::INT64), move |args| {
            Ok(Value::from(as_duration(arg(args, 0)).map_or(0, |value| value / unit)))
        });
    }
    let rounding: [(&'static str, Round); 2] =
        [("durationRoundTo", duration::round), ("durationTruncateTo", duration::truncate)];
    for (name, round) in rounding {
        all.add(name, TWO, move |args| {
            let Ok(value) = as_duration(arg(args, 0)) else { return Ok(object::duration(0)) };
            let rounded = as_duration(arg(args, 1)).map_or(value, |multiple| round(value, multiple));
            Ok(object::duration(rounded))
        });
    }
}

/// A duration, a text of one, or a number of seconds.
fn as_duration(value: &Value) -> Result<i64, CallError> {
    if let Some(nanoseconds) = object::nanoseconds(value) {
        return Ok(nanoseconds);
    }
    let plain = match value {
        Value::Object(object) => object.underlying(),
        _ => None,
    };
    match plain.as_ref().unwrap_or(value) {
        Value::String(source) => from_text(source.as_bytes()),
        Value::Nil => Err(fail("invalid duration")),
        Value::Int(seconds, _) => {
            seconds.checked_mul(SECOND).ok_or_else(|| fail(format!("duration seconds overflow: {seconds}")))
        }
        Value::Uint(seconds, _) => i64::try_from(*seconds)
            .ok()
            .and_then(|seconds| seconds.checked_mul(SECOND))
            .ok_or_else(|| fail(format!("duration seconds overflow: {seconds}"))),
        Value::Float(seconds, _) => from_seconds(*seconds),
        _ => Err(fail(format!("unsupported duration type {}", value.type_name()))),
    }
}

fn from_text(source: &[u8]) -> Result<i64, CallError> {
    let text = String::from_utf8_lossy(source);
    let trimmed = text.trim_matches(is_space);
    if trimmed.is_empty() {
        return Err(fail("empty duration"));
    }
    if let Ok(nanoseconds) = duration::parse(trimmed.as_bytes()) {
        return Ok(nanoseconds);
    }
    match strconv::parse_float(trimmed) {
        Ok(seconds) => from_seconds(seconds),
        Err(_) => Err(fail(format!("could not parse duration {}", fmt::quote(source)))),
    }
}

fn from_seconds(seconds: f64) -> Result<i64, CallError> {
    #[expect(clippy::cast_precision_loss, reason = "Go's limit is a float as well")]
    const LIMIT: f64 = i64::MAX as f64 / SECOND as f64;
    let shown = |number: f64| fmt::format_float(number, 'g', None, 64);
    if seconds.is_nan() || seconds.is_infinite() {
        return Err(fail(format!("invalid duration seconds: {}", shown(seconds))));
    }
    if seconds.abs() > LIMIT {
        return Err(fail(format!("duration seconds overflow: {}", shown(seconds))));
    }
    #[expect(clippy::cast_precision_loss, reason = "it is exact")]
    Ok(truncated(seconds * SECOND as f64))
}
