//! Times, durations, months, days and zones as templates see them.

use helm_template::{List, NamedType, Object, Str, Type, Value};

use super::zone::Zone;
use super::{Time, ZERO, duration, format, methods};

pub(crate) static TIME: NamedType =
    NamedType { name: "time.Time", underlying: Type::Struct, methods: &methods::OF_TIME };
pub(crate) static DURATION: NamedType =
    NamedType { name: "time.Duration", underlying: Type::INT64, methods: &methods::OF_DURATION };
static MONTH: NamedType = NamedType { name: "time.Month", underlying: Type::INT, methods: &methods::TEXT };
static WEEKDAY: NamedType =
    NamedType { name: "time.Weekday", underlying: Type::INT, methods: &methods::TEXT };
static LOCATION: NamedType =
    NamedType { name: "time.Location", underlying: Type::Struct, methods: &methods::TEXT };
pub(super) static LOCATION_TYPE: Type = Type::Named(&LOCATION);

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

    fn go_text(&self) -> Option<Str> {
        Some(Time::go_text(self).into())
    }

    /// Go's own, which nobody can name but bad verbs show.
    fn fields(&self) -> Vec<(&'static str, Value)> {
        let since_year_1 = self.seconds.wrapping_sub(ZERO);
        vec![
            ("wall", Value::from(u64::from(self.nanoseconds))),
            ("ext", since_year_1.into()),
            ("loc", Value::object(LocationField(self.zone.clone()))),
        ]
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

    fn of_number(&self, number: i64) -> Option<Value> {
        let Type::Named(named) = self.ty else { return None };
        Some(match named.name {
            "time.Duration" => duration(number),
            "time.Month" => month(number),
            _ => week_day(number),
        })
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

    fn fields(&self) -> Vec<(&'static str, Value)> {
        location_fields(&self.0)
    }
}

/// `*time.Location` where it is a field: `fmt` calls no methods there. A nil pointer is UTC.
#[derive(Debug)]
struct LocationField(Zone);

impl Object for LocationField {
    fn ty(&self) -> Type {
        Type::Pointer(&LOCATION_TYPE)
    }

    fn is_nil(&self) -> bool {
        matches!(self.0, Zone::Utc)
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        location_fields(&self.0)
    }
}

/// The fields of a location, as they are of a zone without a table of its changes.
fn location_fields(zone: &Zone) -> Vec<(&'static str, Value)> {
    vec![
        ("name", zone.name().into()),
        ("zone", List::nil(&OFFSETS).into()),
        ("tx", List::nil(&CHANGES).into()),
        ("extend", "".into()),
        ("cacheStart", 0_i64.into()),
        ("cacheEnd", 0_i64.into()),
        ("cacheZone", Value::object(NoOffset)),
    ]
}

/// A nil `*time.zone`.
#[derive(Debug)]
struct NoOffset;

impl Object for NoOffset {
    fn ty(&self) -> Type {
        Type::Pointer(&OFFSET)
    }

    fn is_nil(&self) -> bool {
        true
    }
}

static OFFSET: Type = Type::Named(&NamedType { name: "time.zone", underlying: Type::Struct, methods: &[] });
static CHANGE: Type =
    Type::Named(&NamedType { name: "time.zoneTrans", underlying: Type::Struct, methods: &[] });
static OFFSETS: Type = Type::Slice(&OFFSET);
static CHANGES: Type = Type::Slice(&CHANGE);

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

/// The zone of a `*time.Location`.
pub(super) fn zone(value: &Value) -> Option<Zone> {
    value.as_object::<Location>().map(|location| location.0.clone())
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
