//! From a pod's pipe through the host into a real server that speaks like S3, and back: with the program that Jobs run, and in memory
//! that does not grow with the stream.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use pilothouse::blob::store::{Options, Store};
use pilothouse::cluster::fence::Fence;
use pilothouse::handover::Stored;
use pilothouse::handover::authority::Authority;
use pilothouse::handover::serve::serve;
use pilothouse::handover::table::{Errand, Handovers, Metrics, Order, Ticket};
use pilothouse::health::tls::TlsListener;
use pilothouse::object::{Gvk, ObjectKey};
use pilothouse_testbed::object_store::{ObjectStore, SECRET_KEY};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

use crate::s3;

const MIB: usize = 1024 * 1024;
/// Of the stream.
const SIZE: usize = 512 * MIB;
/// What either end may take for it. A stream that was gathered would be eight times as much.
const MOST: usize = 64 * MIB;

async fn table() -> Arc<Handovers> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (authority, certificate) = Authority::new(&url).unwrap();
    let (table, _) = Handovers::new(authority, Fence::default(), Metrics::default());
    tokio::spawn(serve(TlsListener::new(listener, certificate).unwrap(), Arc::clone(&table)));
    table
}

/// A pod: the volume that its containers share, and the Secret.
struct Pod {
    directory: tempfile::TempDir,
}

impl Pod {
    async fn with(table: &Arc<Handovers>, name: &str, errand: Errand) -> Self {
        let gvk = Arc::new(Gvk::new("backup.pilothouse.dev", "v1alpha1", "Backup"));
        let owner = ObjectKey::new(gvk, Some("shop"), "db");
        let time = Duration::from_hours(1);
        let order = Order { task: String::new(), errand, time, plugin: "backup".to_owned() };
        let Ticket { url, token, certificate } = table.open(&owner, name, order).await.unwrap();
        let pod = Self { directory: tempfile::tempdir().unwrap() };
        let entries = [("url", url.as_str()), ("token", token.reveal()), ("ca.crt", &certificate)];
        for (name, text) in entries {
            fs::write(pod.path(name), text).unwrap();
        }
        pod.run("pipe", &[&pod.text("data")]);
        pod
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn run(&self, subcommand: &str, args: &[&str]) {
        let ended =
            Command::new(env!("CARGO_BIN_EXE_pilothouse")).arg(subcommand).args(args).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
    }

    /// The container that talks to the host.
    fn begin(&self, subcommand: &str, args: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pilothouse"));
        command.arg(subcommand).args(["--stream", &self.text("data"), "--status", &self.text("status")]);
        command.args(["--token-file", &self.text("token"), "--ca-file", &self.text("ca.crt")]);
        command.args(["--termination-log", &self.text("word"), "--patience", "5s"]);
        command.args(["--url", &fs::read_to_string(self.path("url")).unwrap()]).args(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn word(&self) -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(self.path("word")).unwrap()).unwrap()
    }
}

/// Bytes of memory that a process has for its share, files of code included.
fn memory(process: &str) -> usize {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap() * 1024
}

/// How much is sent: more with `PILOTHOUSE_TEST_STREAM_MIB`.
fn size() -> usize {
    let told = std::env::var("PILOTHOUSE_TEST_STREAM_MIB").ok();
    told.map_or(SIZE, |mib| mib.parse::<usize>().expect("a number of mebibytes") * MIB)
}

/// No two mebibytes are the same.
fn piece(number: usize) -> Vec<u8> {
    (0..MIB / 8)
        .flat_map(|word| (number * MIB + word).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes())
        .collect()
}

/// A database's tool, and what the host and the program beside it grew to.
fn dump(pod: &Pod, uploading: &Child) -> (String, usize, usize) {
    let before = memory("self");
    let mut pipe = OpenOptions::new().write(true).open(pod.path("data")).unwrap();
    let (mut digest, mut grown, mut beside) = (Sha256::new(), 0, 0);
    for number in 0..size() / MIB {
        let piece = piece(number);
        digest.update(&piece);
        if pipe.write_all(&piece).is_err() {
            // Why the reader left is in its own words.
            break;
        }
        grown = grown.max(memory("self").saturating_sub(before));
        beside = beside.max(memory(&uploading.id().to_string()));
    }
    fs::write(pod.path("status"), "0").unwrap();
    (hex(&digest.finalize()), grown, beside)
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn restored(pod: &Pod) -> (String, usize) {
    let before = memory("self");
    let mut pipe = File::open(pod.path("data")).unwrap();
    let (mut digest, mut buffer, mut grown) = (Sha256::new(), vec![0; MIB], 0);
    loop {
        let read = pipe.read(&mut buffer).unwrap();
        if read == 0 {
            return (hex(&digest.finalize()), grown);
        }
        digest.update(&buffer[..read]);
        grown = grown.max(memory("self").saturating_sub(before));
    }
}

async fn ended(child: Child) -> Output {
    tokio::task::spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap()
}

fn store(server: &ObjectStore) -> Store {
    let url = format!("s3+http://{}/backups/shop", server.address());
    s3::open(&url, &Options::default(), &s3::login(SECRET_KEY), None)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "half a gigabyte; memory is measured, so nothing runs beside it"]
async fn a_long_stream_of_a_job_passes_in_little_memory_and_comes_back_whole() {
    let Some((_directory, server)) = s3::server(|directory| ObjectStore::open(directory, "backups")) else {
        return;
    };
    let (table, store) = (table().await, store(&server));
    let path = store.path("db/1").unwrap();
    let errand = Errand::Upload { store: store.clone(), path: path.clone(), most: u64::MAX };
    let pod = Pod::with(&table, "dump", errand).await;
    let uploading = pod.begin("upload", &[]);
    let tool = |pod: Pod, uploading: Child| (dump(&pod, &uploading), pod, uploading);
    let ((sha256, grown, beside), pod, uploading) =
        tokio::task::spawn_blocking(move || tool(pod, uploading)).await.unwrap();
    let output = ended(uploading).await;
    assert!(output.status.success(), "{output:?}");
    eprintln!(
        "{} MiB up: the PSS of the host grew by {} KiB, upload had {} KiB",
        size() / MIB,
        grown >> 10,
        beside >> 10
    );
    let stored: Stored = serde_json::from_value(pod.word()).unwrap();
    assert_eq!(stored, Stored { size: size() as u64, sha256: sha256.clone() });
    assert!(memory("self") > 0 && beside > 0, "nothing was measured");
    assert!(grown < MOST && beside < MOST, "the host grew by {grown} bytes, the program has {beside}");

    let pod = Pod::with(&table, "trial", Errand::Download { store, path }).await;
    let downloading = pod.begin("download", &["--sha256", &sha256, "--size", &size().to_string()]);
    let (back, pod) = tokio::task::spawn_blocking(|| (restored(&pod), pod)).await.unwrap();
    let output = ended(downloading).await;
    assert!(output.status.success(), "{output:?}");
    eprintln!("{} MiB down: the PSS of the host grew by {} KiB", size() / MIB, back.1 >> 10);
    assert_eq!((back.0, fs::read_to_string(pod.path("status")).unwrap().as_str()), (sha256, "0"));
    assert!(back.1 < MOST, "the host grew by {} bytes", back.1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_fails_leaves_no_object_and_no_parts_in_the_store() {
    let Some((_directory, server)) = s3::server(|directory| ObjectStore::open(directory, "backups")) else {
        return;
    };
    let (table, store) = (table().await, store(&server));
    let errand = Errand::Upload { store: store.clone(), path: store.path("db/1").unwrap(), most: u64::MAX };
    let pod = Pod::with(&table, "dump", errand).await;
    let uploading = pod.begin("upload", &[]);
    let (data, status) = (pod.path("data"), pod.path("status"));
    let tool = move || {
        let mut pipe = OpenOptions::new().write(true).open(data).unwrap();
        (0..40).for_each(|number| pipe.write_all(&piece(number)).unwrap());
        fs::write(status, "3").unwrap();
    };
    tokio::task::spawn_blocking(tool).await.unwrap();
    let output = ended(uploading).await;
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(pod.word()["reason"], "SourceFailed");
    table.close_all().await;
    let left = store.objects().list(None);
    let left: Vec<_> = futures::TryStreamExt::try_collect(left).await.unwrap();
    assert!(left.is_empty(), "{left:?}");
}
