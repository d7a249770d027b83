//! Transfers: whole or not at all, whatever the other side does, in memory and in a directory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use http_body_util::BodyExt as _;
use object_store::ObjectStoreExt as _;
use object_store::memory::InMemory;
use pilothouse::blob::BlobError;
use pilothouse::blob::content::{Encoding, Proof};
use pilothouse::blob::store::{Backend, Options, Store};
use pilothouse::blob::table::{Metrics as TransferMetrics, Standing, Transfers};
use pilothouse::blob::transfer::{Carrier, Outcome, Outgoing, Sign, Task};
use pilothouse::blob::upload::{self, Condition, NOTE, PART, Upload};
use pilothouse::egress::Egress;
use pilothouse::egress::address::Reach;
use pilothouse::egress::metrics::Metrics;
use pilothouse::egress::place::Target;
use pilothouse::object::{Gvk, ObjectKey};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::server::{Scripted, full, mebibytes, serve, serve_streams};

fn in_memory() -> (Arc<InMemory>, Store) {
    let memory = Arc::new(InMemory::new());
    let backend = Backend::Remote(memory.clone());
    (memory, Store::of("s3://bucket/backups".parse().unwrap(), backend).unwrap())
}

fn carrier(server: std::net::SocketAddr) -> Carrier {
    let network = Arc::new(Scripted::default());
    network.name("etcd.shop.svc", &["10.1.2.3"]);
    network.door("10.1.2.3:80", server);
    Carrier { egress: Arc::new(Egress::new(network, Metrics::default())), plugin: "etcd".to_owned() }
}

fn request(method: Method) -> Box<Outgoing> {
    let uri: http::Uri = "http://etcd.shop.svc/snapshot".parse().unwrap();
    let target = Target::of(&uri).unwrap();
    let reach = Reach { private: true, loopback: false };
    Box::new(Outgoing {
        method,
        uri,
        headers: HeaderMap::new(),
        body: Bytes::new(),
        target,
        reach,
        tls: None,
    })
}

fn fetch(store: &Store, encoding: Encoding, proof: Proof) -> Task {
    let path = store.path("etcd/v1").unwrap();
    Task::Fetch {
        request: request(Method::POST),
        encoding,
        proof,
        store: store.clone(),
        path,
        absent: true,
        most: 1 << 30,
    }
}

async fn carry(server: std::net::SocketAddr, task: Task) -> Result<Outcome, BlobError> {
    carrier(server).carry(task, &Sign::default()).await
}

async fn stored(store: &Store) -> Vec<String> {
    upload::list(store, "", None, 1000)
        .await
        .unwrap()
        .0
        .iter()
        .map(|meta| store.key(&meta.location))
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn trailer() -> Proof {
    Proof { sha256: None, trailer: true }
}

#[tokio::test]
async fn a_snapshot_through_a_gateway_becomes_an_object_whose_trailer_was_checked() {
    let content: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let whole = [content.clone(), Sha256::digest(&content).to_vec()].concat();
    let lines: String = whole
        .chunks(32 * 1024)
        .map(|piece| format!("{{\"result\":{{\"blob\":\"{}\"}}}}\n", STANDARD.encode(piece)))
        .collect();
    let served = lines.clone();
    let server = serve(None, move |_| {
        let lines = served.clone();
        async move { Response::new(full(lines)) }
    })
    .await;
    let (memory, store) = in_memory();
    let encoding = Encoding::JsonLines { content: "/result/blob".to_owned(), error: "/error".to_owned() };
    assert!(whole.len() > PART, "in several parts");
    let outcome = carry(server, fetch(&store, encoding.clone(), trailer())).await.unwrap();
    assert_eq!(outcome.sha256, Some(hex(&whole)));
    let object = memory.get(&"backups/etcd/v1".into()).await.unwrap().bytes().await.unwrap();
    assert!(object == whole);
    assert_eq!(stored(&store).await, ["etcd/v1"]);

    let (_, other) = in_memory();
    let cut = lines[..lines.len() - 60_000].to_owned();
    let cut_server = serve(None, move |_| {
        let cut = cut.clone();
        async move { Response::new(full(cut)) }
    })
    .await;
    let error = carry(cut_server, fetch(&other, encoding, trailer())).await.unwrap_err();
    assert!(matches!(error, BlobError::Corrupt(_)), "{error}");
    assert!(stored(&other).await.is_empty());
}

#[tokio::test]
async fn nothing_is_stored_of_what_breaks_off_is_too_large_or_not_what_it_should_be() {
    let breaks_off = serve_streams(|mut stream| async move {
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 20000000\r\n\r\n").await;
        let _ = stream.write_all(&vec![1; 10_000_000]).await;
    })
    .await;
    let endless = serve(None, |_| async { Response::new(mebibytes(usize::MAX)) }).await;
    let without_length = serve_streams(|mut stream| async move {
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nhalf of it").await;
    })
    .await;
    let down = serve(None, |_| async {
        Response::builder().status(503).body(full("etcdserver: no leader")).unwrap()
    })
    .await;
    let wrong = Proof { sha256: Some(hex(b"other")), trailer: false };
    for (server, most, proof, reason, said) in [
        (breaks_off, 1 << 30, Proof::default(), "Unavailable", "broke off"),
        (endless, 20 << 20, Proof::default(), "TooLarge", "more than 20971520 bytes"),
        (without_length, 1 << 30, Proof::default(), "Invalid", "there is no proof"),
        (down, 1 << 30, Proof::default(), "Unavailable", "etcdserver: no leader"),
        (serve(None, |_| async { Response::new(full("this")) }).await, 1 << 30, wrong, "Corrupt", "not "),
    ] {
        let (memory, store) = in_memory();
        let Task::Fetch { request, encoding, store, path, absent, .. } =
            fetch(&store, Encoding::Plain, Proof::default())
        else {
            panic!()
        };
        let task = Task::Fetch { request, encoding, proof, store: store.clone(), path, absent, most };
        let error = carry(server, task).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
        assert!(error.to_string().contains(said), "{error}");
        let left: Vec<_> = futures::TryStreamExt::try_collect::<Vec<_>>(object_store::ObjectStore::list(
            memory.as_ref(),
            None,
        ))
        .await
        .unwrap();
        assert!(left.is_empty(), "{said}: {left:?}");
    }
}

#[tokio::test]
async fn an_object_that_is_there_is_not_written_over_and_a_small_condition_is_the_stores_own() {
    let (_, store) = in_memory();
    let path = store.path("etcd/v1").unwrap();
    let first = upload::put(&store, &path, Bytes::from_static(b"one"), Condition::Absent).await.unwrap();
    let again = upload::put(&store, &path, Bytes::from_static(b"two"), Condition::Absent).await.unwrap_err();
    assert!(matches!(again, BlobError::Conflict(_)), "{again}");
    let server = serve(None, |_| async { Response::new(full("two")) }).await;
    let fetched = carry(server, fetch(&store, Encoding::Plain, Proof::default())).await.unwrap_err();
    assert!(matches!(fetched, BlobError::Conflict(_)), "{fetched}");
    let other =
        upload::put(&store, &path, Bytes::from_static(b"two"), Condition::Etag("other".to_owned())).await;
    assert!(matches!(other, Err(BlobError::Conflict(_))), "{other:?}");
    let known = Condition::Etag(first.e_tag.unwrap());
    upload::put(&store, &path, Bytes::from_static(b"two"), known).await.unwrap();
}

#[tokio::test]
async fn a_host_that_was_killed_leaves_no_object_and_the_next_writer_takes_its_parts_back() {
    let (memory, store) = in_memory();
    let path = store.path("etcd/v1").unwrap();
    let mut upload = Upload::begin(store.clone(), path.clone(), true).await.unwrap();
    upload.write(&vec![1; 2 * PART + 1]).await.unwrap();
    // Killed: nobody abandons it.
    std::mem::forget(upload);
    assert!(stored(&store).await.is_empty(), "what is listed is whole");
    let note = format!("{path}{NOTE}").into();
    assert!(memory.head(&note).await.is_ok(), "the parts can be found");
    let mut again = Upload::begin(store.clone(), path, true).await.unwrap();
    assert!(memory.head(&note).await.is_err(), "and were taken back");
    again.write(b"whole").await.unwrap();
    again.end().await.unwrap();
    assert_eq!(stored(&store).await, ["etcd/v1"]);
}

#[tokio::test]
async fn what_nobody_writes_again_is_deleted_with_its_parts() {
    let (memory, store) = in_memory();
    let base = tempfile::tempdir().unwrap();
    for store in [store, in_directory(&base)] {
        let path = store.path("etcd/v1").unwrap();
        let mut killed = Upload::begin(store.clone(), path.clone(), true).await.unwrap();
        killed.write(&vec![1; 2 * PART + 1]).await.unwrap();
        std::mem::forget(killed);
        assert!(matches!(upload::delete(&store, &path).await, Ok(()) | Err(BlobError::NotFound(_))));
        let mut kept = Upload::begin(store.clone(), path.clone(), true).await.unwrap();
        kept.write(b"whole").await.unwrap();
        kept.end().await.unwrap();
        upload::delete(&store, &path).await.unwrap();
        assert!(stored(&store).await.is_empty());
    }
    assert!(memory.head(&format!("backups/etcd/v1{NOTE}").into()).await.is_err());
    assert_eq!(std::fs::read_dir(base.path().join("etcd")).unwrap().count(), 0);
}

/// Mounting takes root; a store that is full refuses the last part.
#[tokio::test]
async fn a_directory_that_is_full_keeps_nothing_of_an_object_and_takes_the_next_that_fits() {
    let base = tempfile::tempdir().unwrap();
    let mount = |args: &[&str]| {
        let mut command = std::process::Command::new(args[0]);
        command.args(&args[1..]).arg(base.path()).status().is_ok_and(|status| status.success())
    };
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs"]) {
        eprintln!("SKIPPED: a small disk is mounted by root alone");
        return;
    }
    let store = in_directory(&base);
    let mut upload = Upload::begin(store.clone(), store.path("etcd/v1").unwrap(), true).await.unwrap();
    let written = async {
        for _ in 0..4 {
            upload.write(&vec![1; PART]).await?;
        }
        Ok::<_, BlobError>(())
    };
    let written = written.await;
    let ended = match written {
        Ok(()) => upload.end().await.map(drop),
        Err(error) => {
            upload.abandon().await;
            Err(error)
        }
    };
    let left = std::fs::read_dir(base.path().join("etcd")).unwrap().count();
    let next =
        upload::put(&store, &store.path("etcd/v2").unwrap(), vec![2; 1 << 20].into(), Condition::None).await;
    assert!(mount(&["umount"]));
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("No space left"), "{error}");
    assert_eq!(left, 0);
    next.unwrap();
}

fn in_directory(base: &tempfile::TempDir) -> Store {
    let root = base.path().canonicalize().unwrap();
    let address = format!("file://{}", root.display()).parse().unwrap();
    let connector = pilothouse::blob::client::Connector {
        egress: Arc::default(),
        plugin: "etcd".to_owned(),
        reach: Reach::default(),
        server: None,
        tls: None,
        times: pilothouse::egress::exchange::Times::default(),
    };
    Store::open(address, &Options::default(), None, connector).unwrap()
}

#[tokio::test]
async fn a_directory_has_whole_files_only_and_no_leftovers() {
    let base = tempfile::tempdir().unwrap();
    let root = base.path().canonicalize().unwrap();
    let store = in_directory(&base);
    let path = store.path("etcd/v1").unwrap();
    let mut killed = Upload::begin(store.clone(), path.clone(), true).await.unwrap();
    killed.write(&vec![1; PART + 1]).await.unwrap();
    std::mem::forget(killed);
    let files = || std::fs::read_dir(root.join("etcd")).unwrap().count();
    assert_eq!(files(), 1, "what is not whole has another name");
    assert!(stored(&store).await.is_empty());
    let server = serve(None, |_| async { Response::new(mebibytes(20)) }).await;
    let outcome = carry(server, fetch(&store, Encoding::Plain, Proof::default())).await.unwrap();
    assert_eq!(outcome.sha256, Some(hex(&vec![7; 20 << 20])));
    assert_eq!(files(), 1);
    assert_eq!(stored(&store).await, ["etcd/v1"]);
    let content = std::fs::read(root.join("etcd/v1")).unwrap();
    assert_eq!(content.len(), 20 << 20);
}

#[tokio::test]
async fn an_object_is_delivered_as_the_body_of_a_request_and_checked_when_asked() {
    let (_, store) = in_memory();
    let path = store.path("etcd/v1").unwrap();
    let content = vec![5; 9_000_000];
    upload::put(&store, &path, content.clone().into(), Condition::None).await.unwrap();
    let server = serve(None, |request| async move {
        let length = request.headers()["content-length"].to_str().unwrap().to_owned();
        let got = request.into_body().collect().await.unwrap().to_bytes();
        Response::builder().status(201).body(full(format!("{length} {}", hex(&got)))).unwrap()
    })
    .await;
    let task = Task::Deliver {
        store: store.clone(),
        path: path.clone(),
        request: request(Method::PUT),
        piece: None,
    };
    let outcome = carry(server, task).await.unwrap();
    let said = format!("9000000 {}", hex(&content)).into_bytes();
    assert_eq!(outcome.answer, Some((201, said)));
    let check = |sha256: String| Task::Check {
        store: store.clone(),
        path: path.clone(),
        proof: Proof { sha256: Some(sha256), trailer: false },
    };
    assert_eq!(carry(server, check(hex(&content))).await.unwrap().sha256, Some(hex(&content)));
    assert!(matches!(carry(server, check(hex(b"other"))).await, Err(BlobError::Corrupt(_))));
}

#[tokio::test]
async fn a_long_object_is_delivered_in_pieces_until_one_is_refused() {
    let (_, store) = in_memory();
    let path = store.path("etcd/v1").unwrap();
    upload::put(&store, &path, b"0123456789".to_vec().into(), Condition::None).await.unwrap();
    let (seen, mut came) = tokio::sync::mpsc::unbounded_channel();
    let server = serve(None, move |request| {
        let seen = seen.clone();
        async move {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let code = match query.as_str() {
                "refused&offset=4&size=10" => 409,
                "a=b&offset=8&size=10" => 299,
                _ => 200,
            };
            seen.send((query, body)).unwrap();
            Response::builder().status(code).body(full("")).unwrap()
        }
    })
    .await;
    let deliver = |query: &str, piece| {
        let mut request = request(Method::POST);
        request.uri = format!("{}?{query}", request.uri).parse().unwrap();
        carry(server, Task::Deliver { store: store.clone(), path: path.clone(), request, piece })
    };
    let outcome = deliver("a=b", Some(4)).await.unwrap();
    assert_eq!(outcome.answer, Some((299, Vec::new())), "the answer to the last one");
    for (query, body) in
        [("a=b&offset=0&size=10", "0123"), ("a=b&offset=4&size=10", "4567"), ("a=b&offset=8&size=10", "89")]
    {
        assert_eq!(came.recv().await.unwrap(), (query.to_owned(), body.into()));
    }
    assert_eq!(deliver("refused", Some(4)).await.unwrap().answer, Some((409, Vec::new())));
    assert_eq!(came.recv().await.unwrap().1, "0123");
    assert_eq!(came.recv().await.unwrap().1, "4567");
    deliver("whole", Some(10)).await.unwrap();
    assert_eq!(
        came.recv().await.unwrap(),
        ("whole".to_owned(), "0123456789".into()),
        "and nothing came after what was refused"
    );
}

fn owner() -> ObjectKey {
    ObjectKey::new(Arc::new(Gvk::new("g", "v1", "EtcdBackup")), Some("shop"), "b")
}

#[tokio::test]
async fn a_transfer_is_found_by_its_name_and_its_object_is_called_when_it_ends() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let server = serve(None, move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { Response::new(full("content")) }
    })
    .await;
    let (_, store) = in_memory();
    let (transfers, mut ended) = Transfers::new(TransferMetrics::default());
    let begin = |known_by: &str| {
        let task = fetch(&store, Encoding::Plain, Proof::default());
        transfers.start(&owner(), "snapshot", (known_by.to_owned(), task), carrier(server))
    };
    assert_eq!(transfers.find(&owner(), "snapshot", "1"), None);
    begin("1").unwrap();
    assert_eq!(ended.recv().await, Some(vec![owner()]));
    let Some(Standing { ended: Some(Ok(outcome)), bytes: 7 }) = transfers.find(&owner(), "snapshot", "1")
    else {
        panic!("not done")
    };
    assert_eq!(outcome.sha256, Some(hex(b"content")));
    assert_eq!(transfers.find(&owner(), "snapshot", "2"), None, "another task is another transfer");
    begin("2").unwrap();
    assert_eq!(ended.recv().await, Some(vec![owner()]));
    let conflict = transfers.find(&owner(), "snapshot", "2").unwrap().ended.unwrap().unwrap_err();
    assert!(matches!(conflict, BlobError::Conflict(_)), "{conflict}");
    transfers.forget(&owner(), "snapshot");
    assert_eq!(transfers.find(&owner(), "snapshot", "2"), None);
}

#[tokio::test]
async fn a_transfer_that_is_forgotten_stops_and_leaves_nothing() {
    let (gone, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let server = serve_streams(move |mut stream| {
        let gone = gone.clone();
        async move {
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n").await;
            let _ = stream.write_all(&vec![1; 20_000_000]).await;
            let _ = gone.send("sent");
            let _ = stream.read_to_end(&mut Vec::new()).await;
            let _ = gone.send("closed");
        }
    })
    .await;
    let (memory, store) = in_memory();
    let (transfers, _ended) = Transfers::new(TransferMetrics::default());
    let task = fetch(&store, Encoding::Plain, Proof::default());
    transfers.start(&owner(), "snapshot", ("1".to_owned(), task), carrier(server)).unwrap();
    assert_eq!(seen.recv().await, Some("sent"));
    transfers.forget_all(&owner());
    assert_eq!(seen.recv().await, Some("closed"));
    let note = memory.clone();
    // The parts are taken back after the connection is closed.
    while note.head(&format!("backups/etcd/v1{NOTE}").into()).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(stored(&store).await.is_empty());
}
