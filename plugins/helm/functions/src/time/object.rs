//! Times, durations, months, days and zones as templates see them.

use helm_template::{NamedType, Object, Str, Type, Value};

use super::zone::Zone;
use super::{Time, duration, format, methods};

pub(crate) static TIME: NamedType =
    NamedType { name: "time.Time", underlying: Type::Struct, methods: &methods::OF_TIME };
pub(crate) static DURATION: NamedType =
    NamedType { name: "time.Duration", underlying: Type::INT64, methods: &methods::OF_DURATION };
static MONTH: NamedType = NamedType { name: "time.Month", underlying: Type::INT, methods: &methods::TEXT };
static WEEKDAY: NamedType =
    NamedType { name: "time.Weekday", underlying: Type::INT, methods: &methods::TEXT };
static LOCATION: NamedType =
    NamedType { name: "time.Location", underlying: Type::Struct, methods: &methods::TEXT };
static LOCATION_TYPE: Type = Type::Named(&LOCATION);

/// `time.Time`.
pub(crate) const TIME_TYPE: Type = Type::Named(&TIME);
/// `time.Duration`.
pub(crate) const DURATION_TYPE: Type = Type::Named(&DURATION);

impl Object for Time {
    fn ty(&self) -> Type {
        TIME_TYPE
    }

    fn text(&self) -> Option<Str> {
        Some(Time::text(self).into())
    }

    fn equals(&self, other: &dyn Object) -> Option<bool> {
        // Of two times that are told apart by nothing else the texts are the same.
        Some(Object::text(self) == other.text())
    }
}

/// A number of a defined type.
#[derive(Debug)]
struct Number {
    ty: Type,
    plain: Value,
    text: String,
}

impl Object for Number {
    fn ty(&self) -> Type {
        self.ty
    }

    fn underlying(&self) -> Option<Value> {
        Some(self.plain.clone())
    }

    fn text(&self) -> Option<Str> {
        Some(self.text.as_str().into())
    }

    fn equals(&self, other: &dyn Object) -> Option<bool> {
        Some(other.underlying().is_some_and(|other| other == self.plain))
    }
}

/// `*time.Location`.
#[derive(Debug)]
struct Location(Zone);

impl Object for Location {
    fn ty(&self) -> Type {
        Type::Pointer(&LOCATION_TYPE)
    }

    fn text(&self) -> Option<Str> {
        Some(self.0.name().into())
    }
}

/// A `time.Time`.
pub(crate) fn time(time: Time) -> Value {
    Value::object(time)
}

/// A `time.Duration` of so many nanoseconds.
pub(crate) fn duration(nanoseconds: i64) -> Value {
    let text = duration::text(nanoseconds);
    Value::object(Number { ty: DURATION_TYPE, plain: nanoseconds.into(), text })
}

pub(super) fn month(month: i64) -> Value {
    let text = format::month_name(month);
    Value::object(Number { ty: Type::Named(&MONTH), plain: Value::int(month), text })
}

pub(super) fn week_day(day: i64) -> Value {
    let text = format::day_name(day);
    Value::object(Number { ty: Type::Named(&WEEKDAY), plain: Value::int(day), text })
}

pub(super) fn location(zone: Zone) -> Value {
    Value::object(Location(zone))
}

/// The nanoseconds of a `time.Duration`.
pub(crate) fn nanoseconds(value: &Value) -> Option<i64> {
    match value {
        Value::Object(object) if object.ty() == DURATION_TYPE => object.underlying()?.as_i64(),
        _ => None,
    }
}
