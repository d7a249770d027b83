//! Objects as CEL values.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;

/// Whole numbers are `int`s, as they are where objects come from; those beyond it are `double`s.
pub(crate) fn to_cel(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => cel::Value::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => cel::Value::Int(whole),
            None => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => cel::Value::String(Arc::new(text.clone())),
        Value::Array(list) => cel::Value::List(Arc::new(list.iter().map(to_cel).collect())),
        Value::Object(map) => {
            let map: HashMap<String, cel::Value> =
                map.iter().map(|(key, value)| (key.clone(), to_cel(value))).collect();
            map.into()
        }
    }
}
