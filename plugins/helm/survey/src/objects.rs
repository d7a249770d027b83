//! The objects that renderings wrote.

use std::collections::{BTreeMap, BTreeSet, HashSet, hash_map::DefaultHasher};
use std::hash::{Hash as _, Hasher as _};

use helm_chart::manifest::split_manifests;
use helm_yaml::Duplicates;
use helm_yaml::outline::{Content, Entry, outline};
use serde_json::Value;

/// The namespace of the release in all renderings.
pub(crate) const NAMESPACE: &str = "release-namespace";

/// A group and a kind.
pub(crate) type GroupKind = (String, String);

/// Where objects of a kind were written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) versions: BTreeSet<String>,
    pub(crate) templates: BTreeSet<String>,
    /// Namespaces other than the release's.
    pub(crate) elsewhere: BTreeSet<String>,
    pub(crate) is_hook: bool,
    /// What it took to have one.
    pub(crate) way: Way,
}

/// What it takes to have an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Way {
    /// The chart's defaults.
    Default,
    /// Other values.
    Values,
    /// The outcome of a condition that no values turned was replaced.
    #[default]
    Forced,
}

/// A role or a binding.
#[derive(Debug, Clone)]
pub(crate) struct RoleObject {
    pub(crate) template: String,
    pub(crate) json: Value,
}

/// What all renderings wrote.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) kinds: BTreeMap<GroupKind, Seen>,
    /// Roles, role bindings and their cluster-wide sisters.
    pub(crate) roles: Vec<RoleObject>,
    /// Definitions of kinds.
    pub(crate) definitions: Vec<Value>,
    known: HashSet<u64>,
}

/// What of an object tells what it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Head {
    api_version: String,
    kind: String,
    namespace: String,
    is_hook: bool,
}

impl Objects {
    /// Adds what a template wrote.
    pub(crate) fn add(&mut self, template: &str, text: &str, way: Way) {
        for document in split_manifests(text) {
            let mut hasher = DefaultHasher::new();
            (template, document, way).hash(&mut hasher);
            if self.known.insert(hasher.finish()) {
                self.document(template, document, way);
            }
        }
    }

    fn document(&mut self, template: &str, document: &str, way: Way) {
        let head = Skimmed::head(document);
        let in_full = head.as_ref().is_none_or(|head| {
            head.kind.ends_with("List")
                || head.kind.contains("Role")
                || head.kind == "CustomResourceDefinition"
        });
        if !in_full {
            return self.note(template, &head.unwrap_or_default(), way);
        }
        match helm_yaml::yaml_to_json(document.as_bytes(), Duplicates::LastWins) {
            Ok(json) => self.object(template, json, way),
            // What was filled in may not fit where it stands.
            Err(_) => self.note(template, &by_lines(document), way),
        }
    }

    fn object(&mut self, template: &str, mut json: Value, way: Way) {
        let head = Head::of(&json);
        if head.kind.ends_with("List")
            && let Some(items) = json.get_mut("items").map(Value::take)
        {
            let Value::Array(items) = items else { return };
            return items.into_iter().for_each(|item| self.object(template, item, way));
        }
        self.note(template, &head, way);
        match (&*head.group(), &*head.kind) {
            ("rbac.authorization.k8s.io", _) => {
                let template = template.to_owned();
                self.roles.push(RoleObject { template, json });
            }
            ("apiextensions.k8s.io", _) => self.definitions.push(json),
            _ => {}
        }
    }

    fn note(&mut self, template: &str, head: &Head, way: Way) {
        let word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
        if !word(&head.kind) || !word(&head.api_version) || head.kind == "List" {
            return;
        }
        let entry = self.kinds.entry((head.group(), head.kind.clone()));
        let seen = entry.or_default();
        seen.way = seen.way.min(way);
        seen.versions.insert(head.version().to_owned());
        seen.templates.insert(template.to_owned());
        seen.is_hook |= head.is_hook;
        if !matches!(&*head.namespace, "" | NAMESPACE) {
            seen.elsewhere.insert(head.namespace.clone());
        }
    }
}

impl Head {
    fn of(json: &Value) -> Self {
        let text =
            |pointer: &str| json.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            is_hook: json.pointer("/metadata/annotations/helm.sh~1hook").is_some(),
        }
    }

    fn group(&self) -> String {
        self.api_version.split_once('/').map(|(group, _)| group).unwrap_or_default().to_owned()
    }

    fn version(&self) -> &str {
        self.api_version.split_once('/').map_or(&self.api_version, |(_, version)| version)
    }
}

/// The head of a document that is no YAML.
fn by_lines(document: &str) -> Head {
    let value = |key: &str| {
        let line = document.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_default().trim().trim_matches(['"', '\'']).to_owned()
    };
    Head { api_version: value("apiVersion:"), kind: value("kind:"), ..Head::default() }
}

/// A head that is put together from a document's outline.
#[derive(Default)]
struct Skimmed {
    head: Head,
    /// The names of the mappings that the next entry is in.
    within: Vec<String>,
}

impl Skimmed {
    fn head(document: &str) -> Option<Head> {
        let mut skimmed = Self::default();
        outline(document, |entry| skimmed.entry(entry))?;
        Some(skimmed.head)
    }

    fn entry(&mut self, entry: Entry<'_>) -> Option<()> {
        self.within.truncate(entry.depth);
        let within: Vec<&str> = self.within.iter().map(String::as_str).collect();
        let text = match entry.value {
            Content::Text(text) => text.to_owned(),
            Content::Open | Content::Other => String::new(),
        };
        match (within.as_slice(), entry.key) {
            ([], Some("apiVersion")) => self.head.api_version = text,
            ([], Some("kind")) => self.head.kind = text,
            ([], None) => return None,
            (["metadata"], Some("namespace")) => self.head.namespace = text,
            (["metadata", "annotations"], Some("helm.sh/hook")) => self.head.is_hook = true,
            _ => {}
        }
        self.within.push(entry.key.unwrap_or_default().to_owned());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(String, String)> {
        let mut objects = Objects::default();
        objects.add("a.yaml", text, Way::Default);
        objects.kinds.into_keys().collect()
    }

    fn pair(group: &str, kind: &str) -> (String, String) {
        (group.to_owned(), kind.to_owned())
    }

    #[test]
    fn documents_lists_and_what_is_no_yaml_are_told() {
        let text = "apiVersion: apps/v1\nkind: Deployment\n---\n{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod}]}\n---\n\
                    apiVersion: batch/v1\nkind: \"Job\"\nspec: a: b: c\n---\n# nothing\n---\nkind: NoVersion\n";
        assert_eq!(kinds(text), [pair("", "Pod"), pair("apps", "Deployment"), pair("batch", "Job")]);
    }

    #[test]
    fn hooks_and_other_namespaces_are_noted() {
        let mut objects = Objects::default();
        let text = "apiVersion: v1\nkind: Service\nmetadata:\n  namespace: kube-system\n  annotations:\n    helm.sh/hook: test\n";
        objects.add("a.yaml", text, Way::Forced);
        objects.add(
            "b.yaml",
            "apiVersion: v1\nkind: Service\nmetadata:\n  namespace: release-namespace\n",
            Way::Forced,
        );
        let seen = &objects.kinds[&pair("", "Service")];
        assert!(seen.is_hook && seen.way == Way::Forced);
        assert_eq!((seen.elsewhere.len(), seen.templates.len()), (1, 2));
        objects.add("b.yaml", "apiVersion: v1\nkind: Service\n", Way::Values);
        assert_eq!(objects.kinds[&pair("", "Service")].way, Way::Values);
    }

    #[test]
    fn names_within_an_object_are_not_its_own() {
        let text = "apiVersion: v1\nkind: Pod\nspec:\n  metadata:\n    namespace: other\n  kind: Inner\n";
        let mut objects = Objects::default();
        objects.add("a.yaml", text, Way::Default);
        assert!(objects.kinds[&pair("", "Pod")].elsewhere.is_empty());
    }
}
