//! YAML values into Rust structs as sigs.k8s.io/yaml and Go's encoding/json do it together.
//!
//! Keys are matched without regard to case, unknown ones are skipped, null leaves the zero value. A number or
//! truth value where a string is wanted becomes its text, so `version: 1.10` is the string `1.1`. Anything
//! else of the wrong type is an error with Go's text and the path to it.

use helm_functions::check_time;
use helm_template::{FloatType, Map, Str, Value, fmt::sprintf};
use std::collections::BTreeMap;
use thiserror::Error;

/// A value of the wrong type, or one that its type does not take.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("error unmarshaling JSON: while decoding JSON: {0}")]
pub struct DecodeError(String);

impl DecodeError {
    /// `target` is Go's description of what was to be filled.
    fn unmarshal(found: &Value, target: &str) -> Self {
        Self(format!("json: cannot unmarshal {} into {target}", json_type(found)))
    }

    /// The text without YAML around it.
    pub(crate) fn json(&self) -> String {
        self.0.clone()
    }

    /// The same in a chart v3, whose types have the same names in another package.
    pub(crate) fn of_chart_v3(&self) -> Self {
        Self(self.0.replace(" of type v2.", " of type v3.").replace("[]*v2.", "[]*v3."))
    }
}

/// Where a value stands in its document. Only written out when there is an error.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    name: &'a str,
}

impl<'a> Path<'a> {
    fn top(name: &'a str) -> Self {
        Self { parent: None, name }
    }

    fn child(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), name }
    }

    fn write(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        // Go has a JSON pointer at hand, in which only the slashes between names become dots.
        out.push('.');
        out.push_str(&self.name.replace('~', "~0").replace('/', "~1"));
    }

    fn error(&self, value: &Value, go_type: &str) -> DecodeError {
        // Go guesses from the last step whether this is an element of a list.
        let is_element = !self.name.is_empty() && self.name.bytes().all(|byte| byte.is_ascii_digit());
        let mut target = if is_element { String::new() } else { "Go struct field ".to_owned() };
        self.write(&mut target);
        target.push_str(" of type ");
        target.push_str(go_type);
        DecodeError::unmarshal(value, &target)
    }
}

/// The top of a document, which has to be a table or nothing. `go_type` is named when it is neither.
///
/// # Errors
/// [`DecodeError`] for a scalar or a list.
pub(crate) fn document(value: Value, go_type: &str) -> Result<Fields<'static>, DecodeError> {
    match value {
        Value::Map(map) => Ok(Fields { map, path: None }),
        Value::Nil => Ok(Fields { map: Map::new(), path: None }),
        other => Err(DecodeError::unmarshal(&other, &format!("Go value of type {go_type}"))),
    }
}

/// The fields of one struct.
pub(crate) struct Fields<'a> {
    map: Map,
    path: Option<&'a Path<'a>>,
}

impl Fields<'_> {
    /// One field after the other, in the order of the keys, which is Go's: the first that is wrong is reported, and of
    /// two spellings of a name both are read.
    pub(crate) fn each(
        &self,
        mut read: impl FnMut(&Fields<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.map.snapshot().into_iter().try_for_each(|entry| {
            let map = [entry].into_iter().collect();
            read(&Fields { map, path: self.path })
        })
    }

    /// A field as it is spelled, and its value; a null counts as none. Of several spellings the last in byte order
    /// counts, because that is the order in which Go reads the sorted JSON.
    fn get(&self, name: &str) -> Option<(Str, Value)> {
        let entries = self.map.borrow()?;
        let spelled = |key: &[u8]| key.eq_ignore_ascii_case(name.as_bytes());
        let mut found = entries
            .iter()
            .rev()
            .filter(|(key, value)| spelled(key.as_bytes()) && !matches!(value, Value::Nil));
        found.next().map(|(key, value)| (key.clone(), value.clone()))
    }

    /// Whether the field is there and not null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Reads a field with `read`; the zero value when it is missing or null.
    fn read<T: Default>(
        &self,
        name: &str,
        read: impl FnOnce(&Value, &Path<'_>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let Some((key, value)) = self.get(name) else { return Ok(T::default()) };
        let key = key.to_string();
        match self.path {
            Some(parent) => read(&value, &parent.child(&key)),
            None => read(&value, &Path::top(&key)),
        }
    }

    pub(crate) fn string(&self, name: &str) -> Result<String, DecodeError> {
        self.read(name, string)
    }

    /// A string as JSON has it: nothing else becomes one.
    pub(crate) fn exact_string(&self, name: &str) -> Result<String, DecodeError> {
        self.read(name, |value, path| match value {
            Value::String(text) => Ok(text.to_string()),
            other => Err(path.error(other, "string")),
        })
    }

    /// A time as it is spelled (`time.Time`).
    pub(crate) fn time(&self, name: &str) -> Result<String, DecodeError> {
        self.read(name, |value, path| match value {
            Value::String(text) => {
                check_time(text.as_bytes()).map_err(DecodeError).map(|()| text.to_string())
            }
            other => Err(path.error(other, "time.Time")),
        })
    }

    pub(crate) fn bool(&self, name: &str) -> Result<bool, DecodeError> {
        self.read(name, |value, path| value.as_bool().ok_or_else(|| path.error(value, "bool")))
    }

    pub(crate) fn strings(&self, name: &str) -> Result<Vec<String>, DecodeError> {
        self.read(name, |value, path| items(value, path, "[]string", string))
    }

    pub(crate) fn string_map(&self, name: &str) -> Result<BTreeMap<String, String>, DecodeError> {
        self.read(name, |value, path| {
            let Value::Map(map) = value else { return Err(path.error(value, "map[string]string")) };
            let entry = |(key, value): &(Str, Value)| {
                let key = key.to_string();
                let text = string(value, &path.child(&key))?;
                Ok((key, text))
            };
            map.snapshot().iter().map(entry).collect()
        })
    }

    /// A list of anything (`[]any`); numbers are what JSON makes of them.
    pub(crate) fn values(&self, name: &str) -> Result<Vec<Value>, DecodeError> {
        self.read(name, |value, path| items(value, path, "[]interface {}", |item, _| Ok(as_json(item))))
    }

    /// A list of pointers to structs: null elements are `None`. The outer `None` is a missing list.
    pub(crate) fn structs<T>(
        &self,
        name: &str,
        go_type: &str,
        read: impl Fn(&Fields<'_>) -> Result<T, DecodeError>,
    ) -> Result<Option<Vec<Option<T>>>, DecodeError> {
        self.list_of(name, go_type, &format!("[]*{go_type}"), read)
    }

    /// [`Self::structs`] without pointers; null elements are `None` all the same.
    pub(crate) fn values_of<T>(
        &self,
        name: &str,
        go_type: &str,
        read: impl Fn(&Fields<'_>) -> Result<T, DecodeError>,
    ) -> Result<Vec<Option<T>>, DecodeError> {
        self.list_of(name, go_type, &format!("[]{go_type}"), read).map(Option::unwrap_or_default)
    }

    fn list_of<T>(
        &self,
        name: &str,
        go_type: &str,
        list_type: &str,
        read: impl Fn(&Fields<'_>) -> Result<T, DecodeError>,
    ) -> Result<Option<Vec<Option<T>>>, DecodeError> {
        self.read(name, |value, path| {
            items(value, path, list_type, |item, path| match item {
                Value::Nil => Ok(None),
                Value::Map(map) => read(&Fields { map: map.clone(), path: Some(path) }).map(Some),
                other => Err(path.error(other, go_type)),
            })
            .map(Some)
        })
    }

    /// A pointer to a struct: `None` when it is missing or null.
    pub(crate) fn pointer<T>(
        &self,
        name: &str,
        go_type: &str,
        read: impl FnOnce(&Fields<'_>) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        self.read(name, |value, path| match value {
            Value::Map(map) => read(&Fields { map: map.clone(), path: Some(path) }).map(Some),
            other => Err(path.error(other, go_type)),
        })
    }
}

fn items<T>(
    value: &Value,
    path: &Path<'_>,
    go_type: &str,
    read: impl Fn(&Value, &Path<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let Value::List(list) = value else { return Err(path.error(value, go_type)) };
    list.iter().enumerate().map(|(index, item)| read(item, &path.child(&index.to_string()))).collect()
}

/// A string; numbers and truth values become their text (sigs.k8s.io/yaml), null the empty string.
fn string(value: &Value, path: &Path<'_>) -> Result<String, DecodeError> {
    Ok(match value {
        Value::String(text) => text.to_string(),
        Value::Nil => String::new(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number, _) => number.to_string(),
        Value::Uint(number, _) => number.to_string(),
        Value::Float(number, _) => float_text(*number),
        other => return Err(path.error(other, "string")),
    })
}

/// Go formats with 32 bits here: `1.10` is `1.1`, and digits beyond the seventh are lost.
#[expect(clippy::cast_possible_truncation, reason = "Go formats with 32 bits")]
fn float_text(number: f64) -> String {
    let number = Value::Float(f64::from(number as f32), FloatType::Float32);
    sprintf("%g", &[number]).map(|text| text.to_string()).unwrap_or_default()
}

/// The value with every number as the `float64` that JSON makes of it.
pub(crate) fn as_json(value: &Value) -> Value {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "encoding/json decodes every number to float64")]
        Value::Int(number, _) => (*number as f64).into(),
        #[expect(clippy::cast_precision_loss, reason = "encoding/json decodes every number to float64")]
        Value::Uint(number, _) => (*number as f64).into(),
        Value::List(list) => list.iter().map(as_json).collect::<Vec<_>>().into(),
        Value::Map(map) => {
            Value::Map(map.snapshot().into_iter().map(|(key, value)| (key, as_json(&value))).collect())
        }
        other => other.clone(),
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Nil => "null",
        Value::Bool(_) => "bool",
        Value::Int(..) | Value::Uint(..) | Value::Float(..) => "number",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        _ => "string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(entries: Vec<(&str, Value)>) -> Fields<'static> {
        document(Value::Map(entries.into_iter().collect()), "test.Type").unwrap()
    }

    #[test]
    fn scalars_become_strings_where_strings_are_wanted() {
        for (value, want) in [
            (Value::from("x"), "x"),
            (1.1.into(), "1.1"),
            (1e21.into(), "1e+21"),
            (20_200_101_i64.into(), "20200101"),
            (true.into(), "true"),
            (Value::Nil, ""),
        ] {
            assert_eq!(fields(vec![("version", value)]).string("version").unwrap(), want);
        }
    }

    #[test]
    fn keys_are_matched_without_regard_to_case_and_the_last_spelling_counts() {
        let both = fields(vec![("Name", "upper".into()), ("name", "lower".into())]);
        assert_eq!(both.string("name").unwrap(), "lower");
        assert_eq!(fields(vec![("NAME", "x".into()), ("name", Value::Nil)]).string("name").unwrap(), "x");
    }

    #[test]
    fn a_wrong_type_is_named_with_its_path() {
        let list = |item: Value| Value::from(vec![item]);
        let inner = |value: Value| Value::Map([("name", value)].into_iter().collect());
        let broken = fields(vec![
            ("name", list("a".into())),
            ("keywords", "a".into()),
            ("annotations", Value::Map([("a", list("x".into()))].into_iter().collect())),
            ("maintainers", list(inner(Value::Map(Map::new())))),
            ("deprecated", "true".into()),
        ]);
        let prefix = "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal";
        for (error, want) in [
            (broken.string("name").unwrap_err(), "array into Go struct field .name of type string"),
            (
                broken.strings("keywords").unwrap_err(),
                "string into Go struct field .keywords of type []string",
            ),
            (
                broken.string_map("annotations").unwrap_err(),
                "array into Go struct field .annotations.a of type string",
            ),
            (
                broken.structs("maintainers", "v2.Maintainer", |m| m.string("name")).unwrap_err(),
                "object into Go struct field .maintainers.0.name of type string",
            ),
            (
                fields(vec![("keywords", list(list("a".into())))]).strings("keywords").unwrap_err(),
                "array into .keywords.0 of type string",
            ),
            (broken.bool("deprecated").unwrap_err(), "string into Go struct field .deprecated of type bool"),
        ] {
            assert_eq!(error.to_string(), format!("{prefix} {want}"));
        }
        let error = document(list(1.into()), "util.SimpleHead").err().unwrap();
        assert_eq!(error.to_string(), format!("{prefix} array into Go value of type util.SimpleHead"));
    }
}
