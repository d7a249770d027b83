//! Server-side apply of one object.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use http::Method;
use serde_json::Value;

use super::fields::{drop_server_fields, key_of};
use super::memory::LastApply;
use super::strict::Away;
use super::{Actor, Executor, Manager, Tie, WriteError, check, tie_to_owner};
use crate::action::compare::holds;
use crate::cluster::path::{Resource, escape};
use crate::cluster::request::{ApiError, Call, FieldConflict};
use crate::object::ObjectKey;
use crate::object::digest::digests;

/// How to apply.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions<'a> {
    /// Take over fields of other managers.
    pub force: bool,
    /// Change nothing, ask only.
    pub dry_run: bool,
    /// Take away what others added, but for these JSON pointers.
    pub strict: Option<&'a [String]>,
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
    /// What of others had another value and was taken over, or was added and taken away.
    pub taken: Vec<Taken>,
    /// Why what others added could not be taken away.
    pub left: Option<String>,
}

/// Fields of another manager that an apply took over or away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Who had them.
    pub manager: String,
    /// Where they are: `.spec.replicas`. At most [`MOST_TAKEN`].
    pub fields: Vec<String>,
}

/// Fields of one manager that are named.
const MOST_TAKEN: usize = 16;

impl Taken {
    pub(super) fn of(manager: &str, mut fields: Vec<String>) -> Self {
        fields.truncate(MOST_TAKEN);
        Self { manager: manager.to_owned(), fields }
    }
}

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
    /// Digest of the object without status and what the server counts.
    pub digest: u64,
    /// The object's JSON text.
    pub json: &'a [u8],
}

/// What is known of the live object before a write.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// It is in a cache.
    Live(Live<'a>),
    /// There is none.
    Absent,
    /// No cache has it, if it is there: it is asked for.
    Unknown,
}

/// An object that was asked for.
struct Fetched {
    resource_version: String,
    digest: u64,
    json: Vec<u8>,
}

impl Fetched {
    fn live(&self) -> Live<'_> {
        Live { resource_version: &self.resource_version, digest: self.digest, json: &self.json }
    }
}

impl Executor {
    /// Server-side apply of one object. Sends no write when the live object already holds it and the last apply said the same; a
    /// strict one, when it is as the last strict one left it.
    ///
    /// # Errors
    /// Refusals of the grants and of the API server.
    pub async fn apply(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        mut object: Value,
        tie: Tie,
        options: ApplyOptions<'_>,
        seen: Seen<'_>,
    ) -> Result<Applied, WriteError> {
        let key = key_of(resource, &object)?;
        check(actor, "patch", resource, "", &key)?;
        drop_server_fields(&mut object);
        tie_to_owner(&mut object, actor, tie);
        let text = Text { path: path(actor, resource, &key, options.dry_run), body: object.to_string() };
        let mut last =
            LastApply { said: hash(&actor.manager.name, &text.body, options), ..LastApply::default() };
        let fetched = match seen {
            Seen::Unknown => self.fetch(actor, resource, &key).await,
            Seen::Live(_) | Seen::Absent => None,
        };
        let live = match seen {
            Seen::Live(live) => Some(live),
            Seen::Absent | Seen::Unknown => fetched.as_ref().map(Fetched::live),
        };
        let before = live.map(|live| live.resource_version);
        if let Some(applied) = live.and_then(|live| self.known(&key, last.said, &object, live, options)) {
            return Ok(applied);
        }
        let (code, mut answer, mut taken) = self.send_apply(actor, &text, options.force).await?;
        let mut left = None;
        if let (Some(patch), false) = (actor.manager.patch_for(&answer), options.dry_run) {
            self.under_way(&key, &mut last, &answer);
            if self.take_over(actor, resource, &key, patch).await? {
                // Only now those fields go that are not wanted any more.
                (_, answer, _) = self.send_apply(actor, &text, options.force).await?;
            } else {
                last.said = 0;
            }
        }
        if let (Some(keep), false) = (options.strict, options.dry_run || last.said == 0) {
            self.under_way(&key, &mut last, &answer);
            match self.take_away(actor, resource, &key, &answer, keep).await? {
                Away::None => {}
                Away::Gone(object, more) => {
                    answer = object;
                    taken.extend(more);
                }
                Away::Moved => last.said = 0,
                Away::Refused(words) => left = Some(words),
            }
        }
        last.content = answer.as_object().map(|object| digests(object).asked);
        let mut applied = Applied { taken, left, ..applied(&answer, code == 201, before) };
        if !options.dry_run {
            last.resource_version.clone_from(&applied.resource_version);
            self.memory.remember(key, last);
        } else if applied.change == Change::Unchanged {
            // A rehearsal leaves the resource version as it is, whatever it would change.
            applied.change = Change::Configured;
        }
        Ok(applied)
    }

    /// The object as it is. None: it is not there, or nobody says; the answer of the write tells.
    async fn fetch(&self, actor: &Actor<'_>, resource: &Resource, key: &ObjectKey) -> Option<Fetched> {
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        let call = Call::new(Method::GET, path, actor.grants.account.as_deref());
        let (_, object) = self.api.send_json(call).await.ok()?;
        let resource_version = object.pointer("/metadata/resourceVersion")?.as_str()?.to_owned();
        let digest = digests(object.as_object()?).asked;
        Some(Fetched { resource_version, digest, json: object.to_string().into_bytes() })
    }

    /// Sends an apply. Without force first: only a refusal says whose fields are in the way, and mostly there are none.
    async fn send_apply(
        &self,
        actor: &Actor<'_>,
        text: &Text,
        force: bool,
    ) -> Result<(u16, Value, Vec<Taken>), ApiError> {
        let send = |path: String| {
            let call = Call::new(Method::PATCH, path, actor.grants.account.as_deref());
            self.api.send_json(call.body("application/apply-patch+yaml", text.body.clone().into_bytes()))
        };
        match send(text.path.clone()).await {
            Err(refusal) if force && !refusal.conflicts.is_empty() => {
                let (code, answer) = send(format!("{}&force=true", text.path)).await?;
                Ok((code, answer, taken(&refusal.conflicts, actor.manager)))
            }
            sent => sent.map(|(code, answer)| (code, answer, Vec::new())),
        }
    }

    /// Another write follows. Should it be broken off, the same text is sent again all the same; what was written up to here
    /// is known as ours.
    fn under_way(&self, key: &ObjectKey, last: &mut LastApply, answer: &Value) {
        let version = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        last.earlier.push(version.to_owned());
        self.memory.remember(key.clone(), LastApply { said: 0, ..last.clone() });
    }

    /// The answer without a request: when nothing differs, and of rehearsals that could not tell.
    fn known(
        &self,
        key: &ObjectKey,
        said: u64,
        desired: &Value,
        live: Live<'_>,
        options: ApplyOptions<'_>,
    ) -> Option<Applied> {
        let (last, strict) = (self.memory.last(key), options.strict.is_some());
        let object: Value = serde_json::from_slice(live.json).ok()?;
        // Another text than last time may have dropped a field that still stands there under our name.
        let same_text = last.as_ref().is_none_or(|last| last.said == said);
        let last = last.unwrap_or_default();
        // By its content also where the server writes what was said in other words (`1000m` as `1`).
        let untouched = last.resource_version == live.resource_version || last.content == Some(live.digest);
        let stands = same_text && (untouched || (!strict && holds(&object, desired)));
        if stands && object.pointer("/metadata/deletionTimestamp").is_none() {
            let resource_version = live.resource_version.to_owned();
            self.memory.remember(key.clone(), LastApply { said, resource_version, ..last });
            return Some(applied(&object, false, Some(live.resource_version)));
        }
        // No rehearsal shows what others added.
        let unknown = || Applied { change: Change::Configured, ..applied(&object, false, None) };
        (strict && options.dry_run).then(unknown)
    }
}

/// What is sent, and where to.
struct Text {
    path: String,
    body: String,
}

pub(super) fn path(actor: &Actor<'_>, resource: &Resource, key: &ObjectKey, dry_run: bool) -> String {
    let path = resource.object(key.namespace.as_deref(), &key.name, "");
    let dry_run = if dry_run { "&dryRun=All" } else { "" };
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

fn hash(manager: &str, body: &str, options: ApplyOptions<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (manager, body, options.strict).hash(&mut hasher);
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
    Applied {
        change,
        uid: text("/metadata/uid"),
        resource_version,
        generation,
        taken: Vec::new(),
        left: None,
    }
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
