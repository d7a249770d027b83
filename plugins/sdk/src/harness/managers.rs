//! Who owns which field: `metadata.managedFields`, and how writes move it.

use serde_json::Value;

use super::fields::{Fields, Path, Step, lookup, show};
use crate::Taken;

/// How a manager came to its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// One manager's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) operation: Operation,
    /// Empty for the object itself.
    pub(super) subresource: String,
    /// The version it wrote in, for messages.
    pub(super) api_version: String,
    pub(super) fields: Fields,
}

/// All managers of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Managers(pub(super) Vec<Manager>);

impl Managers {
    /// Replaces what a manager owns, and gives what it owned before.
    pub(super) fn set(&mut self, who: &Update<'_>, operation: Operation, fields: Fields) -> Fields {
        let former = self.take(who, operation);
        self.0.push(Manager {
            name: who.manager.to_owned(),
            operation,
            subresource: who.subresource.to_owned(),
            api_version: who.api_version.to_owned(),
            fields,
        });
        former
    }

    fn take(&mut self, who: &Update<'_>, operation: Operation) -> Fields {
        let same = |known: &Manager| {
            known.name == who.manager && known.operation == operation && known.subresource == who.subresource
        };
        match self.0.iter().position(same) {
            Some(position) => self.0.swap_remove(position).fields,
            None => Fields::default(),
        }
    }

    /// Forgets managers that own nothing, and puts the others in order, so that equal ones are equal.
    pub(super) fn tidy(&mut self) {
        self.0.retain(|manager| !manager.fields.0.is_empty());
        self.0.sort_by(|a, b| {
            (&a.name, a.operation, &a.subresource).cmp(&(&b.name, b.operation, &b.subresource))
        });
    }

    /// Moves ownership after a write that was no apply: what it changed is the writer's, what it removed nobody's.
    pub(super) fn update(&mut self, before: &Value, after: &Value, writer: &Update<'_>) {
        let (old, new) = (Fields::of(before, writer.custom), Fields::of(after, writer.custom));
        let moved = |path: &&Path| {
            lookup(before, path, writer.custom) != lookup(after, path, writer.custom)
                || !old.0.contains(*path)
        };
        // An item of a list is not changed by a change below it.
        let is_item = |path: &&Path| matches!(path.last(), Some(Step::Item(_)));
        let changed: Vec<_> = new
            .0
            .iter()
            .filter(|path| !(is_item(path) && old.0.contains(*path)))
            .filter(moved)
            .cloned()
            .collect();
        for manager in &mut self.0 {
            manager.fields.0.retain(|path| new.0.contains(path) && !changed.contains(path));
        }
        if !changed.is_empty() {
            let mut fields = self.take(writer, Operation::Update);
            fields.0.extend(changed);
            self.set(writer, Operation::Update, fields);
        }
        self.tidy();
    }

    /// What stands between an apply and its fields.
    pub(super) fn conflicts(
        &self,
        live: &Value,
        config: &Value,
        wanted: &Fields,
        who: &Update<'_>,
    ) -> Vec<Conflict<'_>> {
        let others = self.0.iter().filter(|other| !other.is_apply_of(who));
        let conflict = |with| {
            let with: &Manager = with;
            let shared = wanted.0.intersection(&with.fields.0);
            let differ = shared.filter(|path| {
                let is_item = matches!(path.last(), Some(Step::Item(_)));
                !is_item && lookup(live, path, who.custom) != lookup(config, path, who.custom)
            });
            Conflict { with, fields: differ.map(|path| show(path).to_string()).collect() }
        };
        others.map(conflict).filter(|conflict| !conflict.fields.is_empty()).collect()
    }
}

/// Fields of a manager that an apply wants otherwise.
#[derive(Debug)]
pub(super) struct Conflict<'a> {
    with: &'a Manager,
    fields: Vec<String>,
}

impl Conflict<'_> {
    /// The refusal in the API server's words (`merge.Conflicts.Error` of structured-merge-diff).
    pub(super) fn refusal(conflicts: &[Self]) -> String {
        let count: usize = conflicts.iter().map(|conflict| conflict.fields.len()).sum();
        let text = |conflict: &Self| match conflict.fields.as_slice() {
            [field] => format!("conflict with {}: {field}", conflict.with.title()),
            fields => format!("conflicts with {}:\n- {}", conflict.with.title(), fields.join("\n- ")),
        };
        let texts: Vec<_> = conflicts.iter().map(text).collect();
        let plural = if count == 1 { "" } else { "s" };
        format!("Apply failed with {count} conflict{plural}: {}", texts.join("\n"))
    }

    /// What is told when force settles it.
    pub(super) fn taken(self) -> Taken {
        Taken { manager: self.with.name.clone(), fields: self.fields }
    }
}

impl Manager {
    pub(super) fn is_apply_of(&self, who: &Update<'_>) -> bool {
        self.name == who.manager && self.operation == Operation::Apply
    }

    /// As conflicts name it: only an updater's version is told.
    fn title(&self) -> String {
        let subresource = match self.subresource.as_str() {
            "" => String::new(),
            name => format!(" with subresource {name:?}"),
        };
        match self.operation {
            Operation::Apply => format!("{:?}{subresource}", self.name),
            Operation::Update => format!("{:?}{subresource} using {}", self.name, self.api_version),
        }
    }
}

/// Who writes, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Update<'a> {
    pub(super) manager: &'a str,
    pub(super) subresource: &'a str,
    pub(super) api_version: &'a str,
    pub(super) custom: bool,
}
