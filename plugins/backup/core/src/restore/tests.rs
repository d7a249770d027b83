use backup_api::{RestoreSpec, RestoreStatus, RestoreStep};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::{lifecycle::BackupSeen, settings::Settings};

const BEGUN: &str = "2026-01-01T12:00:00Z";

/// The decision of a `Restore` that looks at what was set aside: a `Backup` that began and ended then.
fn with_aside(began: &str, ended: &str) -> Decision {
    let spec: RestoreSpec = serde_json::from_value(json!({"backupRef": {"name": "b"}})).unwrap();
    let subject = json!({"apiVersion": "v1", "kind": "Service", "name": "db"});
    let aside = json!({"storage": {"url": "s3://bucket"}, "strategy": {"etcd": {}}});
    let status: RestoreStatus = serde_json::from_value(json!({
        "phase": "SettingAside", "startedAt": BEGUN, "setAside": "r-before",
        "run": {"step": "SetAside", "attempt": 1, "since": BEGUN},
        "plan": {"strategy": {"etcd": {}}, "storage": {"url": "s3://bucket"}, "target": subject, "aside": aside},
        "artifact": {"uri": "u", "key": "k", "size": 1, "sha256": "ab", "format": "etcd-snapshot", "subject": subject, "takenAt": BEGUN},
    }))
    .unwrap();
    let origin = json!({"kind": "Restore", "run": "r"});
    let of_aside = |value: Value| serde_json::from_value(value).unwrap();
    let seen = Observed {
        aside: Some(BackupSeen {
            deleting: false,
            spec: serde_json::from_value(json!({"subject": subject, "plan": aside, "origin": origin}))
                .unwrap(),
            status: of_aside(
                json!({"phase": "Completed", "verified": true, "startedAt": began, "completedAt": ended}),
            ),
        }),
        ..Observed::default()
    };
    let object = Object { namespace: "shop", name: "r", deleting: false, spec: &spec };
    let now: Timestamp = "2026-01-01T12:05:00Z".parse().unwrap();
    decide(object, &status, &seen, &Settings { image: "host:1".to_owned() }, now)
}

#[test]
fn what_an_earlier_restore_of_the_name_began_to_set_aside_is_not_the_present_data_though_it_ended_later() {
    let earlier = with_aside("2026-01-01T11:59:00Z", "2026-01-01T12:02:00Z").status;
    assert_eq!(earlier.set_aside.as_deref(), Some("r-before-2"));
    assert_eq!(earlier.run.unwrap().step, RestoreStep::SetAside);
    let own = with_aside("2026-01-01T12:01:00Z", "2026-01-01T12:02:00Z").status;
    assert_eq!(own.run.unwrap().step, RestoreStep::Restore);
}
