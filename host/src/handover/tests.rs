//! Both ends against each other: real TLS, real pipes; the store is in memory.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http_body_util::StreamBody;
use hyper::body::Frame;
use object_store::ObjectStoreExt as _;
use object_store::memory::InMemory;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::authority::Authority;
use super::client::download::{Wanted, download};
use super::client::dump::Dump;
use super::client::link::Link;
use super::client::upload::upload;
use super::client::{ClientError, pipe};
use super::table::{Errand, Handover, Handovers, Metrics, Order, Ticket};
use super::{Stored, receive, serve};
use crate::blob::BlobError;
use crate::blob::store::{Backend, Store};
use crate::blob::transfer::Outcome;
use crate::blob::upload::{NOTE, PART};
use crate::cluster::fence::Fence;
use crate::egress::exchange::BoxError;
use crate::health::tls::TlsListener;
use crate::object::{Gvk, ObjectKey};

const HOUR: Duration = Duration::from_hours(1);
const PATIENCE: Duration = Duration::from_millis(400);
const KEY: &str = "shop/db/1";

struct Host {
    memory: Arc<InMemory>,
    store: Store,
    table: Arc<Handovers>,
    fence: Fence,
    called: mpsc::UnboundedReceiver<Vec<ObjectKey>>,
    directory: tempfile::TempDir,
}

fn owner() -> ObjectKey {
    ObjectKey::new(Arc::new(Gvk::new("backup.pilothouse.dev", "v1alpha1", "Backup")), Some("shop"), "db")
}

fn host_at(url: &str) -> (Host, crate::health::tls::Certificate) {
    let memory = Arc::new(InMemory::new());
    let store = Store::of("s3://bucket".parse().unwrap(), Backend::Remote(memory.clone())).unwrap();
    let (authority, certificate) = Authority::new(url).unwrap();
    let fence = Fence::default();
    let (table, called) = Handovers::new(authority, fence.clone(), Metrics::default());
    (Host { memory, store, table, fence, called, directory: tempfile::tempdir().unwrap() }, certificate)
}

async fn host() -> Host {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (host, certificate) = host_at(&format!("https://{}", listener.local_addr().unwrap()));
    let listener = TlsListener::new(listener, certificate).unwrap();
    tokio::spawn(serve::serve(listener, Arc::clone(&host.table)));
    host
}

impl Host {
    async fn open(&self, name: &str, errand: Errand, time: Duration) -> Ticket {
        let order = Order { task: format!("{errand:?}"), errand, time, plugin: "backup".to_owned() };
        self.table.open(&owner(), name, order).await.unwrap()
    }

    fn upload_of(&self, most: u64) -> Errand {
        Errand::Upload { store: self.store.clone(), path: self.store.path(KEY).unwrap(), most }
    }

    fn download_of(&self) -> Errand {
        Errand::Download { store: self.store.clone(), path: self.store.path(KEY).unwrap() }
    }

    /// What the Job has: the mounted Secret.
    fn link(&self, ticket: &Ticket) -> Link {
        self.link_with(&ticket.url, ticket.token.reveal(), &ticket.certificate)
    }

    fn link_with(&self, url: &str, token: &str, certificate: &str) -> Link {
        let (token_file, authority) =
            (self.directory.path().join("token"), self.directory.path().join("ca.crt"));
        std::fs::write(&token_file, format!("{token}\n")).unwrap();
        std::fs::write(&authority, certificate).unwrap();
        Link::read(url, &token_file, &authority, PATIENCE).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A pipe into which somebody writes.
    fn dump(&self, content: Vec<u8>, status: Option<&'static str>) -> Dump {
        let (data, path) = (self.path("data"), self.path("status"));
        let _ = std::fs::remove_file(&path);
        pipe::make(&data).unwrap();
        let dump = Dump::stream(&data, path.clone(), PATIENCE).unwrap();
        std::thread::spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(data).unwrap();
            // The reader may have left.
            let _ = pipe.write_all(&content);
            drop(pipe);
            if let Some(status) = status {
                std::fs::write(path, status).unwrap();
            }
        });
        dump
    }

    async fn stored(&self) -> Option<Vec<u8>> {
        let found = self.memory.get(&self.store.path(KEY).unwrap()).await.ok()?;
        Some(found.bytes().await.unwrap().to_vec())
    }

    /// Neither the object nor parts of it.
    async fn has_nothing(&self) -> bool {
        let note = self.store.path(&format!("{KEY}{NOTE}")).unwrap();
        self.stored().await.is_none() && self.memory.get(&note).await.is_err()
    }

    fn ended(&self, name: &str) -> Option<Result<Outcome, BlobError>> {
        self.table.find(&owner(), name).unwrap().ended
    }

    fn admitted(&self, ticket: &Ticket) -> Arc<Handover> {
        let address = ticket.url.rsplit('/').next().unwrap();
        let header = format!("Bearer {}", ticket.token.reveal());
        self.table.admit(address, Some(header.as_bytes())).unwrap()
    }
}

fn mebibytes(count: usize) -> Vec<u8> {
    (0..count * 1024 * 1024 / 4).flat_map(|word| u32::try_from(word).unwrap().to_le_bytes()).collect()
}

fn stored_of(content: &[u8]) -> Stored {
    let sha256 = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    Stored { size: u64::try_from(content.len()).unwrap(), sha256 }
}

type Pieces = futures::stream::BoxStream<'static, Result<Frame<Bytes>, BoxError>>;

fn pieces(content: &[u8]) -> Pieces {
    let piece = Ok(Frame::data(Bytes::copy_from_slice(content)));
    futures::stream::iter([piece]).boxed()
}

/// Content that stops to come and does not end.
fn stuck(content: &[u8]) -> Pieces {
    pieces(content).chain(futures::stream::pending()).boxed()
}

fn reason<T: std::fmt::Debug>(result: Result<T, ClientError>) -> String {
    result.unwrap_err().reason().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_job_writes_is_stored_encrypted_and_comes_back_whole() {
    let mut host = host().await;
    let content = mebibytes(2 * PART / (1024 * 1024) + 1);
    let key = age::x25519::Identity::generate();
    let ticket = host.open("db-dump-1", host.upload_of(u64::MAX), HOUR).await;
    let link = host.link(&ticket);
    let dump = host.dump(content.clone(), Some("0"));
    link.greet().await.unwrap();
    let stored = upload(&link, dump, &[key.to_public()]).await.unwrap();
    let object = host.stored().await.unwrap();
    assert_eq!(stored, stored_of(&object));
    assert!(object.len() > content.len(), "encrypted");
    let Some(Ok(Outcome { sha256, etag: Some(_), .. })) = host.ended("db-dump-1") else { panic!("not done") };
    assert_eq!(sha256.as_ref(), Some(&stored.sha256));
    assert_eq!(host.called.recv().await.unwrap(), [owner()]);
    // The answer may be lost: what is done is done.
    assert_eq!(link.commit(&stored).await.unwrap(), stored);

    let ticket = host.open("db-trial-1", host.download_of(), HOUR).await;
    let (pipe, status) = (host.path("back"), host.path("back-status"));
    pipe::make(&pipe).unwrap();
    let (from, seen) = (pipe.clone(), status.clone());
    let reader = std::thread::spawn(move || {
        let mut whole = Vec::new();
        std::fs::File::open(from).unwrap().read_to_end(&mut whole).unwrap();
        whole
    });
    let keys: Option<Vec<Box<dyn age::Identity + Send + Sync>>> = Some(vec![Box::new(key)]);
    let wanted = Wanted { pipe, status, stored: stored.clone(), keys };
    assert_eq!(download(&host.link(&ticket), wanted).await.unwrap(), stored);
    assert_eq!(reader.join().unwrap(), content);
    assert_eq!(std::fs::read_to_string(seen).unwrap(), "0");
}

#[tokio::test]
async fn nobody_comes_in_without_the_token_of_this_address() {
    let host = host().await;
    let ticket = host.open("one", host.upload_of(100), HOUR).await;
    let other = host.open("two", host.download_of(), HOUR).await;
    let Ticket { url, certificate, .. } = &ticket;
    let unknown = format!("{url}x");
    let tokens = [other.token.reveal(), "", "x"];
    for link in tokens.map(|token| host.link_with(url, token, certificate)) {
        assert_eq!(reason(link.greet().await), "Denied");
        assert_eq!(reason(link.put(pieces(b"theirs")).await), "Denied");
        assert_eq!(reason(link.commit(&stored_of(b"")).await), "Denied");
        assert_eq!(reason(link.get().await), "Denied");
    }
    let lost = host.link_with(&unknown, ticket.token.reveal(), certificate);
    assert_eq!(reason(lost.greet().await), "Denied");
    // A token to read does not write, nor the other way round.
    assert_eq!(reason(host.link(&other).put(pieces(b"x")).await), "Invalid");
    assert_eq!(reason(host.link(&ticket).get().await), "Invalid");
    let elsewhere = Authority::new(&host.table_url(&ticket)).unwrap().0.certificate;
    let mistrusting = host.link_with(url, ticket.token.reveal(), &elsewhere);
    assert!(matches!(mistrusting.greet().await, Err(ClientError::Host(_))), "another host's certificate");
    assert!(!format!("{:?} {ticket:?} {:?}", host.link(&ticket), host.table).contains(ticket.token.reveal()));
    assert!(host.has_nothing().await);
}

impl Host {
    fn table_url(&self, ticket: &Ticket) -> String {
        ticket.url.split("/handover/").next().unwrap().to_owned()
    }
}

#[tokio::test]
async fn opened_twice_it_is_the_same_and_closed_it_is_gone() {
    let host = host().await;
    let first = host.open("one", host.upload_of(100), HOUR).await;
    let again = host.open("one", host.upload_of(100), HOUR).await;
    assert_eq!((first.url.as_str(), first.token.reveal()), (again.url.as_str(), again.token.reveal()));
    let larger = host.open("one", host.upload_of(200), HOUR).await;
    assert_ne!(larger.token.reveal(), first.token.reveal());
    assert_eq!(reason(host.link(&first).greet().await), "Denied");
    let link = host.link(&larger);
    let sent = link.put(pieces(b"content")).await.unwrap();
    host.table.close(&owner(), "one").await;
    assert_eq!(reason(link.commit(&sent).await), "Denied");
    assert!(host.table.find(&owner(), "one").is_none() && host.has_nothing().await);
    let gone = host.open("one", host.upload_of(100), HOUR).await;
    host.table.forget_all(&owner());
    tokio::task::yield_now().await;
    assert_eq!(reason(host.link(&gone).greet().await), "Denied");
}

#[tokio::test]
async fn a_token_is_good_for_one_put() {
    let host = host().await;
    let ticket = host.open("one", host.upload_of(100), HOUR).await;
    let link = host.link(&ticket);
    assert_eq!(reason(link.commit(&stored_of(b"")).await), "Conflict");
    let sent = link.put(pieces(b"first")).await.unwrap();
    assert_eq!(reason(link.put(pieces(b"second")).await), "Conflict");
    assert!(host.has_nothing().await, "not before the commit");
    link.commit(&sent).await.unwrap();
    assert_eq!(reason(link.put(pieces(b"third")).await), "Conflict");
    assert_eq!(reason(link.commit(&stored_of(b"third")).await), "Conflict");
    assert_eq!(host.stored().await.unwrap(), b"first");
}

#[tokio::test]
async fn no_object_is_written_over() {
    let host = host().await;
    let place = host.store.path(KEY).unwrap();
    let ticket = host.open("one", host.upload_of(100), HOUR).await;
    let link = host.link(&ticket);
    let sent = link.put(pieces(b"ours")).await.unwrap();
    host.memory.put(&place, "theirs".into()).await.unwrap();
    assert_eq!(reason(link.commit(&sent).await), "Conflict");
    let ticket = host.open("two", host.upload_of(100), HOUR).await;
    assert_eq!(reason(host.link(&ticket).put(pieces(b"ours")).await), "Conflict");
    assert_eq!(host.stored().await.unwrap(), b"theirs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_large_is_refused_and_leaves_no_parts() {
    let host = host().await;
    let most = u64::try_from(PART).unwrap() + 1;
    let ticket = host.open("one", host.upload_of(most), HOUR).await;
    let dump = host.dump(mebibytes(3 * PART / (1024 * 1024)), Some("0"));
    let refused = upload(&host.link(&ticket), dump, &[]).await;
    assert!(refused.is_err());
    assert!(matches!(host.ended("one"), Some(Err(BlobError::TooLarge(_)))));
    assert!(host.has_nothing().await);
}

#[tokio::test]
async fn a_dump_that_fails_or_falls_silent_in_the_middle_leaves_nothing() {
    let mut host = host().await;
    for (name, status, why) in [("one", Some("1"), "SourceFailed"), ("two", None, "SourceLost")] {
        let ticket = host.open(name, host.upload_of(u64::MAX), HOUR).await;
        let dump = host.dump(mebibytes(1), status);
        assert_eq!(reason(upload(&host.link(&ticket), dump, &[]).await), why);
        host.called.recv().await.unwrap();
        assert!(matches!(host.ended(name), Some(Err(BlobError::Unavailable(_)))), "cut");
        assert!(host.has_nothing().await);
    }
}

#[tokio::test]
async fn a_host_whose_lease_is_not_renewed_makes_no_object() {
    let host = host().await;
    let ticket = host.open("one", host.upload_of(100), HOUR).await;
    let link = host.link(&ticket);
    let sent = link.put(pieces(b"content")).await.unwrap();
    host.fence.close();
    assert_eq!(reason(link.commit(&sent).await), "Unavailable");
    assert!(host.has_nothing().await);
    host.fence.open_until(tokio::time::Instant::now() + HOUR);
    link.commit(&sent).await.unwrap();
    assert_eq!(host.stored().await.unwrap(), b"content");
}

#[tokio::test]
async fn a_commit_of_something_else_is_refused() {
    let host = host().await;
    let longer = Stored { size: 8, ..stored_of(b"content") };
    for (name, claimed) in [("one", stored_of(b"another")), ("two", longer)] {
        let ticket = host.open(name, host.upload_of(100), HOUR).await;
        let link = host.link(&ticket);
        link.put(pieces(b"content")).await.unwrap();
        assert_eq!(reason(link.commit(&claimed).await), "Corrupt");
        assert_eq!(reason(link.commit(&stored_of(b"content")).await), "Corrupt", "nor afterwards");
        assert!(host.has_nothing().await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_artefact_that_is_not_the_one_wanted_gets_no_status() {
    let host = host().await;
    host.memory.put(&host.store.path(KEY).unwrap(), "changed".into()).await.unwrap();
    let ticket = host.open("one", host.download_of(), HOUR).await;
    let (pipe, status) = (host.path("back"), host.path("back-status"));
    pipe::make(&pipe).unwrap();
    // A pipe that has both ends keeps nobody waiting.
    let _both = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    for wanted in [stored_of(b"content"), stored_of(b"contents"), stored_of(b"")] {
        let wanted = Wanted { pipe: pipe.clone(), status: status.clone(), stored: wanted, keys: None };
        assert_eq!(reason(download(&host.link(&ticket), wanted).await), "Corrupt");
        assert!(!status.exists());
    }
}

#[tokio::test(start_paused = true)]
async fn a_sender_that_is_silent_or_late_is_given_up() {
    let (host, _) = host_at("https://localhost:1");
    for (name, time) in [("slow", HOUR), ("late", Duration::from_mins(5))] {
        let ticket = host.open(name, host.upload_of(100), time).await;
        let (table, handover) = (Arc::clone(&host.table), host.admitted(&ticket));
        let sent = receive::put(table, handover, None, &mut StreamBody::new(stuck(b"begun"))).await;
        let said = sent.unwrap_err().to_string();
        assert_eq!(said.contains("nothing came"), name == "slow", "{said}");
        assert_eq!(said.contains("time of the handover"), name == "late", "{said}");
        assert!(host.has_nothing().await);
        assert!(host.ended(name).unwrap().is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_never_committed_is_taken_back() {
    let (mut host, _) = host_at("https://localhost:1");
    let ticket = host.open("one", host.upload_of(100), HOUR).await;
    let (table, handover) = (Arc::clone(&host.table), host.admitted(&ticket));
    let body = &mut StreamBody::new(pieces(b"content"));
    let sent = receive::put(Arc::clone(&table), Arc::clone(&handover), None, body).await.unwrap();
    host.called.recv().await.unwrap();
    assert!(matches!(host.ended("one"), Some(Err(BlobError::Unavailable(_)))));
    assert!(receive::commit(table, handover, sent).await.is_err());
    assert!(host.has_nothing().await);
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_a_commit_under_way_and_stops_everything_else() {
    let (host, _) = host_at("https://localhost:1");
    let ticket = host.open("one", host.upload_of(100), HOUR).await;
    let handover = host.admitted(&ticket);
    // A commit holds the stage for as long as the store takes.
    let committing = Arc::clone(&handover.stage).lock_owned().await;
    let owner_of_both = owner();
    let closing = host.table.close(&owner_of_both, "one");
    let closing = tokio::time::timeout(Duration::from_secs(30), closing);
    assert!(closing.await.is_err(), "it waits");
    assert!(host.table.find(&owner(), "one").is_some(), "and is asked again");
    drop(committing);
    host.table.close(&owner(), "one").await;
    assert!(host.table.find(&owner(), "one").is_none());

    let ticket = host.open("two", host.upload_of(100), HOUR).await;
    let (table, handover) = (Arc::clone(&host.table), host.admitted(&ticket));
    let sending = tokio::spawn(async move {
        receive::put(table, handover, None, &mut StreamBody::new(stuck(b"begun"))).await
    });
    tokio::task::yield_now().await;
    host.table.close_all().await;
    assert!(sending.await.unwrap().unwrap_err().to_string().contains("closed"));
    let ticket = host.open("three", host.upload_of(100), HOUR).await;
    let (table, handover) = (Arc::clone(&host.table), host.admitted(&ticket));
    let late = receive::put(table, handover, None, &mut StreamBody::new(pieces(b"late"))).await;
    assert!(late.is_err(), "a host that ends takes nothing in");
    assert!(host.has_nothing().await);
}

#[tokio::test(start_paused = true)]
async fn of_two_senders_with_one_token_the_second_is_refused_and_spoils_nothing() {
    let (host, _) = host_at("https://localhost:1");
    let ticket = host.open("one", host.upload_of(100), HOUR).await;
    let (more, coming) = futures::channel::mpsc::unbounded::<Result<Frame<Bytes>, BoxError>>();
    let mut coming = StreamBody::new(coming);
    let (table, handover) = (Arc::clone(&host.table), host.admitted(&ticket));
    let (own_table, own) = (Arc::clone(&table), Arc::clone(&handover));
    let first = tokio::spawn(async move { receive::put(own_table, own, None, &mut coming).await });
    more.unbounded_send(Ok(Frame::data(Bytes::from_static(b"con")))).unwrap();
    tokio::task::yield_now().await;
    let mut other = StreamBody::new(pieces(b"x"));
    let put = receive::put(Arc::clone(&table), Arc::clone(&handover), None, &mut other);
    assert!(matches!(put.await, Err(BlobError::Conflict(_))));
    more.unbounded_send(Ok(Frame::data(Bytes::from_static(b"tent")))).unwrap();
    drop(more);
    let sent = first.await.unwrap().unwrap();
    assert_eq!(sent, stored_of(b"content"));
    receive::commit(table, handover, sent).await.unwrap();
    assert_eq!(host.stored().await.unwrap(), b"content");
}

#[tokio::test]
async fn a_connection_that_is_cut_in_the_middle_leaves_nothing() {
    let mut host = host().await;
    let ticket = host.open("one", host.upload_of(u64::MAX), HOUR).await;
    let cut = Err(BoxError::from("the pod is gone"));
    let body = pieces(&mebibytes(2 * PART / (1024 * 1024))).chain(futures::stream::iter([cut])).boxed();
    assert!(host.link(&ticket).put(body).await.is_err());
    assert_eq!(host.called.recv().await.unwrap(), [owner()]);
    let Some(Err(BlobError::Unavailable(said))) = host.ended("one") else { panic!("not cut") };
    assert!(said.contains("cut off"), "{said}");
    assert!(host.has_nothing().await);
}
