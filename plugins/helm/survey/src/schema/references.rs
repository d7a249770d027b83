//! `$ref`s within a schema.

use serde_json::Value;

/// What a reference leads to, when that is in the same document.
pub(super) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let own = ["$id", "id"].iter().find_map(|key| root.get(*key).and_then(Value::as_str)).unwrap_or_default();
    let base = own.split('#').next().unwrap_or_default();
    let fragment = match reference.split_once('#') {
        Some((before, fragment)) if before.is_empty() || before == base => fragment,
        None if reference == base && !base.is_empty() => "",
        // A definition may be called by the name that it gives itself.
        _ => return named(root, reference),
    };
    let decoded = decode(fragment);
    match decoded.strip_prefix('/') {
        Some(_) => root.pointer(&decoded),
        None if decoded.is_empty() => Some(root),
        None => anchored(root, &decoded),
    }
}

/// Percent signs stand for bytes in URIs.
fn decode(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.get(..2).and_then(|hex| str::from_utf8(hex).ok());
        match (first, escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The schema among the definitions that calls itself so.
fn named<'s>(root: &'s Value, name: &str) -> Option<&'s Value> {
    definitions(root)
        .find(|schema| ["$id", "id"].iter().any(|key| schema.get(*key).and_then(Value::as_str) == Some(name)))
}

fn anchored<'s>(root: &'s Value, anchor: &str) -> Option<&'s Value> {
    let hash = format!("#{anchor}");
    definitions(root).find(|schema| {
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        text("$anchor") == Some(anchor) || text("$id") == Some(&hash) || text("id") == Some(&hash)
    })
}

fn definitions(root: &Value) -> impl Iterator<Item = &Value> {
    ["$defs", "definitions"]
        .iter()
        .filter_map(|key| root.get(*key).and_then(Value::as_object))
        .flat_map(|definitions| definitions.values())
}
