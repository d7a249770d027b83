//! Whom a phase concerns: plugins at work that take part in it, and those that are to and are not at work.

use std::sync::Arc;

use super::run::Spec;
use crate::capability::grants::GrantsFile;
use crate::object::Gvk;
use crate::plugin::registry::Registry;
use crate::plugin::revision::Revision;

/// A plugin that takes part.
#[derive(Clone, Debug)]
pub struct Listener {
    /// Its name.
    pub plugin: String,
    /// Its revision at work. None: the grants name it, and it is not there. What it is to guard must wait for it.
    pub revision: Option<Arc<Revision>>,
}

/// Knows who takes part in what.
#[derive(Debug)]
pub struct Listeners {
    registry: Arc<Registry>,
    granted: Arc<GrantsFile>,
}

impl Listeners {
    /// Those at work and those that grants name.
    pub fn new(registry: Arc<Registry>, granted: Arc<GrantsFile>) -> Self {
        Self { registry, granted }
    }

    /// Those that take part in a phase of a kind, by name.
    pub fn of(&self, phase: &str, kind: &Gvk) -> Vec<Listener> {
        let revisions = self.registry.all();
        let mut found: Vec<Listener> = revisions
            .iter()
            .filter(|revision| revision.grants.takes_part(phase, kind))
            .map(|revision| Listener {
                plugin: revision.identity.name.to_string(),
                revision: Some(Arc::clone(revision)),
            })
            .collect();
        let at_work = |name: &str| revisions.iter().any(|revision| &*revision.identity.name == name);
        for (name, spec) in &self.granted.plugins {
            if !at_work(name) && spec.hooks.iter().any(|rule| rule.covers(phase, kind)) {
                found.push(Listener { plugin: name.clone(), revision: None });
            }
        }
        found.sort_by(|a, b| a.plugin.cmp(&b.plugin));
        found
    }

    /// Whether somebody takes part in any phase of a kind.
    pub fn has_any(&self, kind: &Gvk) -> bool {
        let granted = self.granted.plugins.values().flat_map(|spec| &spec.hooks);
        granted.into_iter().any(|rule| rule.is_about(kind))
            || self.registry.all().iter().any(|revision| revision.grants.takes_part_in_some(kind))
    }

    /// The revision of a plugin that is at work and may take part in what was announced.
    pub fn at_work(&self, plugin: &str, announced: &Spec) -> Option<Arc<Revision>> {
        let revision = self.registry.active(plugin)?;
        // What was begun before a change is brought to its end after it, whatever the grants say of that phase.
        let phases = [Some(announced.phase.clone()), announced.counterpart()];
        let kind = announced.subject.gvk();
        let may = phases.iter().flatten().any(|phase| revision.grants.takes_part(phase, &kind));
        may.then_some(revision)
    }
}
