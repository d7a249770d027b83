//! The only writer of `LifecycleRun`s (their status apart, which `status::publish` writes), under the host's own account.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::run::{PHASE_LABEL, Run, SPOKEN, SUBJECT_LABEL, Said, Spec};
use super::{PLURAL, RUN};
use crate::cluster::path::{Resource, escape};
use crate::cluster::request::{Api, ApiError, Call};
use crate::controller::discovery::{Discovery, DiscoveryError};
use crate::object::{Gvk, ObjectKey};

/// Runs of one subject that are read at once.
const PAGE: usize = 500;

/// Why runs cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The definition is missing.
    #[error(
        "the cluster does not know the kind LifecycleRun: apply deploy/crds/lifecycle.pilothouse.dev_lifecycleruns.yaml"
    )]
    NotServed,
    /// The API server refused, or did not answer.
    #[error("LifecycleRun: {0}")]
    Api(#[from] ApiError),
}

impl StoreError {
    /// Whether nothing can be created because the namespace is going.
    pub fn is_of_a_dying_namespace(&self) -> bool {
        matches!(self, Self::Api(error) if error.code == 403 && error.message.contains("being terminated"))
    }

    /// Whether the resource is of a form that the host does not read: somebody wrote it.
    pub fn is_malformed(&self) -> bool {
        matches!(self, Self::Api(error) if error.code == 400 && error.reason == "BadRequest")
    }
}

/// Reads and writes runs.
#[derive(Debug)]
pub struct Store {
    api: Api,
    discovery: Arc<Discovery>,
    /// Where runs of cluster-scoped subjects live.
    namespace: String,
}

impl Store {
    /// Through the host's own account.
    pub fn new(api: Api, discovery: Arc<Discovery>, namespace: &str) -> Self {
        Self { api, discovery, namespace: namespace.to_owned() }
    }

    /// The key of what a spec announces.
    pub fn key(&self, spec: &Spec) -> ObjectKey {
        let namespace = spec.subject.namespace.as_deref().unwrap_or(&self.namespace);
        ObjectKey::new(Arc::new(Gvk::new(RUN.0, RUN.1, RUN.2)), Some(namespace), &spec.resource_name())
    }

    /// A run, as the API server has it now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn get(&self, key: &ObjectKey) -> Result<Option<Run>, StoreError> {
        match self.send(Method::GET, &object_path(key), None).await {
            Ok(object) => Ok(Some(read(&object)?)),
            Err(error) if error.code == 404 => {
                self.served().await?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a run; one that is there already is left as it is.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn create(&self, spec: &Spec) -> Result<(), StoreError> {
        let key = self.key(spec);
        let labels = BTreeMap::from([(SUBJECT_LABEL, spec.subject.uid.as_str()), (PHASE_LABEL, &spec.phase)]);
        let object = json!({
            "apiVersion": format!("{}/{}", RUN.0, RUN.1), "kind": RUN.2,
            "metadata": {"name": &*key.name, "namespace": key.namespace.as_deref(), "labels": labels},
            "spec": spec,
        });
        let path = format!("{}?fieldManager=pilothouse", collection(key.namespace.as_deref()));
        match self.send(Method::POST, &path, Some(("application/json", object))).await {
            Ok(_) => Ok(()),
            Err(error) if error.code == 409 => Ok(()),
            Err(error) if error.code == 404 => {
                self.served().await?;
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// All runs of a subject.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn of_subject(&self, spec: &Spec) -> Result<Vec<Run>, StoreError> {
        let namespace = spec.subject.namespace.as_deref().unwrap_or(&self.namespace);
        let selector = escape(&format!("{SUBJECT_LABEL}={}", spec.subject.uid));
        let (mut runs, mut after) = (Vec::new(), String::new());
        loop {
            let page = format!("?labelSelector={selector}&limit={PAGE}&continue={}", escape(&after));
            let list =
                self.send(Method::GET, &format!("{}{page}", collection(Some(namespace))), None).await?;
            for item in list.get("items").and_then(Value::as_array).into_iter().flatten() {
                let mut item = item.clone();
                // Items of a list do not repeat their kind.
                if let Some(fields) = item.as_object_mut() {
                    fields.insert("apiVersion".to_owned(), json!(format!("{}/{}", RUN.0, RUN.1)));
                    fields.insert("kind".to_owned(), json!(RUN.2));
                }
                match Run::read(&item) {
                    // Whoever may make runs elsewhere says nothing of this subject.
                    Ok(run) if run.key == self.key(&run.spec) && run.spec.subject.uid == spec.subject.uid => {
                        runs.push(run);
                    }
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "a LifecycleRun cannot be read and is passed over"),
                }
            }
            match list.pointer("/metadata/continue").and_then(Value::as_str) {
                Some(next) if !next.is_empty() => next.clone_into(&mut after),
                _ => return Ok(runs),
            }
        }
    }

    /// Says what has taken the place of a run's change; none: nothing has after all.
    ///
    /// # Errors
    /// [`StoreError`]. One that is gone is none.
    pub async fn supersede(&self, key: &ObjectKey, by: Option<&str>) -> Result<(), StoreError> {
        self.patch(key, &json!({"spec": {"supersededBy": by}})).await
    }

    /// Takes off annotations that still say what was heard.
    ///
    /// # Errors
    /// [`StoreError`]. A run that is gone is none, and neither is an annotation that says something else meanwhile.
    pub async fn take_off(&self, key: &ObjectKey, heard: &[Said]) -> Result<(), StoreError> {
        let path = format!("{}?fieldManager=pilothouse", object_path(key));
        for Said { name, value } in heard {
            let at = format!("/metadata/annotations/{}", format!("{SPOKEN}{name}").replace('/', "~1"));
            let patch = json!([{"op": "test", "path": at, "value": value}, {"op": "remove", "path": at}]);
            match self.send(Method::PATCH, &path, Some(("application/json-patch+json", patch))).await {
                Err(error) if error.code == 422 => {}
                result => gone_is_fine(result)?,
            }
        }
        Ok(())
    }

    /// Removes a run. One that is gone is no error.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete(&self, key: &ObjectKey) -> Result<(), StoreError> {
        gone_is_fine(self.send(Method::DELETE, &object_path(key), None).await)
    }

    /// The uid and the labels of a subject; none: it is not there, or another of its name is.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn subject_labels(
        &self,
        key: &ObjectKey,
        uid: &str,
    ) -> Result<Option<BTreeMap<String, String>>, StoreError> {
        let resource = match self.discovery.resolve(&key.gvk).await {
            Ok(resource) => resource,
            // With its definition the object is gone.
            Err(DiscoveryError::Unknown(_)) => return Ok(None),
            Err(error) => return Err(unavailable(error.to_string()).into()),
        };
        let path = resource.object(key.namespace.as_deref(), &key.name, "");
        let object = match self.send(Method::GET, &path, None).await {
            Ok(object) => object,
            Err(error) if error.code == 404 => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if object.pointer("/metadata/uid").and_then(Value::as_str) != Some(uid) {
            return Ok(None);
        }
        let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
        let texts = labels
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Ok(Some(texts.collect()))
    }

    /// The resource, for whoever writes the status.
    pub fn resource() -> Resource {
        Resource { gvk: Gvk::new(RUN.0, RUN.1, RUN.2), plural: PLURAL.to_owned(), namespaced: true }
    }

    async fn patch(&self, key: &ObjectKey, patch: &Value) -> Result<(), StoreError> {
        let path = format!("{}?fieldManager=pilothouse", object_path(key));
        gone_is_fine(
            self.send(Method::PATCH, &path, Some(("application/merge-patch+json", patch.clone()))).await,
        )
    }

    async fn served(&self) -> Result<(), StoreError> {
        match self.discovery.resolve(&Gvk::new(RUN.0, RUN.1, RUN.2)).await {
            Err(DiscoveryError::Unknown(_)) => Err(StoreError::NotServed),
            Err(error) => Err(unavailable(error.to_string()).into()),
            Ok(_) => Ok(()),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Value)>,
    ) -> Result<Value, ApiError> {
        let mut call = Call::new(method, path.to_owned(), None);
        if let Some((format, body)) = body {
            call = call.body(format, body.to_string().into_bytes());
        }
        self.api.send_json(call).await.map(|(_, object)| object)
    }
}

fn read(object: &Value) -> Result<Run, ApiError> {
    Run::read(object).map_err(|error| ApiError::invalid(error.to_string()))
}

fn gone_is_fine(result: Result<Value, ApiError>) -> Result<(), StoreError> {
    match result {
        Ok(_) => Ok(()),
        Err(error) if error.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn unavailable(message: String) -> ApiError {
    ApiError { kind: crate::cluster::request::ErrorKind::Unavailable, code: 0, ..ApiError::invalid(message) }
}

fn collection(namespace: Option<&str>) -> String {
    Store::resource().collection(namespace)
}

fn object_path(key: &ObjectKey) -> String {
    Store::resource().object(key.namespace.as_deref(), &key.name, "")
}
