//! Every field of the spec with two values, and a wrong one where there are any.

use etcd_api::{
    CompactionMode, Defragmentation, EtcdClusterSpec, EtcdOptions, Fragment, ManagedTls, MemberSecrets,
    PodPolicy, QuorumRecovery, RecoveryPolicy, Repair, StaticTls, TlsPolicy,
};
use serde_json::{Value, json};

use crate::scene::Step;

/// A field.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its path in the spec.
    pub path: &'static str,
    /// Two values.
    pub values: [fn(&mut EtcdClusterSpec); 2],
    /// A value that is refused.
    pub wrong: Option<fn(&mut EtcdClusterSpec)>,
    /// What comes of another value.
    pub effect: Effect,
}

/// What comes of another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Other objects.
    Objects,
    /// Objects stay as they are: the operator behaves differently.
    Behaviour,
    /// The definition refuses the change once the cluster exists; a new cluster has other objects.
    Fixed,
}

impl Field {
    /// The change to one of the two values.
    pub fn change(&self, to: usize) -> Step {
        let [one, other] = self.values;
        Step::Spec(self.path, if to == 0 { one } else { other })
    }
}

type Change = fn(&mut EtcdClusterSpec);

const fn objects(path: &'static str, values: [Change; 2], wrong: Option<Change>) -> Field {
    Field { path, values, wrong, effect: Effect::Objects }
}

const fn behaviour(path: &'static str, values: [Change; 2], wrong: Option<Change>) -> Field {
    Field { path, values, wrong, effect: Effect::Behaviour }
}

fn pod(spec: &mut EtcdClusterSpec) -> &mut PodPolicy {
    spec.pod.get_or_insert_with(PodPolicy::default)
}

fn options(spec: &mut EtcdClusterSpec) -> &mut EtcdOptions {
    spec.options.get_or_insert_with(EtcdOptions::default)
}

fn fragment(value: Value) -> Option<Fragment> {
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

fn storage(spec: &mut EtcdClusterSpec, size: &str) {
    // Only where there are claims: whether there are is another change.
    if let Some(claim) = &mut pod(spec).persistent_volume_claim_spec {
        claim.insert("resources".to_owned(), json!({"requests": {"storage": size}}));
    }
}

fn fixed(letter: &str) -> TlsPolicy {
    let secret = |part: &str| Some(format!("{letter}-{part}"));
    let member = MemberSecrets { peer_secret: secret("peer"), server_secret: secret("server") };
    TlsPolicy {
        fixed: Some(StaticTls { member: Some(member), operator_secret: secret("client") }),
        managed: None,
    }
}

/// All fields.
pub fn fields() -> &'static [Field] {
    FIELDS
}

const FIELDS: &[Field] = &[
    objects("size", [|spec| spec.size = 3, |spec| spec.size = 4], Some(|spec| spec.size = 8)),
    objects(
        "repository",
        [
            |spec| spec.repository = "quay.io/coreos/etcd".to_owned(),
            |spec| {
                spec.repository = "registry:5000/mirror/etcd".to_owned();
            },
        ],
        Some(|spec| spec.repository.clear()),
    ),
    objects(
        "version",
        [|spec| spec.version = "3.6.16".to_owned(), |spec| spec.version = "3.7.3".to_owned()],
        Some(|spec| spec.version = "latest".to_owned()),
    ),
    behaviour("paused", [|spec| spec.paused = false, |spec| spec.paused = true], None),
    objects(
        "pod.labels",
        [
            |spec| pod(spec).labels.clear(),
            |spec| {
                pod(spec).labels.clear();
                pod(spec).labels.insert("team".to_owned(), "data".to_owned());
            },
        ],
        Some(|spec| {
            pod(spec).labels.insert("etcd_node".to_owned(), "mine".to_owned());
        }),
    ),
    objects(
        "pod.annotations",
        [
            |spec| pod(spec).annotations.clear(),
            |spec| {
                pod(spec).annotations.clear();
                pod(spec).annotations.insert("note".to_owned(), "kept".to_owned());
            },
        ],
        Some(|spec| {
            pod(spec).annotations.insert("etcd.version".to_owned(), "1".to_owned());
        }),
    ),
    objects(
        "pod.nodeSelector",
        [
            |spec| pod(spec).node_selector.clear(),
            |spec| {
                pod(spec).node_selector.insert("disk".to_owned(), "ssd".to_owned());
            },
        ],
        None,
    ),
    objects(
        "pod.affinity",
        [
            |spec| pod(spec).affinity = None,
            |spec| {
                pod(spec).affinity = fragment(json!({"nodeAffinity": {}}));
                pod(spec).anti_affinity = false;
            },
        ],
        None,
    ),
    objects(
        "pod.antiAffinity",
        [
            |spec| pod(spec).anti_affinity = false,
            |spec| {
                pod(spec).anti_affinity = true;
                pod(spec).affinity = None;
            },
        ],
        Some(|spec| {
            pod(spec).anti_affinity = true;
            pod(spec).affinity = fragment(json!({}));
        }),
    ),
    objects(
        "pod.tolerations",
        [
            |spec| pod(spec).tolerations.clear(),
            |spec| {
                pod(spec).tolerations = vec![json!({"operator": "Exists"})];
            },
        ],
        None,
    ),
    objects(
        "pod.resources",
        [
            |spec| pod(spec).resources = None,
            |spec| {
                pod(spec).resources = fragment(json!({"limits": {"memory": "1Gi"}}));
            },
        ],
        None,
    ),
    objects(
        "pod.securityContext",
        [
            |spec| pod(spec).security_context = None,
            |spec| {
                pod(spec).security_context = fragment(json!({"runAsUser": 1000}));
            },
        ],
        None,
    ),
    objects(
        "pod.etcdEnv",
        [
            |spec| pod(spec).etcd_env.clear(),
            |spec| {
                pod(spec).etcd_env = vec![json!({"name": "ETCD_LOG_LEVEL", "value": "debug"})];
            },
        ],
        Some(|spec| pod(spec).etcd_env = vec![json!({"name": "ETCD_NAME", "value": "mine"})]),
    ),
    objects(
        "pod.persistentVolumeClaimSpec",
        [
            |spec| storage(spec, "1Gi"),
            |spec| {
                storage(spec, "2Gi");
            },
        ],
        None,
    ),
    objects(
        "pod.busyboxImage",
        [
            |spec| pod(spec).busybox_image = "busybox:1.28.0-glibc".to_owned(),
            |spec| {
                pod(spec).busybox_image = "busybox:1.36".to_owned();
            },
        ],
        None,
    ),
    objects(
        "pod.DNSTimeoutInSecond",
        [|spec| pod(spec).dns_timeout_in_second = 0, |spec| pod(spec).dns_timeout_in_second = 30],
        None,
    ),
    Field {
        path: "TLS.static",
        values: [|spec| spec.tls = Some(fixed("a")), |spec| spec.tls = Some(fixed("b"))],
        wrong: Some(|spec| {
            spec.tls = Some(TlsPolicy {
                fixed: Some(StaticTls { member: None, operator_secret: Some("a-client".to_owned()) }),
                managed: None,
            });
        }),
        effect: Effect::Fixed,
    },
    Field {
        path: "TLS.managed",
        values: [
            |spec| spec.tls = Some(TlsPolicy { fixed: None, managed: Some(ManagedTls::default()) }),
            |spec| {
                let managed = ManagedTls { validity_hours: 24 };
                spec.tls = Some(TlsPolicy { fixed: None, managed: Some(managed) });
            },
        ],
        wrong: None,
        effect: Effect::Fixed,
    },
    objects(
        "options.autoCompactionMode",
        [
            |spec| {
                options(spec).auto_compaction_mode = None;
                options(spec).auto_compaction_retention = None;
            },
            |spec| {
                options(spec).auto_compaction_mode = Some(CompactionMode::Revision);
                options(spec).auto_compaction_retention = Some("1000".to_owned());
            },
        ],
        Some(|spec| {
            options(spec).auto_compaction_mode = Some(CompactionMode::Revision);
            options(spec).auto_compaction_retention = None;
        }),
    ),
    objects(
        "options.autoCompactionRetention",
        [
            |spec| {
                options(spec).auto_compaction_mode = None;
                options(spec).auto_compaction_retention = None;
            },
            |spec| {
                options(spec).auto_compaction_mode = Some(CompactionMode::Periodic);
                options(spec).auto_compaction_retention = Some("8h".to_owned());
            },
        ],
        Some(|spec| {
            options(spec).auto_compaction_mode = Some(CompactionMode::Revision);
            options(spec).auto_compaction_retention = Some("8h".to_owned());
        }),
    ),
    objects(
        "options.quotaBackendBytes",
        [
            |spec| options(spec).quota_backend_bytes = None,
            |spec| {
                options(spec).quota_backend_bytes = Some(1 << 30);
            },
        ],
        None,
    ),
    objects(
        "options.snapshotCount",
        [|spec| options(spec).snapshot_count = None, |spec| options(spec).snapshot_count = Some(5000)],
        None,
    ),
    objects(
        "options.heartbeatIntervalMs",
        [
            |spec| options(spec).heartbeat_interval_ms = None,
            |spec| {
                options(spec).heartbeat_interval_ms = Some(150);
            },
        ],
        None,
    ),
    objects(
        "options.electionTimeoutMs",
        [
            |spec| options(spec).election_timeout_ms = None,
            |spec| {
                options(spec).election_timeout_ms = Some(2000);
            },
        ],
        Some(|spec| options(spec).election_timeout_ms = Some(50)),
    ),
    objects(
        "options.maxRequestBytes",
        [
            |spec| options(spec).max_request_bytes = None,
            |spec| {
                options(spec).max_request_bytes = Some(1 << 20);
            },
        ],
        None,
    ),
    behaviour(
        "defragmentation",
        [
            |spec| spec.defragmentation = None,
            |spec| {
                spec.defragmentation = Some(Defragmentation {
                    schedule: "30 3 * * *".to_owned(),
                    time_zone: Some("UTC".to_owned()),
                    minimum_free_bytes: 1,
                });
            },
        ],
        Some(|spec| {
            spec.defragmentation = Some(Defragmentation {
                schedule: "often".to_owned(),
                time_zone: None,
                minimum_free_bytes: 0,
            });
        }),
    ),
    behaviour(
        "repair",
        [|spec| spec.repair = None, |spec| spec.repair = Some(Repair { replace_after_second: 60 })],
        None,
    ),
    behaviour(
        "quorumRecovery",
        [
            |spec| spec.quorum_recovery = None,
            |spec| {
                let policy = RecoveryPolicy::FromSurvivor;
                spec.quorum_recovery = Some(QuorumRecovery { policy, after_second: 60 });
            },
        ],
        None,
    ),
];
