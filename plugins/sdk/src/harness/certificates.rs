//! Certificates as the host makes them, at the cluster's virtual time.

use std::time::{Duration, SystemTime};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use x509_parser::pem::Pem;

use super::session::Session;
use crate::{
    ApplyItem, ApplyOptions, CertificateFacts, CertificateOrder, Host as _, IdentityError, IssuerOfTests,
    SecretEntry, SecretFacts,
};

/// Where the note stands.
const NOTE: &str = "pilothouse.dev/certificate";
/// How long an authority holds.
const AUTHORITY: Duration = Duration::from_hours(10 * 365 * 24);

impl IssuerOfTests for Session {
    fn inspect(&self, namespace: &str, name: &str) -> Result<Option<SecretFacts>, IdentityError> {
        let Some(secret) = self.used(namespace, name)? else { return Ok(None) };
        let entries = secret.get("data").and_then(Value::as_object).into_iter().flatten();
        let entries = entries.map(|(key, text)| SecretEntry { key: key.clone(), certificates: facts(text) });
        Ok(Some(SecretFacts { entries: entries.collect(), note: note_of(&secret) }))
    }

    fn issue(&self, order: &CertificateOrder) -> Result<(), IdentityError> {
        let (namespace, name) = &order.secret;
        if self.used(namespace, name)?.is_some_and(|found| note_of(&found).is_none()) {
            let why = format!("Secret {namespace}/{name} was not made by an order and is left as it is");
            return Err(IdentityError::Unusable(why));
        }
        let (certificate, key) = self.authority(namespace, &order.authority)?;
        let made = sign((&certificate, &key), order, self.now());
        let (own, own_key) = made.map_err(|error| IdentityError::Invalid(error.to_string()))?;
        let (certificate_entry, key_entry, authority_entry) = &order.entries;
        let data = json!({
            certificate_entry: STANDARD.encode(own),
            key_entry: STANDARD.encode(own_key),
            authority_entry: STANDARD.encode(certificate),
        });
        self.put(namespace, name, &data, Some(&order.note))
    }
}

impl Session {
    fn authority(&self, namespace: &str, name: &str) -> Result<(String, String), IdentityError> {
        let text = |secret: &Value, key: &str| {
            let encoded = secret.get("data")?.get(key)?.as_str()?;
            String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
        };
        if let Some(found) = self.used(namespace, name)? {
            let pair = text(&found, "ca.crt").zip(text(&found, "ca.key"));
            return pair.ok_or_else(|| {
                IdentityError::Unusable(format!("Secret {namespace}/{name} is no authority"))
            });
        }
        let made = authority(self.now()).map_err(|error| IdentityError::Unavailable(error.to_string()))?;
        let (certificate, key) = &made;
        self.put(
            namespace,
            name,
            &json!({"ca.crt": STANDARD.encode(certificate), "ca.key": STANDARD.encode(key)}),
            None,
        )?;
        Ok(made)
    }

    fn put(
        &self,
        namespace: &str,
        name: &str,
        data: &Value,
        note: Option<&str>,
    ) -> Result<(), IdentityError> {
        let mut metadata = json!({"namespace": namespace, "name": name});
        if let (Some(note), Some(fields)) = (note, metadata.as_object_mut()) {
            fields.insert("annotations".to_owned(), json!({NOTE: note}));
        }
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data});
        let answers = self.apply(&[ApplyItem::json(secret.to_string())], ApplyOptions::default());
        let failed = answers.into_iter().find_map(Result::err);
        failed.map_or(Ok(()), |error| Err(IdentityError::Denied(error.to_string())))
    }
}

fn note_of(secret: &Value) -> Option<String> {
    let annotations = secret.pointer("/metadata/annotations")?;
    annotations.get(NOTE).and_then(Value::as_str).map(str::to_owned)
}

fn facts(encoded: &Value) -> Vec<CertificateFacts> {
    let bytes = encoded.as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
    let pems = Pem::iter_from_buffer(&bytes).filter_map(Result::ok);
    pems.filter_map(|pem| {
        let parsed = pem.parse_x509().ok()?;
        let seconds = u64::try_from(parsed.validity().not_after.timestamp()).ok()?;
        let sha256 = Sha256::digest(&pem.contents).iter().map(|byte| format!("{byte:02x}")).collect();
        let not_after = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        Some(CertificateFacts { sha256, not_after, authority: parsed.is_ca() })
    })
    .collect()
}

fn authority(now: SystemTime) -> Result<(String, String), rcgen::Error> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    (params.not_before, params.not_after) = (now.into(), (now + AUTHORITY).into());
    let key = KeyPair::generate()?;
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

fn sign(
    (certificate, key): (&str, &str),
    order: &CertificateOrder,
    now: SystemTime,
) -> Result<(String, String), rcgen::Error> {
    let issuer = Issuer::from_ca_cert_pem(certificate, KeyPair::from_pem(key)?)?;
    let mut params = CertificateParams::new(order.names.clone())?;
    params.distinguished_name = DistinguishedName::new();
    (params.not_before, params.not_after) = (now.into(), (now + order.valid).into());
    let own = KeyPair::generate()?;
    Ok((params.signed_by(&own, &issuer)?.pem(), own.serialize_pem()))
}
