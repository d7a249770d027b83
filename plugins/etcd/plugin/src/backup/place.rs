//! Where backups go: the old operator's fields as a store of the host's.

use std::collections::BTreeMap;

use etcd_api::{AbsSource, EtcdBackupSpec, EtcdRestoreSpec, GcsSource, S3Source, StorageType, StoreSource};
use pilothouse_sdk::{SecretKey, Store};

use crate::settings::NamedStore;

/// A store, and the key in it, or what keys begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) store: Store,
    pub(crate) path: String,
}

/// A type, and the fields of each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sources<'a> {
    kind: StorageType,
    s3: Option<&'a S3Source>,
    abs: Option<&'a AbsSource>,
    gcs: Option<&'a GcsSource>,
    store: Option<&'a StoreSource>,
}

/// What a backup names.
pub(crate) fn of_backup(spec: &EtcdBackupSpec) -> Sources<'_> {
    let EtcdBackupSpec { storage_type, s3, abs, gcs, store, .. } = spec;
    let (s3, abs, gcs, store) = (s3.as_ref(), abs.as_ref(), gcs.as_ref(), store.as_ref());
    Sources { kind: *storage_type, s3, abs, gcs, store }
}

/// What a restore names.
pub(crate) fn of_restore(spec: &EtcdRestoreSpec) -> Sources<'_> {
    let EtcdRestoreSpec { backup_storage_type, s3, abs, gcs, store, .. } = spec;
    let (s3, abs, gcs, store) = (s3.as_ref(), abs.as_ref(), gcs.as_ref(), store.as_ref());
    Sources { kind: *backup_storage_type, s3, abs, gcs, store }
}

impl Sources<'_> {
    /// The Secret that says who one is.
    pub(crate) fn secret(&self) -> Option<&str> {
        let secret = match self.kind {
            StorageType::S3 => &self.s3?.aws_secret,
            StorageType::Abs => &self.abs?.abs_secret,
            StorageType::Gcs => &self.gcs?.gcp_secret,
            StorageType::Store => return None,
        };
        Some(secret.as_str()).filter(|name| !name.is_empty())
    }
}

impl Place {
    /// The place that a spec names.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(crate) fn of(
        sources: Sources<'_>,
        namespace: &str,
        stores: &BTreeMap<String, NamedStore>,
    ) -> Result<Self, String> {
        let place = match sources.kind {
            StorageType::S3 => sources.s3.map(|source| s3(source, namespace)),
            StorageType::Abs => sources.abs.map(|source| abs(source, namespace)),
            StorageType::Gcs => sources.gcs.map(|source| gcs(source, namespace)),
            StorageType::Store => sources.store.map(|source| named(source, namespace, stores)),
        };
        place
            .unwrap_or_else(|| Err("set the one of s3, abs, gcs and store that storageType names".to_owned()))
    }

    /// Where an object of it is, for people and for restores.
    pub(crate) fn uri(&self, key: &str) -> String {
        format!("{}/{key}", self.store.url)
    }
}

/// The bucket with the directory in it, which grants speak of, and the key.
fn split(path: &str) -> Result<(&str, &str), String> {
    let parts = path.rsplit_once('/').filter(|(bucket, key)| !bucket.is_empty() && !key.is_empty());
    parts.ok_or_else(|| format!("path {path:?} is not of the form BUCKET/KEY"))
}

fn login(namespace: &str, secret: &str) -> Option<(String, String)> {
    (!secret.is_empty()).then(|| (namespace.to_owned(), secret.to_owned()))
}

fn s3(source: &S3Source, namespace: &str) -> Result<Place, String> {
    let (bucket, key) = split(&source.path)?;
    let endpoint = source.endpoint.trim_end_matches('/');
    let url = match (endpoint.split_once("://"), endpoint) {
        (_, "") => format!("s3://{bucket}"),
        (Some((scheme, server)), _) => format!("s3+{scheme}://{server}/{bucket}"),
        (None, server) => format!("s3+https://{server}/{bucket}"),
    };
    let store = Store {
        url,
        credentials: login(namespace, &source.aws_secret),
        authorities: source.ca_secret.as_ref().map(|secret| SecretKey::new(namespace, secret, "ca.crt")),
        virtual_hosted: !source.force_path_style,
        checksums: !source.without_checksums,
        ..Store::default()
    };
    Ok(Place { store, path: key.to_owned() })
}

fn abs(source: &AbsSource, namespace: &str) -> Result<Place, String> {
    let (container, key) = split(&source.path)?;
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    // What is in the Secret is for the host only: it puts the account there.
    let account = match source.storage_account.as_deref() {
        None if source.abs_secret.is_empty() => {
            return Err(
                "name the account: in abs.storageAccount, or in a Secret as storage-account".to_owned()
            );
        }
        None => "ACCOUNT",
        Some(account) if !account.is_empty() && plain(account) => account,
        Some(account) => return Err(format!("abs.storageAccount {account:?} is no name of an account")),
    };
    let server = match source.endpoint.trim_end_matches('/').split_once("://") {
        Some((scheme, server)) => format!("az+{scheme}://{server}"),
        None if source.endpoint.is_empty() => "az:/".to_owned(),
        None => format!("az+https://{}", source.endpoint.trim_end_matches('/')),
    };
    let store = Store {
        url: format!("{server}/{account}/{container}"),
        credentials: login(namespace, &source.abs_secret),
        ..Store::default()
    };
    Ok(Place { store, path: key.to_owned() })
}

fn gcs(source: &GcsSource, namespace: &str) -> Result<Place, String> {
    let (bucket, key) = split(&source.path)?;
    let store = Store {
        url: format!("gs://{bucket}"),
        credentials: login(namespace, &source.gcp_secret),
        ..Store::default()
    };
    Ok(Place { store, path: key.to_owned() })
}

fn named(
    source: &StoreSource,
    namespace: &str,
    stores: &BTreeMap<String, NamedStore>,
) -> Result<Place, String> {
    let Some(found) = stores.get(&source.name) else {
        let names: Vec<&str> = stores.keys().map(String::as_str).collect();
        return Err(format!(
            "there is no store {:?}; the plugin's settings name: {}",
            source.name,
            names.join(", ")
        ));
    };
    let credentials =
        found.credentials.as_ref().map(|secret| (secret.namespace.clone(), secret.name.clone()));
    let url = found.url.trim_end_matches('/').replace("NAMESPACE", namespace);
    Ok(Place { store: Store { url, credentials, ..Store::default() }, path: source.path.clone() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place(spec: serde_json::Value) -> Result<Place, String> {
        let stores = json!({"disk": {"url": "file:///var/backups/NAMESPACE"}});
        let spec = serde_json::from_value(spec).unwrap();
        Place::of(of_backup(&spec), "apps", &serde_json::from_value(stores).unwrap())
    }

    #[test]
    fn the_old_fields_name_a_store_and_a_key() {
        let s3 =
            place(json!({"storageType": "S3", "s3": {"path": "bucket/a/b", "awsSecret": "aws"}})).unwrap();
        assert_eq!((s3.store.url.as_str(), s3.path.as_str()), ("s3://bucket/a", "b"));
        assert_eq!(s3.store.credentials, Some(("apps".to_owned(), "aws".to_owned())));
        assert!(s3.store.virtual_hosted && s3.store.checksums);
        assert_eq!(s3.uri("b"), "s3://bucket/a/b");
        let own =
            json!({"path": "bucket/a", "endpoint": "http://minio.apps.svc:9000/", "forcePathStyle": true});
        let own = place(json!({"storageType": "S3", "s3": own})).unwrap();
        assert_eq!(own.store.url, "s3+http://minio.apps.svc:9000/bucket");
        assert!(!own.store.virtual_hosted && own.store.credentials.is_none());
        let gcs =
            place(json!({"storageType": "GCS", "gcs": {"path": "bucket/a", "gcpSecret": "g"}})).unwrap();
        assert_eq!(gcs.store.url, "gs://bucket");
        let abs = json!({"path": "container/a/b", "absSecret": "azure", "storageAccount": "account7"});
        let abs = place(json!({"storageType": "ABS", "abs": abs})).unwrap();
        assert_eq!((abs.store.url.as_str(), abs.path.as_str()), ("az://account7/container/a", "b"));
        assert_eq!(abs.store.credentials, Some(("apps".to_owned(), "azure".to_owned())));
        let left =
            place(json!({"storageType": "ABS", "abs": {"path": "c/k", "absSecret": "azure"}})).unwrap();
        assert_eq!(left.store.url, "az://ACCOUNT/c");
        let own = json!({"path": "c/k", "absSecret": "azure", "endpoint": "http://azure.apps.svc:10000/"});
        let own = place(json!({"storageType": "ABS", "abs": own})).unwrap();
        assert_eq!(own.store.url, "az+http://azure.apps.svc:10000/ACCOUNT/c");
        let disk =
            place(json!({"storageType": "Store", "store": {"name": "disk", "path": "etcd/daily"}})).unwrap();
        assert_eq!(disk.uri(&disk.path), "file:///var/backups/apps/etcd/daily");
    }

    #[test]
    fn what_names_no_store_is_told() {
        for (spec, said) in [
            (json!({"storageType": "S3", "s3": {"path": "bucket"}}), "BUCKET/KEY"),
            (json!({"storageType": "S3"}), "storageType names"),
            (json!({"storageType": "ABS", "abs": {"path": "c/k"}}), "abs.storageAccount"),
            (
                json!({"storageType": "ABS", "abs": {"path": "c/k", "storageAccount": "a/b"}}),
                "no name of an account",
            ),
            (json!({"storageType": "ABS", "abs": {"path": "c", "storageAccount": "a"}}), "BUCKET/KEY"),
            (json!({"storageType": "ABS"}), "storageType names"),
            (
                json!({"storageType": "Store", "store": {"name": "tape", "path": "a"}}),
                "the plugin's settings name: disk",
            ),
        ] {
            let error = place(spec).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
