//! Object storage in memory, and transfers behind the call.

use std::{cell::RefCell, rc::Rc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pilothouse_sdk::{
    BlobErrorKind, Context, Encoding, Error, HttpRequest, Outcome, Proof, PutCondition, Store, Transfer,
    TransferState,
    harness::{Cluster, HttpAnswer, Runner, StoreFault, every_crash},
};
use serde_json::json;

use crate::script::{self, app_ref, cluster};

const MANIFEST: &str = "
name: etcd
version: 0.1.0
kinds: [{ group: example.com, version: v1, kind: App }]
rights:
  egress: ['https://*.NAMESPACE.svc:2379']
  stores: ['s3://backups/NAMESPACE', 's3+http://*.NAMESPACE.svc:9000/*']
";
const BACKUPS: &str = "s3://backups/default";

fn runner(cluster: &Cluster, hook: impl Fn(&Context) -> Result<Outcome, Error> + 'static) -> Runner {
    script::runner(cluster, move |ctx, _| hook(ctx)).manifest(MANIFEST).unwrap()
}

fn snapshot(key: &str) -> Transfer {
    Transfer::Fetch {
        request: HttpRequest::post("https://etcd.default.svc:2379/v3/maintenance/snapshot"),
        encoding: Encoding::gateway("blob"),
        proof: Proof { sha256: None, sha256_trailer: true },
        store: Store::open(BACKUPS),
        key: key.to_owned(),
        absent: true,
        max_bytes: 1 << 30,
    }
}

/// The gateway's lines, with the content's sha256 at its end.
fn lines(content: &[u8]) -> HttpAnswer {
    use sha2::Digest as _;
    let line = |bytes: &[u8]| format!("{}\n", json!({"result": {"blob": STANDARD.encode(bytes)}}));
    HttpAnswer::new(200, line(content)).piece(line(&sha2::Sha256::digest(content)))
}

#[test]
fn objects_are_listed_in_order_and_conditions_hold() {
    let cluster = cluster();
    cluster.store(BACKUPS, "etcd/v10", "ten");
    cluster.store(BACKUPS, "etcd-other/v1", "other");
    let mut runner = runner(&cluster, |ctx| {
        let (blob, store) = (ctx.blob(), Store::open(BACKUPS));
        let first = blob.put(&store, "etcd/v9", b"nine", &PutCondition::Absent)?;
        let again = blob.put(&store, "etcd/v9", b"other", &PutCondition::Absent).unwrap_err();
        assert_eq!(again.kind, BlobErrorKind::Conflict);
        blob.put(&store, "etcd/v9", b"nine!", &PutCondition::Etag(first.etag.unwrap()))?;
        let page = blob.list(&store, "etcd", None, 1)?;
        let next = blob.list(&store, "etcd", page.next.as_deref(), 1)?;
        let keys: Vec<_> =
            page.objects.iter().chain(&next.objects).map(|object| object.key.as_str()).collect();
        assert_eq!((keys, next.next), (vec!["etcd/v10", "etcd/v9"], None));
        assert_eq!(blob.get(&store, "etcd/v9", 2, 100)?, b"ne!");
        assert!(blob.delete(&store, "etcd/v9")? && !blob.delete(&store, "etcd/v9")?);
        assert_eq!(blob.head(&store, "etcd/v9")?, None);
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!(cluster.condition(&app_ref(), "Ready").unwrap().status.as_str(), "True");
    assert_eq!(cluster.stored_keys(BACKUPS), ["etcd-other/v1", "etcd/v10"]);
}

#[test]
fn stores_of_others_are_denied() {
    let cluster = cluster();
    let mut runner = runner(&cluster, |ctx| {
        for url in [
            "s3://backups/other",
            "s3://other/default",
            "gs://backups/default",
            "s3+http://minio.other.svc:9000/b",
        ] {
            let error = ctx.blob().head(&Store::open(url), "x").unwrap_err();
            assert_eq!(error.kind, BlobErrorKind::Denied, "{url}");
        }
        ctx.blob().head(&Store::open("s3+http://minio.default.svc:9000/b"), "x")?;
        ctx.blob()
            .head(&Store::new(BACKUPS, "default", "login"), "x")
            .map_err(Error::from)
            .map(|_| Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!(
        cluster.condition(&app_ref(), "Ready").unwrap().reason,
        "StoreDenied",
        "no right to use a Secret"
    );
}

#[test]
fn a_snapshot_is_fetched_behind_the_call_and_the_object_is_called_when_it_is_there() {
    let cluster = cluster();
    cluster.serve("https://etcd.default.svc:2379", |_, _| Ok(lines(b"snapshot")));
    let seen = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&seen);
    let mut runner = runner(&cluster, move |ctx| {
        let progress = ctx.blob().transfer("snapshot", 0, &snapshot("etcd/v1"))?;
        sink.borrow_mut().push((progress.state.clone(), progress.bytes));
        match progress.state {
            TransferState::Done => Ok(Outcome::ready()),
            _ => Ok(Outcome::progressing("Uploading", "the snapshot is on its way")),
        }
    });
    runner.settle().unwrap();
    assert_eq!(*seen.borrow(), [(TransferState::Running, 0), (TransferState::Done, 40)]);
    assert_eq!(cluster.stored(BACKUPS, "etcd/v1").unwrap().len(), 40);
}

#[test]
fn what_breaks_off_or_was_changed_is_no_object_and_another_attempt_may_do_better() {
    let cluster = cluster();
    let asked = Rc::new(RefCell::new(0));
    let counter = Rc::clone(&asked);
    cluster.serve("https://etcd.default.svc:2379", move |_, _| {
        *counter.borrow_mut() += 1;
        Ok(match *counter.borrow() {
            1 => lines(b"snapshot").breaks_off(),
            2 => HttpAnswer::new(200, "{\"result\":{\"blob\":\"YWJj\"}}\n"),
            _ => lines(b"snapshot"),
        })
    });
    let failures = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&failures);
    let of_cluster = cluster.clone();
    let mut runner = runner(&cluster, move |ctx| {
        let attempt = u32::try_from(sink.borrow().len()).unwrap();
        match ctx.blob().transfer("snapshot", attempt, &snapshot("etcd/v1"))?.state {
            TransferState::Failed { reason, .. } => {
                assert!(of_cluster.stored_keys(BACKUPS).is_empty());
                sink.borrow_mut().push(reason);
                Ok(Outcome::progressing("Again", "").requeue_after(std::time::Duration::from_secs(1)))
            }
            TransferState::Running => Ok(Outcome::progressing("Uploading", "")),
            TransferState::Done => Ok(Outcome::ready()),
        }
    });
    cluster.fail_store(StoreFault::unavailable().operation("put"));
    runner.run_for(std::time::Duration::from_secs(10)).unwrap();
    assert_eq!(*failures.borrow(), ["StoreUnavailable", "StoreFailed", "StoreUnavailable"]);
    assert_eq!(cluster.stored_keys(BACKUPS), ["etcd/v1"]);
}

#[test]
fn a_host_that_dies_forgets_its_transfers_and_nothing_half_written_is_left() {
    let scene = |nth: u32| {
        let cluster = cluster();
        cluster.serve("https://etcd.default.svc:2379", |_, _| Ok(lines(b"snapshot")));
        let mut runner = runner(&cluster, |ctx| {
            if ctx.blob().head(&Store::open(BACKUPS), "etcd/v1")?.is_some() {
                return Ok(Outcome::ready());
            }
            ctx.blob().transfer("snapshot", 0, &snapshot("etcd/v1"))?;
            Ok(Outcome::progressing("Uploading", ""))
        });
        cluster.crash_after_write(nth);
        runner.settle().unwrap();
        assert_eq!(cluster.stored_keys(BACKUPS), ["etcd/v1"]);
        cluster
    };
    assert!(every_crash(scene) >= 1);
}

#[test]
fn a_transfer_can_be_held_to_see_what_is_told_meanwhile() {
    let cluster = cluster();
    cluster.serve("https://etcd.default.svc:2379", |_, _| Ok(lines(b"snapshot")));
    cluster.hold_transfers(true);
    let mut runner = runner(&cluster, |ctx| match ctx.blob().transfer("s", 0, &snapshot("v1"))?.state {
        TransferState::Done => Ok(Outcome::ready()),
        _ => Ok(Outcome::progressing("Uploading", "")),
    });
    runner.settle().unwrap();
    assert_eq!(cluster.condition(&app_ref(), "Ready").unwrap().reason, "Uploading");
    cluster.hold_transfers(false);
    runner.settle().unwrap();
    assert_eq!(cluster.condition(&app_ref(), "Ready").unwrap().status.as_str(), "True");
}

#[test]
fn a_long_object_is_delivered_in_pieces_and_the_last_answer_counts() {
    let cluster = cluster();
    cluster.store(BACKUPS, "etcd/v1", "0123456789");
    let seen = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&seen);
    cluster.serve("https://etcd.default.svc:2379", move |request, _| {
        let query = request.url.split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default();
        sink.borrow_mut().push((query, String::from_utf8(request.body.clone()).unwrap()));
        Ok(HttpAnswer::new(if request.body == b"89" { 200 } else { 202 }, ""))
    });
    let mut runner = runner(&cluster, |ctx| {
        let request = HttpRequest::post("https://etcd.default.svc:2379/restore");
        let (store, key) = (Store::open(BACKUPS), "etcd/v1".to_owned());
        let task = Transfer::Deliver { store, key, request, piece: Some(4) };
        match ctx.blob().transfer("deliver", 0, &task)?.answer {
            Some((200, _)) => Ok(Outcome::ready()),
            other => Ok(Outcome::progressing("Delivering", format!("{other:?}"))),
        }
    });
    runner.settle().unwrap();
    assert_eq!(cluster.condition(&app_ref(), "Ready").unwrap().status.as_str(), "True");
    let expected = [("offset=0&size=10", "0123"), ("offset=4&size=10", "4567"), ("offset=8&size=10", "89")];
    assert_eq!(*seen.borrow(), expected.map(|(query, body)| (query.to_owned(), body.to_owned())));
}
