//! The objects of a manifest, as `kubectl` and Helm's client build them.

use std::{cmp::Ordering, collections::BTreeSet, fmt};

use helm_chart::{manifest::split_manifests, order::KindOrder};
use helm_yaml::Duplicates;
use pilothouse_sdk::{Gvk, ObjectRef};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::kinds::Kinds;

/// A manifest that is not a stream of objects.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ObjectsError {
    /// A document is not YAML.
    #[error("unable to build kubernetes objects from release manifest: error parsing {place}: {error}")]
    Yaml {
        /// Where it comes from.
        place: String,
        /// What is wrong with it.
        error: String,
    },
    /// A document lacks what every object has.
    #[error(
        "unable to build kubernetes objects from release manifest: Object '{field}' is missing in {place}"
    )]
    Missing {
        /// The field.
        field: &'static str,
        /// Where it comes from.
        place: String,
    },
}

/// An object of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Object {
    /// What it is.
    pub(crate) reference: ObjectRef,
    /// The object, with its namespace.
    pub(crate) value: Value,
}

/// What makes two objects the same one whatever their version.
pub(crate) type Key = (String, String, Option<String>, String);

impl Object {
    /// What makes it the same object as another one whatever their version.
    pub(crate) fn key(&self) -> Key {
        key(&self.reference)
    }

    /// Whether its manifest says that it outlives the release.
    pub(crate) fn is_kept(&self) -> bool {
        let policy =
            self.value.pointer("/metadata/annotations/helm.sh~1resource-policy").and_then(Value::as_str);
        policy.is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
    }
}

/// What makes two references the same object whatever their version.
pub(crate) fn key(reference: &ObjectRef) -> Key {
    let ObjectRef { kind, namespace, name } = reference;
    (kind.group.clone(), kind.kind.clone(), namespace.clone(), name.clone())
}

/// `ServiceAccount "web" in namespace "shop"`, Helm's `resourceString`.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectRef { kind, namespace, name } = &self.reference;
        write!(f, "{} {name:?} in namespace {:?}", kind.kind, namespace.as_deref().unwrap_or_default())
    }
}

/// Reads a manifest. Objects of namespaced kinds get the release's namespace when they name none; lists are taken
/// apart; documents without content are left out; an object that leaves its name to the server gets one made of its
/// content, so that the same object keeps it. Of several documents of one object the last counts, as for Helm 4: all of
/// them applied, each would undo what the one before it did, for ever.
///
/// # Errors
/// [`ObjectsError`] for the first document that is no object.
pub(crate) fn parse(manifest: &str, namespace: &str, kinds: &Kinds) -> Result<Vec<Object>, ObjectsError> {
    let mut objects = parse_all(manifest, namespace, kinds)?;
    let mut known = BTreeSet::new();
    let last: Vec<bool> = objects.iter().rev().map(|object| known.insert(object.key())).collect();
    let mut last = last.into_iter().rev();
    objects.retain(|_| last.next().unwrap_or(true));
    Ok(objects)
}

/// Objects that a manifest has more than once, each once.
pub(crate) fn repeated(manifest: &str, namespace: &str, kinds: &Kinds) -> Vec<Object> {
    let all = parse_all(manifest, namespace, kinds).unwrap_or_default();
    let (mut known, mut again) = (BTreeSet::new(), BTreeSet::new());
    all.into_iter().filter(|object| !known.insert(object.key()) && again.insert(object.key())).collect()
}

fn parse_all(manifest: &str, namespace: &str, kinds: &Kinds) -> Result<Vec<Object>, ObjectsError> {
    let mut objects = Vec::new();
    for document in split_manifests(manifest) {
        let json = helm_yaml::yaml_to_json(document.as_bytes(), Duplicates::LastWins)
            .map_err(|error| ObjectsError::Yaml { place: place(document), error: error.to_string() })?;
        collect(json, document, namespace, kinds, &mut objects)?;
    }
    Ok(objects)
}

fn collect(
    json: Value,
    document: &str,
    namespace: &str,
    kinds: &Kinds,
    objects: &mut Vec<Object>,
) -> Result<(), ObjectsError> {
    let missing = |field| ObjectsError::Missing { field, place: place(document) };
    let mut fields = match json {
        Value::Null => return Ok(()),
        Value::Object(fields) if fields.is_empty() => return Ok(()),
        Value::Object(fields) => fields,
        _ => return Err(missing("Kind")),
    };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let kind = text("kind").ok_or_else(|| missing("Kind"))?;
    let api_version = text("apiVersion").ok_or_else(|| missing("apiVersion"))?;
    let gvk = Gvk::from_api_version(api_version, kind);
    let is_list = kind.ends_with("List");
    if is_list && let Some(items) = fields.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take)
    {
        return items.into_iter().try_for_each(|item| collect(item, document, namespace, kinds, objects));
    }
    let content = content_hash(&fields);
    let metadata = section(&mut fields, "metadata");
    if text_of(metadata, "name").is_none() {
        let prefix = text_of(metadata, "generateName").ok_or_else(|| missing("metadata.name"))?;
        let name = format!("{prefix}{content}");
        metadata.insert("name".into(), name.into());
        metadata.shift_remove("generateName");
    }
    match kinds.is_namespaced(&gvk) {
        Some(true) if text_of(metadata, "namespace").is_none() => {
            metadata.insert("namespace".into(), namespace.into());
        }
        Some(false) => drop(metadata.shift_remove("namespace")),
        _ => {}
    }
    let name = text_of(metadata, "name").unwrap_or_default().to_owned();
    let namespace = text_of(metadata, "namespace").map(str::to_owned);
    let reference = ObjectRef { kind: gvk, namespace, name };
    objects.push(Object { reference, value: Value::Object(fields) });
    Ok(())
}

/// The line that says which template a document comes from, for messages.
fn place(document: &str) -> String {
    let source = document.lines().find_map(|line| line.strip_prefix("# Source: "));
    source.map_or_else(|| format!("{:?}", document.lines().next().unwrap_or_default()), str::to_owned)
}

fn text_of<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A table inside an object, made when it is not there.
pub(crate) fn section<'a>(fields: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let section = fields.entry(name).or_insert_with(|| json!({}));
    if !section.is_object() {
        *section = json!({});
    }
    match section {
        Value::Object(fields) => fields,
        _ => unreachable!("made an object above"),
    }
}

/// The name's end for an object that leaves its name to the server.
fn content_hash(fields: &Map<String, Value>) -> String {
    let text = serde_json::to_vec(fields).unwrap_or_default();
    Sha256::digest(text).iter().take(3).map(|byte| format!("{byte:02x}")).collect()
}

/// Sorts objects for deletion; those of one kind stay in their order.
pub(crate) fn sort(objects: &mut [Object], order: KindOrder) {
    objects.sort_by(|a, b| -> Ordering { order.compare(&a.reference.kind.kind, &b.reference.kind.kind) });
}

/// Whether two manifests say the same, whatever their spelling and order.
pub(crate) fn same(a: &str, b: &str, namespace: &str, kinds: &Kinds) -> bool {
    if a == b {
        return true;
    }
    let read = |manifest| {
        let objects = parse(manifest, namespace, kinds).ok()?;
        let mut objects: Vec<_> = objects.into_iter().map(|object| (object.key(), object.value)).collect();
        objects.sort_by(|a, b| a.0.cmp(&b.0));
        Some(objects)
    };
    match (read(a), read(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// The keys of objects.
pub(crate) fn keys(objects: &[Object]) -> BTreeSet<Key> {
    objects.iter().map(Object::key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use helm_chart::order::UNINSTALL_ORDER;
    use pilothouse_sdk::harness::Cluster;

    fn kinds() -> Kinds {
        Kinds::read(&Cluster::new().kubectl()).unwrap()
    }

    fn read(manifest: &str) -> Result<Vec<Object>, ObjectsError> {
        parse(manifest, "shop", &kinds())
    }

    #[test]
    fn a_namespace_is_given_where_the_kind_has_one_and_none_is_said() {
        let objects = read(
            "---\n# Source: a\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\napiVersion: v1\nkind: \
             ConfigMap\nmetadata: {name: b, namespace: other}\n---\n# only words\n---\napiVersion: \
             rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: c, namespace: shop}\n",
        )
        .unwrap();
        let names: Vec<_> = objects.iter().map(|object| object.reference.to_string()).collect();
        assert_eq!(
            names,
            ["v1 ConfigMap shop/a", "v1 ConfigMap other/b", "rbac.authorization.k8s.io/v1 ClusterRole c"]
        );
        assert_eq!(objects[0].value["metadata"]["namespace"], "shop");
        assert_eq!(objects[0].to_string(), "ConfigMap \"a\" in namespace \"shop\"");
    }

    #[test]
    fn a_kind_that_is_not_served_yet_stays_as_it_is_written() {
        let objects = read("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: x}").unwrap();
        assert_eq!(objects[0].reference.namespace, None);
    }

    #[test]
    fn lists_are_taken_apart() {
        let item = |name| format!("- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: {name}}}\n");
        let objects =
            read(&format!("apiVersion: v1\nkind: List\nitems:\n{}{}", item("a"), item("b"))).unwrap();
        assert_eq!(objects.len(), 2);
    }

    #[test]
    fn of_several_documents_of_one_object_the_last_counts() {
        let map = |name: &str, more: &str| {
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{more}}}\n---\n")
        };
        let manifest =
            [map("a", ""), map("b", ""), map("a", ", namespace: shop, labels: {x: word}")].concat();
        let names: Vec<_> =
            read(&manifest).unwrap().into_iter().map(|object| object.reference.to_string()).collect();
        assert_eq!(names, ["v1 ConfigMap shop/b", "v1 ConfigMap shop/a"]);
        assert_eq!(read(&manifest).unwrap()[1].value["metadata"]["labels"]["x"], "word");
        let again = [manifest, map("a", "")].concat();
        assert_eq!(repeated(&again, "shop", &kinds()).len(), 1);
    }

    #[test]
    fn a_kind_that_only_ends_like_a_list_keeps_its_items() {
        let one = "apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: a}\n";
        for items in ["{a: 1}", "word", "null"] {
            let objects = read(&format!("{one}items: {items}\n")).unwrap();
            assert_eq!(objects.len(), 1);
            let wanted = helm_yaml::yaml_to_json(items.as_bytes(), Duplicates::LastWins).unwrap();
            assert_eq!(objects[0].value["items"], wanted);
        }
        assert_eq!(read(one).unwrap()[0].value.get("items"), None);
    }

    #[test]
    fn a_generated_name_depends_on_the_content_only() {
        let object = |data| {
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{generateName: x-}}\ndata: {{a: {data}}}")
        };
        let name = |data| read(&object(data)).unwrap()[0].reference.name.clone();
        assert_eq!(name("b"), name("b"));
        assert_ne!(name("b"), name("c"));
        assert!(name("b").starts_with("x-"));
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        let error = read("# Source: web/templates/a.yaml\nmetadata: {name: x}").unwrap_err();
        assert!(error.to_string().ends_with("Object 'Kind' is missing in web/templates/a.yaml"), "{error}");
        let error = read("# Source: web/templates/a.yaml\na: b: c").unwrap_err();
        assert!(error.to_string().contains("error parsing web/templates/a.yaml: yaml: "), "{error}");
        assert!(read("kind: ConfigMap\napiVersion: v1\nmetadata: {}").is_err());
        assert!(read("just words").is_err());
    }

    #[test]
    fn manifests_are_compared_by_what_they_say() {
        let a = "---\n# Source: a\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}";
        let b = "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n---\nkind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n  namespace: shop\n";
        assert!(same(a, b, "shop", &kinds()));
        assert!(!same(a, &b.replace("name: a", "name: c"), "shop", &kinds()));
    }

    #[test]
    fn deletion_has_its_order_and_keep_its_spellings() {
        let mut objects = read(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/resource-policy: ' Keep'}}\n---\n\
             apiVersion: v1\nkind: Service\nmetadata: {name: b}",
        )
        .unwrap();
        sort(&mut objects, UNINSTALL_ORDER);
        assert_eq!(objects[0].reference.kind.kind, "Service");
        assert!(objects[1].is_kept() && !objects[0].is_kept());
    }
}
