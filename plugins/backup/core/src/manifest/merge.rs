//! One piece of a Kubernetes object laid over another.

use serde_json::{Map, Value};

/// Lays `over` over `base`. Maps are merged; lists of things that have a `name` (containers, volumes, variables) or a `mountPath` are
/// merged by it; everything else is taken from `over`.
pub fn merge(base: Value, over: &Value) -> Value {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => Value::Object(maps(base, over)),
        (Value::Array(base), Value::Array(over)) => lists(base, over),
        (_, over) => over.clone(),
    }
}

fn maps(mut base: Map<String, Value>, over: &Map<String, Value>) -> Map<String, Value> {
    for (field, value) in over {
        let merged = match base.remove(field) {
            Some(below) => merge(below, value),
            None => value.clone(),
        };
        base.insert(field.clone(), merged);
    }
    base
}

fn lists(mut base: Vec<Value>, over: &[Value]) -> Value {
    let Some(key) = key(&base).filter(|found| over.is_empty() || key(over) == Some(found)) else {
        return Value::Array(over.to_vec());
    };
    for item in over {
        let same = base.iter_mut().find(|below| below.get(key) == item.get(key));
        match same {
            Some(below) => *below = merge(below.take(), item),
            None => base.push(item.clone()),
        }
    }
    Value::Array(base)
}

/// What tells the items of a list apart.
fn key(items: &[Value]) -> Option<&'static str> {
    let by =
        |key: &str| !items.is_empty() && items.iter().all(|item| item.get(key).is_some_and(Value::is_string));
    ["mountPath", "name"].into_iter().find(|key| by(key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge;

    #[test]
    fn things_with_names_are_merged_by_them_and_other_lists_replaced() {
        let base = json!({"containers": [{"name": "dump", "image": "a", "args": ["1", "2"],
            "env": [{"name": "A", "value": "1"}], "volumeMounts": [{"mountPath": "/x", "name": "v"}]}], "kept": 1});
        let over = json!({"containers": [
            {"name": "dump", "image": "b", "args": ["3"], "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "9"}],
             "volumeMounts": [{"mountPath": "/y", "name": "v"}]},
            {"name": "more", "image": "c"}]});
        let merged = merge(base, &over);
        assert_eq!(
            merged,
            json!({"containers": [
                {"name": "dump", "image": "b", "args": ["3"],
                 "env": [{"name": "A", "value": "9"}, {"name": "B", "value": "2"}],
                 "volumeMounts": [{"mountPath": "/x", "name": "v"}, {"mountPath": "/y", "name": "v"}]},
                {"name": "more", "image": "c"}], "kept": 1})
        );
        assert_eq!(merge(merged.clone(), &json!({})), merged);
    }
}
