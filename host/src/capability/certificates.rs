//! `certificates`: what everybody may know of Secrets with certificates, and new ones, whose keys no plugin sees.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::egress::refused;
use super::secret::{Named, entries, entry};
use crate::certificate::{self, CertificateError, Pair};
use crate::plugin::bindings::certificates::{self, Certificate, Entry, Facts, Order};
use crate::plugin::bindings::egress::{Error, SecretRef};
use crate::plugin::bindings::kube;
use crate::plugin::instance::HookState;

/// Says of a Secret what it was made for.
const NOTE: &str = "pilothouse.dev/certificate";
/// Entries of an authority, as `kubernetes.io/tls` and cert-manager name the first.
const AUTHORITY: [&str; 2] = ["ca.crt", "ca.key"];
const LONGEST_NOTE: usize = 1_024;

impl certificates::Host for HookState {
    async fn inspect(&mut self, secret: SecretRef) -> wasmtime::Result<Result<Option<Facts>, Error>> {
        Ok(self.inspect_secret(named(secret)).await)
    }

    async fn issue(&mut self, order: Order) -> wasmtime::Result<Result<(), Error>> {
        Ok(self.issue_certificate(order).await)
    }
}

fn named(SecretRef { namespace, name }: SecretRef) -> Named {
    Named { namespace, name }
}

impl HookState {
    async fn secret(&mut self, secret: &Named) -> Result<Option<Value>, Error> {
        let found = self.refer_to(&secret.namespace, &secret.name).await;
        found.map_err(|error| refused(secret, &error))
    }

    async fn inspect_secret(&mut self, secret: Named) -> Result<Option<Facts>, Error> {
        let Some(found) = self.secret(&secret).await? else { return Ok(None) };
        let all = entries(&found, &secret).map_err(|error| Error::Unusable(error.to_string()))?;
        let entries = all.into_iter().map(|(key, text)| {
            let certificates = certificate::facts(&text).into_iter().map(wit_certificate).collect();
            Entry { key, certificates }
        });
        Ok(Some(Facts { entries: entries.collect(), note: note_of(&found) }))
    }

    async fn issue_certificate(&mut self, order: Order) -> Result<(), Error> {
        let secret = named(order.secret);
        if order.note.len() > LONGEST_NOTE {
            return Err(Error::Invalid(format!("the note has more than {LONGEST_NOTE} bytes")));
        }
        // A Secret that people made may be of use to others; nothing of it is touched, its owner references neither.
        if self.secret(&secret).await?.is_some_and(|found| note_of(&found).is_none()) {
            return Err(Error::Unusable(format!("{secret} was not made by an order and is left as it is")));
        }
        let by = Named { namespace: secret.namespace.clone(), name: order.authority };
        let authority = self.authority(&by).await?;
        let valid = Duration::from_secs(order.valid_seconds);
        let pair = certificate::sign((&authority.0, &authority.1), &order.names, valid, SystemTime::now());
        let pair = pair.map_err(|error| unmade(&by, &error))?;
        let (certificate, key, trusted) = order.entries;
        let data = json!({
            certificate: STANDARD.encode(&pair.certificate),
            key: STANDARD.encode(&pair.key),
            trusted: STANDARD.encode(&authority.0),
        });
        let metadata =
            json!({"name": secret.name, "namespace": secret.namespace, "annotations": {NOTE: order.note}});
        let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data});
        self.context.put_secret(object).await.map_err(|error| refused(&secret, &error))
    }

    /// Certificate and key of an authority. One that is not there is made.
    async fn authority(&mut self, by: &Named) -> Result<(Vec<u8>, Vec<u8>), Error> {
        if let Some(found) = self.secret(by).await? {
            let [certificate, key] = AUTHORITY.map(|key| entry(&found, by, key));
            let unusable = |error: super::secret::EntryError| Error::Unusable(error.to_string());
            return Ok((certificate.map_err(unusable)?, key.map_err(unusable)?));
        }
        let made = certificate::authority(&by.name, SystemTime::now()).map_err(|error| unmade(by, &error))?;
        let Pair { certificate, key } = made;
        let object = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": by.name, "namespace": by.namespace},
            "data": {"ca.crt": STANDARD.encode(&certificate), "ca.key": STANDARD.encode(&key)},
        });
        // Created and never written over: whoever comes second takes the first one's.
        match self.context.create_secret(object).await {
            Ok(()) => Ok((certificate.into_bytes(), key.into_bytes())),
            Err(kube::Error::AlreadyExists(_)) => {
                Err(Error::Unavailable(format!("{by} was made by somebody else just now")))
            }
            Err(error) => Err(refused(by, &error)),
        }
    }
}

fn note_of(secret: &Value) -> Option<String> {
    let annotations = secret.pointer("/metadata/annotations")?;
    annotations.get(NOTE).and_then(Value::as_str).map(ToOwned::to_owned)
}

fn wit_certificate(facts: certificate::Facts) -> Certificate {
    Certificate {
        sha256: facts.sha256,
        not_after_ms: facts.not_after.saturating_mul(1_000),
        authority: facts.authority,
    }
}

fn unmade(by: &Named, error: &CertificateError) -> Error {
    match error {
        CertificateError::Order(why) => Error::Invalid(why.clone()),
        CertificateError::Authority(_) | CertificateError::Ended => Error::Unusable(format!("{by}: {error}")),
        CertificateError::Library(_) => Error::Unavailable(error.to_string()),
    }
}
