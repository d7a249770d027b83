//! Opens a store.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, Checksum};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use super::BlobError;
use super::client::Connector;
use super::login::Login;
use super::place::{Address, Service};

/// A store whose objects can be written in parts that another process could end.
pub trait Parts: ObjectStore + MultipartStore {}

impl<T: ObjectStore + MultipartStore> Parts for T {}

/// Who keeps the objects.
#[derive(Clone)]
pub enum Backend {
    /// Behind a network.
    Remote(Arc<dyn Parts>),
    /// A directory.
    Directory(Arc<LocalFileSystem>, PathBuf),
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Remote(_) => "Remote",
            Self::Directory(..) => "Directory",
        })
    }
}

/// A store, ready for use.
#[derive(Clone)]
pub struct Store {
    /// Its URL.
    pub address: Address,
    /// Who keeps it.
    pub backend: Backend,
    /// Before every key.
    prefix: Path,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What else is said about a store.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// S3's region.
    pub region: Option<String>,
    /// The bucket is a part of the host's name.
    pub virtual_hosted: bool,
    /// S3's own checksums beside the signature.
    pub checksums: bool,
}

/// Failures that pass are waited out so long.
fn patience() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(5),
        ..BackoffConfig::default()
    };
    RetryConfig { backoff, max_retries: 3, retry_timeout: Duration::from_secs(60) }
}

impl Store {
    /// Opens it. Nothing is sent.
    ///
    /// # Errors
    /// [`BlobError::Credentials`], [`BlobError::Invalid`], and [`BlobError::NotFound`] for a directory that is not there.
    pub fn open(
        address: Address,
        options: &Options,
        login: Option<&Login>,
        connector: Connector,
    ) -> Result<Self, BlobError> {
        let backend = match address.service {
            Service::S3 => Backend::Remote(Arc::new(s3(&address, options, login, connector)?)),
            Service::Google => Backend::Remote(Arc::new(google(&address, login, connector)?)),
            Service::Azure => Backend::Remote(Arc::new(azure(&address, login, connector)?)),
            Service::Directory => {
                let (backend, prefix) = directory(&address)?;
                return Ok(Self { address, backend, prefix });
            }
        };
        Self::of(address, backend)
    }

    /// A store over a backend.
    ///
    /// # Errors
    /// [`BlobError::Invalid`] for a prefix that no key may have.
    pub fn of(address: Address, backend: Backend) -> Result<Self, BlobError> {
        let prefix = key(&address.prefix.join("/"))?;
        Ok(Self { address, backend, prefix })
    }

    /// The store's library.
    pub fn objects(&self) -> &dyn ObjectStore {
        match &self.backend {
            Backend::Remote(store) => store.as_ref(),
            Backend::Directory(store, _) => store.as_ref(),
        }
    }

    /// Where a key is.
    ///
    /// # Errors
    /// [`BlobError::Invalid`].
    pub fn path(&self, name: &str) -> Result<Path, BlobError> {
        let path = key(name)?;
        if path.as_ref().is_empty() {
            return Err(BlobError::Invalid("a key is needed".to_owned()));
        }
        Ok(self.prefix.parts().chain(path.parts()).collect())
    }

    /// Where keys with these first parts are; none: everywhere.
    ///
    /// # Errors
    /// As [`path`](Self::path).
    pub fn below(&self, prefix: &str) -> Result<Option<Path>, BlobError> {
        let path = key(prefix.strip_suffix('/').unwrap_or(prefix))?;
        let whole: Path = self.prefix.parts().chain(path.parts()).collect();
        Ok(Some(whole).filter(|path| !path.as_ref().is_empty()))
    }

    /// The key of a place in the store.
    pub fn key(&self, path: &Path) -> String {
        let rest = path.prefix_match(&self.prefix);
        rest.map_or_else(|| path.to_string(), |parts| parts.collect::<Path>().to_string())
    }
}

/// Nothing is made other than it was written: two keys must not come to the same object.
fn key(text: &str) -> Result<Path, BlobError> {
    let wrong = |why: String| BlobError::Invalid(format!("{text:?} is no key: {why}"));
    let path = Path::parse(text).map_err(|error| wrong(error.to_string()))?;
    if path.as_ref() != text
        || text.len() > 900
        || text.chars().any(|c| "#%?*\\".contains(c) || c.is_control())
    {
        return Err(wrong("use letters, digits, and / . - _ between them".to_owned()));
    }
    Ok(path)
}

fn unusable(error: &object_store::Error) -> BlobError {
    BlobError::Invalid(crate::error_text::chain(&error))
}

fn s3(
    address: &Address,
    options: &Options,
    login: Option<&Login>,
    connector: Connector,
) -> Result<object_store::aws::AmazonS3, BlobError> {
    let told = if options.region.is_none() { login.map(Login::region).transpose()?.flatten() } else { None };
    let region = options.region.as_deref().or(told.as_deref()).unwrap_or("us-east-1");
    if !region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        // It may be of a Secret, which is not told.
        let place = login.filter(|_| told.is_some()).map_or("the storage", |login| login.place.as_str());
        return Err(BlobError::Invalid(format!(
            "the region of {place} is none: letters, digits and hyphens only"
        )));
    }
    let bucket = address.container.first().map_or("", String::as_str);
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(region)
        .with_retry(patience())
        .with_disable_tagging(true)
        .with_virtual_hosted_style_request(options.virtual_hosted);
    if let Some(target) = &address.endpoint {
        let endpoint = if options.virtual_hosted {
            let scheme = if target.tls { "https" } else { "http" };
            format!("{scheme}://{bucket}.{}", target.server())
        } else {
            target.to_string()
        };
        builder = builder.with_endpoint(endpoint).with_allow_http(!target.tls);
    }
    if options.checksums {
        builder = builder.with_checksum_algorithm(Checksum::SHA256);
    }
    builder = match login {
        None => builder.with_skip_signature(true),
        Some(login) => {
            let keys = login.aws()?;
            let builder = builder.with_access_key_id(keys.id).with_secret_access_key(keys.secret);
            keys.token.into_iter().fold(builder, AmazonS3Builder::with_token)
        }
    };
    builder.with_http_connector(connector).build().map_err(|error| unusable(&error))
}

fn google(
    address: &Address,
    login: Option<&Login>,
    connector: Connector,
) -> Result<object_store::gcp::GoogleCloudStorage, BlobError> {
    let bucket = address.container.first().map_or("", String::as_str);
    let builder = GoogleCloudStorageBuilder::new().with_bucket_name(bucket).with_retry(patience());
    let builder = match login {
        None => builder.with_skip_signature(true),
        Some(login) => match login.text(&["access-token"])? {
            Some(token) => builder.with_bearer_token(token),
            None => builder.with_service_account_key(login.needed(&["credentials.json", "access-token"])?),
        },
    };
    builder.with_http_connector(connector).build().map_err(|_| {
        // The library's words quote what it cannot read.
        let place = login.map_or("the store", |login| &login.place);
        BlobError::Credentials(format!("{place}: the service account's key cannot be read"))
    })
}

fn azure(
    address: &Address,
    login: Option<&Login>,
    connector: Connector,
) -> Result<object_store::azure::MicrosoftAzure, BlobError> {
    let [account, container] = address.container.as_slice() else {
        return Err(BlobError::Invalid(format!("{address} names no account and container")));
    };
    let builder = MicrosoftAzureBuilder::new()
        .with_account(account)
        .with_container_name(container)
        .with_disable_tagging(true)
        .with_retry(patience());
    let endpoint = match (&address.endpoint, login) {
        // A server of one's own has the account in the path.
        (Some(target), _) => Some(format!("{target}/{account}")),
        (None, Some(login)) => login.azure_cloud()?.map(|host| format!("https://{account}.{host}")),
        (None, None) => None,
    };
    let plain = address.endpoint.as_ref().is_some_and(|target| !target.tls);
    let builder =
        endpoint.into_iter().fold(builder.with_allow_http(plain), MicrosoftAzureBuilder::with_endpoint);
    let builder = match login {
        None => builder.with_skip_signature(true),
        Some(login) => builder.with_access_key(login.needed(&["storage-key"])?),
    };
    builder.with_http_connector(connector).build().map_err(|_| {
        let place = login.map_or("the store", |login| &login.place);
        BlobError::Credentials(format!("{place}: the storage key cannot be read"))
    })
}

/// The directory, or the one above it: a namespace's own is made with its first object. More may not be missing, for a claim that is not
/// mounted is no empty one.
fn directory(address: &Address) -> Result<(Backend, Path), BlobError> {
    let path = PathBuf::from(format!("/{}", address.prefix.join("/")));
    let missing = path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    let there = path.parent().filter(|_| missing).unwrap_or(&path);
    // A grant is for names; what lies behind a link was not granted.
    let real = there.canonicalize().map_err(|error| {
        BlobError::NotFound(format!("{}: {}", there.display(), crate::error_text::go_words(&error)))
    })?;
    if real != there {
        return Err(BlobError::Denied(format!("{} leads to {}; name that", there.display(), real.display())));
    }
    let rest = path.strip_prefix(there).unwrap_or(&path).to_string_lossy().into_owned();
    let store = LocalFileSystem::new_with_prefix(&real).map_err(|error| unusable(&error))?.with_fsync(true);
    Ok((Backend::Directory(Arc::new(store), real), key(&rest)?))
}

#[cfg(test)]
mod tests {
    use object_store::ObjectStoreExt as _;
    use object_store::memory::InMemory;

    use super::*;

    #[test]
    fn keys_stay_below_the_prefix_and_come_back_as_they_were() {
        let backend = Backend::Remote(Arc::new(InMemory::new()));
        let store = Store::of("s3://b/backups/shop".parse().unwrap(), backend).unwrap();
        let path = store.path("etcd/v7_2026").unwrap();
        assert_eq!(path.as_ref(), "backups/shop/etcd/v7_2026");
        assert_eq!(store.key(&path), "etcd/v7_2026");
        assert_eq!(store.below("etcd/").unwrap().unwrap().as_ref(), "backups/shop/etcd");
        for key in ["", "..", "a/../b", "/a", "a//b", "a#1", "a\u{7}", "a%2e"] {
            assert!(matches!(store.path(key), Err(BlobError::Invalid(_))), "{key:?}");
        }
    }

    #[test]
    fn a_directory_that_is_a_link_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let real = base.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("there")).unwrap();
        std::os::unix::fs::symlink(real.join("there"), real.join("link")).unwrap();
        let open = |name: &str| directory(&format!("file://{}/{name}", real.display()).parse().unwrap());
        assert!(open("there").is_ok());
        assert!(matches!(open("link"), Err(BlobError::Denied(_))));
        assert!(matches!(open("link/below"), Err(BlobError::Denied(_))));
        assert!(matches!(open("not-mounted/shop"), Err(BlobError::NotFound(_))));
    }

    #[tokio::test]
    async fn a_directory_that_is_missing_is_empty_and_is_made_with_its_first_object() {
        let base = tempfile::tempdir().unwrap();
        let real = base.path().canonicalize().unwrap();
        let open = || {
            let address = format!("file://{}/shop", real.display()).parse().unwrap();
            let (backend, prefix) = directory(&address).unwrap();
            Store { address, backend, prefix }
        };
        let (store, below) = (open(), open().below("").unwrap());
        let path = store.path("a/1").unwrap();
        assert!(matches!(store.objects().head(&path).await, Err(object_store::Error::NotFound { .. })));
        let found: Vec<_> =
            futures::TryStreamExt::try_collect(store.objects().list(below.as_ref())).await.unwrap();
        assert!(found.is_empty() && !real.join("shop").exists(), "{found:?}");
        store.objects().put(&path, "x".into()).await.unwrap();
        assert_eq!(std::fs::read(real.join("shop/a/1")).unwrap(), b"x");
        let later = open();
        assert_eq!(later.objects().head(&later.path("a/1").unwrap()).await.unwrap().size, 1);
    }
}
