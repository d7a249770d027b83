//! A pod that shows that a member can be started from a backup: it gets the file, restores it, starts etcd on it for itself alone, and
//! leaves what etcd says of itself where its status is told. Nobody can connect to that etcd but the pod itself.

use etcd_api::{EtcdClusterSpec, MemberRecord, names};
use serde_json::{Map, Value, json};

use super::{
    CONTAINER, DATA_DIRECTORY, DATA_MOUNT, DATA_VOLUME, PROGRAMS, cluster_labels,
    flags::initial_cluster,
    pod::{PodRequest, Start},
    seeding::{self, Snapshot},
};
use crate::{
    naming::{Place, member_name},
    observed::Cluster,
    spec::{Plan, SpecError},
    tls::Tls,
    version::Version,
};

/// How long the pod may take, whether anybody looks after it or not.
pub const TRIAL_SECONDS: i64 = 600;
/// The container that tells what etcd says, by the message that it ends with.
const WITNESS: &str = "witness";

/// What is tried, and where.
#[derive(Debug, Clone)]
pub struct Trial {
    cluster: Cluster,
    plan: Plan,
    member: MemberRecord,
    version: Version,
    snapshot: Snapshot,
}

/// What has become of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It waits for the file.
    Receives,
    /// It is on its way; what it waits for.
    Waits(String),
    /// A member runs on the data, which has this revision.
    Runs(i64),
    /// None does, and why.
    Fails(String),
}

impl Trial {
    /// The trial of one attempt: `uid` is that of the object, `attempt` differs between any two. `spec` is that of the cluster which the
    /// backup is of, `version` what its members ran.
    ///
    /// # Errors
    /// What is wrong with the spec or the version.
    pub fn of(
        (namespace, uid, attempt): (&str, &str, &str),
        spec: &EtcdClusterSpec,
        version: &str,
        sha256: &str,
    ) -> Result<Self, Vec<SpecError>> {
        let spec = EtcdClusterSpec { version: version.to_owned(), tls: None, ..spec.clone() };
        let name = member_name("etcd-trial", &format!("{uid}/{attempt}"), 0);
        let cluster = Cluster {
            name,
            namespace: namespace.to_owned(),
            uid: uid.to_owned(),
            generation: 0,
            deleting: false,
            spec,
        };
        let plan = Plan { tls: Tls::default(), ..Plan::of(&cluster)? };
        let version = plan.version;
        let member = MemberRecord { name: cluster.name.clone(), ..MemberRecord::default() };
        Ok(Self {
            cluster,
            plan,
            member,
            version,
            snapshot: Snapshot::Artefact { sha256: sha256.to_owned() },
        })
    }

    /// The name of the pod, and of the Service by which it is found.
    pub fn name(&self) -> &str {
        &self.cluster.name
    }

    /// Selects what belongs to it.
    pub fn selector(&self) -> String {
        super::selector(&self.cluster.name)
    }

    /// Where the file is sent to.
    pub fn address(&self) -> String {
        let host = self.place().host(&self.member.name);
        format!("http://{host}:{}/cgi-bin/snapshot", names::CLIENT_PORT)
    }

    fn place(&self) -> Place<'_> {
        Place { cluster: &self.cluster.name, namespace: &self.cluster.namespace }
    }

    /// The Service and the pod. Who they belong to is for whoever applies them.
    pub fn objects(&self) -> [Value; 2] {
        let metadata = json!({
            "name": self.name(),
            "namespace": self.cluster.namespace,
            "labels": cluster_labels(self.name()),
        });
        let port = json!({"name": "client", "port": names::CLIENT_PORT, "targetPort": names::CLIENT_PORT, "protocol": "TCP"});
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": true,
                "ports": [port],
                "selector": cluster_labels(self.name()),
            },
        });
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": self.spec()});
        [service, pod]
    }

    fn spec(&self) -> Map<String, Value> {
        let request = PodRequest {
            cluster: &self.cluster,
            plan: &self.plan,
            member: &self.member,
            version: self.version,
            start: Start::Existing { members: &[] },
            trust: "",
        };
        let pod = &self.plan.pod;
        let init = seeding::init_containers(&request, self.name(), &self.snapshot);
        let etcd = seeding::container(&request, CONTAINER, &self.plan.image(self.version), &self.command());
        let witness = seeding::shell(&request, WITNESS, &witness());
        let fields = [
            ("hostname", Some(json!(self.member.name))),
            ("subdomain", Some(json!(self.place().member_service()))),
            ("restartPolicy", Some(json!("Never"))),
            ("activeDeadlineSeconds", Some(json!(TRIAL_SECONDS))),
            ("terminationGracePeriodSeconds", Some(json!(1))),
            ("automountServiceAccountToken", Some(json!(false))),
            ("enableServiceLinks", Some(json!(false))),
            ("initContainers", Some(json!(init))),
            ("containers", Some(json!([etcd, witness]))),
            ("volumes", Some(json!([{"name": DATA_VOLUME, "emptyDir": {}}]))),
            ("nodeSelector", (!pod.node_selector.is_empty()).then(|| json!(pod.node_selector))),
            ("tolerations", (!pod.tolerations.is_empty()).then(|| json!(pod.tolerations))),
            ("securityContext", pod.security_context.clone().map(Value::Object)),
        ];
        fields.into_iter().filter_map(|(field, value)| Some((field.to_owned(), value?))).collect()
    }

    /// etcd for itself alone: its data may be of a cluster that lets nobody in without a certificate.
    fn command(&self) -> Vec<String> {
        let (place, member) = (self.place(), self.member.name.as_str());
        let alone = |port| format!("http://127.0.0.1:{port}");
        vec![
            format!("{PROGRAMS}/etcd"),
            format!("--data-dir={DATA_DIRECTORY}"),
            format!("--name={member}"),
            format!("--initial-cluster={}", initial_cluster(place, false, [member])),
            format!("--initial-advertise-peer-urls={}", place.peer_url(member, false)),
            format!("--listen-peer-urls={}", alone(names::PEER_PORT)),
            format!("--listen-client-urls={}", alone(names::CLIENT_PORT)),
            format!("--advertise-client-urls={}", alone(names::CLIENT_PORT)),
        ]
    }

    /// Why a member on the data has too low a revision for a backup at `snapshot`, if it has.
    pub fn is_older(&self, revision: i64, snapshot: i64) -> Option<String> {
        is_older(revision, snapshot, self.version)
    }

    /// What the status of the pod tells.
    pub fn verdict(&self, pod: &Value) -> Verdict {
        if let Some(end) = ended(pod, "/status/containerStatuses", WITNESS) {
            let said = end.get("message").and_then(Value::as_str).and_then(revision);
            return said.map_or_else(
                || Verdict::Fails("etcd ran and did not tell its revision".to_owned()),
                Verdict::Runs,
            );
        }
        if let Some(end) = ended(pod, "/status/containerStatuses", CONTAINER) {
            return Verdict::Fails(format!("etcd ended on the restored data{}", code(end)));
        }
        for init in ["clear-datadir", "fetch-backup", "restore-datadir", "place-datadir"] {
            let end = ended(pod, "/status/initContainerStatuses", init)
                .filter(|end| end.get("exitCode").and_then(Value::as_i64) != Some(0));
            if let Some(end) = end {
                return Verdict::Fails(format!("{init} failed{}", code(end)));
            }
        }
        if pod.pointer("/status/phase").and_then(Value::as_str) == Some("Failed") {
            let why = pod.pointer("/status/message").or_else(|| pod.pointer("/status/reason"));
            let why = why.and_then(Value::as_str).unwrap_or("nobody says why");
            return Verdict::Fails(format!("its pod failed: {why}"));
        }
        match status(pod, "/status/initContainerStatuses", "fetch-backup") {
            Some(fetch) if fetch.pointer("/state/running").is_some() => Verdict::Receives,
            _ => Verdict::Waits(waiting(pod).unwrap_or_else(|| "it is being started".to_owned())),
        }
    }
}

/// Why data that the tool of this version restored from a snapshot has too low a revision, if it has. That it was moved on makes nothing
/// newer.
pub(crate) fn is_older(revision: i64, snapshot: i64, version: Version) -> Option<String> {
    let least = seeding::restored_revision(snapshot, version);
    (revision < least).then(|| {
        format!(
            "a member that was started from it has revision {revision}, and from revision {snapshot} it would have {least}"
        )
    })
}

/// Waits until etcd leads itself, and ends with its words. Without a time-out: there are builds of busybox that end with a fault on it,
/// and the pod has one.
fn witness() -> String {
    let address = format!("http://127.0.0.1:{}/v3/maintenance/status", names::CLIENT_PORT);
    let file = format!("{DATA_MOUNT}/status.json");
    format!(
        "until wget -q -O {file} --header 'Content-Type: application/json' --post-data '{{}}' {address} 2>/dev/null && grep -q '\"leader\"' {file}; do sleep 1; done; cat {file} > /dev/termination-log"
    )
}

/// The revision in what etcd says of itself.
fn revision(status: &str) -> Option<i64> {
    let status: Value = serde_json::from_str(status).ok()?;
    match status.pointer("/header/revision")? {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    }
}

fn status<'a>(pod: &'a Value, list: &str, container: &str) -> Option<&'a Value> {
    let statuses = pod.pointer(list).and_then(Value::as_array)?;
    statuses.iter().find(|status| status.get("name").and_then(Value::as_str) == Some(container))
}

fn ended<'a>(pod: &'a Value, list: &str, container: &str) -> Option<&'a Value> {
    status(pod, list, container)?.pointer("/state/terminated")
}

fn code(end: &Value) -> String {
    let code = end.get("exitCode").and_then(Value::as_i64);
    code.map(|code| format!(" with code {code}")).unwrap_or_default()
}

/// Why a container does not run, or why there is no node.
fn waiting(pod: &Value) -> Option<String> {
    let lists = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let statuses = lists.iter().filter_map(|list| pod.pointer(list)?.as_array()).flatten();
    let reasons = statuses.filter_map(|status| status.pointer("/state/waiting/reason")?.as_str());
    let passing = ["ContainerCreating", "PodInitializing"];
    let reason = reasons.map(str::to_owned).find(|reason| !passing.contains(&reason.as_str()));
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let is = |condition: &Value, field: &str, text: &str| {
        condition.get(field).and_then(Value::as_str) == Some(text)
    };
    let unscheduled = conditions
        .into_iter()
        .flatten()
        .find(|condition| is(condition, "type", "PodScheduled") && is(condition, "status", "False"));
    reason.or_else(|| unscheduled?.get("message")?.as_str().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(version: &str) -> Trial {
        let spec = json!({"size": 3, "pod": {"busyboxImage": "registry:5000/busybox"}, "repository": "registry:5000/etcd",
            "TLS": {"managed": {}}});
        let spec = serde_json::from_value(spec).unwrap();
        Trial::of(("apps", "u", "1"), &spec, version, &"a".repeat(64)).unwrap()
    }

    #[test]
    fn it_is_found_by_its_own_service_and_by_nobody_elses() {
        let [service, pod] = trial("3.6.16").objects();
        let name = pod["metadata"]["name"].as_str().unwrap();
        assert!(name.starts_with("etcd-trial-") && name.len() <= 52);
        assert_eq!(service["spec"]["selector"], pod["metadata"]["labels"]);
        assert_eq!((&pod["spec"]["hostname"], &pod["spec"]["subdomain"]), (&json!(name), &json!(name)));
        assert_eq!(trial("3.6.16").address(), format!("http://{name}.{name}.apps.svc:2379/cgi-bin/snapshot"));
        let spec = serde_json::from_value(json!({"size": 1})).unwrap();
        let other = Trial::of(("apps", "u", "2"), &spec, "3.6.16", "").unwrap();
        assert_ne!(other.name(), name, "two attempts have nothing in common");
    }

    #[test]
    fn nobody_reaches_its_etcd_and_it_ends_by_itself() {
        let [_, pod] = trial("3.6.16").objects();
        let spec = &pod["spec"];
        let command = spec["containers"][0]["command"].to_string();
        assert!(
            !command.contains("0.0.0.0") && command.contains("--listen-client-urls=http://127.0.0.1:2379")
        );
        assert_eq!((&spec["restartPolicy"], &spec["activeDeadlineSeconds"]), (&json!("Never"), &json!(600)));
        assert_eq!(spec["containers"][0]["image"], "registry:5000/etcd:v3.6.16");
        assert_eq!(spec["containers"][1]["image"], "registry:5000/busybox");
        assert!(!spec.to_string().contains("secretName"), "it needs no certificate");
    }

    #[test]
    fn what_the_pod_tells_is_what_has_become_of_it() {
        let verdict = |status: Value| trial("3.6.16").verdict(&json!({"status": status}));
        let of = |list: &str, name: &str, state: Value| json!({list: [{"name": name, "state": state}]});
        let ends = |code: i64, message: &str| json!({"terminated": {"exitCode": code, "message": message}});
        let said = json!({"header": {"revision": "1000000007"}, "leader": "2"}).to_string();
        assert_eq!(verdict(of("containerStatuses", "witness", ends(0, &said))), Verdict::Runs(1_000_000_007));
        assert!(matches!(verdict(of("containerStatuses", "witness", ends(137, ""))), Verdict::Fails(_)));
        assert!(matches!(verdict(of("containerStatuses", "etcd", ends(2, ""))), Verdict::Fails(_)));
        assert!(matches!(
            verdict(of("initContainerStatuses", "restore-datadir", ends(1, ""))),
            Verdict::Fails(_)
        ));
        assert!(matches!(
            verdict(of("initContainerStatuses", "fetch-backup", ends(0, ""))),
            Verdict::Waits(_)
        ));
        assert_eq!(
            verdict(of("initContainerStatuses", "fetch-backup", json!({"running": {}}))),
            Verdict::Receives
        );
        assert!(matches!(
            verdict(json!({"phase": "Failed", "reason": "DeadlineExceeded"})),
            Verdict::Fails(_)
        ));
        let pulled = verdict(of("containerStatuses", "etcd", json!({"waiting": {"reason": "ErrImagePull"}})));
        assert_eq!(pulled, Verdict::Waits("ErrImagePull".to_owned()));
        assert!(matches!(verdict(json!({})), Verdict::Waits(_)));
    }

    #[test]
    fn a_version_that_cannot_be_run_is_no_trial() {
        let spec = serde_json::from_value(json!({"size": 1})).unwrap();
        assert!(Trial::of(("apps", "u", "1"), &spec, "3.3.1", "").is_err());
    }
}
