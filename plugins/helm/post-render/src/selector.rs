//! Which objects a patch is for.

use regex::Regex;
use serde_json::Value;

use crate::{id::Id, labels::LabelSelector};

/// `target` of a patch. What is not given fits everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selector {
    pub(crate) group: Option<Regex>,
    pub(crate) version: Option<Regex>,
    pub(crate) kind: Option<Regex>,
    pub(crate) name: Option<Regex>,
    pub(crate) namespace: Option<Regex>,
    pub(crate) labels: LabelSelector,
    pub(crate) annotations: LabelSelector,
}

impl Selector {
    pub(crate) fn matches(&self, object: &Value) -> bool {
        let id = Id::of(object);
        let fits = |pattern: &Option<Regex>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
        };
        let metadata = |field| object.get("metadata").and_then(|metadata| metadata.get(field));
        fits(&self.group, &id.group)
            && fits(&self.version, &id.version)
            && fits(&self.kind, &id.kind)
            && fits(&self.name, &id.name)
            && fits(&self.namespace, id.effective_namespace())
            && self.labels.matches(metadata("labels"))
            && self.annotations.matches(metadata("annotations"))
    }
}

/// A pattern for the whole text.
pub(crate) fn anchored(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(&format!("^(?:{pattern})$"))
}
