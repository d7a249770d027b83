//! Objects that Jobs hand over: the token is in a Secret, and a test plays the Job.

use std::{cell::RefCell, rc::Rc, time::Duration};

use pilothouse_sdk::{
    BlobErrorKind, Context, Download, Error, Gvk, ObjectRef, Outcome, Store, TransferState, Upload,
    harness::{Cluster, Runner},
};
use serde_json::json;

use crate::script::{self, app_ref, cluster};

const MANIFEST: &str = "
name: backup
version: 0.1.0
kinds: [{ group: example.com, version: v1, kind: App }]
rights:
  stores: ['s3://backups/NAMESPACE']
  kube:
    - { apiGroups: [''], resources: [secrets], verbs: [create, patch, delete] }
";
const BACKUPS: &str = "s3://backups/default";
const HOUR: Duration = Duration::from_hours(1);

fn upload() -> Upload {
    Upload { store: Store::open(BACKUPS), key: "db/1".to_owned(), max_bytes: 100, time: HOUR }
}

fn runner(cluster: &Cluster, hook: impl Fn(&Context) -> Result<Outcome, Error> + 'static) -> Runner {
    script::runner(cluster, move |ctx, _| hook(ctx)).manifest(MANIFEST).unwrap()
}

fn uploading(cluster: &Cluster) -> Runner {
    runner(cluster, |ctx| match ctx.blob().open_upload("dump", &upload())?.state {
        TransferState::Done => Ok(Outcome::ready()),
        TransferState::Running => Ok(Outcome::progressing("Uploading", "")),
        TransferState::Failed { reason, message } => Ok(Outcome::progressing(reason, message)),
    })
}

fn reason(cluster: &Cluster) -> String {
    cluster.condition(&app_ref(), "Ready").unwrap().reason
}

#[test]
fn a_job_hands_an_object_in_and_the_hook_is_called() {
    let cluster = cluster();
    let mut runner = uploading(&cluster);
    runner.settle().unwrap();
    assert_eq!(reason(&cluster), "Uploading");
    let token = cluster.handover_token("default", "dump").unwrap();
    runner.settle().unwrap();
    assert_eq!(cluster.handover_token("default", "dump").unwrap(), token, "opened twice it is the same");
    assert_eq!(cluster.hand_in("another", b"theirs").unwrap_err().kind, BlobErrorKind::Denied);
    cluster.hand_in(&token, b"content").unwrap();
    assert_eq!(cluster.hand_in(&token, b"again").unwrap_err().kind, BlobErrorKind::Conflict);
    runner.settle().unwrap();
    assert_eq!(cluster.condition(&app_ref(), "Ready").unwrap().status.as_str(), "True");
    assert_eq!(cluster.stored(BACKUPS, "db/1").unwrap(), b"content");
}

#[test]
fn a_job_that_is_cut_off_or_sends_too_much_leaves_nothing() {
    let cluster = cluster();
    let mut runner = uploading(&cluster);
    runner.settle().unwrap();
    let token = cluster.handover_token("default", "dump").unwrap();
    cluster.cut_off(&token, 7).unwrap();
    runner.settle().unwrap();
    assert_ne!(reason(&cluster), "Uploading");
    assert_eq!(cluster.hand_in(&token, b"content").unwrap_err().kind, BlobErrorKind::Conflict);
    runner.restart();
    runner.settle().unwrap();
    assert_eq!(reason(&cluster), "Uploading", "a new host has forgotten it");
    let other = cluster.handover_token("default", "dump").unwrap();
    assert_ne!(other, token);
    assert_eq!(cluster.hand_in(&token, b"content").unwrap_err().kind, BlobErrorKind::Denied);
    assert_eq!(cluster.hand_in(&other, &[0; 101]).unwrap_err().kind, BlobErrorKind::Exhausted);
    assert!(cluster.stored(BACKUPS, "db/1").is_none());
}

#[test]
fn a_token_ends_with_its_time_and_when_it_is_closed() {
    let cluster = cluster();
    let close = Rc::new(RefCell::new(false));
    let closing = Rc::clone(&close);
    let mut runner = runner(&cluster, move |ctx| {
        if *closing.borrow() {
            ctx.blob().close("dump")?;
            ctx.blob().close("dump")?;
            assert!(ctx.blob().opened("dump").is_none());
        } else {
            ctx.blob().open_upload("dump", &upload())?;
        }
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    let token = cluster.handover_token("default", "dump").unwrap();
    cluster.advance(HOUR);
    assert_eq!(cluster.hand_in(&token, b"late").unwrap_err().kind, BlobErrorKind::Denied);
    runner.settle().unwrap();
    let token = cluster.handover_token("default", "dump").unwrap_or(token);
    close.replace(true);
    runner.restart();
    runner.settle().unwrap();
    assert_eq!(cluster.hand_in(&token, b"closed").unwrap_err().kind, BlobErrorKind::Denied);
    let secret = ObjectRef::new(Gvk::new("", "v1", "Secret"), "default", "dump");
    assert!(!cluster.objects().contains(&secret));
}

#[test]
fn what_is_stored_is_handed_out_and_only_from_stores_that_were_granted() {
    let cluster = cluster();
    cluster.store(BACKUPS, "db/1", "content");
    let mut runner = runner(&cluster, |ctx| {
        let download = |url: &str| Download { store: Store::open(url), key: "db/1".to_owned(), time: HOUR };
        let foreign = ctx.blob().open_download("theirs", &download("s3://backups/other")).unwrap_err();
        assert_eq!(foreign.kind, BlobErrorKind::Denied);
        ctx.blob().open_download("trial", &download(BACKUPS))?;
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    let token = cluster.handover_token("default", "trial").unwrap();
    assert_eq!(cluster.hand_out(&token).unwrap(), b"content");
    assert_eq!(cluster.hand_out(&token).unwrap(), b"content");
    assert_eq!(cluster.hand_in(&token, b"x").unwrap_err().kind, BlobErrorKind::Invalid);
    assert!(cluster.handover_token("default", "theirs").is_none());
}

#[test]
fn a_secret_of_somebody_else_is_in_the_way_and_stays() {
    let cluster = cluster();
    let theirs = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"password": "eA=="},
        "metadata": {"name": "dump", "namespace": "default"}});
    cluster.create([theirs]).unwrap();
    let mut runner = runner(&cluster, |ctx| {
        assert_eq!(ctx.blob().open_upload("dump", &upload()).unwrap_err().kind, BlobErrorKind::Credentials);
        ctx.blob().close("dump")?;
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!(reason(&cluster), "Reconciled");
    let secret = ObjectRef::new(Gvk::new("", "v1", "Secret"), "default", "dump");
    assert!(cluster.objects().contains(&secret));
    assert!(cluster.handover_token("default", "dump").is_none());
}

#[test]
fn without_the_right_to_write_the_secret_nothing_is_opened() {
    let cluster = cluster();
    let hook = |ctx: &Context| {
        assert_eq!(ctx.blob().open_upload("dump", &upload()).unwrap_err().kind, BlobErrorKind::Denied);
        Ok(Outcome::ready())
    };
    let manifest = MANIFEST.replace("create, patch, delete", "use");
    script::runner(&cluster, move |ctx, _| hook(ctx)).manifest(&manifest).unwrap().settle().unwrap();
    assert_eq!(reason(&cluster), "Reconciled");
    assert!(cluster.handover_token("default", "dump").is_none());
}
