//! What Go's marshalers see in structs and other defined types.

use helm_template::{ObjectRef, Str, Value};

/// An object without its Go type.
#[derive(Debug)]
pub(crate) enum Plain {
    /// A nil pointer.
    Null,
    /// What a named basic type, slice or map is made of.
    Value(Value),
    /// What `MarshalJSON` or `MarshalText` gives.
    Text(Str),
    /// A point in time, as `time.RFC3339Nano` prints it.
    Time(String),
    /// A point in time that JSON has no form for: its year has not four digits.
    OddTime(String),
    /// The exported fields of a struct, in the order of their declaration.
    Fields(Vec<(&'static str, Value)>),
}

/// What encoding/json sees.
///
/// Go's reflection looks for `MarshalJSON`; here a type that has a text and nothing else to show counts as one that
/// marshals to this text, as `semver.Version` does.
pub(crate) fn plain(object: &ObjectRef) -> Plain {
    if object.is_nil() {
        return Plain::Null;
    }
    if let Some(value) = object.underlying() {
        return Plain::Value(value);
    }
    if let Some(fields) = object.json_fields() {
        return Plain::Fields(fields);
    }
    without_tags(object)
}

/// What an encoder sees that does not know the tags for JSON.
fn without_tags(object: &ObjectRef) -> Plain {
    let mut fields = object.fields();
    fields.retain(|(name, _)| name.starts_with(|first: char| first.is_uppercase()));
    match object.text() {
        Some(text) if fields.is_empty() => match rfc3339(object, &text) {
            Some(time) if has_year_of_four(&time) => Plain::Time(time),
            Some(time) => Plain::OddTime(time),
            None => Plain::Text(text),
        },
        _ => Plain::Fields(fields),
    }
}

/// What go-yaml v3 sees: the same, but for durations, which it writes as their text and the names of fields, whose tags
/// are for JSON.
pub(crate) fn plain_of_v3(object: &ObjectRef) -> Plain {
    match object.text() {
        Some(text) if object.ty().to_string() == "time.Duration" => Plain::Text(text),
        _ if !object.is_nil() && object.json_fields().is_some() => without_tags(object),
        _ => plain(object),
    }
}

fn has_year_of_four(time: &str) -> bool {
    time.split('-').next().is_some_and(|year| year.len() == 4)
}

/// A `time.Time` in the layout of its marshalers. Its `String` has the same parts: `2006-01-02 15:04:05.9 +0100 CET`.
fn rfc3339(object: &ObjectRef, text: &Str) -> Option<String> {
    if object.ty().to_string() != "time.Time" {
        return None;
    }
    let mut parts = text.as_str()?.split(' ');
    let (date, clock, offset) = (parts.next()?, parts.next()?, parts.next()?);
    Some(match offset.split_at_checked(3) {
        Some(("+00", "00")) | None => format!("{date}T{clock}Z"),
        Some((hours, minutes)) => format!("{date}T{clock}{hours}:{minutes}"),
    })
}

#[cfg(test)]
mod tests {
    use helm_template::{NamedType, Object, Str, Type, Value};

    use crate::json::to_json;
    use crate::{to_yaml, to_yaml_pretty};

    static TIME: NamedType = NamedType { name: "time.Time", underlying: Type::Struct, methods: &[] };
    static DURATION: NamedType = NamedType { name: "time.Duration", underlying: Type::INT64, methods: &[] };
    static VERSION: NamedType = NamedType { name: "semver.Version", underlying: Type::Struct, methods: &[] };
    static POINT: NamedType = NamedType { name: "main.Point", underlying: Type::Struct, methods: &[] };

    /// An object of a type: its text, fields and plain value.
    #[derive(Debug)]
    struct Sample(&'static NamedType, Option<&'static str>, Vec<(&'static str, Value)>, Option<Value>);

    impl Object for Sample {
        fn ty(&self) -> Type {
            Type::Named(self.0)
        }

        fn text(&self) -> Option<Str> {
            self.1.map(Str::from)
        }

        fn fields(&self) -> Vec<(&'static str, Value)> {
            self.2.clone()
        }

        fn underlying(&self) -> Option<Value> {
            self.3.clone()
        }
    }

    fn written(sample: Sample) -> [String; 3] {
        let value = Value::object(sample);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        [
            text(to_json(&value).unwrap()),
            text(to_yaml(&value).unwrap()),
            text(to_yaml_pretty(&value).unwrap()),
        ]
    }

    #[test]
    fn a_struct_shows_its_exported_fields_in_the_order_of_each_format() {
        let fields =
            vec![("Version", Value::from("v1")), ("hidden", Value::from(1)), ("Major", Value::from("1"))];
        assert_eq!(
            written(Sample(&POINT, Some("text"), fields, None)),
            [r#"{"Version":"v1","Major":"1"}"#, "Major: \"1\"\nVersion: v1\n", "version: v1\nmajor: \"1\"\n"]
        );
    }

    #[test]
    fn a_version_is_its_text() {
        assert_eq!(
            written(Sample(&VERSION, Some("1.2.3"), Vec::new(), None)),
            ["\"1.2.3\"", "1.2.3\n", "1.2.3\n"]
        );
    }

    #[test]
    fn a_duration_is_a_number_in_json_and_a_text_in_yaml_3() {
        let sample = Sample(&DURATION, Some("1m30s"), Vec::new(), Some(Value::from(90_000_000_000_i64)));
        assert_eq!(written(sample), ["90000000000", "90000000000\n", "1m30s\n"]);
    }

    #[test]
    fn a_time_is_written_with_its_offset() {
        for (text, time) in [
            ("2020-01-02 00:00:00 +0000 UTC", "2020-01-02T00:00:00Z"),
            ("2020-01-02 03:04:05.6 +0130 X", "2020-01-02T03:04:05.6+01:30"),
        ] {
            assert_eq!(
                written(Sample(&TIME, Some(text), Vec::new(), None)),
                [format!("\"{time}\""), format!("\"{time}\"\n"), format!("{time}\n")]
            );
        }
    }

    #[test]
    fn an_object_deep_inside_is_marshaled_as_well() {
        let version = Value::object(Sample(&VERSION, Some("1.0"), Vec::new(), None));
        let list = Value::from(vec![version]);
        assert_eq!(to_yaml(&list).unwrap(), b"- \"1.0\"\n");
    }
}
