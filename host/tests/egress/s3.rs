//! A real server that speaks like S3.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectStoreExt as _;
use pilothouse::blob::BlobError;
use pilothouse::blob::client::Connector;
use pilothouse::blob::login::Login;
use pilothouse::blob::store::{Options, Store};
use pilothouse::blob::upload::{self, Condition, NOTE, PART, Upload};
use pilothouse::egress::Egress;
use pilothouse::egress::address::Reach;
use pilothouse::egress::exchange::Times;
use pilothouse::egress::identity::{Pem, Roots, Tls, tls};
use pilothouse_testbed::object_store::{ACCESS_KEY, ObjectStore, SECRET_KEY};

pub(crate) fn login(secret: &str) -> Login {
    let entry = |key: &str, text: &str| (key.to_owned(), text.as_bytes().to_vec());
    let entries = BTreeMap::from([entry("access-key-id", ACCESS_KEY), entry("secret-access-key", secret)]);
    Login { place: "Secret shop/s3".to_owned(), entries }
}

pub(crate) fn open(url: &str, options: &Options, login: &Login, tls: Option<Tls>) -> Store {
    let address: pilothouse::blob::place::Address = url.parse().unwrap();
    let connector = Connector {
        egress: Arc::<Egress>::default(),
        plugin: "etcd".to_owned(),
        // A grant that names this machine in full.
        reach: Reach { private: true, loopback: true },
        server: address.endpoint.clone(),
        tls,
        times: Times::default(),
    };
    Store::open(address, options, Some(login), connector).unwrap()
}

async fn keys(store: &Store, prefix: &str) -> Vec<String> {
    let (page, _) = upload::list(store, prefix, None, 1000).await.unwrap();
    page.iter().map(|meta| store.key(&meta.location)).collect()
}

pub(crate) fn server(
    make: impl FnOnce(&std::path::Path) -> pilothouse_testbed::Result<ObjectStore>,
) -> Option<(tempfile::TempDir, ObjectStore)> {
    let directory = tempfile::tempdir().unwrap();
    match make(directory.path()) {
        Ok(server) => Some((directory, server)),
        Err(error) => {
            pilothouse_testbed::skip(&format!("no S3 server: {error}"));
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_written_listed_read_held_to_conditions_and_deleted() {
    let Some((_directory, server)) = server(|directory| ObjectStore::open(directory, "backups")) else {
        return;
    };
    let url = format!("s3+http://{}/backups/shop", server.address());
    small_objects(&open(&url, &Options::default(), &login(SECRET_KEY), None)).await;
}

/// What every service does with them.
pub(crate) async fn small_objects(store: &Store) {
    let path = store.path("etcd/v9").unwrap();
    assert!(matches!(store.objects().head(&path).await, Err(object_store::Error::NotFound { .. })));
    let first = upload::put(store, &path, Bytes::from_static(b"one"), Condition::Absent).await.unwrap();
    let again = upload::put(store, &path, Bytes::from_static(b"two"), Condition::Absent).await.unwrap_err();
    assert!(matches!(again, BlobError::Conflict(_)), "{again}");
    let etag = Condition::Etag(first.e_tag.unwrap());
    upload::put(store, &path, Bytes::from_static(b"three"), etag).await.unwrap();
    for name in ["etcd/v10", "etcd-other/v1"] {
        upload::put(store, &store.path(name).unwrap(), Bytes::from_static(b"x"), Condition::None)
            .await
            .unwrap();
    }
    assert_eq!(keys(store, "etcd").await, ["etcd/v10", "etcd/v9"]);
    let (page, more) = upload::list(store, "", None, 2).await.unwrap();
    assert!(more && page.len() == 2);
    let (rest, more) = upload::list(store, "", Some(&store.key(&page[1].location)), 2).await.unwrap();
    assert!(!more && rest.len() == 1, "{rest:?}");
    assert_eq!(store.objects().get_range(&path, 1..3).await.unwrap(), "hr");
    store.objects().delete(&path).await.unwrap();
    assert_eq!(keys(store, "etcd").await, ["etcd/v10"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_objects_appear_with_the_last_request_and_what_a_killed_host_left_is_taken_back() {
    let Some((_directory, server)) = server(|directory| ObjectStore::open(directory, "backups")) else {
        return;
    };
    let url = format!("s3+http://{}/backups", server.address());
    large_objects(&open(&url, &Options::default(), &login(SECRET_KEY), None)).await;
}

/// What every service does with them.
pub(crate) async fn large_objects(store: &Store) {
    let path = store.path("etcd/v1").unwrap();
    let mut killed = Upload::begin(store.clone(), path.clone(), true).await.unwrap();
    killed.write(&vec![1; 2 * PART + 1]).await.unwrap();
    std::mem::forget(killed);
    assert!(keys(store, "").await.is_empty());
    assert!(store.objects().head(&format!("{path}{NOTE}").into()).await.is_ok());

    let mut upload = Upload::begin(store.clone(), path.clone(), true).await.unwrap();
    let content: Vec<u8> = (0..6_000_000_u32).flat_map(u32::to_le_bytes).collect();
    for piece in content.chunks(100_000) {
        upload.write(piece).await.unwrap();
    }
    assert!(keys(store, "").await.is_empty(), "not before the end");
    upload.end().await.unwrap();
    let read = store.objects().get(&path).await.unwrap().bytes().await.unwrap();
    assert!(read == content);
    assert!(store.objects().head(&format!("{path}{NOTE}").into()).await.is_err());

    let other = store.path("etcd/v2").unwrap();
    let mut abandoned = Upload::begin(store.clone(), other, true).await.unwrap();
    abandoned.write(&vec![1; PART + 1]).await.unwrap();
    abandoned.abandon().await;
    assert_eq!(keys(store, "").await, ["etcd/v1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_a_wrong_authority_a_bucket_that_is_not_there_and_a_server_that_is_down_are_told_apart() {
    let Some((_directory, mut server)) = server(|directory| ObjectStore::with_tls(directory, "backups"))
    else {
        return;
    };
    let pem = Pem { place: "test".to_owned(), text: server.certificate().unwrap().into_bytes() };
    let trusted = tls(&Roots::default(), Some(&pem), None, None).unwrap();
    let url = format!("s3+https://{}/backups", server.address());
    let options = Options { checksums: true, ..Options::default() };
    let put = |store: Store| async move {
        let path = store.path("a").unwrap();
        upload::put(&store, &path, Bytes::from_static(b"x"), Condition::None).await
    };
    put(open(&url, &options, &login(SECRET_KEY), Some(trusted.clone()))).await.unwrap();
    let wrong = put(open(&url, &options, &login("wrong"), Some(trusted.clone()))).await.unwrap_err();
    assert!(matches!(wrong, BlobError::Denied(_)), "{wrong}");
    let nowhere = format!("s3+https://{}/nowhere", server.address());
    let nowhere = put(open(&nowhere, &options, &login(SECRET_KEY), Some(trusted.clone()))).await.unwrap_err();
    assert!(matches!(nowhere, BlobError::NotFound(_)), "{nowhere}");
    let key = rcgen::KeyPair::generate().unwrap();
    let stranger = rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap();
    let stranger = Pem { place: "test".to_owned(), text: stranger.pem().into_bytes() };
    let distrusting = tls(&Roots::default(), Some(&stranger), None, None).unwrap();
    let distrusted = put(open(&url, &options, &login(SECRET_KEY), Some(distrusting))).await.unwrap_err();
    assert!(distrusted.to_string().contains("is not accepted"), "{distrusted}");
    server.stop();
    let down = put(open(&url, &options, &login(SECRET_KEY), Some(trusted))).await.unwrap_err();
    assert!(matches!(down, BlobError::Unavailable(_)), "{down}");
}
