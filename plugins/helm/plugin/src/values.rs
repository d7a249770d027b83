//! The values of a release: the object's spec with the operator's overrides over it.

use helm_chart::{strvals, values::merge_maps};
use helm_template::{List, Map, Value as HelmValue};
use pilothouse_sdk::Error;
use serde_json::Value;

use crate::{overrides::Overrides, values_from::Found};

/// The object's spec with what was found elsewhere below it, and the overrides over it. Each override is a template first, then a `--set-string` line
/// (`parseOverrides` of operator-sdk).
///
/// # Errors
/// Permanent: a spec that is no object (operator-sdk's words), an override that is no template or no such line.
pub(crate) fn values(spec: Option<&Value>, found: &Found, overrides: &Overrides) -> Result<Map, Error> {
    let Some(HelmValue::Map(spec)) = spec.map(to_value) else {
        return Err(Error::permanent("InvalidObject", "failed to get spec: expected map[string]interface{}"));
    };
    let spec = if found.below.is_empty() { spec } else { merge_maps(&found.below, &spec) };
    found.set_above(&spec)?;
    if overrides.is_empty() {
        return Ok(spec);
    }
    let above = Map::new();
    let refused = |key: &str, error: &dyn std::fmt::Display| {
        let message = format!("failed to parse override values: {key}: {error}");
        Error::permanent("InvalidConfiguration", message)
    };
    for (key, value) in overrides.expanded().map_err(|(key, error)| refused(&key, &error))? {
        let line = format!("{key}={value}");
        strvals::parse_into_string(&line, &above).map_err(|error| refused(&key, &error))?;
    }
    Ok(merge_maps(&spec, &above))
}

/// JSON as the API machinery reads it: whole numbers are integers, unlike in values files.
pub(crate) fn to_value(json: &Value) -> HelmValue {
    match json {
        Value::Null => HelmValue::Nil,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        Value::String(text) => text.into(),
        Value::Array(items) => HelmValue::List(List::new(items.iter().map(to_value).collect())),
        Value::Object(entries) => {
            HelmValue::Map(entries.iter().map(|(key, value)| (key, to_value(value))).collect())
        }
    }
}

/// JSON text of values: one text for equal values.
///
/// # Errors
/// Permanent, for what JSON cannot say; none of it comes out of JSON.
pub(crate) fn to_json(values: &Map) -> Result<String, Error> {
    let refused =
        |error: String| Error::permanent("InvalidObject", format!("the values cannot be written: {error}"));
    let json = helm_yaml::json::to_json_raw(&HelmValue::Map(values.clone()))
        .map_err(|error| refused(error.to_string()))?;
    String::from_utf8(json).map_err(|error| refused(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(spec: &Value, overrides: &[(&str, &str)]) -> Result<String, Error> {
        let overrides = Overrides::of(overrides);
        to_json(&values(Some(spec), &Found::default(), &overrides)?)
    }

    #[test]
    fn overrides_win_and_are_strings() {
        let text =
            read(&json!({"a": {"b": 1, "c": 2}, "list": [1]}), &[("a.b", "true"), ("list[1]", "x")]).unwrap();
        assert_eq!(text, r#"{"a":{"b":"true","c":2},"list":[null,"x"]}"#);
    }

    #[test]
    fn equal_values_have_one_text_whatever_the_order_of_their_keys() {
        let (a, b) = (
            read(&json!({"x": 1, "a": {"z": 1, "b": 2}}), &[]),
            read(&json!({"a": {"b": 2, "z": 1}, "x": 1}), &[]),
        );
        assert_eq!(a.unwrap(), b.unwrap());
    }

    #[test]
    fn whole_numbers_of_the_spec_are_integers() {
        let values =
            values(Some(&json!({"big": 1_000_000, "half": 0.5})), &Found::default(), &Overrides::default())
                .unwrap();
        assert_eq!(values.get("big").unwrap().type_name(), "int64");
        assert_eq!(values.get("half").unwrap().type_name(), "float64");
    }

    #[test]
    fn a_spec_that_is_no_object_and_an_override_that_is_no_path_are_refused() {
        let error = values(Some(&json!("x")), &Found::default(), &Overrides::default()).unwrap_err();
        assert_eq!(error.message(), "failed to get spec: expected map[string]interface{}");
        assert!(values(None, &Found::default(), &Overrides::default()).is_err());
        let error = read(&json!({}), &[("a[x]", "1")]).unwrap_err();
        assert!(error.message().starts_with("failed to parse override values: a[x]: "), "{error}");
    }
}
