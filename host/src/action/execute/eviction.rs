//! Evictions: deletions of pods that disruption budgets have a say in.

use http::Method;
use serde_json::{Value, json};

use super::{Actor, Executor, WriteError, check};
use crate::cluster::path::Resource;
use crate::cluster::request::Call;
use crate::object::ObjectKey;

/// How a pod is evicted.
#[derive(Clone, Debug, Default)]
pub struct EvictOptions {
    /// Precondition.
    pub uid: Option<String>,
    /// Seconds; the pod's own when absent.
    pub grace_period: Option<u32>,
}

impl EvictOptions {
    fn body(&self, key: &ObjectKey) -> Value {
        let mut options = serde_json::Map::new();
        if let Some(uid) = &self.uid {
            options.insert("preconditions".to_owned(), json!({"uid": uid}));
        }
        if let Some(seconds) = self.grace_period {
            options.insert("gracePeriodSeconds".to_owned(), json!(seconds));
        }
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": options,
            "metadata": {"name": &*key.name, "namespace": key.namespace.as_deref()}})
    }
}

impl Executor {
    /// Asks for a pod's eviction. False when there was no such pod.
    ///
    /// # Errors
    /// Refusals of the grants and of the API server; a disruption budget's, and a failed precondition, are conflicts.
    pub async fn evict(
        &self,
        actor: &Actor<'_>,
        pods: &Resource,
        key: &ObjectKey,
        options: &EvictOptions,
    ) -> Result<bool, WriteError> {
        check(actor, "create", pods, "eviction", key)?;
        let path = pods.object(key.namespace.as_deref(), &key.name, "eviction");
        let call = Call::new(Method::POST, path, actor.grants.account.as_deref());
        let body = options.body(key).to_string().into_bytes();
        let sent = self.api.send(call.body("application/json", body)).await;
        self.forget(key);
        match sent {
            Ok(_) => Ok(true),
            Err(error) if error.code == 404 => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::object::Gvk;

    #[test]
    fn what_is_not_said_is_left_to_the_pod() {
        let key = ObjectKey::new(Arc::new(Gvk::new("", "v1", "Pod")), Some("shop"), "db-0");
        let body = |uid: Option<&str>, grace_period| {
            EvictOptions { uid: uid.map(ToOwned::to_owned), grace_period }.body(&key)
        };
        assert_eq!(
            body(None, None),
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": {},
                "metadata": {"name": "db-0", "namespace": "shop"}})
        );
        assert_eq!(
            body(Some("u"), Some(0))["deleteOptions"],
            json!({"preconditions": {"uid": "u"}, "gracePeriodSeconds": 0})
        );
    }
}
