//! Throw-away certificates: one authority for each cluster.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use time::{Duration, OffsetDateTime};

use crate::error::{Error, Result};

/// A cluster's authority, able to sign more certificates later.
#[derive(Debug)]
pub struct Authority {
    directory: PathBuf,
}

/// Files of a certificate and its key.
#[derive(Clone, Debug)]
pub struct Pair {
    /// PEM.
    pub certificate: PathBuf,
    /// PEM.
    pub key: PathBuf,
}

impl Authority {
    /// Makes a new authority in a directory.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn create(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "pilothouse testbed");
        valid_for_long(&mut params);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        write(&directory.join("ca.crt"), &certificate.pem())?;
        write(&directory.join("ca.key"), &key.serialize_pem())?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// An authority that was made before.
    pub fn open(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// The authority's own certificate.
    pub fn certificate(&self) -> PathBuf {
        self.directory.join("ca.crt")
    }

    /// The authority's key.
    pub fn key(&self) -> PathBuf {
        self.directory.join("ca.key")
    }

    /// A client certificate: `user` becomes the user's name, `groups` the groups. The same again replaces it.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn client(&self, file: &str, user: &str, groups: &[&str]) -> Result<Pair> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(file, params)
    }

    /// A server certificate for these names and addresses, good as a client certificate too.
    ///
    /// # Errors
    /// When a name is malformed or the directory cannot be written.
    pub fn server(&self, file: &str, common_name: &str, group: Option<&str>, names: &[&str]) -> Result<Pair> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, common_name);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        for name in names {
            params.subject_alt_names.push(match name.parse() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName((*name).try_into()?),
            });
        }
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(file, params)
    }

    fn sign(&self, file: &str, mut params: CertificateParams) -> Result<Pair> {
        valid_for_long(&mut params);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        let read = |path: PathBuf| fs::read_to_string(&path).map_err(Error::file(&path));
        let authority_key = KeyPair::from_pem(&read(self.key())?)?;
        let issuer = Issuer::from_ca_cert_pem(&read(self.certificate())?, authority_key)?;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        let pair = Pair {
            certificate: self.directory.join(format!("{file}.crt")),
            key: self.directory.join(format!("{file}.key")),
        };
        write(&pair.certificate, &certificate.pem())?;
        write(&pair.key, &key.serialize_pem())?;
        Ok(pair)
    }
}

/// A kubeconfig with the certificates inside, so that the file can be carried elsewhere.
///
/// # Errors
/// When a certificate cannot be read.
pub fn kubeconfig(server: &str, authority: &Path, pair: &Pair) -> Result<String> {
    let data = |path: &Path| fs::read(path).map(|bytes| STANDARD.encode(bytes)).map_err(Error::file(path));
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "testbed",
        "clusters": [{"name": "testbed", "cluster": {"server": server, "certificate-authority-data": data(authority)?}}],
        "users": [{"name": "user", "user": {
            "client-certificate-data": data(&pair.certificate)?, "client-key-data": data(&pair.key)?,
        }}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "user"}}],
    });
    serde_json::to_string_pretty(&config).map_err(|error| Error::Other(error.to_string()))
}

fn valid_for_long(params: &mut CertificateParams) {
    let now = OffsetDateTime::now_utc();
    // A clock that is a little behind must not refuse them.
    params.not_before = now - Duration::hours(1);
    params.not_after = now + Duration::days(365);
}

fn write(path: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes())).map_err(Error::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_carries_its_certificates() {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::create(dir.path()).unwrap();
        let pair = authority.client("admin", "admin", &["system:masters"]).unwrap();
        let text = kubeconfig("https://127.0.0.1:1", &authority.certificate(), &pair).unwrap();
        assert!(text.contains("client-key-data") && text.contains("https://127.0.0.1:1"));
    }
}
