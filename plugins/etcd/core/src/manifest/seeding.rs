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
    /// A file that somebody else sends, by `POST` to `/cgi-bin/snapshot` at the port of clients: whole, or in pieces one after another,
    /// each with `offset=BYTES&size=BYTES` as query, where it begins and how long the file is.
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
    let handling = [
        "#!/bin/sh".to_owned(),
        "offset=0 size=$CONTENT_LENGTH".to_owned(),
        "case $QUERY_STRING in offset=*) size=${QUERY_STRING##*size=} offset=${QUERY_STRING#offset=} offset=${offset%%&*};; esac"
            .to_owned(),
        "answer() { echo \"Status: $1\"; echo; exit; }".to_owned(),
        "case $offset,$size in *[!0-9,]* | ,* | *,) cat > /dev/null; answer '400 Bad Request';; esac".to_owned(),
        format!("if [ $offset = 0 ]; then : > {part}; fi"),
        format!("if [ \"$(stat -c %s {part})\" != $offset ]; then cat > /dev/null; answer '409 Conflict'; fi"),
        format!("cat >> {part}"),
        format!("have=$(stat -c %s {part})"),
        "if [ $have != $size ] && [ $have = $((offset + CONTENT_LENGTH)) ]; then answer '202 Accepted'; fi".to_owned(),
        format!("if {check}; then mv {part} {SNAPSHOT}; answer '200 OK'; fi"),
        format!("rm -f {part}; answer '422 Unprocessable Entity'"),
    ];
    [
        format!("rm -rf {RECEIVER} {part} && mkdir -p {RECEIVER}/cgi-bin"),
        format!("cat > {handler} <<'END'\n{}\nEND", handling.join("\n")),
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

/// How much of a file is sent to a pod at once: busybox' `httpd` refuses a request whose length is no `int`.
pub const PIECE: u64 = 1 << 30;

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

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Read as _, Write as _},
        net::{TcpListener, TcpStream},
        process::{Child, Command},
    };

    use sha2::{Digest as _, Sha256};

    use super::*;

    /// The receiver of a pod, on this machine.
    struct Pod {
        script: Child,
        port: u16,
        directory: tempfile::TempDir,
    }

    impl Pod {
        /// None where there is no `httpd`.
        fn that_awaits(content: &[u8]) -> Option<Self> {
            let directory = tempfile::tempdir().unwrap();
            let is_there = Command::new("busybox")
                .arg("--list")
                .output()
                .is_ok_and(|list| String::from_utf8_lossy(&list.stdout).lines().any(|name| name == "httpd"));
            if !is_there {
                eprintln!("SKIPPED: there is no busybox with httpd on the PATH");
                return None;
            }
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let sha256: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
            let script =
                receive(&sha256).replace("/var/etcd", &directory.path().display().to_string()).replace(
                    &format!("httpd -f -p {}", names::CLIENT_PORT),
                    &format!("busybox httpd -f -p 127.0.0.1:{port}"),
                );
            let script = Command::new("/bin/sh").args(["-c", &script]).spawn().unwrap();
            let pod = Self { script, port, directory };
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                std::thread::yield_now();
            }
            Some(pod)
        }

        /// The status of the answer.
        fn post(&self, query: &str, body: &[u8]) -> String {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
            let length = body.len();
            let head = format!(
                "POST /cgi-bin/snapshot{query} HTTP/1.1\r\nHost: pod\r\nContent-Length: {length}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer.split(' ').nth(1).unwrap_or_default().to_owned()
        }

        fn snapshot(&self) -> Option<Vec<u8>> {
            fs::read(self.directory.path().join("snapshot.db")).ok()
        }
    }

    impl Drop for Pod {
        fn drop(&mut self) {
            let _ = fs::write(self.directory.path().join("snapshot.db"), "the script ends with it");
            let _ = self.script.wait();
        }
    }

    #[test]
    fn a_file_is_received_whole_or_in_pieces_and_nothing_else_is_kept() {
        let Some(pod) = Pod::that_awaits(b"0123456789") else { return };
        assert_eq!(pod.post("", b"0123456780"), "422", "another one");
        assert_eq!(pod.post("?offset=4&size=10", b"4567"), "409", "the beginning is missing");
        for wrong in ["?offset=-1&size=10", "?offset=&size=10", "?offset=0&size=$(id)", "?offset=0&size="] {
            assert_eq!(pod.post(wrong, b"0123"), "400", "{wrong}");
        }
        assert_eq!(pod.post("?offset=0&size=10", b"0123"), "202");
        assert_eq!(pod.post("?offset=8&size=10", b"89"), "409", "what is between is missing");
        assert_eq!(pod.post("?offset=0&size=10", b"0123"), "202", "begun anew");
        assert_eq!(pod.post("?offset=4&size=10", b"4567"), "202");
        assert_eq!(pod.snapshot(), None);
        assert_eq!(pod.post("?offset=8&size=10", b"89"), "200");
        assert_eq!(pod.snapshot().unwrap(), b"0123456789");
    }

    #[test]
    fn a_file_that_comes_in_one_request_needs_no_query() {
        let Some(pod) = Pod::that_awaits(b"content") else { return };
        assert_eq!(pod.post("", b"content"), "200");
        assert_eq!(pod.snapshot().unwrap(), b"content");
    }
}
