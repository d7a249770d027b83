//! The methods of times and durations that templates can call.

use helm_template::{CallError, Method, MethodBody, Signature, Type, Value};

use super::civil::{Civil, civil, days_since_epoch};
use super::duration::{self, in_units};
use super::object::{self, DURATION, TIME};
use super::zone::Zone;
use super::{Time, ZERO, marshal};

static TIMES: [Type; 1] = [Type::Named(&TIME)];
static DURATIONS: [Type; 1] = [Type::Named(&DURATION)];
static TEXTS: [Type; 1] = [Type::String];
static LOCATIONS: [Type; 1] = [Type::Pointer(&object::LOCATION_TYPE)];
static INTS: [Type; 3] = [Type::INT, Type::INT, Type::INT];

// The types of results are left open: naming one here would make a type's value depend on itself.
const TIME_RESULT: Type = Type::Any;
const DURATION_RESULT: Type = Type::Any;

const fn method(name: &'static str, params: &'static [Type], result: Type, body: MethodBody) -> Method {
    Method { name, signature: Signature::new(params, result), body }
}

type Result = std::result::Result<Value, CallError>;

/// `String` and nothing else.
pub(super) static TEXT: [Method; 1] = [method("String", &[], Type::String, |_, this, _| text(this))];

fn text(this: &Value) -> Result {
    let shown = match this {
        Value::Object(object) => object.text(),
        _ => None,
    };
    Ok(Value::String(shown.unwrap_or_default()))
}

/// For methods whose results no template can take.
fn refused(message: &str) -> Result {
    Err(CallError::Refused(message.to_owned()))
}

pub(super) fn of(value: &Value) -> Time {
    value.as_object::<Time>().cloned().unwrap_or_else(Time::zero)
}

fn other(args: &[Value]) -> Time {
    args.first().map_or_else(Time::zero, of)
}

fn nanoseconds(args: &[Value]) -> i64 {
    args.first().and_then(object::nanoseconds).unwrap_or(0)
}

fn shown(this: &Value) -> Civil {
    civil(of(this).local_seconds())
}

fn order(this: &Value, args: &[Value]) -> std::cmp::Ordering {
    let (this, other) = (of(this), other(args));
    (this.seconds, this.nanoseconds).cmp(&(other.seconds, other.nanoseconds))
}

/// All nanoseconds since 1970, wrapping.
fn since_epoch(this: &Value, unit: i128) -> Value {
    let time = of(this);
    let total = i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds);
    #[expect(clippy::cast_possible_truncation, reason = "Go's integers wrap")]
    Value::from(total.div_euclid(unit) as i64)
}

/// `time.Time`.
pub(super) static OF_TIME: [Method; 43] = [
    marshal::JSON,
    marshal::TEXT,
    marshal::BINARY,
    marshal::GOB,
    marshal::APPEND_TEXT,
    marshal::APPEND_BINARY,
    marshal::APPEND_FORMAT,
    method("Date", &[], Type::Any, |_, _, _| refused("function Date has 3 return values; should be 1 or 2")),
    method("Clock", &[], Type::Any, |_, _, _| {
        refused("function Clock has 3 return values; should be 1 or 2")
    }),
    method("ISOWeek", &[], Type::Any, |_, _, _| {
        refused("invalid function signature for ISOWeek: second return value should be error; is int")
    }),
    method("Zone", &[], Type::Any, |_, _, _| {
        refused("invalid function signature for Zone: second return value should be error; is int")
    }),
    method("ZoneBounds", &[], Type::Any, |_, _, _| {
        refused(
            "invalid function signature for ZoneBounds: second return value should be error; is time.Time",
        )
    }),
    method("GoString", &[], Type::String, |_, this, _| Ok(of(this).go_text().into())),
    method("In", &LOCATIONS, TIME_RESULT, |_, this, args| match args.first().and_then(object::zone) {
        Some(zone) => Ok(object::time(of(this).with_zone(zone))),
        None => Err("time: missing Location in call to Time.In".into()),
    }),
    method("Add", &DURATIONS, TIME_RESULT, |_, this, args| {
        Ok(object::time(of(this).plus(nanoseconds(args))))
    }),
    method("AddDate", &INTS, TIME_RESULT, |_, this, args| Ok(object::time(add_date(&of(this), args)))),
    method("After", &TIMES, Type::Bool, |_, this, args| Ok(order(this, args).is_gt().into())),
    method("Before", &TIMES, Type::Bool, |_, this, args| Ok(order(this, args).is_lt().into())),
    method("Compare", &TIMES, Type::INT, |_, this, args| Ok(Value::int(order(this, args) as i64))),
    method("Equal", &TIMES, Type::Bool, |_, this, args| Ok(order(this, args).is_eq().into())),
    method("Day", &[], Type::INT, |_, this, _| Ok(Value::int(shown(this).day))),
    method("Format", &TEXTS, Type::String, |_, this, args| {
        let layout = args.first().and_then(Value::as_bytes).unwrap_or_default();
        Ok(Value::String(of(this).format(layout).into()))
    }),
    method("Hour", &[], Type::INT, |_, this, _| Ok(Value::int(shown(this).hour))),
    method("IsDST", &[], Type::Bool, |_, this, _| {
        let time = of(this);
        Ok(time.zone.is_dst(time.seconds).into())
    }),
    method("IsZero", &[], Type::Bool, |_, this, _| {
        let time = of(this);
        Ok((time.seconds == ZERO && time.nanoseconds == 0).into())
    }),
    method("Local", &[], TIME_RESULT, |_, this, _| Ok(object::time(of(this).with_zone(Zone::Local)))),
    method("Location", &[], Type::Any, |_, this, _| Ok(object::location(of(this).zone))),
    method("Minute", &[], Type::INT, |_, this, _| Ok(Value::int(shown(this).minute))),
    method("Month", &[], Type::Any, |_, this, _| Ok(object::month(shown(this).month))),
    method("Nanosecond", &[], Type::INT, |_, this, _| Ok(Value::int(of(this).nanoseconds.into()))),
    method("Round", &DURATIONS, TIME_RESULT, |_, this, args| {
        Ok(object::time(to_multiple(&of(this), nanoseconds(args), true)))
    }),
    method("Second", &[], Type::INT, |_, this, _| Ok(Value::int(shown(this).second))),
    method("String", &[], Type::String, |_, this, _| text(this)),
    method("Sub", &TIMES, DURATION_RESULT, |_, this, args| {
        Ok(object::duration(of(this).minus(&other(args))))
    }),
    method("Truncate", &DURATIONS, TIME_RESULT, |_, this, args| {
        Ok(object::time(to_multiple(&of(this), nanoseconds(args), false)))
    }),
    method("UTC", &[], TIME_RESULT, |_, this, _| Ok(object::time(of(this).with_zone(Zone::Utc)))),
    method("Unix", &[], Type::INT64, |_, this, _| Ok(of(this).seconds.into())),
    method("UnixMicro", &[], Type::INT64, |_, this, _| Ok(since_epoch(this, 1_000))),
    method("UnixMilli", &[], Type::INT64, |_, this, _| Ok(since_epoch(this, 1_000_000))),
    method("UnixNano", &[], Type::INT64, |_, this, _| Ok(since_epoch(this, 1))),
    method("Weekday", &[], Type::Any, |_, this, _| Ok(object::week_day(shown(this).week_day))),
    method("Year", &[], Type::INT, |_, this, _| Ok(Value::int(shown(this).year))),
    method("YearDay", &[], Type::INT, |_, this, _| Ok(Value::int(shown(this).year_day))),
];

/// Years, months and days later, on the zone's clock.
fn add_date(time: &Time, args: &[Value]) -> Time {
    let add = |index: usize| args.get(index).and_then(Value::as_i64).unwrap_or(0);
    let local = time.local_seconds();
    let date = civil(local);
    let days = days_since_epoch(
        date.year.saturating_add(add(0)),
        date.month.saturating_add(add(1)),
        date.day.saturating_add(add(2)),
    );
    let clock = date.hour * 3600 + date.minute * 60 + date.second;
    let moved = days.saturating_mul(super::civil::DAY).saturating_add(clock);
    // The offset is that of the new date, which first has to be guessed.
    let guess = moved - time.zone.lookup(moved).1;
    let seconds = moved - time.zone.lookup(guess).1;
    Time { seconds, monotonic: None, ..time.clone() }
}

/// `Round` and `Truncate` since the zero time.
fn to_multiple(time: &Time, multiple: i64, round: bool) -> Time {
    let time = Time { monotonic: None, ..time.clone() };
    if multiple <= 0 {
        return time;
    }
    let total = (i128::from(time.seconds) - i128::from(ZERO)) * 1_000_000_000 + i128::from(time.nanoseconds);
    let rest = i64::try_from(total.rem_euclid(i128::from(multiple))).unwrap_or(0);
    if round && rest.saturating_mul(2) >= multiple { time.plus(multiple - rest) } else { time.plus(-rest) }
}

fn length(this: &Value) -> i64 {
    object::nanoseconds(this).unwrap_or(0)
}

/// `time.Duration`.
pub(super) static OF_DURATION: [Method; 10] = [
    method("Abs", &[], DURATION_RESULT, |_, this, _| {
        Ok(object::duration(length(this).checked_abs().unwrap_or(i64::MAX)))
    }),
    method("Hours", &[], Type::FLOAT64, |_, this, _| {
        Ok(in_units(length(this), 3600 * duration::SECOND).into())
    }),
    method("Microseconds", &[], Type::INT64, |_, this, _| Ok((length(this) / 1_000).into())),
    method("Milliseconds", &[], Type::INT64, |_, this, _| Ok((length(this) / 1_000_000).into())),
    method("Minutes", &[], Type::FLOAT64, |_, this, _| {
        Ok(in_units(length(this), 60 * duration::SECOND).into())
    }),
    method("Nanoseconds", &[], Type::INT64, |_, this, _| Ok(length(this).into())),
    method("Round", &DURATIONS, DURATION_RESULT, |_, this, args| {
        Ok(object::duration(duration::round(length(this), nanoseconds(args))))
    }),
    method("Seconds", &[], Type::FLOAT64, |_, this, _| Ok(in_units(length(this), duration::SECOND).into())),
    method("String", &[], Type::String, |_, this, _| text(this)),
    method("Truncate", &DURATIONS, DURATION_RESULT, |_, this, args| {
        Ok(object::duration(duration::truncate(length(this), nanoseconds(args))))
    }),
];
