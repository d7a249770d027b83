//! The definition of the kind that stands for a chart.

use helm_chart::Chart;
use serde_json::{Value, json};

use crate::names::Names;

/// The CRD, with what the Helm plugin writes into status.
pub(crate) fn definition(chart: &Chart, names: &Names, spec: &Value) -> Value {
    let Names { kind, plural, singular, list_kind, .. } = names;
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": names.crd()},
        "spec": {
            "group": names.qualified_group,
            "names": {"kind": kind, "listKind": list_kind, "plural": plural, "singular": singular},
            "scope": "Namespaced",
            "versions": [{
                "name": names.version,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(),
                "schema": {"openAPIV3Schema": {
                    "description": format!("{kind} is a release of the chart {}.", chart.name()),
                    "type": "object",
                    "properties": {
                        "apiVersion": {
                            "description": "Group and version of this object's schema, such as apps/v1.",
                            "type": "string",
                        },
                        "kind": {"description": "The kind of this object, in CamelCase.", "type": "string"},
                        "metadata": {"type": "object"},
                        "spec": spec,
                        "status": status(),
                    },
                }},
            }],
        },
    })
}

/// What `kubectl get` shows beside the name.
fn columns() -> Value {
    let condition = |kind: &str| format!(".status.conditions[?(@.type==\"{kind}\")].status");
    json!([
        {"name": "Ready", "type": "string", "jsonPath": condition("Ready")},
        {"name": "Revision", "type": "integer", "jsonPath": ".status.release.revision"},
        {"name": "Chart", "type": "string", "jsonPath": ".status.release.chart"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ])
}

/// The conditions are operator-sdk's and the host's. Nothing is required and nothing unknown is dropped: a later plugin may
/// say more, and an object of operator-sdk's operator may have said less.
fn status() -> Value {
    json!({
        "description": "What became of the release.",
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "observedGeneration": {
                "description": "The generation of the spec that this status is about.",
                "type": "integer",
                "format": "int64",
            },
            "conditions": conditions(),
            "deployedRelease": {
                "description": "The release that is deployed.",
                "type": "object",
                "nullable": true,
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "name": text("Name of the release."),
                    "manifest": {
                        "description": "Its objects, without what is secret in them.",
                        "type": "string",
                        "nullable": true,
                    },
                },
            },
            "release": {
                "description": "The revision that is deployed.",
                "type": "object",
                "nullable": true,
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "revision": {"description": "Number of the revision.", "type": "integer", "format": "int64"},
                    "chart": text("Chart and version."),
                    "appVersion": text("Version of what the chart installs."),
                },
            },
        },
    })
}

fn conditions() -> Value {
    json!({
        "description": "Where the release stands.",
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type"],
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {
                "type": text("Name of the condition, such as Ready or Deployed."),
                "status": text("True, False or Unknown."),
                "reason": text("Why, in one word."),
                "message": text("Why, for people."),
                "lastTransitionTime": {
                    "description": "When the status changed last.",
                    "type": "string",
                    "format": "date-time",
                    "nullable": true,
                },
                "observedGeneration": {"type": "integer", "format": "int64"},
            },
        },
    })
}

fn text(description: &str) -> Value {
    json!({"description": description, "type": "string"})
}
