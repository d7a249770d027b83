//! A second cluster: TLS between members and towards clients under certificates that the host makes, and data in claims.

use std::path::Path;

use anyhow::{Result, bail};

use crate::demo::look::Look;

const RESOURCE: &str = "etcdclusters/secure";
const MEMBERS: &str = "--selector=etcd_cluster=secure";
const SECRETS: [&str; 3] = ["secure-peer-tls", "secure-server-tls", "secure-client-tls"];
const EXAMPLE: &str = "apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: { name: secure }
spec:
  size: 3
  version: 3.6.16
  TLS: { managed: { validityHours: 48 } }
  pod:
    persistentVolumeClaimSpec:
      accessModes: [ReadWriteOnce]
      resources: { requests: { storage: 64Mi } }
";

/// Plays it.
///
/// # Errors
/// The step that was not seen.
pub(super) fn play(look: Look<'_>, work: &Path) -> Result<()> {
    let file = work.join("secure.yaml");
    std::fs::write(&file, EXAMPLE)?;
    look.kubectl(&["apply", "--filename", &file.display().to_string()])?;
    look.seen("a cluster with TLS and claims: three members are ready", || rests(look))?;
    with_certificate(look, &["put", "greeting", "hello"])?;
    if etcdctl(look, &[], &["get", "greeting"]).is_ok() {
        bail!("a client without a certificate was answered");
    }
    let (before, starts) = (certificates(look), restarts(look));
    look.patch(RESOURCE, r#"{"spec":{"TLS":{"managed":{"validityHours":72}}}}"#)?;
    look.seen("other certificates are asked for: all three Secrets have them", || {
        let now = certificates(look);
        before.iter().zip(&now).all(|(old, new)| old != new && !new.is_empty())
    })?;
    look.seen("and members serve under them, without a restart", || {
        let said = with_certificate(look, &["get", "greeting"]);
        said.is_ok_and(|said| said.contains("hello")) && rests(look) && restarts(look) == starts
    })?;
    let pods = look.kubectl(&["get", "pods", MEMBERS, "--output=jsonpath={.items[*].metadata.uid}"])?;
    look.kubectl(&["delete", "pods", MEMBERS, "--wait=false"])?;
    look.seen("all pods are deleted: the same members are back", || {
        let now = look.kubectl(&["get", "pods", MEMBERS, "--output=jsonpath={.items[*].metadata.uid}"]);
        let fresh = now.is_ok_and(|now| now.split_whitespace().all(|uid| !pods.contains(uid)));
        fresh && rests(look)
    })?;
    if !with_certificate(look, &["get", "greeting"])?.contains("hello") {
        bail!("what was written before is not there any more");
    }
    look.kubectl(&["delete", RESOURCE, "--timeout=60s"]).map(drop)
}

fn rests(look: Look<'_>) -> bool {
    let ready = look.value(RESOURCE, "{.status.members.ready[*]}").split_whitespace().count();
    ready == 3 && look.value(RESOURCE, "{.status.conditions[?(@.type==\"Ready\")].status}") == "True"
}

/// What stands in the Secrets now.
fn certificates(look: Look<'_>) -> Vec<String> {
    SECRETS.iter().map(|secret| look.value(&format!("secret/{secret}"), "{.data}")).collect()
}

fn restarts(look: Look<'_>) -> String {
    let each = "{range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount} {end}";
    look.kubectl(&["get", "pods", MEMBERS, &format!("--output=jsonpath={each}")]).unwrap_or_default()
}

/// The real etcdctl of a member's image, through the Service for clients, by the certificate that is mounted for people.
fn etcdctl(look: Look<'_>, identity: &[&str], arguments: &[&str]) -> Result<String> {
    let pods = look.kubectl(&["get", "pods", MEMBERS, "--output=name"])?;
    let Some(pod) = pods.lines().next() else { bail!("the cluster has no pod") };
    let directory = "/etc/etcdtls/operator/etcd-tls";
    let authority = format!("--cacert={directory}/etcd-client-ca.crt");
    let base = [
        "exec",
        pod,
        "--container=etcd",
        "--",
        "/usr/local/bin/etcdctl",
        "--endpoints=https://secure-client.demo.svc:2379",
        "--command-timeout=3s",
        &authority,
    ];
    look.access.kubectl(&[["--namespace", look.namespace].as_slice(), &base, identity, arguments].concat())
}

fn with_certificate(look: Look<'_>, arguments: &[&str]) -> Result<String> {
    let directory = "/etc/etcdtls/operator/etcd-tls";
    let (certificate, key) =
        (format!("--cert={directory}/etcd-client.crt"), format!("--key={directory}/etcd-client.key"));
    etcdctl(look, &[&certificate, &key], arguments)
}
