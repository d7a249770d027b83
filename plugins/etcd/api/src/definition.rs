//! The definitions (CRDs) of the three kinds, as the types give them.

#![expect(
    clippy::indexing_slicing,
    reason = "runs only where the files are written: a wrong path has to stop that"
)]

use kube_core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::{JsonSchema, generate::SchemaSettings, transform::AddNullable};
use serde_json::{Value, json};

use crate::{
    BackupStatus, ClusterStatus, EtcdBackupSpec, EtcdClusterSpec, EtcdRestoreSpec, RestoreStatus, names,
};

/// Fields of Kubernetes' own types. Their descriptions are Kubernetes' and left out: they are ten times the rest.
const FOREIGN: &[&str] =
    &["affinity", "tolerations", "resources", "securityContext", "etcdEnv", "persistentVolumeClaimSpec"];

/// The definitions by the name of the file they are shipped in.
pub fn definitions() -> [(&'static str, Value); 3] {
    [
        ("etcdclusters.yaml", etcd_clusters()),
        ("etcdbackups.yaml", etcd_backups()),
        ("etcdrestores.yaml", etcd_restores()),
    ]
}

fn etcd_clusters() -> Value {
    let mut spec = schema::<EtcdClusterSpec>();
    spec["x-kubernetes-validations"] = json!([
        unchanged(
            "peers",
            "(has(X.managed) || (has(X.static) && has(X.static.member) && has(X.static.member.peerSecret)))"
        ),
        unchanged("clients", "(has(X.managed) || (has(X.static) && has(X.static.operatorSecret)))"),
    ]);
    let version = &mut spec["properties"]["version"]["x-kubernetes-validations"];
    if let Some(rules) = version.as_array_mut() {
        rules.push(json!({
            "rule": "!oldSelf.matches('^v?3[.][4-7][.][0-9]+$') || !self.matches('^v?3[.][4-7][.][0-9]+$') || (int(self.split('.')[1]) - int(oldSelf.split('.')[1]) <= 1 && int(oldSelf.split('.')[1]) - int(self.split('.')[1]) <= 1)",
            "message": "the version moves by one minor at a time",
        }));
    }
    let pod = &mut spec["properties"]["pod"]["properties"];
    let reserved: Vec<String> = names::RESERVED_ENVIRONMENT.iter().map(|name| format!("'{name}'")).collect();
    pod["etcdEnv"]["items"]["properties"]["name"]["maxLength"] = json!(256);
    pod["etcdEnv"]["x-kubernetes-validations"] = json!([{
        "rule": format!("self.all(variable, !(variable.name in [{}]))", reserved.join(", ")),
        "message": "variables of options that the operator sets itself are reserved",
    }]);
    let columns = json!([
        column("Size", "integer", ".spec.size", "Members asked for"),
        column("Voters", "integer", ".status.size", "Members that vote"),
        column("Phase", "string", ".status.phase", "How far the cluster is"),
        column(
            "Available",
            "string",
            ".status.conditions[?(@.type==\"Available\")].status",
            "Are clients served?"
        ),
        column("Version", "string", ".status.currentVersion", "Lowest version that members run"),
        wide("Target", "string", ".status.targetVersion", "Version that members are being brought to"),
        wide("Leader", "string", ".status.leader", "Member that leads"),
        age(),
    ]);
    let scale = json!({
        "specReplicasPath": ".spec.size",
        "statusReplicasPath": ".status.size",
        "labelSelectorPath": ".status.selector",
    });
    let mut definition = definition(
        &Names { kind: "EtcdCluster", plural: "etcdclusters", singular: "etcdcluster", short: &["etcd"] },
        "A cluster of etcd.",
        &spec,
        &schema::<ClusterStatus>(),
        &columns,
        &json!([{
            "rule": format!("size(self.metadata.name) <= {} && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')", names::LONGEST_NAME),
            "message": "the name must have at most 52 characters, lower-case letters, digits and '-', and begin with a letter: members and services are named after it",
        }]),
    );
    definition["spec"]["versions"][0]["subresources"]["scale"] = scale;
    definition
}

fn etcd_backups() -> Value {
    let columns = json!([
        column("Succeeded", "boolean", ".status.succeeded", "Did the last backup succeed?"),
        column("Revision", "integer", ".status.etcdRevision", "Revision of the last backup"),
        column("Last-Success", "date", ".status.lastSuccessDate", "When the last backup succeeded"),
        wide("Next", "string", ".status.nextScheduleTime", "When the next backup is due"),
        wide("Artifact", "string", ".status.artifact.uri", "Where the last backup is"),
        age(),
    ]);
    definition(
        &Names { kind: "EtcdBackup", plural: "etcdbackups", singular: "etcdbackup", short: &["etcdbak"] },
        "A backup of a cluster of etcd, once or repeated.",
        &schema::<EtcdBackupSpec>(),
        &schema::<BackupStatus>(),
        &columns,
        &json!([]),
    )
}

fn etcd_restores() -> Value {
    let columns = json!([
        column("Succeeded", "boolean", ".status.succeeded", "Does the cluster hold the data?"),
        column("State", "string", ".status.state", "How far it is"),
        wide("Reason", "string", ".status.reason", "Why it failed"),
        age(),
    ]);
    definition(
        &Names { kind: "EtcdRestore", plural: "etcdrestores", singular: "etcdrestore", short: &["etcdres"] },
        "The data of a backup, put into a cluster of etcd.",
        &schema::<EtcdRestoreSpec>(),
        &schema::<RestoreStatus>(),
        &columns,
        &json!([{
            "rule": "self.metadata.name == self.spec.etcdCluster.name",
            "message": "the name must be the name of the cluster, spec.etcdCluster.name",
        }]),
    )
}

struct Names {
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    short: &'static [&'static str],
}

fn definition(
    called: &Names,
    description: &str,
    spec: &Value,
    status: &Value,
    columns: &Value,
    rules: &Value,
) -> Value {
    let mut root = json!({
        "description": description,
        "type": "object",
        "required": ["spec"],
        "properties": {"spec": spec, "status": status},
    });
    if rules.as_array().is_some_and(|rules| !rules.is_empty()) {
        root["x-kubernetes-validations"] = rules.clone();
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{}", called.plural, names::GROUP)},
        "spec": {
            "group": names::GROUP,
            "names": {
                "kind": called.kind,
                "listKind": format!("{}List", called.kind),
                "plural": called.plural,
                "singular": called.singular,
                "shortNames": called.short,
            },
            "scope": "Namespaced",
            "versions": [{
                "name": names::VERSION,
                "served": true,
                "storage": true,
                "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": root},
                "subresources": {"status": {}},
            }],
        },
    })
}

/// A structural schema, without what Kubernetes says of its own types.
fn schema<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    tidy(&mut schema, false);
    schema
}

/// Takes away titles, descriptions of foreign types, and `nullable`: an optional field is left out, never `null`.
fn tidy(schema: &mut Value, foreign: bool) {
    match schema {
        Value::Object(map) => {
            map.remove("title");
            map.remove("nullable");
            for (field, value) in map.iter_mut() {
                let Some(properties) = value.as_object_mut().filter(|_| field == "properties") else {
                    tidy(value, foreign);
                    continue;
                };
                for (name, property) in properties {
                    let below = FOREIGN.contains(&name.as_str());
                    tidy(property, foreign || below);
                    if foreign && let Some(property) = property.as_object_mut() {
                        property.remove("description");
                    }
                }
            }
            if foreign && let Some(items) = map.get_mut("items").and_then(Value::as_object_mut) {
                items.remove("description");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| tidy(item, foreign)),
        _ => {}
    }
}

/// A rule that TLS of `who` stays as it is; `secured` says of `X` (the policy) whether it is on.
fn unchanged(who: &str, secured: &str) -> Value {
    let now = format!("(has(self.TLS) && {})", secured.replace('X', "self.TLS"));
    let before = format!("(has(oldSelf.TLS) && {})", secured.replace('X', "oldSelf.TLS"));
    json!({
        "rule": format!("{now} == {before}"),
        "message": format!("TLS of {who} can be neither added to a cluster nor taken away from it"),
    })
}

fn column(name: &str, kind: &str, path: &str, description: &str) -> Value {
    json!({"name": name, "type": kind, "jsonPath": path, "description": description})
}

fn wide(name: &str, kind: &str, path: &str, description: &str) -> Value {
    let mut column = column(name, kind, path, description);
    column["priority"] = json!(1);
    column
}

fn age() -> Value {
    json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
}
