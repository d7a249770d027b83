//! Init containers of a first member that begins with the data of a snapshot.
//!
//! They may run again, after a reboot of the node for example: the snapshot is restored beside the data and put in its place
//! only if there is none yet.

use etcd_api::names;
use serde_json::{Value, json};

use super::{DATA_DIRECTORY, DATA_MOUNT, DATA_VOLUME, PROGRAMS, flags::initial_cluster, pod::PodRequest};
use crate::{naming::Place, tls::Use, version::Version};

/// Where a snapshot comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Snapshot {
    /// A member that is still alive, at this address of its clients.
    Survivor {
        /// Where it is found.
        endpoint: String,
    },
    /// A file that somebody else sends, by `POST` to `/cgi-bin/snapshot` at the port of clients.
    Artefact {
        /// SHA-256 of the file, in lower-case hexadecimal. Anything else is refused.
        sha256: String,
    },
}

/// How far the revision is moved, so that no client takes old data for new: `etcdutl`'s own recommendation.
const REVISION_BUMP: i64 = 1_000_000_000;
const SNAPSHOT: &str = "/var/etcd/snapshot.db";
const RESTORED: &str = "/var/etcd/restored";
const RECEIVER: &str = "/var/etcd/receiver";

/// The init containers, in the order in which they run.
pub(super) fn init_containers(request: &PodRequest<'_>, token: &str, snapshot: &Snapshot) -> Vec<Value> {
    let clear = format!("rm -rf {RESTORED} {SNAPSHOT}");
    let place = format!(
        "if [ ! -e {DATA_DIRECTORY}/member ]; then rm -rf {DATA_DIRECTORY} && mv {RESTORED} {DATA_DIRECTORY}; fi; rm -rf {RESTORED} {SNAPSHOT}"
    );
    vec![
        shell(request, "clear-datadir", &clear),
        fetch(request, snapshot),
        container(request, "restore-datadir", &request.plan.image(request.version), &restore(request, token)),
        shell(request, "place-datadir", &place),
    ]
}

fn fetch(request: &PodRequest<'_>, snapshot: &Snapshot) -> Value {
    match snapshot {
        Snapshot::Survivor { endpoint } => {
            let mut command = vec![format!("{PROGRAMS}/etcdctl"), format!("--endpoints={endpoint}")];
            if request.plan.tls.clients() {
                let (_, directory) = Use::Client.volume();
                let [certificate, key, authority] = Use::Client.keys();
                command.extend([
                    format!("--cert={directory}/{certificate}"),
                    format!("--key={directory}/{key}"),
                    format!("--cacert={directory}/{authority}"),
                ]);
            }
            command.extend(["snapshot", "save", SNAPSHOT].map(str::to_owned));
            let mut fetch =
                container(request, "fetch-backup", &request.plan.image(request.version), &command);
            if let (Some(mounts), true) =
                (fetch.get_mut("volumeMounts").and_then(Value::as_array_mut), request.plan.tls.clients())
            {
                let (volume, directory) = Use::Client.volume();
                mounts.push(json!({"name": volume, "mountPath": directory, "readOnly": true}));
            }
            fetch
        }
        Snapshot::Artefact { sha256 } => shell(request, "fetch-backup", &receive(sha256)),
    }
}

/// A server for one file: whoever sends it needs no access to the pod, and the pod none to where it is kept. It is there as long as the
/// file is not.
fn receive(sha256: &str) -> String {
    let port = names::CLIENT_PORT;
    let (part, handler) = (format!("{SNAPSHOT}.part"), format!("{RECEIVER}/cgi-bin/snapshot"));
    let check = format!("echo '{sha256}  {part}' | sha256sum -c - > /dev/null");
    let keep = format!("mv {part} {SNAPSHOT}; echo 'Status: 200 OK'");
    let refuse = format!("rm -f {part}; echo 'Status: 422 Unprocessable Entity'");
    [
        format!("rm -rf {RECEIVER} && mkdir -p {RECEIVER}/cgi-bin"),
        format!("cat > {handler} <<'END'\n#!/bin/sh\ncat > {part}\nif {check}; then {keep}; else {refuse}; fi\necho\nEND"),
        format!("chmod 755 {handler}"),
        format!("httpd -f -p {port} -h {RECEIVER} & server=$!"),
        // Its answer is on its way for a moment after the file is there.
        format!("until [ -e {SNAPSHOT} ]; do sleep 1; done; sleep 1; kill $server; rm -rf {RECEIVER}"),
    ]
    .join("\n")
}

/// The restore tool of the version that will run on the data.
fn restore(request: &PodRequest<'_>, token: &str) -> Vec<String> {
    let place = Place { cluster: &request.cluster.name, namespace: &request.cluster.namespace };
    let member = request.member.name.as_str();
    let peers = request.plan.tls.peers();
    let tool = if request.version.minor >= 5 { "etcdutl" } else { "etcdctl" };
    let mut command = vec![
        format!("{PROGRAMS}/{tool}"),
        "snapshot".to_owned(),
        "restore".to_owned(),
        SNAPSHOT.to_owned(),
        format!("--data-dir={RESTORED}"),
        format!("--name={member}"),
        format!("--initial-cluster={}", initial_cluster(place, peers, [member])),
        format!("--initial-cluster-token={token}"),
        format!("--initial-advertise-peer-urls={}", place.peer_url(member, peers)),
    ];
    if moves_revision(request.version) {
        command.push(format!("--bump-revision={REVISION_BUMP}"));
        command.push("--mark-compacted".to_owned());
    }
    command
}

/// Does the restore tool of this version move revisions on? That of 3.5 has done so since 3.5.10.
fn moves_revision(version: Version) -> bool {
    version.minor >= 6 || version.minor == 5 && version.patch >= 10
}

/// The revision that data has at least which was restored by the tool of this version from a snapshot at this revision. The tool moves
/// the newest revision on that it finds in the file. Before 3.5.16 nothing is left there of keys that were deleted last when history was
/// forgotten after that, so what it finds may be older than the snapshot.
pub(super) fn restored_revision(snapshot: i64, version: Version) -> i64 {
    let keeps_deletions = version.minor >= 6 || version.minor == 5 && version.patch >= 16;
    snapshot.saturating_add(if keeps_deletions { REVISION_BUMP } else { 0 })
}

/// The longest file that a pod takes: busybox' `httpd` refuses a request whose length is not an `int`.
const LONGEST_FILE: i64 = i32::MAX as i64;

/// Why no pod takes a snapshot of so many bytes, if none does.
pub fn too_long(bytes: i64) -> Option<String> {
    let too_long = bytes > LONGEST_FILE;
    too_long.then(|| {
        format!("the backup has {bytes} bytes, and more than {LONGEST_FILE} cannot be sent to a pod")
    })
}

pub(super) fn shell(request: &PodRequest<'_>, name: &str, script: &str) -> Value {
    let command = ["/bin/sh", "-c", script].map(str::to_owned);
    container(request, name, &request.plan.pod.busybox_image, &command)
}

pub(super) fn container(request: &PodRequest<'_>, name: &str, image: &str, command: &[String]) -> Value {
    let mut container = json!({
        "name": name,
        "image": image,
        "command": command,
        "volumeMounts": [{"name": DATA_VOLUME, "mountPath": DATA_MOUNT}],
    });
    if let (Some(resources), Some(fields)) = (&request.plan.pod.resources, container.as_object_mut()) {
        fields.insert("resources".to_owned(), json!(resources));
    }
    container
}
