//! How lists and maps of objects merge: what the API server takes from its OpenAPI schemas
//! (`x-kubernetes-list-type`, `x-kubernetes-list-map-keys`, `x-kubernetes-map-type`), for the fields people meet.

use serde_json::{Map, Value};

use super::fields::Step;

/// How a list merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// As a whole: the last writer's list is the list.
    Atomic,
    /// By these keys of its items.
    Map(&'static [&'static str]),
    /// Of scalars, each at most once.
    Set,
}

/// Lists of the metadata and conditions, which every kind has.
const EVERYWHERE: &[(&str, ListKind)] = &[
    ("conditions", ListKind::Map(&["type"])),
    ("finalizers", ListKind::Set),
    ("ownerReferences", ListKind::Map(&["uid"])),
];

/// Lists of built-in kinds. Merge keys of strategic merge patches are the first key of each.
const BUILT_IN: &[(&str, ListKind)] = &[
    ("containers", ListKind::Map(&["name"])),
    ("env", ListKind::Map(&["name"])),
    ("ephemeralContainers", ListKind::Map(&["name"])),
    ("hostAliases", ListKind::Map(&["ip"])),
    ("imagePullSecrets", ListKind::Map(&["name"])),
    ("initContainers", ListKind::Map(&["name"])),
    ("podIPs", ListKind::Map(&["ip"])),
    ("resourceClaims", ListKind::Map(&["name"])),
    ("secrets", ListKind::Map(&["name"])),
    ("topologySpreadConstraints", ListKind::Map(&["topologyKey", "whenUnsatisfiable"])),
    ("volumeDevices", ListKind::Map(&["devicePath"])),
    ("volumeMounts", ListKind::Map(&["mountPath"])),
    ("volumes", ListKind::Map(&["name"])),
    ("webhooks", ListKind::Map(&["name"])),
];

const CONTAINER_PORTS: ListKind = ListKind::Map(&["containerPort", "protocol"]);
const SERVICE_PORTS: ListKind = ListKind::Map(&["port", "protocol"]);

/// Maps of built-in kinds that merge as a whole.
const ATOMIC_MAPS: &[&str] = &[
    "selector",
    "labelSelector",
    "nodeSelector",
    "namespaceSelector",
    "podSelector",
    "objectSelector",
    "configMapKeyRef",
    "secretKeyRef",
    "fieldRef",
    "resourceFieldRef",
    "claimRef",
    "roleRef",
    "scaleTargetRef",
];

/// How the list at `path` merges; `custom` kinds declare nothing beyond metadata and conditions.
pub(super) fn list_kind(path: &[Step], custom: bool) -> ListKind {
    let [before @ .., Step::Field(name)] = path else { return ListKind::Atomic };
    let find =
        |table: &[(&str, ListKind)]| table.iter().find(|(known, _)| known == name).map(|(_, kind)| *kind);
    if let Some(kind) = find(EVERYWHERE) {
        return kind;
    }
    match (custom, name.as_str(), before) {
        (true, ..) => ListKind::Atomic,
        (false, "ports", [.., Step::Item(_)]) => CONTAINER_PORTS,
        (false, "ports", [Step::Field(spec)]) if spec == "spec" => SERVICE_PORTS,
        _ => find(BUILT_IN).unwrap_or(ListKind::Atomic),
    }
}

/// Does the map at `path` merge as a whole?
pub(super) fn is_atomic_map(path: &[Step], custom: bool) -> bool {
    !custom && matches!(path, [.., Step::Field(name)] if ATOMIC_MAPS.contains(&name.as_str()))
}

/// The keys of a list item as canonical JSON; none when it lacks one. A port's protocol defaults to TCP.
pub(super) fn item_key(item: &Value, keys: &[&str]) -> Option<String> {
    let mut found = Map::new();
    for key in keys {
        let value = match item.get(*key) {
            Some(value) => value.clone(),
            None if *key == "protocol" => Value::from("TCP"),
            None => return None,
        };
        found.insert((*key).to_owned(), value);
    }
    Some(Value::Object(found).to_string())
}
