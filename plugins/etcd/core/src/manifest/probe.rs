//! How the kubelet learns how a member is.

use etcd_api::names;
use serde_json::{Value, json};

use crate::version::Version;

/// Does etcd have `/livez` and `/readyz`? They came with late patches of 3.4 and 3.5.
fn has_readyz(version: Version) -> bool {
    match version.minor {
        0..=3 => false,
        4 => version.patch >= 29,
        5 => version.patch >= 11,
        _ => true,
    }
}

/// Alive: the member answers by itself. It does not depend on the others, or the loss of a quorum would have the kubelet kill
/// what is left.
pub(super) fn liveness(version: Version) -> Value {
    let path = if has_readyz(version) { "/livez" } else { "/health?serializable=true&exclude=NOSPACE" };
    json!({
        "httpGet": get(path),
        "initialDelaySeconds": 10, "timeoutSeconds": 10, "periodSeconds": 60, "failureThreshold": 3,
    })
}

/// Started: as alive, asked every second, so that neither of the others begins before a large database is open.
pub(super) fn startup(version: Version) -> Value {
    let path = if has_readyz(version) { "/livez" } else { "/health?serializable=true&exclude=NOSPACE" };
    json!({"httpGet": get(path), "timeoutSeconds": 5, "periodSeconds": 1, "failureThreshold": 600})
}

/// Ready: the member reads what a majority agreed to, and votes.
pub(super) fn readiness(version: Version) -> Value {
    let path = if has_readyz(version) { "/readyz" } else { "/health?exclude=NOSPACE" };
    json!({"httpGet": get(path), "timeoutSeconds": 5, "periodSeconds": 5, "failureThreshold": 3})
}

/// Probes and metrics have a port without TLS.
fn get(path: &str) -> Value {
    json!({"path": path, "port": names::METRICS_PORT, "scheme": "HTTP"})
}
