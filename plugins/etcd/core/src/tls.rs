//! Transport security: which Secrets a cluster needs, and what is missing of them.

use std::collections::BTreeMap;

use etcd_api::{MemberSecrets, TlsPolicy};
use jiff::{SignedDuration, Timestamp};

use crate::{digest::digest, naming::Place, observed::Secret};

/// What a Secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Use {
    /// Members among themselves.
    Peer,
    /// Members towards clients.
    Server,
    /// The operator, and probes of people, towards members.
    Client,
}

impl Use {
    /// Certificate, key and authority in the Secret, in this order.
    pub fn keys(self) -> [&'static str; 3] {
        match self {
            Self::Peer => ["peer.crt", "peer.key", "peer-ca.crt"],
            Self::Server => ["server.crt", "server.key", "server-ca.crt"],
            Self::Client => ["etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt"],
        }
    }

    /// Name of the volume in a member's pod, and where it is mounted.
    pub fn volume(self) -> (&'static str, &'static str) {
        match self {
            Self::Peer => ("member-peer-tls", "/etc/etcdtls/member/peer-tls"),
            Self::Server => ("member-server-tls", "/etc/etcdtls/member/server-tls"),
            Self::Client => ("etcd-client-tls", "/etc/etcdtls/operator/etcd-tls"),
        }
    }
}

/// Transport security of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// Names of Secrets by use. Peers are secured if there is one for them, clients likewise.
    pub secrets: BTreeMap<Use, String>,
    /// The Secrets are made for the cluster, with certificates that are valid so long.
    pub managed: Option<SignedDuration>,
}

/// Certificates that have to be made, or made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateOrder {
    /// The Secret they go into.
    pub secret: String,
    /// What they are for, which says under which keys.
    pub purpose: Use,
    /// Names that the certificate is valid for.
    pub hosts: Vec<String>,
    /// How long it is valid.
    pub validity: SignedDuration,
    /// To be kept with the Secret (`Secret::made_for`): another value means that it has to be made anew.
    pub made_for: String,
}

impl Tls {
    /// Reads the policy.
    ///
    /// # Errors
    /// What does not fit together, in the words of the old operator where it had any.
    pub fn of(cluster: &str, policy: Option<&TlsPolicy>) -> Result<Self, String> {
        let Some(policy) = policy else { return Ok(Self::default()) };
        match (&policy.fixed, &policy.managed) {
            (None, None) | (Some(_), Some(_)) => Err("set either static or managed".to_owned()),
            (None, Some(managed)) => {
                let named = [(Use::Peer, "peer"), (Use::Server, "server"), (Use::Client, "client")];
                let secrets = named.map(|(purpose, part)| (purpose, format!("{cluster}-{part}-tls")));
                let validity = SignedDuration::from_hours(managed.validity_hours.clamp(1, 87_600));
                Ok(Self { secrets: BTreeMap::from(secrets), managed: Some(validity) })
            }
            (Some(fixed), None) => {
                let MemberSecrets { peer_secret, server_secret } = fixed.member.clone().unwrap_or_default();
                match (&server_secret, &fixed.operator_secret) {
                    (None, Some(_)) => {
                        return Err("operator secret set but member serverSecret not set".to_owned());
                    }
                    (Some(_), None) => {
                        return Err("member serverSecret set but operator secret not set".to_owned());
                    }
                    _ => {}
                }
                let named = [
                    (Use::Peer, peer_secret),
                    (Use::Server, server_secret),
                    (Use::Client, fixed.operator_secret.clone()),
                ];
                let secrets =
                    named.into_iter().filter_map(|(purpose, name)| Some((purpose, name?))).collect();
                Ok(Self { secrets, managed: None })
            }
        }
    }

    /// Do peers speak TLS?
    pub fn peers(&self) -> bool {
        self.secrets.contains_key(&Use::Peer)
    }

    /// Do clients?
    pub fn clients(&self) -> bool {
        self.secrets.contains_key(&Use::Server)
    }

    /// What is missing in the Secrets, one sentence for each; none when everything is there.
    pub fn missing(&self, secrets: &BTreeMap<String, Secret>) -> Vec<String> {
        let mut missing = Vec::new();
        for (purpose, name) in &self.secrets {
            let Some(secret) = secrets.get(name) else {
                missing.push(format!("the Secret {name} is not there"));
                continue;
            };
            let lacking: Vec<&str> =
                purpose.keys().into_iter().filter(|key| !secret.keys.contains(*key)).collect();
            if !lacking.is_empty() {
                missing.push(format!("the Secret {name} lacks {}", lacking.join(", ")));
            }
        }
        missing
    }

    /// Digest of the authorities that members trust. They read them once, when they start; certificates at every handshake.
    pub fn trust(&self, secrets: &BTreeMap<String, Secret>) -> String {
        let authorities = |name: &String| secrets.get(name).map(|secret| secret.authorities.clone());
        let all: BTreeMap<&str, String> = [Use::Peer, Use::Server]
            .iter()
            .filter_map(|purpose| Some((purpose.volume().0, authorities(self.secrets.get(purpose)?)?)))
            .collect();
        if all.is_empty() { String::new() } else { digest(&serde_json::json!(all)) }
    }

    /// The first certificate that has to be made, for a cluster whose certificates are made for it.
    pub fn order(
        &self,
        place: Place<'_>,
        secrets: &BTreeMap<String, Secret>,
        now: Timestamp,
    ) -> Option<CertificateOrder> {
        let validity = self.managed?;
        self.secrets.iter().find_map(|(purpose, name)| {
            let hosts = hosts(place, *purpose);
            let made_for = digest(&serde_json::json!({"hosts": hosts, "seconds": validity.as_secs()}));
            let stands = secrets.get(name).is_some_and(|secret| {
                secret.made_for == made_for
                    && purpose.keys().into_iter().all(|key| secret.keys.contains(key))
                    && secret.expires.is_some_and(|end| now < renewal(end, validity))
            });
            let order =
                || CertificateOrder { secret: name.clone(), purpose: *purpose, hosts, validity, made_for };
            (!stands).then(order)
        })
    }

    /// When the next certificate has to be made anew.
    pub fn next_renewal(&self, secrets: &BTreeMap<String, Secret>) -> Option<Timestamp> {
        let validity = self.managed?;
        let ends = self.secrets.values().filter_map(|name| secrets.get(name)?.expires);
        ends.map(|end| renewal(end, validity)).min()
    }
}

/// A third of its time before it ends.
fn renewal(end: Timestamp, validity: SignedDuration) -> Timestamp {
    end.saturating_sub(validity / 3).unwrap_or(end)
}

/// The names a certificate is valid for: all members, present and future, and the Services.
///
/// Members look each other up backwards, so peers need the wildcard with the cluster's domain as well; and each member's
/// gateway is a client of the member itself, by `localhost`.
fn hosts(place: Place<'_>, purpose: Use) -> Vec<String> {
    let (cluster, namespace) = (place.cluster, place.namespace);
    let members = [
        format!("*.{cluster}.{namespace}.svc"),
        format!("*.{cluster}.{namespace}.svc.cluster.local"),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
    ];
    match purpose {
        Use::Client => vec!["localhost".to_owned()],
        Use::Peer => members.to_vec(),
        Use::Server => {
            let service = place.client_service();
            let services = [
                service.clone(),
                format!("{service}.{namespace}"),
                format!("{service}.{namespace}.svc"),
                format!("{service}.{namespace}.svc.cluster.local"),
            ];
            members.into_iter().chain(services).collect()
        }
    }
}
