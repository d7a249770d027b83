//! The members that a backup is taken from.

use etcd_api::{ClusterStatus, EtcdBackupSpec};
use etcd_core::{naming, observed::Status, spec::Plan, tls::Use};
use pilothouse_sdk::{Context, Error, ObjectRef, Resource as _};
use serde_json::Value;

use crate::{budget::Budget, gateway, object, object::ClusterObject, secrets};

/// Addresses of members, and the Secret of who one is to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) endpoints: Vec<String>,
    pub(crate) secret: Option<String>,
}

impl Source {
    /// The members that a spec names.
    ///
    /// # Errors
    /// What is wrong, for people, as the inner one; the outer one is worth a retry.
    pub(crate) fn of(
        ctx: &Context,
        spec: &EtcdBackupSpec,
        namespace: &str,
    ) -> Result<Result<Self, String>, Error> {
        let Some(cluster) = &spec.etcd_cluster else {
            let endpoints = spec.etcd_endpoints.iter().map(|text| resolve(text, namespace)).collect();
            return Ok(match endpoints {
                Ok(endpoints) => Ok(Self { endpoints, secret: spec.client_tls_secret.clone() }),
                Err(wrong) => Err(wrong),
            });
        };
        let reference = ObjectRef::new(object::kind(), namespace, cluster.name.as_str());
        let Some(found) = ctx.kube().get_ref::<Value>(&reference)? else {
            return Ok(Err(format!("there is no EtcdCluster {} in this namespace", cluster.name)));
        };
        let found = ClusterObject::from_json(found.to_string())?;
        Ok(Ok(of_cluster(&found)))
    }

    /// The member with the highest revision of those that answer and vote, and what it says.
    ///
    /// # Errors
    /// Why none answers.
    pub(crate) fn best(&self, ctx: &Context, namespace: &str) -> Result<(String, Status), String> {
        self.introduce(ctx, namespace)?;
        let (mut best, mut silent): (Option<(String, Status)>, Vec<String>) = (None, Vec::new());
        let budget = Budget::new(ctx);
        for (asked, endpoint) in self.endpoints.iter().enumerate() {
            match gateway::status_at(&ctx.http(), endpoint, budget.share(self.endpoints.len() - asked)) {
                Ok(status) if status.learner => silent.push(format!("{endpoint} is a learner")),
                Ok(status) if best.as_ref().is_none_or(|(_, other)| other.revision < status.revision) => {
                    best = Some((endpoint.clone(), status));
                }
                Ok(_) => {}
                Err(error) => silent.push(format!("{endpoint}: {error}")),
            }
        }
        let nobody = || match silent.is_empty() {
            true => "there is no member to take a snapshot from".to_owned(),
            false => format!("no member gives a snapshot: {}", silent.join("; ")),
        };
        best.ok_or_else(nobody)
    }

    /// Requests of this call are sent as whoever the Secret says.
    ///
    /// # Errors
    /// Why the Secret is of no use.
    pub(crate) fn introduce(&self, ctx: &Context, namespace: &str) -> Result<(), String> {
        let Some(secret) = &self.secret else { return Ok(()) };
        let mut secure = self.endpoints.iter().filter(|endpoint| endpoint.starts_with("https://"));
        secure
            .try_for_each(|endpoint| secrets::introduce_to(&ctx.http(), endpoint.clone(), namespace, secret))
            .map_err(|error| error.to_string())
    }
}

/// What is wrong with a Secret that would not be used, if it is: who wants to be known would talk to members in the clear.
pub(super) fn unused_secret(spec: &EtcdBackupSpec) -> Option<String> {
    let secret = spec.client_tls_secret.as_ref()?;
    let plain = spec.etcd_endpoints.iter().find(|endpoint| !endpoint.starts_with("https://"))?;
    Some(format!(
        "clientTLSSecret {secret:?} is of no use for {plain:?}: members are talked to without TLS there; write https:// or leave the Secret out"
    ))
}

/// Members of a cluster that are ready.
fn of_cluster(object: &ClusterObject) -> Source {
    let cluster = object.cluster();
    let tls = Plan::of(&cluster).map(|plan| plan.tls).unwrap_or_default();
    let status: ClusterStatus = serde_json::from_value(object.status.clone()).unwrap_or_default();
    let place = naming::Place { cluster: &cluster.name, namespace: &cluster.namespace };
    let endpoints = status.members.ready.iter().map(|member| place.client_url(member, tls.clients()));
    Source { endpoints: endpoints.collect(), secret: tls.secrets.get(&Use::Client).cloned() }
}

/// An address as it is written for somebody in the namespace of the backup: `http://example-client:2379`. The host is not there, so the
/// name is written out.
fn resolve(endpoint: &str, namespace: &str) -> Result<String, String> {
    let wrong = || {
        format!("etcdEndpoints: {endpoint:?} is no address of a member, such as http://example-client:2379")
    };
    let (scheme, rest) = endpoint.split_once("://").ok_or_else(wrong)?;
    if !["http", "https"].contains(&scheme) {
        return Err(wrong());
    }
    let server = rest.trim_end_matches('/');
    let (host, port) = server.rsplit_once(':').unwrap_or((server, "2379"));
    let labels: Vec<&str> = host.split('.').collect();
    let plain = |label: &&str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if !labels.iter().all(plain) || port.parse::<u16>().is_err() {
        return Err(wrong());
    }
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    let host = match labels.iter().position(|label| *label == "svc") {
        // The domain of the cluster behind it says nothing.
        Some(at) => labels.get(..=at).unwrap_or_default().join("."),
        None if is_address => host.to_owned(),
        None if labels.len() == 1 => format!("{host}.{namespace}.svc"),
        None if labels.last() == Some(&namespace) => format!("{host}.svc"),
        None => host.to_owned(),
    };
    Ok(format!("{scheme}://{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_as_it_is_known_in_the_namespace_is_written_out() {
        for (written, meant) in [
            ("http://example-client:2379", "http://example-client.apps.svc:2379"),
            ("http://example-client", "http://example-client.apps.svc:2379"),
            ("https://example-client.apps:2379/", "https://example-client.apps.svc:2379"),
            ("https://a.example.apps.svc:2379", "https://a.example.apps.svc:2379"),
            ("https://a.example.apps.svc.cluster.local:2379", "https://a.example.apps.svc:2379"),
            ("http://10.0.0.7:2379", "http://10.0.0.7:2379"),
            ("https://etcd.example.com:443", "https://etcd.example.com:443"),
        ] {
            assert_eq!(resolve(written, "apps").as_deref(), Ok(meant), "{written}");
        }
        for wrong in
            ["example-client:2379", "ftp://a:1", "http://", "http://a:b", "http://a b:1", "http://a/v3"]
        {
            assert!(resolve(wrong, "apps").is_err(), "{wrong}");
        }
    }
}
