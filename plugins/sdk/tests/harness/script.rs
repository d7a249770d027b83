//! A reconciler made of a closure, and a custom kind to call it for.

use std::rc::Rc;

use pilothouse_sdk::{
    Context, Dynamic, Error, Finalized, Gvk, ObjectRef, Outcome, Plugin, Reconciler,
    harness::{Cluster, Runner},
};
use serde_json::{Value, json};

/// What a scripted hook does.
pub(crate) type Hook<T> = dyn Fn(&Context, &Dynamic) -> Result<T, Error>;

/// A reconciler of any kind that does what its closures say.
#[derive(Clone)]
pub(crate) struct Script {
    reconcile: Rc<Hook<Outcome>>,
    finalize: Rc<Hook<Finalized>>,
}

impl Reconciler for Script {
    type Resource = Dynamic;

    fn reconcile(&self, ctx: &Context, object: &Dynamic) -> Result<Outcome, Error> {
        (self.reconcile)(ctx, object)
    }

    fn finalize(&self, ctx: &Context, object: &Dynamic) -> Result<Finalized, Error> {
        (self.finalize)(ctx, object)
    }
}

/// The custom kind of these tests.
pub(crate) fn app_kind() -> Gvk {
    Gvk::new("example.com", "v1", "App")
}

/// The object `default/a` of the custom kind.
pub(crate) fn app_ref() -> ObjectRef {
    ObjectRef::new(app_kind(), "default", "a")
}

/// Its definition.
pub(crate) fn definition(kind: &str, plural: &str) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}}]}})
}

/// A cluster that serves the custom kind and has `default/a` of it.
pub(crate) fn cluster() -> Cluster {
    let cluster = Cluster::new();
    cluster.define(&definition("App", "apps")).unwrap();
    cluster
        .create([json!({"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": "a", "namespace": "default"}, "spec": {}})])
        .unwrap();
    cluster
}

/// A host whose plugin does what the closure says.
pub(crate) fn runner(
    cluster: &Cluster,
    reconcile: impl Fn(&Context, &Dynamic) -> Result<Outcome, Error> + 'static,
) -> Runner {
    finalizing(cluster, reconcile, |_, _| Ok(Finalized::Done))
}

/// The same with a `finalize`.
pub(crate) fn finalizing(
    cluster: &Cluster,
    reconcile: impl Fn(&Context, &Dynamic) -> Result<Outcome, Error> + 'static,
    finalize: impl Fn(&Context, &Dynamic) -> Result<Finalized, Error> + 'static,
) -> Runner {
    let script = Script { reconcile: Rc::new(reconcile), finalize: Rc::new(finalize) };
    Runner::new(cluster, move || Plugin::new().with(script.clone())).kind(app_kind(), None)
}

/// A ConfigMap `default/NAME`.
pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"v": value}})
}

/// Its reference.
pub(crate) fn config_map_ref(name: &str) -> ObjectRef {
    ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), "default", name)
}

/// What `spec.NAME` says.
pub(crate) fn spec<'a>(object: &'a Dynamic, name: &str) -> &'a str {
    object.value()["spec"][name].as_str().unwrap_or_default()
}
