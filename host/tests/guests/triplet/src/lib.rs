//! What a small operator does in one reconcile: it reads an object, says a line, and wants three children. As a plugin, and
//! as a function for those it is compared with.

use serde_json::{Value, json};

/// The children of an object, as JSON texts; nothing for what is no object.
pub fn children(object: &str) -> Vec<String> {
    let Ok(object) = serde_json::from_str::<Value>(object) else { return Vec::new() };
    let at = |pointer: &str| object.pointer(pointer).unwrap_or(&Value::Null);
    let name = at("/metadata/name").as_str().unwrap_or_default();
    let labels = json!({"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "triplet"});
    let meta = json!({"name": name, "namespace": at("/metadata/namespace"), "labels": labels});
    let container = json!({
        "name": "main", "image": at("/spec/image"), "env": at("/spec/env"), "resources": at("/spec/resources"),
        "ports": [{"name": "http", "containerPort": at("/spec/port")}],
    });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
        "spec": {
            "replicas": at("/spec/replicas"),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": meta,
        "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": "http"}]},
    });
    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": at("/spec/config")});
    [deployment, service, config].iter().map(Value::to_string).collect()
}

#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "the exported hooks are generated")]
mod plugin {
    #[allow(
        missing_docs,
        unsafe_code,
        unreachable_pub,
        clippy::all,
        clippy::pedantic,
        reason = "generated from the WIT package"
    )]
    mod bindings {
        wit_bindgen::generate!({ path: "../../../../wit/0.1.0", world: "plugin" });
    }

    use bindings::exports::pilothouse::operator::reconciler::{
        Failure, Finalized, Guest, Outcome, Request, State,
    };
    use bindings::pilothouse::operator::{log, types};

    struct Triplet;

    impl Guest for Triplet {
        fn reconcile(request: Request) -> Result<Outcome, Failure> {
            let children = super::children(&request.object);
            log::write(types::Level::Debug, "three children", &[]);
            Ok(Outcome {
                state: State::Ready,
                children: Some(children),
                status: None,
                conditions: Vec::new(),
                drop_conditions: Vec::new(),
                events: Vec::new(),
                requeue_after_ms: None,
                watches: Vec::new(),
            })
        }

        fn finalize(_: Request) -> Result<Finalized, Failure> {
            Ok(Finalized::Done)
        }
    }

    bindings::export!(Triplet with_types_in bindings);
}
