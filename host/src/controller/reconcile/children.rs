//! Declarative children: inventory, apply, prune. A crash between any two requests is made good by the next call.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Case, Reconciler, retry_of};
use crate::action::execute::{Actor, ApplyOptions, DeleteOptions, Manager, Tie, WriteError};
use crate::action::inventory::Entry;
use crate::action::plan::Plan;
use crate::cluster::request::{ApiError, ErrorKind};
use crate::controller::discovery::DiscoveryError;
use crate::controller::queue::Verdict;
use crate::object::Owner;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::{Event, EventType};
use crate::plugin::revision::Revision;
use crate::status::events::Regarding;

/// What kept the children from being as they should.
pub(super) struct Problem {
    /// UpperCamelCase.
    pub(super) reason: &'static str,
    /// Which object, and the server's words.
    pub(super) message: String,
    /// When to try again.
    pub(super) verdict: Verdict,
    /// Whether it is sure that nothing was changed.
    refused: bool,
}

impl Problem {
    fn api(what: &str, error: &ApiError) -> Self {
        let reason = match error.kind {
            ErrorKind::Forbidden => "Forbidden",
            ErrorKind::Invalid => "Invalid",
            ErrorKind::Conflict | ErrorKind::AlreadyExists => "Conflict",
            ErrorKind::Throttled | ErrorKind::Unavailable => "ApiUnavailable",
            ErrorKind::NotFound | ErrorKind::TooLarge | ErrorKind::Other => "ApplyFailed",
        };
        let refused = error.kind == ErrorKind::Forbidden;
        Self { reason, message: format!("{what}: {error}"), verdict: retry_of(error), refused }
    }
}

impl Reconciler {
    /// Brings the children to the desired set: all of it or, if the set itself is wrong, nothing of it.
    pub(super) async fn apply_children(
        &self,
        case: &Case<'_>,
        revision: &Revision,
        desired: Vec<Value>,
    ) -> Result<(), Problem> {
        let plugin = &*revision.identity.name;
        let record = |error: ApiError| Problem::api("the inventory of children", &error);
        let inventory = self.inventories.read(plugin, &case.owner).await.map_err(record)?;
        let scopes = self.scopes(&case.owner, &desired).await?;
        let plan = Plan::new(&inventory, desired, &case.owner.key, |gvk| scopes.get(gvk).copied()).map_err(
            |error| Problem {
                reason: "PluginAnswerInvalid",
                message: format!("plugin {}: {error}", revision.identity),
                verdict: Verdict::Retry,
                refused: true,
            },
        )?;
        // What may not be applied must not be announced either: it would have to be deleted one day.
        for child in &plan.apply {
            self.check_child(case, revision, child).await?;
        }
        self.inventories.write(plugin, &case.owner, &plan.announce).await.map_err(record)?;
        for (done, child) in plan.apply.iter().enumerate() {
            if let Err(problem) = self.apply_child(case, revision, child.clone()).await {
                if problem.refused {
                    // Should this fail as well, then it stays announced, which is what an unknown outcome gets.
                    let left = plan.taken_back(&inventory, done);
                    let _ = self.inventories.write(plugin, &case.owner, &left).await;
                }
                return Err(problem);
            }
        }
        for entry in &plan.delete {
            self.delete_child(case, revision, entry).await?;
        }
        self.inventories.write(plugin, &case.owner, &plan.settle).await.map_err(record)
    }

    /// Whether each kind has namespaces. A kind that is not served yet is waited for: the queue is told when it appears.
    async fn scopes(&self, owner: &Owner, desired: &[Value]) -> Result<HashMap<Gvk, bool>, Problem> {
        let mut scopes = HashMap::new();
        for gvk in desired.iter().filter_map(Gvk::of) {
            if scopes.contains_key(&gvk) {
                continue;
            }
            let resource = self.cluster.discovery.resolve(&gvk).await;
            if matches!(resource, Err(DiscoveryError::Unknown(_))) {
                self.cluster.wait_for_kind(&owner.key);
            }
            let namespaced = resource.map_err(|error| unresolved(&gvk, &error))?.namespaced;
            scopes.insert(gvk, namespaced);
        }
        Ok(scopes)
    }

    /// Whether the grants allow a child.
    async fn check_child(&self, case: &Case<'_>, revision: &Revision, child: &Value) -> Result<(), Problem> {
        let Some(key) = ObjectKey::of(child) else { return Ok(()) };
        let resource =
            self.cluster.discovery.resolve(&key.gvk).await.map_err(|error| unresolved(&key.gvk, &error))?;
        let manager = revision.manifest.manager();
        let actor = actor(case, revision, &manager);
        let allowed = actor.may("patch", &resource, &key);
        allowed.map_err(|error| refused(&key, &error, &actor, "patch", &resource.plural))
    }

    async fn apply_child(&self, case: &Case<'_>, revision: &Revision, child: Value) -> Result<(), Problem> {
        let Some(key) = ObjectKey::of(&child) else { return Ok(()) };
        let resource =
            self.cluster.discovery.resolve(&key.gvk).await.map_err(|error| unresolved(&key.gvk, &error))?;
        let manager = revision.manifest.manager();
        let actor = actor(case, revision, &manager);
        let tied = self.cluster.tied(&revision.identity.name, &key).await;
        let options = ApplyOptions { force: true, dry_run: false, strict: None };
        let applied =
            self.cluster.executor.apply(&actor, &resource, child, Tie::Reference, options, tied.seen()).await;
        let applied = applied.map_err(|error| refused(&key, &error, &actor, "patch", &resource.plural))?;
        if !applied.taken.is_empty() {
            let taken: Vec<String> = applied.taken.iter().map(ToString::to_string).collect();
            let message = format!("took fields of {key} over from {}", taken.join("; "));
            let reason = "FieldsTakenOver".to_owned();
            let regarding = Regarding { key: case.owner.key.clone(), uid: Arc::clone(&case.owner.uid) };
            self.recorder.publish(&regarding, Event { event_type: EventType::Normal, reason, message });
        }
        Ok(())
    }

    async fn delete_child(&self, case: &Case<'_>, revision: &Revision, entry: &Entry) -> Result<(), Problem> {
        let key = entry.key();
        let resource = match self.cluster.discovery.resolve(&key.gvk).await {
            Ok(resource) => resource,
            // Its kind is gone, and with it every object of it.
            Err(DiscoveryError::Unknown(_)) => return Ok(()),
            Err(error) => return Err(unresolved(&key.gvk, &error)),
        };
        let manager = revision.manifest.manager();
        let actor = actor(case, revision, &manager);
        let options = DeleteOptions { propagation: "Background", ..DeleteOptions::default() };
        let deleted = self.cluster.executor.delete(&actor, &resource, &key, &options).await;
        deleted.map(drop).map_err(|error| refused(&key, &error, &actor, "delete", &resource.plural))
    }
}

fn actor<'a>(case: &'a Case<'_>, revision: &'a Revision, manager: &'a Manager) -> Actor<'a> {
    Actor { plugin: &revision.identity.name, manager, grants: &case.grants, owner: &case.owner }
}

fn refused(key: &ObjectKey, error: &WriteError, actor: &Actor<'_>, verb: &str, plural: &str) -> Problem {
    match error {
        WriteError::Api(error) => Problem::api(&key.to_string(), error),
        WriteError::NotGranted(message) => Problem {
            reason: "Forbidden",
            message: format!("{key}: plugin {} may not {verb} {plural}: {message}", actor.plugin),
            verdict: Verdict::Retry,
            refused: true,
        },
    }
}

fn unresolved(gvk: &Gvk, error: &DiscoveryError) -> Problem {
    match error {
        DiscoveryError::Unknown(_) => Problem {
            reason: "KindNotServed",
            message: format!("waiting for the kind {gvk}: the cluster does not serve it"),
            verdict: Verdict::Retry,
            refused: true,
        },
        other => Problem {
            reason: "ApiUnavailable",
            message: other.to_string(),
            verdict: Verdict::Retry,
            refused: false,
        },
    }
}
