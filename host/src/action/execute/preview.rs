//! What an object would be after an apply: asked, not done.

use http::Method;
use serde_json::Value;

use super::apply::path;
use super::fields::{drop_server_fields, key_of};
use super::{Actor, Executor, Tie, WriteError, check, tie_to_owner};
use crate::capability::rule::DRY_RUN;
use crate::cluster::path::{Resource, escape};
use crate::cluster::request::{Call, ErrorKind};
use crate::object::ObjectKey;

impl Executor {
    /// The object as a forced apply would leave it, whole. Fields that superseded managers own and that are not applied are
    /// gone from it, as they would be.
    ///
    /// # Errors
    /// Refusals of the grants and of the API server.
    pub async fn preview(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        mut object: Value,
        tie: Tie,
    ) -> Result<Value, WriteError> {
        let key = key_of(resource, &object)?;
        check(actor, "patch", resource, "", &key).or_else(|_| check(actor, DRY_RUN, resource, "", &key))?;
        drop_server_fields(&mut object);
        tie_to_owner(&mut object, actor, tie);
        let path = format!("{}&force=true", path(actor, resource, &key, true));
        let call = Call::new(Method::PATCH, path, actor.grants.account.as_deref());
        let body = object.to_string().into_bytes();
        let (_, answer) = self.api.send_json(call.body("application/apply-patch+yaml", body)).await?;
        match actor.manager.without_superseded(&answer) {
            Some(less) => Ok(self.defaulted(actor, resource, &key, &less).await?.unwrap_or(answer)),
            None => Ok(answer),
        }
    }

    /// An object with less in it, as the API server would complete it; none where the account may not ask that.
    async fn defaulted(
        &self,
        actor: &Actor<'_>,
        resource: &Resource,
        key: &ObjectKey,
        object: &Value,
    ) -> Result<Option<Value>, WriteError> {
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        let path = format!("{path}?fieldManager={}&dryRun=All", escape(&actor.manager.name));
        let call = Call::new(Method::PUT, path, actor.grants.account.as_deref());
        match self.api.send_json(call.body("application/json", object.to_string().into_bytes())).await {
            Ok((_, answer)) => Ok(Some(answer)),
            Err(error) if error.kind == ErrorKind::Forbidden => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
