//! The pod of a member.

use std::collections::BTreeMap;

use etcd_api::{
    MemberRecord,
    names::{annotation, label},
};
use serde_json::{Map, Value, json};

use super::{
    CONTAINER, DATA_MOUNT, DATA_VOLUME, container_ports, flags, head, member_labels, probe,
    seeding::{self, Snapshot},
};
use crate::{digest::digest, naming::Place, observed::Cluster, spec::Plan, tls::Use, version::Version};

/// What a pod is made from.
#[derive(Debug, Clone, Copy)]
pub struct PodRequest<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// What was asked for.
    pub plan: &'a Plan,
    /// The member.
    pub member: &'a MemberRecord,
    /// The version it is to run.
    pub version: Version,
    /// How it begins.
    pub start: Start<'a>,
    /// Digest of the authorities it trusts ([`crate::tls::Tls::trust`]).
    pub trust: &'a str,
}

/// How a member begins when it has no data. One that has data goes on from there, whatever this says.
#[derive(Debug, Clone, Copy)]
pub enum Start<'a> {
    /// As the first of a new cluster.
    Seed {
        /// Makes the identifiers of the cluster and its members differ from those of any other.
        token: &'a str,
        /// The data it begins with.
        snapshot: Option<&'a Snapshot>,
    },
    /// As one that was added to these members, itself among them.
    Existing {
        /// Names of all members.
        members: &'a [String],
    },
}

/// The pod.
pub fn pod(request: &PodRequest<'_>) -> Value {
    let PodRequest { cluster, plan, member, version, .. } = request;
    let mut pod = head(cluster, "v1", "Pod", &member.name);
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        let mut labels = plan.pod.labels.clone();
        labels.extend(member_labels(&cluster.name, &member.name, member.incarnation));
        let mut annotations = plan.pod.annotations.clone();
        annotations.insert(annotation::VERSION.to_owned(), version.to_string());
        annotations.insert(annotation::DIGEST.to_owned(), pod_digest(request));
        metadata.insert("labels".to_owned(), json!(labels));
        metadata.insert("annotations".to_owned(), json!(annotations));
    }
    pod.insert("spec".to_owned(), Value::Object(spec(request)));
    Value::Object(pod)
}

/// Digest of what a pod is made from: everything of it but its name, its image, its version, and what only counts for a member
/// without data.
pub fn pod_digest(request: &PodRequest<'_>) -> String {
    let anybody = MemberRecord { claim: request.member.claim, ..MemberRecord::default() };
    let canonical = PodRequest { member: &anybody, start: Start::Existing { members: &[] }, ..*request };
    let mut spec = spec(&canonical);
    if let Some(container) = spec.get_mut("containers").and_then(|containers| containers.get_mut(0)) {
        container.as_object_mut().map(|container| container.remove("image"));
    }
    let seeding = match request.start {
        Start::Seed { snapshot: Some(_), token } => token,
        _ => "",
    };
    // Moved and not copied: this is done for every decision.
    let parts = [
        ("spec", Value::Object(spec)),
        ("labels", json!(request.plan.pod.labels)),
        ("annotations", json!(request.plan.pod.annotations)),
        ("trust", request.trust.into()),
        ("seeding", seeding.into()),
    ];
    digest(&parts.into_iter().map(|(part, value)| (part.to_owned(), value)).collect())
}

fn spec(request: &PodRequest<'_>) -> Map<String, Value> {
    let PodRequest { cluster, plan, member, start, .. } = request;
    let mut init = vec![check_dns(request)];
    if let Start::Seed { token, snapshot: Some(snapshot) } = start {
        init.extend(seeding::init_containers(request, token, snapshot));
    }
    let place = Place { cluster: &cluster.name, namespace: &cluster.namespace };
    let mut spec = Map::new();
    let mut set = |field: &str, value: Option<Value>| {
        if let Some(value) = value {
            spec.insert(field.to_owned(), value);
        }
    };
    set("hostname", Some(member.name.as_str().into()));
    set("subdomain", Some(place.member_service().into()));
    set("restartPolicy", Some("Always".into()));
    set("automountServiceAccountToken", Some(false.into()));
    set("enableServiceLinks", Some(false.into()));
    set("initContainers", Some(init.into()));
    set("containers", Some(vec![etcd(request)].into()));
    set("volumes", Some(volumes(request).into()));
    set("nodeSelector", (!plan.pod.node_selector.is_empty()).then(|| json!(plan.pod.node_selector)));
    set("tolerations", (!plan.pod.tolerations.is_empty()).then(|| json!(plan.pod.tolerations)));
    set("securityContext", plan.pod.security_context.clone().map(Value::Object));
    set("affinity", affinity(cluster, plan));
    spec
}

/// The affinity of the spec; for the old switch, never two members on one node.
fn affinity(cluster: &Cluster, plan: &Plan) -> Option<Value> {
    if let Some(affinity) = &plan.pod.affinity {
        return Some(json!(affinity));
    }
    let apart = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
        "labelSelector": {"matchLabels": {label::CLUSTER: cluster.name}},
        "topologyKey": "kubernetes.io/hostname",
    }]}});
    plan.pod.anti_affinity.then_some(apart)
}

fn etcd(request: &PodRequest<'_>) -> Value {
    let PodRequest { plan, version, .. } = request;
    let mut container = json!({
        "name": CONTAINER,
        "image": plan.image(*version),
        "command": flags::command(request),
        "ports": container_ports(),
        "volumeMounts": mounts(request),
        "startupProbe": probe::startup(*version),
        "livenessProbe": probe::liveness(*version),
        "readinessProbe": probe::readiness(*version),
    });
    if let Some(fields) = container.as_object_mut() {
        if !plan.pod.etcd_env.is_empty() {
            fields.insert("env".to_owned(), json!(plan.pod.etcd_env));
        }
        if let Some(resources) = &plan.pod.resources {
            fields.insert("resources".to_owned(), json!(resources));
        }
    }
    container
}

/// Waits until the member's own name can be looked up: its peers check that it is where it says it is. Not every nslookup looks
/// through the pod's search domains by itself.
fn check_dns(request: &PodRequest<'_>) -> Value {
    let PodRequest { cluster, plan, member, .. } = request;
    let host = Place { cluster: &cluster.name, namespace: &cluster.namespace }.host(&member.name);
    let seconds = plan.pod.dns_timeout_in_second;
    let script = format!(
        "waited=0; until for domain in '' $(sed -n 's/^search //p' /etc/resolv.conf); do nslookup {host}${{domain:+.$domain}} && break; done; do waited=$((waited+1)); if [ $waited -eq {seconds} ]; then echo 'no address for {host} after {seconds} s'; exit 1; fi; sleep 1; done"
    );
    let mut container = json!({
        "name": "check-dns",
        "image": plan.pod.busybox_image,
        "command": ["/bin/sh", "-c", script],
    });
    if let (Some(resources), Some(fields)) = (&plan.pod.resources, container.as_object_mut()) {
        fields.insert("resources".to_owned(), json!(resources));
    }
    container
}

/// The Secrets that are mounted: members need theirs; the operator's is there for people and probes in the pod.
fn secrets<'a>(request: &PodRequest<'a>) -> &'a BTreeMap<Use, String> {
    &request.plan.tls.secrets
}

fn mounts(request: &PodRequest<'_>) -> Vec<Value> {
    let data = json!({"name": DATA_VOLUME, "mountPath": DATA_MOUNT});
    let secrets = secrets(request).keys().map(|purpose| {
        let (name, directory) = purpose.volume();
        json!({"name": name, "mountPath": directory, "readOnly": true})
    });
    std::iter::once(data).chain(secrets).collect()
}

fn volumes(request: &PodRequest<'_>) -> Vec<Value> {
    let data = if request.member.claim {
        json!({"name": DATA_VOLUME, "persistentVolumeClaim": {"claimName": request.member.name}})
    } else {
        json!({"name": DATA_VOLUME, "emptyDir": {}})
    };
    let secrets = secrets(request)
        .iter()
        .map(|(purpose, secret)| json!({"name": purpose.volume().0, "secret": {"secretName": secret}}));
    std::iter::once(data).chain(secrets).collect()
}
