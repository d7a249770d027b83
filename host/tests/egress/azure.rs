//! A real server that speaks like Azure.

use std::collections::BTreeMap;

use bytes::Bytes;
use pilothouse::blob::BlobError;
use pilothouse::blob::login::Login;
use pilothouse::blob::place::Address;
use pilothouse::blob::store::Options;
use pilothouse::blob::upload::{self, Condition};
use pilothouse_testbed::azurite::{ACCOUNT, Azurite, KEY};

use crate::s3::{large_objects, open, small_objects};

fn login(key: &str) -> Login {
    let entry = |key: &str, text: &str| (key.to_owned(), text.as_bytes().to_vec());
    let entries = BTreeMap::from([entry("storage-account", ACCOUNT), entry("storage-key", key)]);
    Login { place: "Secret shop/azure".to_owned(), entries }
}

#[tokio::test(flavor = "multi_thread")]
async fn azure_keeps_objects_as_s3_does_and_the_account_may_be_the_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let server = match Azurite::open(directory.path(), "backups") {
        Ok(server) => server,
        Err(error) => return pilothouse_testbed::skip(&format!("no server of Azure's: {error}")),
    };
    let url = |container: &str| {
        let address: Address = format!("az+http://{}/ACCOUNT/{container}", server.address()).parse().unwrap();
        assert!(address.lacks_account());
        address.with_account(&login(KEY).account().unwrap()).unwrap().to_string()
    };
    let store = |container: &str, key| open(&url(container), &Options::default(), &login(key), None);
    small_objects(&store("backups/shop", KEY)).await;
    large_objects(&store("backups/large", KEY)).await;
    let put = |store: pilothouse::blob::store::Store| async move {
        let path = store.path("a").unwrap();
        upload::put(&store, &path, Bytes::from_static(b"x"), Condition::None).await
    };
    let nowhere = put(store("nowhere", KEY)).await.unwrap_err();
    assert!(matches!(nowhere, BlobError::NotFound(_)), "{nowhere}");
    let wrong = put(store("backups", "d3Jvbmc=")).await.unwrap_err();
    assert!(matches!(wrong, BlobError::Denied(_)), "{wrong}");
    drop(server);
}
