//! The transport: everything a plugin can ask of its host.

use std::{fmt, time::SystemTime};

use crate::{
    Applied, ApplyItem, ApplyOptions, AssetEntry, AssetError, AssetFile, AssetTree, ChartError, ChartSource,
    ChartStanding, DeleteOptions, Event, EvictOptions, ExecCommand, ExecProgress, Gvk, KubeError, Level,
    ObjectRef, Ownership, Page, Patch, Query, ReadOptions, ServedKind, ServerVersion,
};

/// Everything a plugin can ask of its host. Inside a component it is the imports of the world `plugin`; in native tests
/// it is the harness's in-memory cluster. Plugins reach it through [`Context`](crate::Context), which has types;
/// those that keep objects as text can use it directly. The contracts stand in `wit/0.1.0`.
pub trait Host: fmt::Debug {
    /// The object as JSON text, or none when there is no such object. `metadata.managedFields` is left out.
    ///
    /// # Errors
    /// See [`KubeError`]. So for all methods that return one.
    fn get(&self, object: &ObjectRef, options: &ReadOptions) -> Result<Option<String>, KubeError>;

    /// One page of objects by kind, namespace and selector.
    fn list(&self, query: &Query, options: &ReadOptions) -> Result<Page, KubeError>;

    /// Server-side apply of many objects, in the order given. One answer for each.
    fn apply(&self, items: &[ApplyItem], options: ApplyOptions) -> Vec<Result<Applied, KubeError>>;

    /// What objects would be after a server-side apply that takes fields over; nothing changes. One answer for each.
    fn preview(&self, items: &[ApplyItem], strict: bool) -> Vec<Result<String, KubeError>>;

    /// Creates an object; the answer is the created one.
    fn create(&self, object: &str, ownership: Ownership) -> Result<String, KubeError>;

    /// Replaces an object whose `metadata.resourceVersion` is the one that was read.
    fn replace(&self, object: &str) -> Result<String, KubeError>;

    /// Patches an object or a subresource; the answer is the patched object.
    fn patch(&self, object: &ObjectRef, patch: &Patch) -> Result<String, KubeError>;

    /// Asks for deletion. False: there was none.
    fn delete(&self, object: &ObjectRef, options: &DeleteOptions) -> Result<bool, KubeError>;

    /// The last `bytes` of a container's log.
    fn logs(
        &self,
        namespace: &str,
        pod: &str,
        container: Option<&str>,
        bytes: u32,
    ) -> Result<String, KubeError>;

    /// Asks for a pod's eviction. False: there was none.
    fn evict(&self, namespace: &str, pod: &str, options: &EvictOptions) -> Result<bool, KubeError>;

    /// Begins a command in a container, or finds it.
    fn exec(&self, name: &str, attempt: u32, command: &ExecCommand) -> Result<ExecProgress, KubeError>;

    /// How a command stands, without beginning it. None: the host knows of none.
    fn exec_progress(&self, name: &str, attempt: u32) -> Result<Option<ExecProgress>, KubeError>;

    /// Stops a command if it runs, and forgets it.
    fn forget_exec(&self, name: &str);

    /// May the plugin's account do this?
    fn allowed(
        &self,
        verb: &str,
        kind: &Gvk,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Result<bool, KubeError>;

    /// Every kind the cluster serves.
    fn served_kinds(&self) -> Result<Vec<ServedKind>, KubeError>;

    /// The version of the API server.
    fn version(&self) -> Result<ServerVersion, KubeError>;

    /// Writes one line of the log.
    fn log(&self, level: Level, message: &str, fields: &[(String, String)]);

    /// Publishes an event about the object that is being reconciled, at once.
    fn publish(&self, event: &Event);

    /// Adds to a counter.
    fn counter_add(&self, name: &str, value: f64, labels: &[(String, String)]);

    /// Sets a gauge.
    fn gauge_set(&self, name: &str, value: f64, labels: &[(String, String)]);

    /// Counts the object that is being reconciled in a gauge of objects by label.
    fn gauge_count(&self, name: &str, labels: &[(String, String)]);

    /// Observes a value for a histogram of seconds.
    fn observe_seconds(&self, name: &str, value: f64, labels: &[(String, String)]);

    /// Settings of the plugin as a whole, JSON; `{}` when there are none.
    fn plugin_config(&self) -> String;

    /// Settings that belong to the kind of the object at hand, JSON; `{}` when there are none.
    fn binding_config(&self) -> String;

    /// Digest and size of a tree of files.
    ///
    /// # Errors
    /// See [`AssetError`].
    fn asset_stat(&self, name: &str) -> Result<AssetTree, AssetError>;

    /// All files of a tree, sorted by path.
    ///
    /// # Errors
    /// See [`AssetError`].
    fn asset_read(&self, name: &str) -> Result<Vec<AssetFile>, AssetError>;

    /// Paths and sizes of all files of a tree, sorted by path.
    ///
    /// # Errors
    /// See [`AssetError`].
    fn asset_list(&self, name: &str) -> Result<Vec<AssetEntry>, AssetError>;

    /// Some files of a tree, in the order asked for.
    ///
    /// # Errors
    /// See [`AssetError`].
    fn asset_read_files(&self, name: &str, paths: &[String]) -> Result<Vec<AssetFile>, AssetError>;

    /// Wishes for a chart that lies elsewhere, and asks how that stands. Never waits: the host fetches behind the call, and calls
    /// the object again when something has changed.
    ///
    /// # Errors
    /// See [`ChartError`].
    fn wish_for_chart(&self, source: &ChartSource) -> Result<ChartStanding, ChartError>;

    /// Servers other than the cluster's API, in native tests; none: there are none. A component reaches them by imports that it only has
    /// when it calls them.
    #[cfg(not(target_family = "wasm"))]
    fn outside(&self) -> Option<&dyn crate::Outside> {
        None
    }

    /// Object storage, in native tests.
    #[cfg(not(target_family = "wasm"))]
    fn stores(&self) -> Option<&dyn crate::Stores> {
        None
    }

    /// Certificates, in native tests.
    #[cfg(not(target_family = "wasm"))]
    fn issuer(&self) -> Option<&dyn crate::IssuerOfTests> {
        None
    }

    /// Takes announcements, in native tests.
    #[cfg(not(target_family = "wasm"))]
    fn announcer(&self) -> Option<&dyn crate::AnnouncerOfTests> {
        None
    }

    /// The time: WASI's wall clock, or the harness's virtual one.
    fn now(&self) -> SystemTime;
}
