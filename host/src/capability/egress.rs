//! `egress`: under which identity a plugin's requests are sent, and why one failed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::charts::sentence;
use super::secret::{Named, entry};
use crate::egress::identity::{Pem, tls};
use crate::egress::place::Place;
use crate::plugin::bindings::egress::{self, Error};
use crate::plugin::bindings::kube;
use crate::plugin::instance::HookState;

/// Identities of one call: each is kept until it ends.
const MOST: usize = 64;

impl egress::Host for HookState {
    async fn use_identity(&mut self, identity: egress::Identity) -> wasmtime::Result<Result<(), Error>> {
        Ok(self.identify(identity).await)
    }

    async fn why(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(self.web.as_ref().and_then(|web| web.why()))
    }
}

/// Secrets that one identity names, each read once.
pub(super) type Known = BTreeMap<Named, Value>;

impl HookState {
    async fn identify(&mut self, identity: egress::Identity) -> Result<(), Error> {
        let invalid = |why: &dyn std::fmt::Display| Error::Invalid(why.to_string());
        let servers: Place = identity.servers.parse::<Place>().map_err(|error| invalid(&error))?;
        if !servers.is_tls() {
            return Err(invalid(&format!("{servers} is spoken to without TLS, where nobody is known")));
        }
        if self.web().identities() >= MOST {
            return Err(invalid(&"too many identities in one call; one for *.NAME serves many servers"));
        }
        let mut known = Known::new();
        let authorities = match identity.authorities {
            None => None,
            Some(key) => Some(self.pem(&mut known, key).await?),
        };
        let client = match identity.client {
            None => None,
            Some(pair) => {
                Some((self.pem(&mut known, pair.certificate).await?, self.pem(&mut known, pair.key).await?))
            }
        };
        let pair = client.as_ref().map(|(certificate, key)| (certificate, key));
        let roots = &self.context.egress.roots;
        let tls = tls(roots, authorities.as_ref(), pair, identity.server_name)
            .map_err(|error| Error::Unusable(error.to_string()))?;
        self.web().identify(servers, tls);
        Ok(())
    }

    /// One entry of a Secret.
    pub(super) async fn pem(&mut self, known: &mut Known, wanted: egress::SecretKey) -> Result<Pem, Error> {
        let egress::SecretRef { namespace, name } = wanted.secret;
        let secret = Named { namespace, name };
        if !known.contains_key(&secret) {
            let found = self.refer_to(&secret.namespace, &secret.name).await;
            let found = found.map_err(|error| refused(&secret, &error))?;
            let found = found.ok_or_else(|| Error::Unusable(format!("{secret} is not there")))?;
            known.insert(secret.clone(), found);
        }
        let text = entry(known.get(&secret).unwrap_or(&Value::Null), &secret, &wanted.key);
        let text = text.map_err(|error| Error::Unusable(error.to_string()))?;
        Ok(Pem { place: format!("{secret}, entry {}", wanted.key), text })
    }
}

pub(super) fn refused(secret: &Named, error: &kube::Error) -> Error {
    let said = format!("{secret} cannot be used: {}", sentence(error));
    match error {
        kube::Error::Denied(_) => Error::Denied(said),
        kube::Error::Invalid(_) => Error::Invalid(said),
        _ => Error::Unavailable(said),
    }
}
