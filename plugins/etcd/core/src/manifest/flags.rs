//! The command line of etcd.

use std::fmt::Display;

use etcd_api::names;

use super::{
    DATA_DIRECTORY, PROGRAMS,
    pod::{PodRequest, Start},
};
use crate::{naming::Place, tls::Use, version::Version};

/// The command line of a member.
pub(super) fn command(request: &PodRequest<'_>) -> Vec<String> {
    let PodRequest { cluster, plan, member, version, start, .. } = request;
    let place = Place { cluster: &cluster.name, namespace: &cluster.namespace };
    let (peers, clients) = (plan.tls.peers(), plan.tls.clients());
    let mut line = Line(vec![format!("{PROGRAMS}/etcd")]);
    line.option("data-dir", DATA_DIRECTORY);
    line.option("name", &member.name);
    line.option("initial-advertise-peer-urls", place.peer_url(&member.name, peers));
    line.option("listen-peer-urls", listen(peers, names::PEER_PORT));
    line.option("listen-client-urls", listen(clients, names::CLIENT_PORT));
    line.option("advertise-client-urls", place.client_url(&member.name, clients));
    line.option("listen-metrics-urls", listen(false, names::METRICS_PORT));
    match start {
        Start::Seed { token, .. } => {
            line.option("initial-cluster", initial_cluster(place, peers, [member.name.as_str()]));
            line.option("initial-cluster-state", "new");
            line.option("initial-cluster-token", token);
        }
        Start::Existing { members } => {
            line.option("initial-cluster", initial_cluster(place, peers, members.iter().map(String::as_str)));
            line.option("initial-cluster-state", "existing");
        }
    }
    transport(&mut line, request);
    options(&mut line, request);
    if member.claim {
        corruption_checks(&mut line, *version);
    }
    line.0
}

struct Line(Vec<String>);

impl Line {
    fn option(&mut self, name: &str, value: impl Display) {
        self.0.push(format!("--{name}={value}"));
    }
}

fn listen(secure: bool, port: u16) -> String {
    format!("{}://0.0.0.0:{port}", if secure { "https" } else { "http" })
}

/// `name=address` of each member, as etcd wants to be told of its peers.
pub(super) fn initial_cluster<'a>(
    place: Place<'_>,
    secure: bool,
    members: impl IntoIterator<Item = &'a str>,
) -> String {
    let members = members.into_iter().map(|member| format!("{member}={}", place.peer_url(member, secure)));
    members.collect::<Vec<_>>().join(",")
}

fn transport(line: &mut Line, request: &PodRequest<'_>) {
    let pairs = [(Use::Peer, "peer-"), (Use::Server, "")];
    for (purpose, prefix) in
        pairs.into_iter().filter(|(purpose, _)| request.plan.tls.secrets.contains_key(purpose))
    {
        let (_, directory) = purpose.volume();
        let [certificate, key, authority] = purpose.keys();
        line.option(&format!("{prefix}client-cert-auth"), "true");
        line.option(&format!("{prefix}trusted-ca-file"), format!("{directory}/{authority}"));
        line.option(&format!("{prefix}cert-file"), format!("{directory}/{certificate}"));
        line.option(&format!("{prefix}key-file"), format!("{directory}/{key}"));
    }
}

fn options(line: &mut Line, request: &PodRequest<'_>) {
    let options = &request.plan.options;
    if let (Some(mode), Some(retention)) = (options.auto_compaction_mode, &options.auto_compaction_retention)
    {
        line.option("auto-compaction-mode", mode.as_str());
        line.option("auto-compaction-retention", retention);
    }
    let numbers = [
        ("quota-backend-bytes", options.quota_backend_bytes),
        ("snapshot-count", options.snapshot_count),
        ("heartbeat-interval", options.heartbeat_interval_ms),
        ("election-timeout", options.election_timeout_ms),
        ("max-request-bytes", options.max_request_bytes),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            line.option(name, number);
        }
    }
}

/// Members compare their data with the others' when they start and at each compaction. The options have other names from 3.6
/// on, so only members whose pod is made anew for a version have them: a pod without a claim keeps its command line for life.
fn corruption_checks(line: &mut Line, version: Version) {
    if version.minor >= 6 {
        line.option("feature-gates", "InitialCorruptCheck=true,CompactHashCheck=true");
    } else {
        line.option("experimental-initial-corrupt-check", "true");
        if version.minor == 5 && version.patch >= 5 {
            line.option("experimental-compact-hash-check-enabled", "true");
        }
    }
}
