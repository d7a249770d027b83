//! Certificates that the host makes, and what a plugin may know of Secrets it does not read.

use std::{cell::RefCell, rc::Rc, time::Duration};

use pilothouse_sdk::{
    CertificateOrder, Context, IdentityError, Outcome,
    harness::{Cluster, Runner},
};
use serde_json::Value;

use crate::script::{self, app_ref, cluster};

const MANIFEST: &str = "
name: tls
version: 0.1.0
kinds: [{ group: example.com, version: v1, kind: App }]
rights:
  kube: [{ apiGroups: [''], resources: [secrets], verbs: [use, create, patch] }]
";

fn order() -> CertificateOrder {
    CertificateOrder {
        secret: ("default".to_owned(), "server".to_owned()),
        entries: ("server.crt".to_owned(), "server.key".to_owned(), "server-ca.crt".to_owned()),
        authority: "authority".to_owned(),
        names: vec!["*.app.default.svc".to_owned()],
        valid: Duration::from_hours(1),
        note: "for app".to_owned(),
    }
}

fn runner(cluster: &Cluster, manifest: &str, hook: impl Fn(&Context) + 'static) -> Runner {
    let hook = move |ctx: &Context, _: &_| {
        hook(ctx);
        Ok(Outcome::ready())
    };
    script::runner(cluster, hook).manifest(manifest).unwrap()
}

fn secret(cluster: &Cluster, name: &str) -> Value {
    let reference =
        pilothouse_sdk::ObjectRef::new(pilothouse_sdk::Gvk::new("", "v1", "Secret"), "default", name);
    cluster.kubectl().get_ref(&reference).unwrap().unwrap()
}

#[test]
fn a_certificate_is_made_and_made_anew_under_the_same_authority_and_told_of_without_its_key() {
    let cluster = cluster();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&seen);
    let mut runner = runner(&cluster, MANIFEST, move |ctx| {
        ctx.certificates().issue(&order()).unwrap();
        sink.borrow_mut().push(ctx.certificates().inspect("default", "server").unwrap().unwrap());
    });
    runner.settle().unwrap();
    let authority = secret(&cluster, "authority");
    runner.wake(&app_ref(), pilothouse_sdk::Reason::Manual);
    runner.settle().unwrap();
    assert_eq!(secret(&cluster, "authority")["data"], authority["data"]);
    let seen = seen.borrow();
    assert_eq!(seen[0].note.as_deref(), Some("for app"));
    let certificate = |at: usize, key: &str| {
        let entry = seen[at].entries.iter().find(|entry| entry.key == key).unwrap();
        entry.certificates.clone()
    };
    assert_eq!(certificate(0, "server.key"), []);
    assert!(certificate(0, "server-ca.crt")[0].authority && !certificate(0, "server.crt")[0].authority);
    assert_eq!(certificate(0, "server-ca.crt"), certificate(1, "server-ca.crt"));
    assert_ne!(certificate(0, "server.crt"), certificate(1, "server.crt"));
    let data = &secret(&cluster, "server")["data"];
    assert!(data["server.key"].as_str().is_some_and(|key| !key.is_empty()));
}

#[test]
fn a_secret_that_is_not_there_is_none_and_one_that_may_not_be_used_is_refused() {
    let cluster = cluster();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&seen);
    let look = move |ctx: &Context| sink.borrow_mut().push(ctx.certificates().inspect("default", "nobody"));
    runner(&cluster, MANIFEST, look.clone()).settle().unwrap();
    runner(&cluster, &MANIFEST.replace("use, ", ""), look).settle().unwrap();
    let seen = seen.borrow();
    assert_eq!(seen[0], Ok(None));
    assert!(matches!(seen.last(), Some(Err(IdentityError::Denied(_)))), "{seen:?}");
}

#[test]
fn a_secret_that_people_made_is_left_as_it_is() {
    let cluster = cluster();
    let theirs = serde_json::json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "server", "namespace": "default"}});
    cluster.create([theirs]).unwrap();
    let before = secret(&cluster, "server");
    let refused = Rc::new(RefCell::new(None));
    let sink = Rc::clone(&refused);
    let mut runner =
        runner(&cluster, MANIFEST, move |ctx| *sink.borrow_mut() = ctx.certificates().issue(&order()).err());
    runner.settle().unwrap();
    let message = refused.borrow().as_ref().unwrap().to_string();
    assert_eq!(message, "Secret default/server was not made by an order and is left as it is");
    assert_eq!(secret(&cluster, "server"), before);
}
