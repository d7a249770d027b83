//! Charts from a real registry, and from servers that answer badly.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Uri;
use axum::response::IntoResponse as _;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pilothouse_testbed::registry::{PASSWORD, Registry, USER};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::bench::{Bench, await_that};
use crate::host::Place;

const MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  text: {{ .Values.text | upper }} {{ .Chart.Version }}
";

/// The chart `second` of a version, packed by the real helm.
async fn package(bench: &Bench, place: &Place, version: &str) -> PathBuf {
    let chart = place.path("second");
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), format!("apiVersion: v2\nname: second\nversion: {version}\n"))
        .unwrap();
    std::fs::write(chart.join("templates/map.yaml"), MAP).unwrap();
    let (chart, target) = (chart.display().to_string(), place.path("packed").display().to_string());
    bench.helm(&["package", &chart, "--destination", &target]).await.unwrap();
    place.path("packed").join(format!("second-{version}.tgz"))
}

fn digest(path: &PathBuf) -> String {
    let bytes = std::fs::read(path).unwrap();
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

fn place(bench: &Bench, chart: &Value) -> Place {
    let place = Place::new(&bench.namespace, &bench.cluster.kubeconfig_text().unwrap(), &["helm.wasm"]);
    watch(&place, chart);
    place
}

fn watch(place: &Place, chart: &Value) {
    let watches = format!("- group: charts.example.com\n  version: v1\n  kind: Second\n  chart: {chart}\n");
    std::fs::write(place.project("watches.yaml"), watches).unwrap();
}

async fn await_text(bench: &Bench, name: &str, text: &str) {
    await_that(format!("{name} says {text:?}"), async || {
        let map = bench.object("configmaps", name).await?;
        let now = map["data"]["text"].as_str().unwrap_or_default().to_owned();
        if now == text { Ok(()) } else { Err(format!("it says {now:?}")) }
    })
    .await;
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_of_a_registry_is_installed_and_upgraded_and_stays_when_the_registry_goes() {
    let Some(bench) = Bench::new("elsewhere-oci").await else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let registry = blocking(move || Registry::open(&path).unwrap()).await;
    let chart = json!({"repository": registry.repository(), "name": "second", "version": "^1", "interval": "5s", "plainHTTP": true});
    let place = place(&bench, &chart);
    let first = package(&bench, &place, "1.0.0").await;
    let first_digest = digest(&first);
    let host = place.start();
    bench.make("seconds", "app", json!({"text": "a"})).await;
    // Nothing was pushed yet.
    let told = bench.await_condition("seconds", "app", ("ChartReady", "False"), &["404 Not Found"]).await;
    assert!(told.contains("are repository, name and version right?"), "{told}");
    bench.await_condition("seconds", "app", ("Ready", "False"), &["WaitingForChart", "404"]).await;
    let registry = blocking(move || {
        registry.push(&first).unwrap();
        registry
    })
    .await;
    bench.await_revisions("app", &[(1, "deployed")]).await;
    await_text(&bench, "app", "A 1.0.0").await;
    bench
        .await_condition("seconds", "app", ("ChartReady", "True"), &["second 1.0.0 of oci://", &first_digest])
        .await;
    let status = bench.object("seconds", "app").await.unwrap()["status"]["release"].clone();
    assert_eq!(
        (status["chartDigest"].as_str().unwrap(), status["chartVersion"].as_str().unwrap()),
        (first_digest.as_str(), "1.0.0")
    );
    assert_eq!(status["chartSource"], format!("{}/second:1.0.0", registry.repository()));

    let (second, beyond) = (package(&bench, &place, "1.1.0").await, package(&bench, &place, "2.0.0").await);
    let mut registry = blocking(move || {
        registry.push(&beyond).unwrap();
        registry.push(&second).unwrap();
        registry
    })
    .await;
    bench.await_revisions("app", &[(1, "superseded"), (2, "deployed")]).await;
    await_text(&bench, "app", "A 1.1.0").await;
    assert!(host.metric("pilothouse_chart_fetches_total", &["success"]).await >= 2.0);

    registry.stop();
    let told = bench
        .await_condition("seconds", "app", ("ChartReady", "False"), &["Unreachable", &registry.address()])
        .await;
    assert!(told.ends_with("version 1.1.0, fetched before, stays"), "{told}");
    bench.await_condition("seconds", "app", ("Ready", "True"), &[]).await;
    bench.delete(&bench.path("configmaps", "app")).await;
    await_text(&bench, "app", "A 1.1.0").await;
    bench.respec("seconds", "app", json!({"text": "b"})).await;
    await_text(&bench, "app", "B 1.1.0").await;

    // The next host has no network either.
    host.kill();
    drop(host);
    let _host = place.start();
    bench.respec("seconds", "app", json!({"text": "c"})).await;
    await_text(&bench, "app", "C 1.1.0").await;
    bench.make("seconds", "other", json!({"text": "d"})).await;
    await_text(&bench, "other", "D 1.1.0").await;
    let registry = blocking(move || {
        registry.start().unwrap();
        registry
    })
    .await;
    bench.await_condition("seconds", "app", ("ChartReady", "True"), &["second 1.1.0"]).await;
    bench.delete(&bench.path("seconds", "other")).await;
    await_that("it is gone", async || {
        let left = bench.object("configmaps", "other").await;
        left.err().map(drop).ok_or_else(|| "it is there".to_owned())
    })
    .await;
    drop(registry);
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_read_by_the_host_and_told_by_nobody() {
    let Some(bench) = Bench::new("elsewhere-login").await else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let registry = blocking(move || Registry::guarded(&path).unwrap()).await;
    let chart = json!({"repository": registry.repository(), "name": "second", "interval": "5s", "secretRef": {"name": "login"}});
    let place = place(&bench, &chart);
    let packed = package(&bench, &place, "1.0.0").await;
    let registry = blocking(move || {
        registry.push(&packed).unwrap();
        registry
    })
    .await;
    let host = place.start();
    bench.make("seconds", "app", json!({"text": "a"})).await;
    bench
        .await_condition(
            "seconds",
            "app",
            ("ChartReady", "False"),
            &["Secret elsewhere-login/login is not there"],
        )
        .await;
    let secret = |password: &str| {
        let auth = STANDARD.encode(format!("{USER}:{password}"));
        let docker = json!({"auths": {registry.address(): {"auth": auth}}}).to_string();
        let authority = registry.certificate().unwrap();
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"},
            "stringData": {".dockerconfigjson": docker, "ca.crt": authority},
        })
    };
    bench.create(&bench.path("secrets", ""), &secret("wr0ng-password")).await;
    let told =
        bench.await_condition("seconds", "app", ("ChartReady", "False"), &["Unauthorized", "401"]).await;
    assert!(told.contains("the login in Secret elsewhere-login/login is not accepted"), "{told}");
    bench.merge(&bench.path("secrets", "login"), &secret(PASSWORD)).await;
    bench.await_revisions("app", &[(1, "deployed")]).await;
    await_text(&bench, "app", "A 1.0.0").await;
    // Taken away, it is missed, and what is deployed stays.
    bench.delete(&bench.path("secrets", "login")).await;
    bench.await_condition("seconds", "app", ("ChartReady", "False"), &["is not there"]).await;
    bench.delete(&bench.path("configmaps", "app")).await;
    await_text(&bench, "app", "A 1.0.0").await;
    drop(host);
    let log = place.log();
    for word in ["wr0ng-password", PASSWORD, &STANDARD.encode(format!("{USER}:{PASSWORD}"))] {
        assert!(!log.contains(word), "the log tells {word}");
    }
    let events = bench.get(&bench.path("events", "")).await.unwrap().to_string();
    assert!(!events.contains("wr0ng-password") && !events.contains(PASSWORD));
}

/// A repository at an address of its own.
async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    format!("http://{address}/charts-{now}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_end_or_without_haste_harms_only_who_wants_it() {
    let Some(bench) = Bench::new("elsewhere-http").await else { return };
    let endless = serve(Router::new().fallback(get(|| async {
        let part = || Ok::<_, std::io::Error>(Bytes::from(vec![b'#'; 1 << 20]));
        Body::from_stream(futures::stream::repeat_with(part))
    })));
    let slow = serve(Router::new().fallback(get(|| async {
        let drip = futures::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"#")), ()))
        });
        Body::from_stream(drip)
    })));
    let (endless, slow) = (endless.await, slow.await);
    let place =
        place(&bench, &json!({"repository": endless, "name": "second"})).with("--chart-fetch-timeout=3s");
    let packed = std::fs::read(package(&bench, &place, "1.0.0").await).unwrap();
    let index = "apiVersion: v1\nentries:\n  second:\n  - version: 1.0.0\n    urls: [second-1.0.0.tgz]\n  - version: 0.9.0\n    urls: [none]\n";
    let good = serve(Router::new().fallback(get(move |uri: Uri| async move {
        if uri.path().ends_with("/index.yaml") { index.into_response() } else { packed.into_response() }
    })))
    .await;
    let host = place.start();
    bench.make("seconds", "app", json!({"text": "a"})).await;
    bench
        .await_condition(
            "seconds",
            "app",
            ("ChartReady", "False"),
            &["TooLarge", "index.yaml: more than 32 MiB"],
        )
        .await;
    drop(host);
    watch(&place, &json!({"repository": slow, "name": "second"}));
    let host = place.start();
    bench
        .await_condition("seconds", "app", ("ChartReady", "False"), &["Timeout", "not here after 3 s"])
        .await;
    host.await_ready().await;
    drop(host);
    watch(&place, &json!({"repository": good, "name": "second", "version": ">=1 <2"}));
    let _host = place.start();
    bench.await_revisions("app", &[(1, "deployed")]).await;
    await_text(&bench, "app", "A 1.0.0").await;
    let status = bench.object("seconds", "app").await.unwrap()["status"]["release"].clone();
    assert_eq!(status["chartSource"], format!("{good}/second-1.0.0.tgz"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_created_changed_and_deleted_and_comes_from_where_it_may() {
    let Some(bench) = Bench::new("elsewhere-release").await else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let registry = blocking(move || Registry::open(&path).unwrap()).await;
    let place = Place::new(&bench.namespace, &bench.cluster.kubeconfig_text().unwrap(), &["helm.wasm"])
        .with(format!("--releases={},http://*.example.com", registry.repository()));
    let packed = package(&bench, &place, "1.0.0").await;
    let next = package(&bench, &place, "1.1.0").await;
    let registry = blocking(move || {
        registry.push(&packed).unwrap();
        registry
    })
    .await;
    let _host = place.start();
    let chart = json!({"repository": registry.repository(), "name": "second", "version": "1.x", "interval": "5s", "plainHTTP": true});
    bench.make("releases", "app", json!({"chart": chart, "values": {"text": "a"}})).await;
    bench.await_revisions("app", &[(1, "deployed")]).await;
    await_text(&bench, "app", "A 1.0.0").await;
    assert_eq!(bench.history("app").await, [(1, "deployed".to_owned())], "helm knows it");
    bench.respec("releases", "app", json!({"values": {"text": "b"}})).await;
    await_text(&bench, "app", "B 1.0.0").await;
    let registry = blocking(move || {
        registry.push(&next).unwrap();
        registry
    })
    .await;
    await_text(&bench, "app", "B 1.1.0").await;
    bench.await_condition("releases", "app", ("Ready", "True"), &[]).await;
    let table = bench.kubectl(&["get", "rel", "app", "--namespace", &bench.namespace]).await.unwrap();
    let words: Vec<&str> = table.lines().flat_map(str::split_whitespace).collect();
    assert_eq!(words[..5], ["NAME", "READY", "REVISION", "CHART", "AGE"], "{table}");
    assert_eq!(words[5..9], ["app", "True", "3", "second-1.1.0"], "{table}");

    let elsewhere = json!({"repository": format!("{}-other", registry.repository()), "name": "second", "plainHTTP": true});
    bench.make("releases", "denied", json!({ "chart": elsewhere })).await;
    let told = bench.await_condition("releases", "denied", ("ChartReady", "False"), &["ChartDenied"]).await;
    assert!(told.contains("--releases does not have this place"), "{told}");
    assert_eq!(bench.revisions("denied").await, []);

    bench.delete(&bench.path("releases", "app")).await;
    await_that("the release is gone", async || {
        let left =
            (bench.object("releases", "app").await.is_ok(), bench.object("configmaps", "app").await.is_ok());
        if left == (false, false) && bench.revisions("app").await.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:?}"))
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_refused_by_the_definition() {
    let Some(bench) = Bench::new("elsewhere-definition").await else { return };
    let place = Place::new(&bench.namespace, "", &[]);
    let apply = async |name: &str, spec: Value| {
        let object = json!({
            "apiVersion": "helm.pilothouse.dev/v1alpha1", "kind": "Release",
            "metadata": {"name": name, "namespace": bench.namespace}, "spec": spec,
        });
        std::fs::write(place.path("release.json"), object.to_string()).unwrap();
        bench.kubectl(&["apply", "--filename", &place.path("release.json").display().to_string()]).await
    };
    let chart = json!({"repository": "oci://r.example/charts", "name": "web"});
    let with = |more: Value| {
        let mut spec = json!({ "chart": chart });
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let of_chart = |more: Value| {
        let mut chart = chart.clone();
        chart.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "chart": chart })
    };
    for (spec, said) in [
        (json!({}), "spec.chart"),
        (of_chart(json!({"repository": "r.example"})), "spec.chart.repository"),
        (of_chart(json!({"repository": "https://me:x@r.example"})), "spec.chart.repository"),
        (of_chart(json!({"digest": "sha256:1"})), "spec.chart.digest"),
        (of_chart(json!({"interval": "often"})), "spec.chart.interval"),
        (
            of_chart(json!({"repository": "https://r.example", "plainHTTP": true})),
            "plainHTTP is for registries",
        ),
        (of_chart(json!({"secretRef": {"name": "a", "namespace": "b"}})), "unknown field"),
        (with(json!({"wiat": true})), "unknown field \"spec.wiat\""),
        (with(json!({"driftDetection": {"mode": "on"}})), "spec.driftDetection.mode"),
        (with(json!({"dependsOn": [{"name": "a", "kind": "B"}]})), "apiVersion and kind go together"),
        (with(json!({"timeout": 5})), "spec.timeout"),
    ] {
        let refused = apply("bad", spec.clone()).await.unwrap_err();
        assert!(refused.contains(said), "{spec}: {refused}");
    }
    apply("good", with(json!({"releaseName": "shop", "values": {"any": {"thing": [1]}}}))).await.unwrap();
    let refused = apply("good", with(json!({"releaseName": "other"}))).await.unwrap_err();
    assert!(refused.contains("releaseName cannot change"), "{refused}");
    let long = "a".repeat(54);
    assert!(apply(&long, with(json!({}))).await.unwrap_err().contains("at most 53 characters"));
    apply(&long, with(json!({"releaseName": "short"}))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_has_the_rights_of_its_account_and_no_others() {
    let Some(bench) = Bench::new("elsewhere-account").await else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let registry = blocking(move || Registry::open(&path).unwrap()).await;
    let place = Place::new(&bench.namespace, &bench.cluster.kubeconfig_text().unwrap(), &["helm.wasm"])
        .with(format!("--releases={}", registry.repository()))
        .with("--releases-account=nobody");
    let packed = package(&bench, &place, "1.0.0").await;
    let registry = blocking(move || {
        registry.push(&packed).unwrap();
        registry
    })
    .await;
    let metadata = json!({"name": "installer", "namespace": bench.namespace});
    let rule = json!({"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["*"]});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": [rule]});
    let subject = json!({"kind": "ServiceAccount", "name": "installer", "namespace": bench.namespace});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata, "subjects": [subject],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "installer"},
    });
    bench.create(&bench.path("roles", ""), &role).await;
    bench.create(&bench.path("rolebindings", ""), &binding).await;
    let _host = place.start();
    let chart = json!({"repository": registry.repository(), "name": "second", "plainHTTP": true});
    let spec =
        |account: &str| json!({"chart": chart, "values": {"text": "a"}, "serviceAccountName": account});
    bench.make("releases", "own", spec("installer")).await;
    bench.make("releases", "other", json!({"chart": chart, "values": {"text": "a"}})).await;
    await_text(&bench, "own", "A 1.0.0").await;
    let account = format!("system:serviceaccount:{}:nobody", bench.namespace);
    bench.await_condition("releases", "other", ("Ready", "False"), &["Forbidden", &account]).await;
    assert!(bench.object("configmaps", "other").await.unwrap_err().contains("not found"));
}
