//! Differences as merge patches.

use serde_json::{Map, Value};

/// The merge patch (RFC 7386) that turns one object into another: what is not in the second is removed by name. None when there
/// is no difference.
pub fn merge_difference(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        let changed = match old.get(key) {
            Some(known) => merge_difference(known, value),
            None => Some(value.clone()),
        };
        if let Some(changed) = changed {
            patch.insert(key.clone(), changed);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_gone_is_named_and_what_is_the_same_is_not() {
        let before = json!({"a": 1, "b": {"c": 2, "d": 3}, "e": [1, 2]});
        let after = json!({"b": {"c": 2, "d": 4}, "e": [2], "f": "new"});
        assert_eq!(
            merge_difference(&before, &after),
            Some(json!({"a": null, "b": {"d": 4}, "e": [2], "f": "new"}))
        );
        assert_eq!(merge_difference(&after, &after), None);
        assert_eq!(merge_difference(&Value::Null, &after), Some(after));
    }
}
