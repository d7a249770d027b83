//! Secrets for transport security: what the core asks of them, and certificates that are made. No key is seen here.

use std::{collections::BTreeMap, time::Duration};

use etcd_core::{
    naming::Place,
    observed::Secret,
    refusal::Refusal,
    tls::{self, Tls, Use},
};
use jiff::Timestamp;
use pilothouse_sdk::{
    CertificateOrder, Certificates, Error, Http, Identity, IdentityError, SecretEntry, SecretFacts, SecretKey,
};

/// What stands in the Secrets of a cluster, by name.
///
/// # Errors
/// A Secret that may not be looked at.
pub(crate) fn look(
    certificates: &Certificates,
    place: Place<'_>,
    tls: &Tls,
) -> Result<BTreeMap<String, Secret>, Error> {
    let mut found = BTreeMap::new();
    for (purpose, name) in &tls.secrets {
        if let Some(facts) = certificates.inspect(place.namespace, name)? {
            found.insert(name.clone(), secret(*purpose, facts));
        }
    }
    Ok(found)
}

fn secret(purpose: Use, facts: SecretFacts) -> Secret {
    let [_, _, authority] = purpose.keys();
    let is_authority = |entry: &&SecretEntry| entry.key == authority;
    let authorities = facts.entries.iter().filter(is_authority).flat_map(|entry| &entry.certificates);
    let authorities: Vec<&str> = authorities.map(|certificate| certificate.sha256.as_str()).collect();
    let own = facts.entries.iter().filter(|entry| !is_authority(entry)).flat_map(|entry| &entry.certificates);
    let expires = own.filter_map(|certificate| Timestamp::try_from(certificate.not_after).ok()).min();
    Secret {
        keys: facts.entries.iter().map(|entry| entry.key.clone()).collect(),
        authorities: authorities.join(","),
        expires,
        made_for: facts.note.unwrap_or_default(),
    }
}

/// Requests to members are sent as the operator, if members speak TLS to clients.
///
/// # Errors
/// Why its Secret is of no use.
pub(crate) fn introduce(http: &Http, place: Place<'_>, tls: &Tls) -> Result<(), IdentityError> {
    let Some(name) = tls.secrets.get(&Use::Client).filter(|_| tls.clients()) else { return Ok(()) };
    introduce_to(http, place.client_url("*", true), place.namespace, name)
}

/// Requests to these servers are sent as whoever the Secret says.
///
/// # Errors
/// Why the Secret is of no use.
pub(crate) fn introduce_to(
    http: &Http,
    servers: String,
    namespace: &str,
    secret: &str,
) -> Result<(), IdentityError> {
    let [certificate, key, authority] =
        Use::Client.keys().map(|entry| SecretKey::new(namespace, secret, entry));
    http.use_identity(&Identity {
        servers,
        authorities: Some(authority),
        client: Some((certificate, key)),
        server_name: None,
    })
}

/// Has a certificate made. All of a cluster have one authority, so that members and clients know each other.
///
/// # Errors
/// Who refused, and why.
pub(crate) fn issue(
    certificates: &Certificates,
    place: Place<'_>,
    order: &tls::CertificateOrder,
) -> Result<(), Refusal> {
    let [certificate, key, authority] = order.purpose.keys().map(str::to_owned);
    let order = CertificateOrder {
        secret: (place.namespace.to_owned(), order.secret.clone()),
        entries: (certificate, key, authority),
        authority: format!("{}-tls-authority", place.cluster),
        names: order.hosts.clone(),
        valid: Duration::try_from(order.validity).unwrap_or_default(),
        note: order.made_for.clone(),
    };
    certificates.issue(&order).map_err(|error| match error {
        IdentityError::Unavailable(why) => Refusal::Unanswered(why),
        other => Refusal::Forbidden(other.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use pilothouse_sdk::CertificateFacts;

    use super::*;

    fn entry(key: &str, certificates: &[(&str, u64, bool)]) -> SecretEntry {
        let certificates = certificates.iter().map(|(sha256, seconds, authority)| CertificateFacts {
            sha256: (*sha256).to_owned(),
            not_after: SystemTime::UNIX_EPOCH + Duration::from_secs(*seconds),
            authority: *authority,
        });
        SecretEntry { key: key.to_owned(), certificates: certificates.collect() }
    }

    #[test]
    fn a_secret_ends_with_its_first_own_certificate_and_trusts_all_of_its_authorities() {
        let facts = SecretFacts {
            entries: vec![
                entry("peer.crt", &[("own", 200, false), ("between", 100, true)]),
                entry("peer.key", &[]),
                entry("peer-ca.crt", &[("old", 50, true), ("new", 500, true)]),
            ],
            note: Some("digest".to_owned()),
        };
        let secret = secret(Use::Peer, facts);
        assert_eq!(secret.expires, Some(Timestamp::from_second(100).unwrap()));
        assert_eq!(secret.authorities, "old,new");
        assert_eq!(secret.made_for, "digest");
        assert_eq!(secret.keys.len(), 3);
    }
}
