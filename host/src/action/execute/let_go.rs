//! What goes from an object when a manager takes over the fields of older tools and does not apply them: the second apply of
//! [`supersede`](super::supersede), worked out beforehand.

use serde_json::{Map, Value};

use super::Manager;

impl Manager {
    /// The object without what only superseded tools own; none where they own nothing, or where the manager applied nothing
    /// yet. `object` is the API server's answer to an apply.
    pub(super) fn without_superseded(&self, object: &Value) -> Option<Value> {
        self.patch_for(object)?;
        let entries = object.pointer("/metadata/managedFields")?.as_array()?;
        let fields = |old: bool| {
            let of = entries.iter().filter(move |entry| self.is_superseded(entry) == old);
            of.filter_map(|entry| entry.get("fieldsV1")?.as_object()).collect::<Vec<_>>()
        };
        let (old, kept) = (fields(true), fields(false));
        let mut less = object.clone();
        for owned in old {
            let_go(&mut less, owned, &kept);
        }
        Some(less)
    }
}

/// Takes away what is in `owned` and in none of `kept`.
fn let_go(value: &mut Value, owned: &Map<String, Value>, kept: &[&Map<String, Value>]) {
    for (step, below) in owned.iter().filter(|(step, _)| *step != ".") {
        let still: Vec<_> = kept.iter().filter_map(|fields| fields.get(step)?.as_object()).collect();
        if still.is_empty() {
            remove(value, step);
        } else if let (Some(inner), Some(below)) = (find(value, step), below.as_object()) {
            let_go(inner, below, &still);
        }
    }
}

fn remove(value: &mut Value, step: &str) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = step.strip_prefix("f:") {
                fields.shift_remove(name);
            }
        }
        Value::Array(items) => {
            if let Some(at) = place(items, step) {
                items.remove(at);
            }
        }
        _ => {}
    }
}

fn find<'v>(value: &'v mut Value, step: &str) -> Option<&'v mut Value> {
    match value {
        Value::Object(fields) => fields.get_mut(step.strip_prefix("f:")?),
        Value::Array(items) => {
            let at = place(items, step)?;
            items.get_mut(at)
        }
        _ => None,
    }
}

/// Where an item stands that is named by its keys (`k:`), its value (`v:`) or its place (`i:`).
fn place(items: &[Value], step: &str) -> Option<usize> {
    let (how, what) = step.split_once(':')?;
    let wanted: Value = serde_json::from_str(what).ok()?;
    match how {
        "k" => {
            let keys = wanted.as_object()?;
            items.iter().position(|item| keys.iter().all(|(name, value)| item.get(name) == Some(value)))
        }
        "v" => items.iter().position(|item| *item == wanted),
        "i" => usize::try_from(wanted.as_u64()?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_only_older_tools_own_goes_and_the_rest_stays() {
        let manager = Manager { name: "helm".into(), supersedes: vec!["helm-operator".into()] };
        let entry = |manager: &str, operation: &str, fields: Value| json!({"manager": manager, "operation": operation, "fieldsV1": fields});
        let container = |fields: Value| json!({"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": fields}}});
        let own = container(json!({".": {}, "f:name": {}, "f:image": {}}));
        let old = json!({
            "f:metadata": {"f:labels": {".": {}, "f:x": {}}, "f:finalizers": {".": {}, "v:\"old\"": {}, "v:\"both\"": {}}},
            "f:spec": {"f:containers": {
                "k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}, "f:limits": {".": {}, "f:cpu": {}}},
                "k:{\"name\":\"b\"}": {".": {}, "f:name": {}},
            }},
        });
        let others = json!({"f:metadata": {"f:labels": {"f:y": {}}, "f:finalizers": {"v:\"both\"": {}}}});
        let object = |entries: Value| {
            json!({
                "metadata": {"resourceVersion": "7", "labels": {"x": "1", "y": "2"}, "finalizers": ["old", "both"],
                    "managedFields": entries},
                "spec": {"containers": [{"name": "a", "image": "i", "limits": {"cpu": "1"}}, {"name": "b"}]},
            })
        };
        let entries = [
            entry("helm", "Apply", own.clone()),
            entry("helm-operator", "Update", old),
            entry("kubectl", "Update", others.clone()),
        ];
        let mut less = manager.without_superseded(&object(json!(entries))).unwrap();
        less["metadata"].as_object_mut().unwrap().shift_remove("managedFields");
        let metadata = json!({"resourceVersion": "7", "labels": {"y": "2"}, "finalizers": ["both"]});
        assert_eq!(
            less,
            json!({"metadata": metadata, "spec": {"containers": [{"name": "a", "image": "i"}]}})
        );
        let entries = [entry("helm", "Apply", own), entry("kubectl", "Update", others)];
        assert_eq!(manager.without_superseded(&object(json!(entries))), None);
    }
}
