//! The kinds of values that documents are read into.

use helm_template::{FloatType, IntType, List, Map, UintType, Value};

use super::target::Target;

/// The values of templates. Every number is a `float64`, as `json.Unmarshal` makes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueTarget;

#[expect(clippy::cast_precision_loss, reason = "JSON numbers become float64 in Go")]
impl Target for ValueTarget {
    type Value = Value;
    type Map = Map;

    fn null(&mut self) -> Value {
        Value::Nil
    }

    fn bool(&mut self, value: bool) -> Value {
        Value::Bool(value)
    }

    fn int(&mut self, value: i64) -> Value {
        self.float(value as f64)
    }

    fn uint(&mut self, value: u64) -> Value {
        self.float(value as f64)
    }

    fn float(&mut self, value: f64) -> Value {
        Value::Float(value, FloatType::Float64)
    }

    fn text(&mut self, value: &str) -> Value {
        Value::String(value.into())
    }

    fn list(&mut self, items: Vec<Value>) -> Value {
        Value::List(List::new(items))
    }

    fn new_map(&mut self) -> Map {
        Map::new()
    }

    fn insert(&mut self, map: &mut Map, key: &str, value: Value) -> bool {
        map.insert(key, value).is_some()
    }

    fn map(&mut self, map: Map) -> Value {
        Value::Map(map)
    }
}

/// The values of templates, with numbers as go-yaml reads them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExactTarget;

impl Target for ExactTarget {
    type Value = Value;
    type Map = Map;

    fn null(&mut self) -> Value {
        Value::Nil
    }

    fn bool(&mut self, value: bool) -> Value {
        Value::Bool(value)
    }

    fn int(&mut self, value: i64) -> Value {
        Value::Int(value, IntType::Int)
    }

    fn uint(&mut self, value: u64) -> Value {
        Value::Uint(value, UintType::Uint64)
    }

    fn float(&mut self, value: f64) -> Value {
        Value::Float(value, FloatType::Float64)
    }

    fn text(&mut self, value: &str) -> Value {
        Value::String(value.into())
    }

    fn list(&mut self, items: Vec<Value>) -> Value {
        Value::List(List::new(items))
    }

    fn new_map(&mut self) -> Map {
        Map::new()
    }

    fn insert(&mut self, map: &mut Map, key: &str, value: Value) -> bool {
        map.insert(key, value).is_some()
    }

    fn map(&mut self, map: Map) -> Value {
        Value::Map(map)
    }
}

/// JSON with integers kept as they are, as `YAMLToJSON` writes them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonTarget;

impl Target for JsonTarget {
    type Value = serde_json::Value;
    type Map = serde_json::Map<String, serde_json::Value>;

    fn null(&mut self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn bool(&mut self, value: bool) -> serde_json::Value {
        value.into()
    }

    fn int(&mut self, value: i64) -> serde_json::Value {
        value.into()
    }

    fn uint(&mut self, value: u64) -> serde_json::Value {
        value.into()
    }

    fn float(&mut self, value: f64) -> serde_json::Value {
        integer(value).unwrap_or_else(|| value.into())
    }

    fn text(&mut self, value: &str) -> serde_json::Value {
        value.into()
    }

    fn list(&mut self, items: Vec<serde_json::Value>) -> serde_json::Value {
        items.into()
    }

    fn new_map(&mut self) -> Self::Map {
        serde_json::Map::new()
    }

    fn insert(&mut self, map: &mut Self::Map, key: &str, value: serde_json::Value) -> bool {
        map.insert(key.to_owned(), value).is_some()
    }

    fn map(&mut self, map: Self::Map) -> serde_json::Value {
        map.into()
    }
}

/// A float of which encoding/json writes only digits, as a number that is written the same.
fn integer(value: f64) -> Option<serde_json::Value> {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    if value.fract() != 0.0 || value.abs() >= LIMIT || (value == 0.0 && value.is_sign_negative()) {
        return None;
    }
    let text = format!("{value}");
    text.parse::<i64>().map(Into::into).or_else(|_| text.parse::<u64>().map(Into::into)).ok()
}
