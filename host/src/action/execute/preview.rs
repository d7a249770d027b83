//! What an object would be after an apply: asked, not done.

use http::Method;
use serde_json::Value;

use super::apply::path;
use super::fields::{drop_server_fields, key_of};
use super::strict::{Removal, additions};
use super::{Actor, Executor, Tie, WriteError, check, tie_to_owner};
use crate::capability::rule::DRY_RUN;
use crate::cluster::path::{Resource, escape};
use crate::cluster::request::{Call, ErrorKind};
use crate::object::ObjectKey;

impl Executor {
    /// The object as a forced apply would leave it, whole. What the writes after it would take away is gone from it: fields that
    /// superseded managers own and that are not applied, and of a strict apply what others added but for these JSON pointers.
    ///
    /// # Errors
    /// Refusals of the grants and of the API server.
    pub async fn preview(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        mut object: Value,
        tie: Tie,
        strict: Option<&[String]>,
    ) -> Result<Value, WriteError> {
        let key = key_of(resource, &object)?;
        check(actor, "patch", resource, "", &key).or_else(|_| check(actor, DRY_RUN, resource, "", &key))?;
        drop_server_fields(&mut object);
        tie_to_owner(&mut object, actor, tie);
        let path = format!("{}&force=true", path(actor, resource, &key, true));
        let call = Call::new(Method::PATCH, path, actor.grants.account.as_deref());
        let body = object.to_string().into_bytes();
        let (_, answer) = self.api.send_json(call.body("application/apply-patch+yaml", body)).await?;
        let kept = strict.and_then(|keep| without_additions(&answer, &actor.manager.name, keep));
        let less = actor.manager.without_superseded(kept.as_ref().unwrap_or(&answer)).or(kept);
        match less {
            Some(less) => Ok(self.defaulted(actor, resource, &key, less).await?.unwrap_or(answer)),
            None => Ok(answer),
        }
    }

    /// An object with less in it, as the API server would complete it; none where it does not let go of that, or where the
    /// account may not ask.
    async fn defaulted(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        key: &ObjectKey,
        mut object: Value,
    ) -> Result<Option<Value>, WriteError> {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        let path = format!("{path}?fieldManager={}&dryRun=All", escape(&actor.manager.name));
        let call = Call::new(Method::PUT, path, actor.grants.account.as_deref());
        match self.api.send_json(call.body("application/json", object.to_string().into_bytes())).await {
            Ok((_, answer)) => Ok(Some(answer)),
            Err(error) if matches!(error.kind, ErrorKind::Forbidden | ErrorKind::Invalid) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The object without what others than the manager added; none where they added nothing.
fn without_additions(object: &Value, manager: &str, keep: &[String]) -> Option<Value> {
    let Removal { patch, .. } = additions(object, manager, keep)?;
    let patch: json_patch::Patch = serde_json::from_str(&patch).ok()?;
    let mut less = object.clone();
    json_patch::patch(&mut less, &patch).ok()?;
    Some(less)
}
