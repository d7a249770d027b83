//! Server-side apply of one object.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use http::Method;
use serde_json::Value;

use super::fields::{drop_server_fields, key_of};
use super::{Actor, Executor, Manager, Tie, WriteError, check, tie_to_owner};
use crate::action::compare::holds;
use crate::cluster::path::{Resource, escape};
use crate::cluster::request::{Call, FieldConflict};
use crate::object::ObjectKey;

/// How to apply.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions {
    /// Take over fields of other managers.
    pub force: bool,
    /// Change nothing, ask only.
    pub dry_run: bool,
}

/// What an apply did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// No request, or one that changed nothing.
    Unchanged,
    /// The object is new.
    Created,
    /// The object is another than before.
    Configured,
}

/// The answer of an apply.
#[derive(Clone, Debug)]
pub struct Applied {
    /// What it did.
    pub change: Change,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.generation`, 0 where there is none.
    pub generation: u64,
    /// What of others had another value, and was taken over.
    pub taken: Vec<Taken>,
}

/// Fields of another manager that an apply took over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Who had them.
    pub manager: String,
    /// Where they are: `.spec.replicas`. At most [`MOST_TAKEN`].
    pub fields: Vec<String>,
}

/// Fields of one manager that are named.
const MOST_TAKEN: usize = 16;

/// `kubectl-edit: .spec.paused, .spec.replicas`
impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.manager, self.fields.join(", "))
    }
}

/// The live object as a cache holds it, for the comparison before a write.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// `metadata.resourceVersion`.
    pub resource_version: &'a str,
    /// The object's JSON text.
    pub json: &'a [u8],
}

impl Executor {
    /// Server-side apply of one object. Sends nothing when `live` already holds it and the last apply said the same.
    ///
    /// # Errors
    /// Refusals of the grants and of the API server.
    pub async fn apply(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        mut object: Value,
        tie: Tie,
        options: ApplyOptions,
        live: Option<Live<'_>>,
    ) -> Result<Applied, WriteError> {
        let key = key_of(resource, &object)?;
        check(actor, "patch", resource, "", &key)?;
        drop_server_fields(&mut object);
        tie_to_owner(&mut object, actor, tie);
        let body = object.to_string();
        let said = hash(&actor.manager.name, &body);
        if let Some(applied) = live.and_then(|live| self.unchanged(&key, said, &object, live)) {
            return Ok(applied);
        }
        let path = path(actor, resource, &key, options);
        let send = |force: bool| {
            let path = if force { format!("{path}&force=true") } else { path.clone() };
            let call = Call::new(Method::PATCH, path, actor.grants.account.as_deref());
            self.api.send_json(call.body("application/apply-patch+yaml", body.clone().into_bytes()))
        };
        // Without force first: only a refusal says whose fields are in the way, and mostly there are none.
        let (sent, taken) = match send(false).await {
            Err(refusal) if options.force && !refusal.conflicts.is_empty() => {
                (send(true).await, taken(&refusal.conflicts, actor.manager))
            }
            sent => (sent, Vec::new()),
        };
        let (code, mut answer) = sent?;
        let mut said = said;
        if !options.dry_run
            && let Some(patch) = actor.manager.patch_for(&answer)
        {
            // Should it be broken off, the same text is sent again all the same.
            self.memory.remember(key.clone(), 0, "");
            if self.take_over(actor, resource, &key, patch).await? {
                // Only now those fields go that are not wanted any more.
                (_, answer) = send(options.force).await?;
            } else {
                said = 0;
            }
        }
        let before = live.map(|live| live.resource_version);
        let mut applied = Applied { taken, ..applied(&answer, code == 201, before) };
        if !options.dry_run {
            self.memory.remember(key, said, &applied.resource_version);
        } else if applied.change == Change::Unchanged {
            // A rehearsal leaves the resource version as it is, whatever it would change.
            applied.change = Change::Configured;
        }
        Ok(applied)
    }

    /// The answer without a request, when nothing differs.
    fn unchanged(&self, key: &ObjectKey, said: u64, desired: &Value, live: Live<'_>) -> Option<Applied> {
        let last = self.memory.last(key);
        // Another text than last time may have dropped a field that still stands there under our name.
        let same_text = last.as_ref().is_none_or(|last| last.said == said);
        if !same_text {
            return None;
        }
        let untouched = last.is_some_and(|last| last.resource_version == live.resource_version);
        let object: Value = serde_json::from_slice(live.json).ok()?;
        if object.pointer("/metadata/deletionTimestamp").is_some() || !(untouched || holds(&object, desired))
        {
            return None;
        }
        self.memory.remember(key.clone(), said, live.resource_version);
        Some(applied(&object, false, Some(live.resource_version)))
    }
}

fn path(actor: &Actor<'_>, resource: &Resource, key: &ObjectKey, options: ApplyOptions) -> String {
    let path = resource.object(key.namespace.as_deref(), &key.name, "");
    let dry_run = if options.dry_run { "&dryRun=All" } else { "" };
    format!("{path}?fieldManager={}&fieldValidation=Ignore{dry_run}", escape(&actor.manager.name))
}

/// What is told of fields that are taken over: not those of tools whose place the plugin took.
fn taken(conflicts: &[FieldConflict], manager: &Manager) -> Vec<Taken> {
    let mut all: Vec<Taken> = Vec::new();
    for FieldConflict { manager: other, field } in conflicts {
        if *other == manager.name || manager.supersedes.contains(other) {
            continue;
        }
        match all.iter_mut().find(|taken| taken.manager == *other) {
            Some(taken) if taken.fields.len() < MOST_TAKEN => taken.fields.push(field.clone()),
            Some(_) => {}
            None => all.push(Taken { manager: other.clone(), fields: vec![field.clone()] }),
        }
    }
    all
}

fn hash(manager: &str, body: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (manager, body).hash(&mut hasher);
    hasher.finish()
}

fn applied(object: &Value, created: bool, before: Option<&str>) -> Applied {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let resource_version = text("/metadata/resourceVersion");
    let change = match (created, before) {
        (true, _) => Change::Created,
        (false, Some(before)) if before == resource_version => Change::Unchanged,
        (false, _) => Change::Configured,
    };
    let generation = object.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or(0);
    Applied { change, uid: text("/metadata/uid"), resource_version, generation, taken: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_older_tools_nothing_is_told_and_of_others_everything_by_manager() {
        let manager =
            Manager { name: "helm".into(), supersedes: vec!["helm".into(), "helm-operator".into()] };
        let conflict =
            |manager: &str, field: &str| FieldConflict { manager: manager.into(), field: field.into() };
        let mut conflicts = vec![
            conflict("kubectl-edit", ".spec.paused"),
            conflict("helm-operator", ".spec.replicas"),
            conflict("kubectl", ".spec.replicas"),
            conflict("kubectl-edit", ".metadata.labels.a"),
        ];
        conflicts.extend((0..100).map(|n| conflict("kubectl", &format!(".data.{n}"))));
        let taken = taken(&conflicts, &manager);
        assert_eq!(
            taken[0],
            Taken {
                manager: "kubectl-edit".into(),
                fields: vec![".spec.paused".into(), ".metadata.labels.a".into()]
            }
        );
        assert_eq!((taken.len(), taken[1].fields.len()), (2, MOST_TAKEN));
        assert_eq!(taken[0].to_string(), "kubectl-edit: .spec.paused, .metadata.labels.a");
    }
}
