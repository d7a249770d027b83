//! Snapshots of an `EtcdCluster`: the etcd plugin's own objects.

use backup_api::{Artefact, Level, Storage, SubjectReference, names};
use serde_json::{Value, json};

use super::{ManifestError, Order};
use crate::{backup::Role, naming};

pub(crate) const API_VERSION: &str = "etcd.database.coreos.com/v1beta2";
pub(super) const BACKUP: &str = "EtcdBackup";
pub(crate) const RESTORE: &str = "EtcdRestore";
const GROUP: &str = "etcd.database.coreos.com";

/// The `EtcdBackup` that takes one snapshot under the attempt's key.
pub(super) fn backup(order: &Order<'_>) -> Result<Value, ManifestError> {
    let subject = &order.object.spec.subject;
    if (subject.group(), subject.kind.as_str()) != (GROUP, "EtcdCluster") {
        let what = format!("etcd is for an EtcdCluster, and the subject is the {}", subject.words());
        return Err(ManifestError::at("strategy.etcd", what));
    }
    if order.plan.encryption.is_some() {
        return Err(ManifestError::at("encryption", "it is for strategy.job: leave it out"));
    }
    let storage = order.plan.storage.as_ref();
    let storage =
        storage.ok_or_else(|| ManifestError::at("storage", "it is needed: say where the artefact goes"))?;
    let mut spec = source(storage, &order.run.key)?;
    let verification = if order.plan.verification.level == Level::Restore { "Restore" } else { "Hash" };
    let own = json!({
        "etcdCluster": {"name": subject.name},
        "backupPolicy": {"timeoutInSecond": order.plan.timeout.0.clamp(1, 86_400), "verification": verification},
    });
    spec = super::merge(spec, &own);
    Ok(json!({
        "apiVersion": API_VERSION,
        "kind": BACKUP,
        "metadata": {
            "namespace": order.object.namespace,
            "name": naming::task(order.object.name, Role::Dump.word(), order.run.attempt),
        },
        "spec": spec,
    }))
}

/// The `EtcdRestore` that puts an artefact into a cluster. Its name is the cluster's, so it is known by its label.
pub(crate) fn restore(
    namespace: &str,
    label: &str,
    target: &SubjectReference,
    storage: &Storage,
    artefact: &Artefact,
) -> Result<Value, ManifestError> {
    let mut spec = source(storage, &artefact.key)?;
    if let Some(spec) = spec.as_object_mut() {
        let kind = spec.remove("storageType").unwrap_or_default();
        spec.insert("backupStorageType".to_owned(), kind);
        spec.insert("etcdCluster".to_owned(), json!({"name": target.name}));
        spec.insert("sha256".to_owned(), json!(artefact.sha256));
    }
    Ok(json!({
        "apiVersion": API_VERSION,
        "kind": RESTORE,
        "metadata": {"namespace": namespace, "name": target.name, "labels": {names::label::RESTORE: label}},
        "spec": spec,
    }))
}

/// The storage in the etcd plugin's words.
fn source(storage: &Storage, key: &str) -> Result<Value, ManifestError> {
    let url = storage.url.as_str();
    let wrong = |at: &str, what: &str| Err(ManifestError::at(format!("storage.{at}"), what));
    if storage.region.is_some() {
        return wrong("region", "with strategy.etcd it stands in the file `config` of the credentialsSecret");
    }
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let rest = rest.trim_end_matches('/');
    let secret = storage.credentials_secret.clone().unwrap_or_default();
    if scheme == "gs" {
        return Ok(
            json!({"storageType": "GCS", "gcs": {"path": format!("{rest}/{key}"), "gcpSecret": secret}}),
        );
    }
    if let Some(protocol) = scheme.strip_prefix("az") {
        let abs = azure(protocol.trim_start_matches('+'), rest, key, &secret);
        return abs.map_or_else(|| wrong("url", "write az://account/container"), Ok);
    }
    let (endpoint, path) = match (scheme, rest.split_once('/')) {
        ("s3", _) => (String::new(), rest),
        ("s3+https", Some((host, path))) => (format!("https://{host}"), path),
        ("s3+http", Some((host, path))) => (format!("http://{host}"), path),
        _ => {
            return wrong(
                "url",
                "strategy.etcd knows s3://, s3+https://, s3+http://, gs://, az://, az+https:// and az+http://",
            );
        }
    };
    let mut s3 = json!({
        "path": format!("{path}/{key}"),
        "awsSecret": secret,
        "endpoint": endpoint,
        "forcePathStyle": !storage.virtual_hosted,
        "withoutChecksums": !storage.checksums,
    });
    if let (Some(authorities), Some(map)) = (&storage.authorities_secret, s3.as_object_mut()) {
        if authorities.key != "ca.crt" {
            return wrong("authoritiesSecret.key", "strategy.etcd reads the key ca.crt: call it so");
        }
        map.insert("caSecret".to_owned(), json!(authorities.name));
    }
    Ok(json!({"storageType": "S3", "s3": s3}))
}

/// A storage of Azure: with a protocol behind a server of one's own, else in the cloud.
fn azure(protocol: &str, rest: &str, key: &str, secret: &str) -> Option<Value> {
    let (endpoint, rest) = match (protocol, rest.split_once('/')?) {
        ("", _) => (String::new(), rest),
        (protocol, (host, rest)) => (format!("{protocol}://{host}"), rest),
    };
    let (account, path) = rest.split_once('/')?;
    let mut abs = json!({"path": format!("{path}/{key}"), "absSecret": secret, "endpoint": endpoint});
    // Else it is the Secret's.
    if account != "ACCOUNT" {
        abs.as_object_mut()?.insert("storageAccount".to_owned(), account.into());
    }
    Some(json!({"storageType": "ABS", "abs": abs}))
}
