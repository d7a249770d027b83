//! The finalizer: put on before the first hook call, taken off when the hook says everything is cleaned up.

use std::sync::Arc;

use http::Method;
use serde_json::Value;

use super::{Case, Done, Reconciler, finalizer_patch, retry_of};
use crate::binding::Binding;
use crate::cluster::request::{ApiError, Call};
use crate::controller::queue::Verdict;
use crate::plugin::bindings::Event;
use crate::plugin::manifest::FinalizerBy;
use crate::plugin::revision::Revision;
use crate::status::events::Regarding;

/// Whether the object carries our finalizer, or one of an earlier tool that we took over.
pub(super) fn holds(object: &Value, binding: &Binding) -> bool {
    names(object).iter().any(|name| is_ours(name, binding))
}

fn is_ours(name: &str, binding: &Binding) -> bool {
    binding.finalizer.as_deref() == Some(name)
        || binding.legacy_finalizers.iter().any(|legacy| legacy == name)
}

fn names(object: &Value) -> Vec<String> {
    let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}

/// The finalizers an object should have: ours once, none of the earlier tools; `None` when it has them already.
fn wanted(object: &Value, binding: &Binding) -> Option<Vec<String>> {
    let finalizer = binding.finalizer.as_deref().filter(|_| binding.finalizer_by == FinalizerBy::Host)?;
    let present = names(object);
    let mut wanted: Vec<String> = present.iter().filter(|name| !is_ours(name, binding)).cloned().collect();
    wanted.push(finalizer.to_owned());
    let same = wanted.len() == present.len() && wanted.iter().all(|name| present.contains(name));
    (!same).then_some(wanted)
}

impl Reconciler {
    /// Puts the finalizer on where the binding asks for one. The case goes on with the object as the server answered it.
    pub(super) async fn ensure_finalizer<'a>(&self, mut case: Case<'a>) -> Result<Case<'a>, ApiError> {
        if let Some(finalizers) = wanted(&case.object, case.binding) {
            case.object = self.write_finalizers(&case, &finalizers).await?;
        }
        Ok(case)
    }

    /// The hook is through with the object: inventory, finalizer and memories go.
    pub(super) async fn after_finalized(
        &self,
        case: &Case<'_>,
        revision: &Revision,
        events: Vec<Event>,
    ) -> Done {
        let regarding = Regarding { key: case.owner.key.clone(), uid: Arc::clone(&case.owner.uid) };
        for event in events {
            self.recorder.publish(&regarding, event);
        }
        if let Err(error) = self.inventories.remove(&revision.identity.name, &case.owner).await {
            tracing::info!(%error, "the inventory could not be removed");
        }
        let rest: Vec<String> =
            names(&case.object).into_iter().filter(|name| !is_ours(name, case.binding)).collect();
        match self.write_finalizers(case, &rest).await {
            Ok(_) => {
                self.quarantine.pardon(&case.owner.key);
                Done::verdict(Verdict::Done)
            }
            Err(error) if error.code == 404 => Done::verdict(Verdict::Done),
            Err(error) => {
                tracing::info!(%error, "the finalizer could not be taken off");
                Done::verdict(retry_of(&error))
            }
        }
    }

    async fn write_finalizers(&self, case: &Case<'_>, finalizers: &[String]) -> Result<Value, ApiError> {
        let patch = finalizer_patch(&case.object, finalizers);
        let path = case.resource.object(case.owner.key.namespace.as_deref(), &case.owner.key.name, "");
        let call = Call::new(Method::PATCH, format!("{path}?fieldManager=pilothouse"), None);
        let call = call.body("application/merge-patch+json", patch.to_string().into_bytes());
        let (_, mut object) = self.cluster.api.send_json(call).await?;
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Gvk;
    use serde_json::json;
    use std::time::Duration;

    fn binding() -> Binding {
        Binding {
            plugin: Arc::from("helm"),
            gvk: Arc::new(Gvk::new("g", "v1", "K")),
            selector: String::new(),
            settings: Arc::from("{}"),
            assets: vec![],
            charts: Vec::new(),
            finalizer: Some(Arc::from("helm.example/uninstall-release")),
            finalizer_by: FinalizerBy::Host,
            update_time: false,
            legacy_finalizers: vec!["uninstall-helm-release".to_owned()],
            resync: Duration::from_secs(600),
            concurrency: None,
            account: None,
            names_account: false,
            origin: String::new(),
        }
    }

    #[test]
    fn an_earlier_tools_finalizer_is_replaced_by_ours_and_others_stay() {
        let object = json!({"metadata": {"finalizers": ["other/x", "uninstall-helm-release"]}});
        assert!(holds(&object, &binding()));
        assert_eq!(wanted(&object, &binding()).unwrap(), ["other/x", "helm.example/uninstall-release"]);
        let done = json!({"metadata": {"finalizers": ["helm.example/uninstall-release", "other/x"]}});
        assert_eq!(wanted(&done, &binding()), None);
    }

    #[test]
    fn without_a_finalizer_in_the_binding_nothing_is_put_on() {
        let none = Binding { finalizer: None, legacy_finalizers: vec![], ..binding() };
        assert_eq!(wanted(&json!({"metadata": {}}), &none), None);
        assert!(!holds(&json!({"metadata": {"finalizers": ["other/x"]}}), &none));
    }

    #[test]
    fn a_finalizer_that_the_plugin_puts_on_holds_and_is_put_on_nothing_else() {
        let theirs = Binding { finalizer_by: FinalizerBy::Plugin, ..binding() };
        assert_eq!(wanted(&json!({"metadata": {}}), &theirs), None);
        assert!(holds(&json!({"metadata": {"finalizers": ["helm.example/uninstall-release"]}}), &theirs));
    }
}
