//! Manifests without what is in their Secrets, for status.

use helm_chart::manifest::split_manifests;
use helm_yaml::Duplicates;
use serde_json::Value;

/// A manifest larger than this is not put into status: the object would come near to what the API server stores.
const LARGEST: usize = 512 << 10;

/// The manifest with every value of its Secrets replaced; none when it is too large for a status.
pub(crate) fn mask(manifest: &str) -> Option<String> {
    if manifest.len() > LARGEST {
        return None;
    }
    if !manifest.contains("Secret") {
        return Some(manifest.to_owned());
    }
    let mut masked = String::with_capacity(manifest.len());
    for document in split_manifests(manifest) {
        masked.push_str("---\n");
        match without_secrets(document) {
            Some(text) => masked.push_str(&text),
            None => masked.push_str(document),
        }
        if !masked.ends_with('\n') {
            masked.push('\n');
        }
    }
    Some(masked)
}

/// The document with its Secrets' values replaced; none when it has none. JSON is YAML.
fn without_secrets(document: &str) -> Option<String> {
    if !document.contains("Secret") {
        return None;
    }
    let Ok(mut json) = helm_yaml::yaml_to_json(document.as_bytes(), Duplicates::LastWins) else {
        return Some("# A document that cannot be read.\n".to_owned());
    };
    if !mask_object(&mut json) {
        return None;
    }
    let source = document.lines().find(|line| line.starts_with("# Source: ")).unwrap_or("# Source: unknown");
    Some(format!("{source}\n{json}\n"))
}

fn mask_object(object: &mut Value) -> bool {
    if let Some(Value::Array(items)) = object.get_mut("items") {
        let mut masked = false;
        for item in items {
            masked |= mask_object(item);
        }
        return masked;
    }
    if object.get("kind").and_then(Value::as_str) != Some("Secret") {
        return false;
    }
    for field in ["data", "stringData"] {
        if let Some(Value::Object(values)) = object.get_mut(field) {
            values.values_mut().for_each(|value| *value = "***".into());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_replaced_and_everything_else_stays() {
        let manifest = "---\n# Source: w/a.yaml\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: hunter2\n---\n\
                        # Source: w/b.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c # Secret of the house\n";
        let masked = mask(manifest).unwrap();
        assert!(!masked.contains("hunter2"), "{masked}");
        assert!(masked.contains(
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"password":"***"}}"#
        ));
        assert!(masked.ends_with("  name: c # Secret of the house\n"));
    }

    #[test]
    fn secrets_in_lists_are_found() {
        let manifest = "kind: List\napiVersion: v1\nitems:\n- kind: Secret\n  data: {a: aHVudGVyMg==}\n";
        assert!(!mask(manifest).unwrap().contains("aHVudGVyMg"));
    }

    #[test]
    fn a_manifest_without_secrets_is_left_as_it_is_and_a_large_one_out() {
        assert_eq!(mask("---\na: 1\n").as_deref(), Some("---\na: 1\n"));
        assert_eq!(mask(&"x".repeat(LARGEST + 1)), None);
    }
}
