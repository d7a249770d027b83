//! Dates (sprig's date.go).

use std::rc::Rc;

use helm_template::{Signature, Type, Value};

use crate::platform::Platform;
use crate::register::{Register, arg, fail, text};
use crate::time::object::{self, TIME_TYPE};
use crate::time::zone::Zone;
use crate::time::{Time, duration, parse};

const MODIFY: Signature = Signature::new(&[Type::String, TIME_TYPE], TIME_TYPE);
const ANY_TEXT: Signature = Signature::new(&[Type::Any], Type::String);
const PARSE: Signature = Signature::new(&[Type::String, Type::String], TIME_TYPE);
/// The layout of HTML's date input.
const HTML: &[u8] = b"2006-01-02";

pub(crate) fn register(all: &mut Register, platform: &Rc<dyn Platform>) {
    formatting(all, platform);
    reading(all);
    since(all, platform);
    for name in ["dateModify", "date_modify"] {
        all.add(name, MODIFY, |args| {
            let time = time_of(arg(args, 1));
            let modified = duration::parse(text(args, 0)).map(|by| time.plus(by));
            Ok(object::time(modified.unwrap_or(time)))
        });
    }
    for name in ["mustDateModify", "must_date_modify"] {
        all.add(name, MODIFY.fallible(), |args| {
            let by = duration::parse(text(args, 0)).map_err(|error| fail(error.to_string()))?;
            Ok(object::time(time_of(arg(args, 1)).plus(by)))
        });
    }
}

fn lossy(args: &[Value], index: usize) -> String {
    String::from_utf8_lossy(text(args, index)).into_owned()
}

fn time_of(value: &Value) -> Time {
    value.as_object::<Time>().cloned().unwrap_or_else(Time::zero)
}

/// A time, or seconds since 1970; the present for anything else.
fn moment(value: &Value, platform: &dyn Platform) -> Time {
    use helm_template::IntType::{Int, Int32, Int64};
    match value {
        Value::Int(seconds, Int | Int32 | Int64) => Time::unix(*seconds),
        value => value.as_object::<Time>().cloned().unwrap_or_else(|| Time::present(platform.now())),
    }
}

/// `dateInZone`: an unknown zone is UTC.
fn shown(layout: &[u8], value: &Value, zone: &str, platform: &dyn Platform) -> Value {
    let zone = Zone::load(zone).unwrap_or(Zone::Utc);
    Value::String(moment(value, platform).with_zone(zone).format(layout).into())
}

fn formatting(all: &mut Register, platform: &Rc<dyn Platform>) {
    let clock = Rc::clone(platform);
    all.add("now", Signature::new(&[], TIME_TYPE), move |_| Ok(object::time(Time::present(clock.now()))));
    let clock = Rc::clone(platform);
    all.add("date", Signature::new(&[Type::String, Type::Any], Type::String), move |args| {
        Ok(shown(text(args, 0), arg(args, 1), "Local", &*clock))
    });
    for name in ["dateInZone", "date_in_zone"] {
        let clock = Rc::clone(platform);
        all.add(name, Signature::new(&[Type::String, Type::Any, Type::String], Type::String), move |args| {
            Ok(shown(text(args, 0), arg(args, 1), &lossy(args, 2), &*clock))
        });
    }
    let clock = Rc::clone(platform);
    all.add("htmlDate", ANY_TEXT, move |args| Ok(shown(HTML, arg(args, 0), "Local", &*clock)));
    let clock = Rc::clone(platform);
    all.add("htmlDateInZone", Signature::new(&[Type::Any, Type::String], Type::String), move |args| {
        Ok(shown(HTML, arg(args, 0), &lossy(args, 1), &*clock))
    });
    all.add("unixEpoch", Signature::new(&[TIME_TYPE], Type::String), |args| {
        Ok(time_of(arg(args, 0)).seconds.to_string().into())
    });
}

fn reading(all: &mut Register) {
    all.add("toDate", PARSE, |args| {
        Ok(object::time(parse::parse(text(args, 0), text(args, 1)).unwrap_or_else(|_| Time::zero())))
    });
    all.add("mustToDate", PARSE.fallible(), |args| {
        parse::parse(text(args, 0), text(args, 1)).map(object::time).map_err(|error| fail(error.to_string()))
    });
}

fn since(all: &mut Register, platform: &Rc<dyn Platform>) {
    let clock = Rc::clone(platform);
    all.add("ago", ANY_TEXT, move |args| {
        // Here a 32-bit integer is no number of seconds.
        let value = match arg(args, 0) {
            Value::Int(_, helm_template::IntType::Int32) => &Value::Nil,
            other => other,
        };
        let passed = Time::present(clock.now()).minus(&moment(value, &*clock));
        Ok(duration::text(duration::round(passed, duration::SECOND)).into())
    });
    all.add("duration", ANY_TEXT, |args| {
        let seconds = match arg(args, 0) {
            Value::String(source) => duration::seconds(&source.to_str_lossy()),
            Value::Int(seconds, helm_template::IntType::Int64) => *seconds,
            _ => 0,
        };
        Ok(duration::text(seconds.wrapping_mul(duration::SECOND)).into())
    });
    let clock = Rc::clone(platform);
    all.add("durationRound", ANY_TEXT, move |args| {
        let nanoseconds = match arg(args, 0) {
            Value::String(source) => duration::parse(source.as_bytes()).unwrap_or(0),
            Value::Int(nanoseconds, helm_template::IntType::Int64) => *nanoseconds,
            other => match other.as_object::<Time>() {
                Some(time) => Time::present(clock.now()).minus(time),
                None => 0,
            },
        };
        Ok(rounded(nanoseconds.unsigned_abs()).into())
    });
}

/// The largest unit of which there is more than one.
fn rounded(nanoseconds: u64) -> String {
    const HOUR: u64 = 3_600_000_000_000;
    let units = [
        (HOUR * 24 * 365, "y"),
        (HOUR * 24 * 30, "mo"),
        (HOUR * 24, "d"),
        (HOUR, "h"),
        (HOUR / 60, "m"),
        (HOUR / 3600, "s"),
    ];
    let unit = units.iter().find(|(unit, _)| nanoseconds > *unit);
    unit.map_or_else(|| "0s".to_owned(), |(unit, name)| format!("{}{name}", nanoseconds / unit))
}
