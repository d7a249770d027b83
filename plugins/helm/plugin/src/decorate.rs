//! What is added to objects when they are applied, and stands in no manifest: Helm's marks of ownership
//! (`setMetadataVisitor`), and operator-sdk's label and annotations.

use helm_release::Controller;
use pilothouse_sdk::{ApplyItem, Gvk, Ownership};
use serde_json::{Value, json};

use crate::{
    merge_keys,
    objects::{Object, section},
};

/// Label that Helm demands of what it owns.
pub(crate) const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Annotation with the name of the release.
pub(crate) const RELEASE_NAME: &str = "meta.helm.sh/release-name";
/// Annotation with the namespace of the release.
pub(crate) const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
/// operator-sdk's label with the name of the chart.
const CHART: &str = "helm.sdk.operatorframework.io/chart";
/// operator-sdk's annotations on what cannot have an owner reference.
const PRIMARY: &str = "operator-sdk/primary-resource";
const PRIMARY_TYPE: &str = "operator-sdk/primary-resource-type";
/// Annotation that tells one run of a hook from the others.
pub(crate) const HOOK_RUN: &str = "helm.pilothouse.dev/hook-run";

/// The custom resource that a release belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Its kind.
    pub(crate) kind: Gvk,
    /// Its name.
    pub(crate) name: String,
    /// The name of its release.
    pub(crate) release: String,
    /// Its namespace, which is the release's.
    pub(crate) namespace: String,
    /// Its uid.
    pub(crate) uid: String,
    /// Whether changes of the release's objects wake it. What carries the host's marks does.
    pub(crate) is_woken: bool,
}

impl Owner {
    /// Whether this is the object that keeps a record.
    pub(crate) fn is(&self, keeper: &Controller) -> bool {
        keeper.is(&self.kind.group, &self.kind.kind, &self.name)
    }

    /// How an object is tied to it: by a reference where Kubernetes allows one and the object does not outlive it.
    fn ownership(&self, object: &Object) -> Ownership {
        let near = object.reference.namespace.as_deref() == Some(self.namespace.as_str());
        if near && !object.is_kept() { Ownership::Reference } else { Ownership::Mark }
    }

    /// An object of the release, as it is applied.
    pub(crate) fn release_object(&self, mut object: Object, chart: &str) -> ApplyItem {
        let ownership = self.tie(&mut object, chart);
        merge_keys::keep_last(&object.reference.kind.group, &object.reference.kind.kind, &mut object.value);
        set(&mut object.value, "labels", MANAGED_BY, "Helm");
        set(&mut object.value, "annotations", RELEASE_NAME, &self.release);
        set(&mut object.value, "annotations", RELEASE_NAMESPACE, &self.namespace);
        ApplyItem::json(object.value.to_string()).ownership(ownership)
    }

    /// An object of a hook, as it is created for a run.
    pub(crate) fn hook_object(&self, mut object: Object, chart: &str, run: &str) -> (Value, Ownership) {
        let ownership = self.tie(&mut object, chart);
        set(&mut object.value, "annotations", HOOK_RUN, run);
        (object.value, ownership)
    }

    /// A definition of a kind out of a chart's `crds/`, as it is created: never deleted, so tied to nothing.
    pub(crate) fn definition(&self, mut object: Object, chart: &str) -> Value {
        self.tie(&mut object, chart);
        object.value
    }

    fn tie(&self, object: &mut Object, chart: &str) -> Ownership {
        set(&mut object.value, "labels", CHART, chart);
        let ownership = self.ownership(object);
        if ownership == Ownership::Mark {
            let Gvk { group, kind, .. } = &self.kind;
            let primary_type = if group.is_empty() { kind.clone() } else { format!("{kind}.{group}") };
            set(&mut object.value, "annotations", PRIMARY, &format!("{}/{}", self.namespace, self.name));
            set(&mut object.value, "annotations", PRIMARY_TYPE, &primary_type);
        }
        if self.is_woken {
            return ownership;
        }
        if ownership == Ownership::Reference {
            self.refer(&mut object.value);
        }
        Ownership::None
    }

    /// The owner reference that the host would add together with its marks.
    pub(crate) fn refer(&self, object: &mut Value) {
        if let Value::Object(fields) = object {
            let reference = json!({
                "apiVersion": self.kind.api_version(), "kind": self.kind.kind, "name": self.name, "uid": self.uid,
                "controller": true, "blockOwnerDeletion": true,
            });
            section(fields, "metadata").insert("ownerReferences".to_owned(), json!([reference]));
        }
    }
}

fn set(object: &mut Value, table: &str, key: &str, value: &str) {
    if let Value::Object(fields) = object {
        section(section(fields, "metadata"), table).insert(key.to_owned(), value.into());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use pilothouse_sdk::ObjectRef;

    /// The owner in tests of what is the release's own.
    pub(crate) fn owner() -> Owner {
        Owner {
            kind: Gvk::new("charts.example.com", "v1", "Web"),
            name: "shop".into(),
            release: "shop".into(),
            namespace: "ns".into(),
            uid: "u".into(),
            is_woken: true,
        }
    }

    fn object(namespace: Option<&str>, annotations: &Value) -> Object {
        let reference = ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), namespace, "x");
        let metadata =
            json!({"name": "x", "namespace": namespace, "annotations": annotations, "labels": {"a": "b"}});
        Object { reference, value: json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}) }
    }

    #[test]
    fn an_object_of_the_release_carries_helms_marks_and_an_owner_reference() {
        let item = owner().release_object(object(Some("ns"), &Value::Null), "web");
        assert_eq!(item.ownership, Ownership::Reference);
        let value: Value = serde_json::from_str(&item.object).unwrap();
        assert_eq!(value["metadata"]["labels"], json!({"a": "b", CHART: "web", MANAGED_BY: "Helm"}));
        assert_eq!(value["metadata"]["annotations"], json!({RELEASE_NAME: "shop", RELEASE_NAMESPACE: "ns"}));
    }

    #[test]
    fn an_owner_that_is_not_to_be_woken_is_referred_to_without_the_hosts_marks() {
        let asleep = Owner { is_woken: false, ..owner() };
        let item = asleep.release_object(object(Some("ns"), &Value::Null), "web");
        assert_eq!(item.ownership, Ownership::None);
        let value: Value = serde_json::from_str(&item.object).unwrap();
        assert_eq!(value["metadata"]["ownerReferences"][0]["uid"], "u");
        let item = asleep.release_object(object(None, &Value::Null), "web");
        let value: Value = serde_json::from_str(&item.object).unwrap();
        assert_eq!(value["metadata"].get("ownerReferences"), None);
    }

    #[test]
    fn what_cannot_be_referenced_or_outlives_the_release_is_annotated_instead() {
        let kept = json!({"helm.sh/resource-policy": "keep"});
        for object in
            [object(None, &Value::Null), object(Some("other"), &Value::Null), object(Some("ns"), &kept)]
        {
            let (value, ownership) = owner().hook_object(object, "web", "run");
            assert_eq!(ownership, Ownership::Mark);
            let annotations = &value["metadata"]["annotations"];
            assert_eq!(annotations[PRIMARY], "ns/shop");
            assert_eq!(annotations[PRIMARY_TYPE], "Web.charts.example.com");
            assert_eq!(annotations[HOOK_RUN], "run");
        }
    }
}
