//! `kube`: the cluster, as far as the plugin's grants reach. One file for reads, one for writes, one for commands in containers,
//! one for the words of errors; here is what every call passes first.

#![allow(clippy::result_large_err, reason = "the error is the interface's own and is made for the guest")]

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::action::execute::{Actor, EvictOptions, WriteError};
use crate::capability::rule::Access;
use crate::cluster::path::Resource;
use crate::cluster::request::{self, ApiError, ErrorKind};
use crate::controller::discovery::DiscoveryError;
use crate::object::{Gvk, ObjectKey};
use crate::plugin::bindings::kube::{self, Error};
use crate::plugin::bindings::{ObjectRef, Status, WitGvk};
use crate::plugin::context::HookContext;
use crate::plugin::instance::HookState;
use crate::plugin::names::{host_gvk, wit_gvk};

mod errors;
mod exec;
mod read;
mod refer;
mod write;

/// How long a call waits for its plugin's share of the API server before it is told to come back.
const PATIENCE: Duration = Duration::from_secs(2);

impl HookState {
    /// Every call passes here: the budget of the hook call first.
    fn admit(&mut self, bytes: usize) -> Result<(), Error> {
        self.budget.take(bytes).map_err(|reason| Error::Exhausted(reason.to_owned()))
    }

    /// What crosses back is counted as well.
    fn settle(&mut self, bytes: usize) -> Result<(), Error> {
        self.budget.take_bytes(bytes).map_err(|reason| Error::Exhausted(reason.to_owned()))
    }
}

impl HookContext {
    /// Before a request leaves the host: the plugin's share of the API server.
    async fn pace(&self) -> Result<(), Error> {
        let patience = Instant::now() + PATIENCE;
        let end = request::deadline().map_or(patience, |end| end.min(patience));
        let share = self.throttle.acquire(end).await;
        share
            .map_err(|late| Error::Throttled(u64::try_from(late.retry_after.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The resource of a kind.
    async fn resource(&self, gvk: &Gvk) -> Result<Arc<Resource>, Error> {
        match self.cluster.discovery.resolve(gvk).await {
            Ok(resource) => Ok(resource),
            Err(DiscoveryError::Unknown(_)) => {
                self.cluster.wait_for_kind(&self.owner.key);
                Err(Error::UnknownKind(wit_gvk(gvk)))
            }
            Err(error) => {
                Err(Error::Unavailable(Status { code: 0, reason: String::new(), message: error.to_string() }))
            }
        }
    }

    /// The resource and key of an object named by the guest; scope and namespace must fit.
    async fn target(&self, object: &ObjectRef) -> Result<(Arc<Resource>, ObjectKey), Error> {
        let gvk = host_gvk(&object.kind);
        let resource = self.resource(&gvk).await?;
        let namespace = object.namespace.as_deref().filter(|ns| !ns.is_empty());
        if resource.namespaced != namespace.is_some() {
            let message = if resource.namespaced {
                format!("{gvk} lives in a namespace, and the reference to {:?} names none", object.name)
            } else {
                format!("{gvk} is cluster-scoped, and the reference to {:?} names a namespace", object.name)
            };
            return Err(errors::invalid(message));
        }
        if object.name.is_empty() {
            return Err(errors::invalid(format!("a reference to a {gvk} needs a name")));
        }
        Ok((resource, ObjectKey::new(Arc::new(gvk), namespace, &object.name)))
    }

    /// A failed request in the plugin's words. When the server asks for a rest, all of the plugin's requests rest.
    fn failed(&self, error: ApiError, access: &Access<'_>) -> Error {
        self.rest_after(&error);
        errors::of_api(error, access, &self.grants)
    }

    /// The same for a write.
    fn not_written(&self, error: WriteError, access: &Access<'_>) -> Error {
        if let WriteError::Api(error) = &error {
            self.rest_after(error);
        }
        errors::of_write(error, access, &self.grants)
    }

    fn rest_after(&self, error: &ApiError) {
        if let (ErrorKind::Throttled, Some(wait)) = (error.kind, error.retry_after) {
            self.throttle.back_off(wait);
        }
    }

    fn actor(&self) -> Actor<'_> {
        Actor { plugin: &self.plugin.name, manager: &self.manager, grants: &self.grants, owner: &self.owner }
    }
}

impl kube::Host for HookState {
    async fn get(
        &mut self,
        object: ObjectRef,
        options: kube::ReadOptions,
    ) -> wasmtime::Result<Result<Option<String>, Error>> {
        Ok(self.get_object(&object, &options).await)
    }

    async fn list(
        &mut self,
        query: kube::Query,
        options: kube::ReadOptions,
    ) -> wasmtime::Result<Result<kube::Page, Error>> {
        Ok(self.list_objects(&query, &options).await)
    }

    async fn apply(
        &mut self,
        items: Vec<kube::ApplyItem>,
        options: kube::ApplyOptions,
    ) -> wasmtime::Result<Vec<Result<kube::Applied, Error>>> {
        Ok(self.apply_all(items, options).await)
    }

    async fn preview(
        &mut self,
        items: Vec<kube::ApplyItem>,
        strict: bool,
    ) -> wasmtime::Result<Vec<Result<String, Error>>> {
        Ok(self.preview_all(&items, strict).await)
    }

    async fn create(
        &mut self,
        object: String,
        ownership: kube::Ownership,
    ) -> wasmtime::Result<Result<String, Error>> {
        Ok(self.create_object(&object, ownership).await)
    }

    async fn replace(&mut self, object: String) -> wasmtime::Result<Result<String, Error>> {
        Ok(self.replace_object(&object).await)
    }

    async fn patch(
        &mut self,
        object: ObjectRef,
        format: kube::PatchFormat,
        patch: String,
        subresource: String,
    ) -> wasmtime::Result<Result<String, Error>> {
        Ok(self.patch_object(&object, format, patch, &subresource).await)
    }

    async fn delete(
        &mut self,
        object: ObjectRef,
        options: kube::DeleteOptions,
    ) -> wasmtime::Result<Result<bool, Error>> {
        Ok(self.delete_object(&object, options).await)
    }

    async fn logs(
        &mut self,
        namespace: String,
        pod: String,
        container: Option<String>,
        bytes: u32,
    ) -> wasmtime::Result<Result<String, Error>> {
        Ok(self.pod_logs(&namespace, &pod, container.as_deref(), bytes).await)
    }

    async fn evict(
        &mut self,
        namespace: String,
        pod: String,
        uid: Option<String>,
        grace_period_seconds: Option<u32>,
    ) -> wasmtime::Result<Result<bool, Error>> {
        let options = EvictOptions { uid, grace_period: grace_period_seconds };
        Ok(self.evict_pod(namespace, pod, &options).await)
    }

    async fn exec(
        &mut self,
        name: String,
        attempt: u32,
        command: kube::Command,
    ) -> wasmtime::Result<Result<kube::CommandProgress, Error>> {
        Ok(self.exec_named(&name, attempt, command).await)
    }

    async fn exec_progress(
        &mut self,
        name: String,
        attempt: u32,
    ) -> wasmtime::Result<Result<Option<kube::CommandProgress>, Error>> {
        Ok(self.look_at_command(&name, attempt))
    }

    async fn forget_exec(&mut self, name: String) -> wasmtime::Result<()> {
        self.forget_command(&name);
        Ok(())
    }

    async fn allowed(
        &mut self,
        verb: String,
        kind: WitGvk,
        namespace: Option<String>,
        name: Option<String>,
    ) -> wasmtime::Result<Result<bool, Error>> {
        Ok(self.may(&verb, &kind, namespace.as_deref(), name.as_deref()).await)
    }

    async fn served_kinds(&mut self) -> wasmtime::Result<Result<Vec<kube::ServedKind>, Error>> {
        Ok(self.all_kinds().await)
    }

    async fn version(&mut self) -> wasmtime::Result<Result<kube::ServerVersion, Error>> {
        Ok(self.server_version().await)
    }
}
