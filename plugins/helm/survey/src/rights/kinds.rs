//! Kinds into resources, with what the chart itself defines.

use std::collections::BTreeMap;

use helm_chart::Chart;
use helm_chart::manifest::split_manifests;
use helm_yaml::Duplicates;
use serde_json::Value;

use crate::discovery::{self, Resource};
use crate::explore::Explored;
use crate::objects::GroupKind;

/// The resources of kinds.
#[derive(Debug)]
pub(super) struct Kinds(BTreeMap<GroupKind, Resource>);

impl Kinds {
    /// Reads what the chart brings in `crds/` and what its templates define.
    pub(super) fn new(chart: &Chart, explored: &Explored, notes: &mut Vec<String>) -> Self {
        let mut kinds = Self(BTreeMap::new());
        for crd in chart.crds() {
            for document in split_manifests(&String::from_utf8_lossy(&crd.file.data)) {
                match helm_yaml::yaml_to_json(document.as_bytes(), Duplicates::LastWins) {
                    Ok(definition) => kinds.define(&definition),
                    Err(error) => notes.push(format!("{} is no YAML: {error}", crd.path)),
                }
            }
        }
        explored.objects.definitions.iter().for_each(|definition| kinds.define(definition));
        kinds
    }

    fn define(&mut self, definition: &Value) {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
        if let (Some("CustomResourceDefinition"), Some(group), Some(kind), Some(plural)) =
            (text("/kind"), text("/spec/group"), text("/spec/names/kind"), text("/spec/names/plural"))
        {
            let resource = Resource {
                group: group.to_owned(),
                plural: plural.to_owned(),
                is_namespaced: text("/spec/scope") != Some("Cluster"),
                is_guessed: false,
            };
            self.0.insert((group.to_owned(), kind.to_owned()), resource);
        }
    }

    /// The resource of a kind.
    pub(super) fn resource(&self, group: &str, kind: &str) -> Resource {
        let known = self.0.get(&(group.to_owned(), kind.to_owned()));
        known.cloned().unwrap_or_else(|| discovery::resource(group, kind))
    }
}
