//! Servers other than the cluster's API, scripted.

use std::{cell::RefCell, rc::Rc};

use pilothouse_sdk::{
    Context, Error, HttpError, HttpErrorKind, HttpRequest, Identity, IdentityError, Outcome, SecretKey,
    harness::{Cluster, HttpAnswer, Runner, every_crash},
};
use serde_json::{Value, json};

use crate::script::{self, app_ref, cluster};

const MANIFEST: &str = "
name: etcd
version: 0.1.0
kinds: [{ group: example.com, version: v1, kind: App }]
rights:
  kube: [{ apiGroups: [''], resources: [secrets], verbs: [use] }]
  egress: ['https://*.NAMESPACE.svc:2379']
";

fn identity() -> Identity {
    let key = |name: &str| SecretKey::new("default", "tls", name);
    Identity {
        servers: "https://*.NAMESPACE.svc:2379".to_owned(),
        authorities: Some(key("ca.crt")),
        client: Some((key("tls.crt"), key("tls.key"))),
        server_name: None,
    }
}

fn runner(cluster: &Cluster, hook: impl Fn(&Context) -> Result<Outcome, Error> + 'static) -> Runner {
    script::runner(cluster, move |ctx, _| hook(ctx)).manifest(MANIFEST).unwrap()
}

fn with_secret(cluster: &Cluster, keys: &[&str]) {
    let data: serde_json::Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), "eA==".into())).collect();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tls", "namespace": "default"}, "data": data});
    cluster.create([secret]).unwrap();
}

#[test]
fn a_scripted_server_is_asked_under_the_identity_in_force_and_its_calls_are_recorded() {
    let cluster = cluster();
    with_secret(&cluster, &["ca.crt", "tls.crt", "tls.key"]);
    cluster.serve("https://*.default.svc:2379", |request, identity| {
        assert!(identity.is_some_and(|identity| identity.client.is_some()));
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        Ok(HttpAnswer::json(&json!({"members": asked["linearizable"]})))
    });
    let seen = Rc::new(RefCell::new(Value::Null));
    let sink = Rc::clone(&seen);
    let mut runner = runner(&cluster, move |ctx| {
        ctx.http().use_identity(&identity())?;
        let request = HttpRequest::post("https://etcd-0.etcd.default.svc:2379/v3/cluster/member/list");
        let answer = ctx.http().send(&request.json(&json!({"linearizable": true}))?)?;
        assert_eq!(answer.header("Content-Type"), Some("application/json"));
        *sink.borrow_mut() = answer.json(1 << 20)?;
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!(*seen.borrow(), json!({"members": true}));
    let calls: Vec<String> = cluster.http_calls().iter().map(ToString::to_string).collect();
    assert_eq!(calls, ["POST https://etcd-0.etcd.default.svc:2379/v3/cluster/member/list -> 200"]);
}

#[test]
fn what_the_manifest_does_not_ask_for_is_denied_and_told_on_the_object() {
    let cluster = cluster();
    cluster.serve("https://*:2379", |_, _| Ok(HttpAnswer::new(200, "")));
    let mut runner = runner(&cluster, |ctx| {
        ctx.http().send(&HttpRequest::get("https://etcd.other.svc:2379/"))?;
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    let condition = cluster.condition(&app_ref(), "Ready").unwrap();
    assert_eq!(condition.reason, "EgressDenied");
    assert!(condition.message.contains("rights.egress"), "{}", condition.message);
    assert!(cluster.http_calls().is_empty());
}

#[test]
fn an_identity_needs_its_secret_its_entries_and_the_right_to_use_it() {
    let cluster = cluster();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&seen);
    let mut runner = runner(&cluster, move |ctx| {
        sink.borrow_mut().push(ctx.http().use_identity(&identity()));
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    with_secret(&cluster, &["ca.crt", "tls.crt"]);
    runner.wake(&app_ref(), pilothouse_sdk::Reason::Manual);
    runner.settle().unwrap();
    cluster.forbid("get", "secrets");
    runner.wake(&app_ref(), pilothouse_sdk::Reason::Manual);
    runner.settle().unwrap();
    let seen = seen.borrow();
    assert_eq!(seen[0], Err(IdentityError::Unusable("Secret default/tls is not there".to_owned())));
    assert_eq!(seen[1], Err(IdentityError::Unusable("Secret default/tls has no entry tls.key".to_owned())));
    assert!(matches!(&seen[2], Err(IdentityError::Denied(why)) if why.contains("get")), "{seen:?}");
}

#[test]
fn a_stream_comes_in_pieces_and_may_break_off() {
    let cluster = cluster();
    cluster.serve("https://*.default.svc:2379", |request, _| {
        let answer = HttpAnswer::new(200, "one").piece("two");
        if request.url.ends_with("/whole") { Ok(answer) } else { Ok(answer.breaks_off()) }
    });
    let mut runner = runner(&cluster, |ctx| {
        let http = ctx.http();
        let mut pieces = Vec::new();
        let mut whole = http.send(&HttpRequest::get("https://a.default.svc:2379/whole"))?;
        while let Some(piece) = whole.chunk()? {
            pieces.push(piece);
        }
        assert_eq!(pieces, [b"one".to_vec(), b"two".to_vec()]);
        let broken = http.send(&HttpRequest::get("https://a.default.svc:2379/broken"))?;
        assert_eq!(broken.bytes(100).unwrap_err().kind, HttpErrorKind::Unreachable);
        let large = http.send(&HttpRequest::get("https://a.default.svc:2379/whole"))?;
        assert_eq!(large.bytes(5).unwrap_err().kind, HttpErrorKind::TooLarge);
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!(
        cluster.condition(&app_ref(), "Ready").unwrap().reason,
        "Reconciled",
        "an assertion in the hook failed"
    );
}

#[test]
fn a_server_that_fails_is_the_hooks_failure_and_heals() {
    let cluster = cluster();
    let up = Rc::new(RefCell::new(false));
    let switch = Rc::clone(&up);
    cluster.serve("https://*.default.svc:2379", move |_, _| match *switch.borrow() {
        true => Ok(HttpAnswer::new(200, "")),
        false => Err(HttpError::new(HttpErrorKind::Timeout, "etcd does not answer")),
    });
    let mut runner = runner(&cluster, |ctx| {
        ctx.http().send(&HttpRequest::get("https://etcd.default.svc:2379/health"))?;
        Ok(Outcome::ready())
    });
    runner.settle().unwrap();
    assert_eq!(cluster.condition(&app_ref(), "Ready").unwrap().reason, "TimedOut");
    *up.borrow_mut() = true;
    runner.run_for(std::time::Duration::from_secs(1)).unwrap();
    assert_ne!(cluster.condition(&app_ref(), "Ready").unwrap().reason, "TimedOut");
}

#[test]
fn a_crash_right_after_a_server_changed_something_is_played_too() {
    let scene = |nth: u32| {
        let cluster = cluster();
        let members = Rc::new(RefCell::new(1));
        let of_server = Rc::clone(&members);
        cluster.serve("https://*.default.svc:2379", move |request, _| {
            if request.method == "POST" && *of_server.borrow() == 1 {
                *of_server.borrow_mut() += 1;
                return Ok(HttpAnswer::new(200, "").changed());
            }
            Ok(HttpAnswer::new(200, of_server.borrow().to_string()))
        });
        let mut runner = runner(&cluster, |ctx| {
            let count = ctx.http().send(&HttpRequest::get("https://a.default.svc:2379/"))?.bytes(10)?;
            if count == b"1" {
                ctx.http().send(&HttpRequest::post("https://a.default.svc:2379/"))?;
            }
            Ok(Outcome::ready())
        });
        cluster.crash_after_write(nth);
        runner.settle().unwrap();
        assert_eq!(*members.borrow(), 2);
        cluster
    };
    assert!(every_crash(scene) >= 2, "the status is one write, the server's the other");
}
