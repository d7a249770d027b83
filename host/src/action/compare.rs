//! Does a live object already hold what is about to be applied?

use serde_json::Value;

/// True when every field of `desired` stands in `live` with the same value. What `live` holds beside it does not matter:
/// defaults, status, and fields of others.
///
/// A wrong *no* costs one request that changes nothing; a wrong *yes* would leave drift in place. So forms the API server
/// normalises (quantities, durations) count as different, and only these count as equal: nothing, `null`, `{}` and `[]`
/// (the server drops empty collections), and numbers of the same value.
pub fn holds(live: &Value, desired: &Value) -> bool {
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => {
            desired.iter().all(|(key, wanted)| holds(live.get(key).unwrap_or(&Value::Null), wanted))
        }
        (Value::Array(live), Value::Array(desired)) => holds_list(live, desired),
        (Value::Number(live), Value::Number(desired)) => live == desired || live.as_f64() == desired.as_f64(),
        (live, desired) => live == desired || (is_empty(live) && is_empty(desired)),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Lists of named entries (containers, env, volumes, …) are merged by name under server-side apply, so others may have
/// added entries between ours; every other list must be the same throughout.
fn holds_list(live: &[Value], desired: &[Value]) -> bool {
    if live.len() == desired.len() && live.iter().zip(desired).all(|(live, desired)| holds(live, desired)) {
        return true;
    }
    let name = |entry: &Value| entry.get("name").and_then(Value::as_str).map(ToOwned::to_owned);
    desired.iter().all(|wanted| {
        name(wanted).is_some_and(|wanted_name| {
            let mut same_name = live.iter().filter(|entry| name(entry).as_ref() == Some(&wanted_name));
            // Ports may share a name with another protocol: then only the strict comparison above decides.
            match (same_name.next(), same_name.next()) {
                (Some(entry), None) => holds(entry, wanted),
                _ => false,
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_others_added_does_not_matter() {
        let live = json!({"spec": {"replicas": 1, "template": {"containers": [
            {"name": "app", "image": "a:1", "terminationMessagePath": "/dev/x"}, {"name": "sidecar"}]}}, "status": {}});
        assert!(holds(
            &live,
            &json!({"spec": {"template": {"containers": [{"name": "app", "image": "a:1"}]}}})
        ));
        assert!(!holds(
            &live,
            &json!({"spec": {"template": {"containers": [{"name": "app", "image": "a:2"}]}}})
        ));
    }

    #[test]
    fn a_list_without_names_must_be_the_same_throughout() {
        assert!(holds(&json!(["a", "b"]), &json!(["a", "b"])));
        assert!(!holds(&json!(["a", "b", "c"]), &json!(["a", "b"])));
        assert!(!holds(&json!(["b", "a"]), &json!(["a", "b"])));
    }

    #[test]
    fn dropped_empty_collections_are_no_difference_but_a_missing_value_is() {
        assert!(holds(&json!({}), &json!({"tolerations": [], "affinity": {}, "x": null})));
        assert!(!holds(&json!({}), &json!({"replicas": 0})));
        assert!(!holds(&json!({}), &json!({"labels": {"a": ""}})));
    }

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(holds(&json!(1), &json!(1.0)));
        assert!(!holds(&json!("1"), &json!(1)));
    }
}
