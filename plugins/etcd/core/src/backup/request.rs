//! What a backup is begun for, so that a change of it is not overlooked when that backup is over.

use etcd_api::{BackupPolicy, BackupRequest, BackupStatus, EtcdBackupSpec, Verification};
use serde_json::json;

use crate::digest::digest;

/// What a spec asks for. The digest is over what the backup holds and where it stands; who one is there and how many are kept is not
/// in it, for a change of that makes no backup another one.
pub fn request(spec: &EtcdBackupSpec, generation: i64) -> BackupRequest {
    let mut endpoints = spec.etcd_endpoints.clone();
    endpoints.sort_unstable();
    let s3 = spec.s3.as_ref().map(|s3| json!([s3.path, s3.endpoint]));
    // Without a name, the account is the one in the Secret.
    let abs = spec.abs.as_ref().map(|abs| {
        let account = abs.storage_account.as_ref().unwrap_or(&abs.abs_secret);
        json!([abs.path, abs.endpoint, account])
    });
    let digest = digest(&json!({
        "endpoints": endpoints,
        "cluster": spec.etcd_cluster.as_ref().map(|cluster| &cluster.name),
        "type": spec.storage_type,
        "s3": s3,
        "abs": abs,
        "gcs": spec.gcs.as_ref().map(|gcs| &gcs.path),
        "store": spec.store.as_ref().map(|store| json!([store.name, store.path])),
        "repeats": spec.backup_policy.as_ref().is_some_and(BackupPolicy::repeats),
    }));
    BackupRequest { generation, digest }
}

/// What the last backup that ended was begun for. A status of before that was written down is taken to be about what is asked for now,
/// so that not every old backup is taken again; only that its object was changed unseen is known.
pub fn answered(status: &BackupStatus, asked: &BackupRequest) -> BackupRequest {
    let unseen = (status.observed_generation > 0).then_some(status.observed_generation);
    status.request.clone().unwrap_or_else(|| BackupRequest {
        generation: unseen.unwrap_or(asked.generation),
        digest: asked.digest.clone(),
    })
}

/// Is a backup that does not repeat over? One that failed is tried again whatever was changed, one that succeeded if it would be another
/// one or has to be shown more of.
pub(super) fn is_over(status: &BackupStatus, asked: &BackupRequest, wanted: Verification) -> bool {
    let answered = answered(status, asked);
    let less = status.verified == Some(Verification::Hash) && wanted == Verification::Restore;
    if status.succeeded {
        // An operator of before may have taken it without a trial for the very same spec.
        let edited = answered.generation != asked.generation;
        answered.digest == asked.digest && !(less && edited)
    } else {
        !status.reason.is_empty() && answered.generation == asked.generation
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn digest_with(changes: &Value) -> String {
        let mut spec = json!({
            "etcdEndpoints": ["http://a:2379", "http://b:2379"], "storageType": "S3",
            "s3": {"path": "bucket/key", "awsSecret": "aws"},
        });
        for (field, value) in changes.as_object().unwrap() {
            spec[field] = value.clone();
        }
        request(&serde_json::from_value(spec).unwrap(), 1).digest
    }

    #[test]
    fn what_is_in_a_backup_and_where_it_stands_makes_it_another_one_and_nothing_else_does() {
        let first = digest_with(&json!({}));
        for same in [
            json!({"etcdEndpoints": ["http://b:2379", "http://a:2379"]}),
            json!({"s3": {"path": "bucket/key", "awsSecret": "other", "forcePathStyle": true}}),
            json!({"clientTLSSecret": "s"}),
            json!({"backupPolicy": {"timeoutInSecond": 9, "deleteWithObject": true, "suspend": true}}),
        ] {
            assert_eq!(digest_with(&same), first, "{same}");
        }
        for other in [
            json!({"etcdEndpoints": ["http://a:2379"]}),
            json!({"etcdEndpoints": [], "etcdCluster": {"name": "a"}}),
            json!({"s3": {"path": "bucket/other", "awsSecret": "aws"}}),
            json!({"s3": {"path": "bucket/key", "awsSecret": "aws", "endpoint": "http://minio:9000"}}),
            json!({"s3": null, "storageType": "GCS", "gcs": {"path": "bucket/key"}}),
            json!({"backupPolicy": {"backupIntervalInSecond": 60}}),
        ] {
            assert_ne!(digest_with(&other), first, "{other}");
        }
    }

    fn asked(generation: i64, digest: &str) -> BackupRequest {
        BackupRequest { generation, digest: digest.to_owned() }
    }

    fn over(status: &BackupStatus, asked: &BackupRequest) -> bool {
        is_over(status, asked, Verification::Hash)
    }

    #[test]
    fn one_that_failed_is_tried_again_after_any_change_and_one_that_succeeded_if_it_would_be_another_one() {
        let request = Some(asked(1, "a"));
        let failed =
            BackupStatus { reason: "no bucket".to_owned(), request: request.clone(), ..Default::default() };
        assert!(over(&failed, &asked(1, "a")) && !over(&failed, &asked(2, "a")));
        let taken = BackupStatus {
            succeeded: true,
            verified: Some(Verification::Hash),
            request,
            ..Default::default()
        };
        assert!(over(&taken, &asked(2, "a")) && !over(&taken, &asked(2, "b")));
        assert!(!is_over(&taken, &asked(2, "a"), Verification::Restore), "more has to be shown of it");
        let shown = BackupStatus { verified: Some(Verification::Restore), ..taken };
        assert!(is_over(&shown, &asked(2, "a"), Verification::Restore) && over(&shown, &asked(2, "a")));
    }

    #[test]
    fn a_status_of_before_is_about_what_is_asked_for_now_unless_the_change_was_not_seen_then() {
        let taken = BackupStatus { succeeded: true, ..Default::default() };
        assert!(over(&taken, &asked(7, "a")));
        let untried =
            BackupStatus { verified: Some(Verification::Hash), observed_generation: 7, ..taken.clone() };
        let told = BackupStatus { request: Some(answered(&untried, &asked(7, "a"))), ..untried.clone() };
        for status in [untried, told] {
            assert!(is_over(&status, &asked(7, "a"), Verification::Restore), "{status:?}");
            assert!(!is_over(&status, &asked(8, "a"), Verification::Restore), "{status:?}");
        }
        let failed = BackupStatus { reason: "no bucket".to_owned(), ..Default::default() };
        assert!(over(&failed, &asked(7, "a")), "CoreOS's operator told no generation");
        let failed = BackupStatus { observed_generation: 6, ..failed };
        assert!(over(&failed, &asked(6, "a")) && !over(&failed, &asked(7, "a")));
    }
}
