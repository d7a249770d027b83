//! What has to be ready before a release is installed or upgraded.

use helm_condition::{ConditionError, ready};
use pilothouse_sdk::{Error, Gvk, KubeError, ObjectRef, Watch};
use serde_json::Value;

use crate::{call::Call, options::Dependency, report::Pause};

/// So long it takes at most until a dependency is looked at again.
const PATIENCE: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

impl Call<'_> {
    /// The first dependency that is not ready; none: all are.
    ///
    /// # Errors
    /// Permanent: an expression that is none. What the cluster refuses.
    pub(crate) fn unmet(&self) -> Result<Option<Pause>, Error> {
        for dependency in &self.settings().release.depends_on {
            let reference = self.reference_of(dependency)?;
            if reference.kind == self.owner().kind
                && reference.name == self.owner().name
                && reference.namespace.as_deref() == Some(self.owner().namespace.as_str())
            {
                continue;
            }
            self.also_watch(Watch::object(reference.clone()));
            let found: Option<Value> = match self.kube().get_ref(&reference) {
                Err(KubeError::NotFound(_) | KubeError::UnknownKind(_)) => None,
                answer => answer
                    .map_err(|error| Error::from(error).context(format_args!("dependsOn: {reference}")))?,
            };
            let why = match found {
                None => Some("is not there".to_owned()),
                Some(found) => self.why_not(dependency, &found)?,
            };
            if let Some(why) = why {
                return Ok(Some(Pause {
                    reason: "DependencyNotReady",
                    message: format!("dependsOn: {reference} {why}"),
                    watches: Vec::new(),
                    until: self.now().checked_add(PATIENCE).ok(),
                }));
            }
        }
        Ok(None)
    }

    fn reference_of(&self, dependency: &Dependency) -> Result<ObjectRef, Error> {
        let own = &self.owner().kind;
        let kind = dependency.kind.as_deref().unwrap_or(&own.kind);
        let api_version = dependency.api_version.clone().unwrap_or_else(|| own.api_version());
        let kind = Gvk::from_api_version(&api_version, kind);
        let namespace = dependency.namespace.as_deref().unwrap_or(&self.owner().namespace);
        let namespace = (self.kinds()?.is_namespaced(&kind) != Some(false)).then_some(namespace);
        Ok(ObjectRef::new(kind, namespace, dependency.name.as_str()))
    }

    fn why_not(&self, dependency: &Dependency, found: &Value) -> Result<Option<String>, Error> {
        let Some(expression) = &dependency.ready_expr else {
            return Ok((!is_ready(found)).then(|| "is not ready".to_owned()));
        };
        match ready(expression, found, self.object().value()) {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(format!("does not fulfil {expression:?}"))),
            // What it speaks of may still come to be there.
            Err(
                error @ (ConditionError::Evaluation { .. }
                | ConditionError::NotBoolean { .. }
                | ConditionError::Cost),
            ) => Ok(Some(format!("is not ready: {error}"))),
            Err(error) => {
                let message = format!("dependsOn: readyExpr {expression:?}: {error}");
                Err(Error::permanent("InvalidConfiguration", message))
            }
        }
    }
}

/// Whether an object says that it is ready, of what it wants now.
fn is_ready(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let mut ready = conditions.into_iter().flatten().filter(|condition| condition["type"] == "Ready");
    let generation = object.pointer("/metadata/generation").and_then(Value::as_u64);
    ready.any(|condition| {
        let seen = condition.get("observedGeneration").and_then(Value::as_u64);
        condition["status"] == "True" && seen.is_none_or(|seen| Some(seen) >= generation)
    })
}
