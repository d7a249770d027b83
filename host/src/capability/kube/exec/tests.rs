use std::sync::Mutex;

use ::kube::client::Body;
use http::{Request, Response};

use super::*;
use crate::action::execute::Manager;
use crate::binding::Binding;
use crate::capability::grants::{GrantSpec, Grants};
use crate::command::context::cluster;
use crate::controller::throttle::Throttle;
use crate::exec::ExecError;
use crate::exec::table::{Commands, Metrics};
use crate::object::{Gvk, ObjectKey, Owner};
use crate::plugin::identity::Identity;
use crate::plugin::manifest::Manifest;

/// What was asked, in order.
type Asked = Arc<Mutex<Vec<String>>>;

fn command() -> kube::Command {
    kube::Command {
        namespace: "shop".to_owned(),
        pod: "db-0".to_owned(),
        uid: "u".to_owned(),
        container: "db".to_owned(),
        arguments: vec!["sync".to_owned()],
        timeout_ms: 30_000,
        stdin: None,
    }
}

fn refusal(name: &str, command: &kube::Command) -> Option<String> {
    match check(name, command) {
        Err(Error::Invalid(status)) => Some(status.message),
        other => {
            other.unwrap();
            None
        }
    }
}

#[test]
fn what_is_no_command_is_refused_before_anybody_is_asked() {
    assert_eq!(refusal("freeze", &command()), None);
    let refused = [
        kube::Command { uid: String::new(), ..command() },
        kube::Command { container: String::new(), ..command() },
        kube::Command { arguments: Vec::new(), ..command() },
        kube::Command { arguments: vec!["x".repeat(MAX_ARGUMENTS + 1)], ..command() },
        kube::Command { stdin: Some(vec![0; MAX_INPUT + 1]), ..command() },
        kube::Command { timeout_ms: 0, ..command() },
        kube::Command { timeout_ms: 3_600_001, ..command() },
        kube::Command { timeout_ms: u64::MAX, ..command() },
    ];
    for command in refused {
        assert!(refusal("freeze", &command).is_some(), "{command:?}");
    }
    assert!(refusal("", &command()).is_some() && refusal(&"x".repeat(254), &command()).is_some());
}

#[test]
fn every_part_of_a_command_makes_it_another_one() {
    let same = fingerprint(1, &command());
    assert_eq!(same, fingerprint(1, &command()));
    let others = [
        fingerprint(2, &command()),
        fingerprint(1, &kube::Command { uid: "v".to_owned(), ..command() }),
        fingerprint(1, &kube::Command { stdin: Some(Vec::new()), ..command() }),
        fingerprint(1, &kube::Command { arguments: vec!["sync ".to_owned()], ..command() }),
        fingerprint(1, &kube::Command { timeout_ms: 1, ..command() }),
    ];
    assert!(others.iter().all(|other| *other != same));
}

#[test]
fn an_end_that_is_not_known_is_never_told_as_an_exit_code() {
    let state = |ended| wit_progress(Standing { ended, output: "said".to_owned() }).state;
    assert!(matches!(state(None), kube::CommandState::Running));
    assert!(matches!(state(Some(Ok(3))), kube::CommandState::Done(3)));
    let lost = Some(Err(ExecError::Lost("cut".to_owned())));
    let kube::CommandState::Failed((word, said)) = state(lost) else { panic!("not a failure") };
    assert_eq!((word.as_str(), said.as_str()), ("ConnectionLost", "cut"));
}

#[test]
fn a_plugin_with_too_many_commands_comes_back_and_an_object_with_too_many_names_forgets_some() {
    assert!(matches!(full(Full::Running), Error::Throttled(FULL_MS)));
    assert!(matches!(full(Full::Names), Error::Exhausted(_)));
}

/// An API server with one pod, where the account may do what is said.
fn client(allowed: bool) -> (::kube::Client, Asked) {
    let asked = Asked::default();
    let sink = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let account = request.headers().get("impersonate-user").map(|user| user.to_str().unwrap().to_owned());
        let path = request.uri().path().to_owned();
        sink.lock().unwrap().push(format!("{} {path} {}", request.method(), account.unwrap_or_default()));
        let (code, body) = match path.as_str() {
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" => {
                (201, serde_json::json!({"status": {"allowed": allowed}}))
            }
            "/api/v1/namespaces/shop/pods/db-0" => (200, serde_json::json!({"metadata": {"uid": "u"}})),
            _ => (404, serde_json::json!({"kind": "Status", "message": "not there", "code": 404})),
        };
        let response = Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
        async move { Ok::<_, std::io::Error>(response.unwrap()) }
    });
    (::kube::Client::new(service, "default"), asked)
}

fn context(client: ::kube::Client, verbs: &str, given: bool) -> HookContext {
    let manifest = format!(
        "{{name: backup, version: 0.1.0, interface: 'pilothouse:operator@0.1.0', bindable: true,
          rights: {{kube: [{{apiGroups: [''], resources: [pods/exec], verbs: [{verbs}]}}]}}}}"
    );
    let manifest = Manifest::parse(&manifest).unwrap();
    let service_account = Some("ops/backup".to_owned());
    let kube = if given { manifest.rights.kube.clone() } else { Vec::new() };
    // Which does not speak of commands.
    let spec = GrantSpec { kube, all_requested: true, service_account, ..GrantSpec::default() };
    let gvk = Arc::new(Gvk::new("example.com", "v1", "App"));
    let name: Arc<str> = Arc::from("backup");
    HookContext {
        grants: Arc::new(Grants::new(&manifest, Some(&spec)).unwrap()),
        owner: Owner { key: ObjectKey::new(Arc::clone(&gvk), Some("shop"), "a"), uid: Arc::from("o") },
        binding: Arc::new(Binding::new(&name, gvk, Duration::from_secs(600), "test")),
        plugin: Arc::new(Identity { name, version: "0.1.0".to_owned(), digest: String::new() }),
        manager: Manager { name: "test".to_owned(), supersedes: Vec::new() },
        throttle: Arc::new(Throttle::per_second(1_000)),
        cluster: cluster(client),
        metrics: Arc::default(),
        charts: None,
        wishes: Arc::default(),
        egress: Arc::default(),
        transfers: None,
        commands: Some(Commands::new(Metrics::default()).0),
        handovers: None,
        announcer: None,
    }
}

fn asked(asked: &Asked) -> Vec<String> {
    asked.lock().unwrap().clone()
}

const ACCOUNT: &str = "system:serviceaccount:ops:backup";

#[tokio::test(start_paused = true)]
async fn a_command_is_begun_once_under_the_account_of_the_plugin() {
    let (client, sent) = client(true);
    let cx = context(client, "create", true);
    for _ in 0..2 {
        assert_eq!(cx.exec("freeze", 1, command()).await.unwrap().ended, None);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let refused = Some(Err(ExecError::Refused("not there".to_owned())));
    assert_eq!(cx.exec("freeze", 1, command()).await.unwrap().ended, refused);
    let sent = asked(&sent);
    assert_eq!(
        sent,
        [
            format!("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews {ACCOUNT}"),
            format!("GET /api/v1/namespaces/shop/pods/db-0 {ACCOUNT}"),
            format!("GET /api/v1/namespaces/shop/pods/db-0/exec {ACCOUNT}"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn another_pod_of_the_name_gets_no_command() {
    let (client, sent) = client(true);
    let cx = context(client, "create", true);
    let other = kube::Command { uid: "of-the-one-before".to_owned(), ..command() };
    let error = cx.exec("freeze", 1, other).await.unwrap_err();
    assert!(matches!(&error, Error::Conflict(status) if status.message.contains("another one")), "{error:?}");
    let gone = kube::Command { pod: "db-1".to_owned(), ..command() };
    assert!(matches!(cx.exec("freeze", 1, gone).await.unwrap_err(), Error::NotFound(_)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!asked(&sent).iter().any(|path| path.contains("/exec")), "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_command_needs_the_right_in_manifest_grant_and_cluster() {
    for (verbs, given, allowed) in [("get", true, true), ("create", false, true), ("create", true, false)] {
        let (client, sent) = client(allowed);
        let cx = context(client, verbs, given);
        let Error::Denied(denial) = cx.exec("freeze", 1, command()).await.unwrap_err() else {
            panic!("{verbs} {given} {allowed}")
        };
        assert_eq!((denial.verb.as_str(), denial.resource.as_str()), ("create", "pods/exec"));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!asked(&sent).iter().any(|path| path.contains("/pods/")), "{sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_nothing_is_run_behind_calls_no_command_is() {
    let (client, sent) = client(true);
    let cx = HookContext { commands: None, ..context(client, "create", true) };
    assert!(matches!(cx.exec("freeze", 1, command()).await.unwrap_err(), Error::Denied(_)));
    assert!(asked(&sent).is_empty());
}
