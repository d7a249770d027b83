//! Attempts against servers that answer badly.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use serde_json::json;
use tokio::sync::Mutex;

use super::*;
use crate::charts::wish::SecretName;

/// Takes the newest, or what is named.
#[derive(Debug)]
struct Newest;

#[async_trait]
impl Chooser for Newest {
    async fn pick_tag(&self, _: &str, tags: Vec<String>, version: &str) -> Result<String, String> {
        let found = tags.iter().rev().find(|tag| version.is_empty() || tag.starts_with(version));
        found.cloned().ok_or_else(|| format!("nothing fits {version}"))
    }

    async fn find_chart(&self, _: &str, index: Vec<u8>, name: &str, _: &str) -> Result<Value, String> {
        let index: Value = serde_json::from_slice(&index).map_err(|_| "no index".to_owned())?;
        index.get(name).cloned().ok_or_else(|| "no chart name found".to_owned())
    }
}

const ARCHIVE: &[u8] = &[0x1f, 0x8b, 1, 2, 3];

/// Who was asked for what, with which authorization.
type Asked = Arc<Mutex<Vec<(String, Option<String>)>>>;

async fn serve(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

/// A repository whose index says this about `web`.
async fn repository(entry: Value) -> (String, Asked) {
    let asked = Asked::default();
    let noted = Arc::clone(&asked);
    let index = json!({"web": entry}).to_string();
    let answer = move |uri: Uri, headers: http::HeaderMap| {
        let (index, noted) = (index.clone(), Arc::clone(&noted));
        async move {
            let shown = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
            noted.lock().await.push((uri.path().to_owned(), shown));
            match uri.path() {
                "/index.yaml" => index.into_response(),
                "/web.tgz" => ARCHIVE.into_response(),
                "/page" => "<html>".into_response(),
                "/large" => vec![0x1f; 2000].into_response(),
                "/busy" => (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "77")]).into_response(),
                "/private" => StatusCode::FORBIDDEN.into_response(),
                path => match path.strip_prefix("/to/") {
                    Some(target) => Redirect::temporary(&target.replace("__", "://")).into_response(),
                    None => StatusCode::NOT_FOUND.into_response(),
                },
            }
        }
    };
    let address = serve(Router::new().fallback(get(answer))).await;
    (format!("http://{address}"), asked)
}

fn wish(repository: &str) -> Wish {
    Wish {
        plugin: "helm".to_owned(),
        repository: repository.to_owned(),
        name: "web".to_owned(),
        version: String::new(),
        digest: None,
        plain_http: true,
        pass_credentials: false,
        secret: None,
        named: true,
    }
}

const LIMITS: Limits = Limits { time: Duration::from_secs(5), archive: 1000, index: 1000 };

async fn attempt(wish: &Wish, credentials: Option<&Credentials>) -> Result<Brought, Failure> {
    Network { chooser: Arc::new(Newest), limits: LIMITS }.fetch(wish, credentials, &|_| false).await
}

fn secret() -> Credentials {
    let name = SecretName { namespace: "shop".to_owned(), name: "login".to_owned() };
    let data = json!({"username": "bWU=", "password": "aDFkZGVu"});
    Credentials::read(&json!({"data": data}), &name).unwrap()
}

#[tokio::test]
async fn a_chart_comes_from_a_repository_with_where_it_was() {
    let (url, _) =
        repository(json!({"url": "web.tgz?sig=h1dden", "version": "1.2.3", "digest": digest_of(ARCHIVE)}))
            .await;
    let brought = attempt(&wish(&url), None).await.unwrap();
    let Resolution { version, digest, location, .. } = brought.resolution;
    assert_eq!((version.as_str(), digest, location), ("1.2.3", digest_of(ARCHIVE), format!("{url}/web.tgz")));
    assert_eq!(brought.archive.as_deref(), Some(ARCHIVE));
    let network = Network { chooser: Arc::new(Newest), limits: LIMITS };
    let known = network.fetch(&wish(&url), None, &|digest| digest == digest_of(ARCHIVE)).await.unwrap();
    assert_eq!(known.archive, None, "what is here is not fetched again");
}

#[tokio::test]
async fn every_bad_answer_is_told_with_the_server_and_what_to_do() {
    for (entry, reason, said) in [
        (
            json!({"url": "none.tgz"}),
            "ChartNotFound",
            "404 Not Found for http://{server}/none.tgz; are repository",
        ),
        (
            json!({"url": "private"}),
            "Unauthorized",
            "403 Forbidden for http://{server}/private; it wants credentials: name a Secret",
        ),
        (json!({"url": "busy"}), "Unreachable", "503 Service Unavailable for http://{server}/busy"),
        (json!({"url": "page"}), "InvalidChart", "{server}: what came for web is no archive"),
        (json!({"url": "large"}), "TooLarge", "http://{server}/large: more than 1000 bytes"),
        (json!({"url": "file:///etc/passwd"}), "InvalidRepository", "no address of the web"),
        (
            json!({"url": "web.tgz", "digest": "0".repeat(64)}),
            "DigestMismatch",
            "not what the repository's index promises",
        ),
    ] {
        let (url, _) = repository(entry).await;
        let failure = attempt(&wish(&url), None).await.unwrap_err();
        let said = said.replace("{server}", url.trim_start_matches("http://"));
        assert!(failure.reason == reason && failure.message.contains(&said), "{failure:?} without {said:?}");
    }
    let (url, _) = repository(json!({"url": "busy"})).await;
    assert_eq!(attempt(&wish(&url), None).await.unwrap_err().retry_after, Some(Duration::from_secs(77)));
    let other = Wish { name: "shop".to_owned(), version: "^9".to_owned(), ..wish(&url) };
    let failure = attempt(&other, None).await.unwrap_err();
    assert!(failure.message.ends_with("no chart shop \"^9\": no chart name found"), "{failure:?}");
    let large = Network { chooser: Arc::new(Newest), limits: Limits { index: 4, ..LIMITS } };
    let failure = large.fetch(&wish(&url), None, &|_| false).await.unwrap_err();
    assert!(failure.message.ends_with("index.yaml: more than 4 bytes"), "{failure:?}");
}

#[tokio::test]
async fn a_digest_is_taken_at_its_word() {
    let (url, _) = repository(json!({"url": "web.tgz"})).await;
    let of = |digest: String| Wish { digest: Some(digest), ..wish(&url) };
    attempt(&of(digest_of(ARCHIVE)), None).await.unwrap();
    let failure = attempt(&of(digest_of(b"other")), None).await.unwrap_err();
    assert!(
        failure.reason == "DigestMismatch" && failure.message.contains(&digest_of(ARCHIVE)),
        "{failure:?}"
    );
}

#[tokio::test]
async fn credentials_are_for_the_repositorys_server_and_do_not_go_with_a_redirect() {
    let (elsewhere, asked_there) = repository(json!({})).await;
    let there = elsewhere.replace("://", "__");
    for entry in
        [json!({"url": format!("{elsewhere}/web.tgz")}), json!({"url": format!("to/{there}/web.tgz")})]
    {
        let (url, asked) = repository(entry).await;
        // The other server is at the same address of this machine, but has a port of its own.
        attempt(&wish(&url), Some(&secret())).await.unwrap();
        assert!(asked.lock().await.iter().all(|(_, shown)| shown.is_some()));
        let there = std::mem::take(&mut *asked_there.lock().await);
        assert_eq!(there, [("/web.tgz".to_owned(), None)]);
    }
    let (url, _) = repository(json!({"url": format!("{elsewhere}/web.tgz")})).await;
    attempt(&Wish { pass_credentials: true, ..wish(&url) }, Some(&secret())).await.unwrap();
    assert!(asked_there.lock().await[0].1.is_some(), "unless that was said");
}

#[tokio::test]
async fn wrong_credentials_are_told_without_them() {
    let (url, _) = repository(json!({"url": "private"})).await;
    let failure = attempt(&wish(&url), Some(&secret())).await.unwrap_err();
    assert!(
        failure
            .message
            .ends_with("the login in Secret shop/login is not accepted, or may not read the chart"),
        "{failure:?}"
    );
    assert!(!failure.message.contains("h1dden"), "{failure:?}");
}

#[tokio::test]
async fn nobody_is_led_to_the_machine_itself_or_to_its_metadata() {
    let (url, asked) = repository(json!({"url": "web.tgz"})).await;
    let failure = attempt(&Wish { named: false, ..wish(&url) }, None).await.unwrap_err();
    assert!(failure.message.contains("leads to 127.0.0.1"), "{failure:?}");
    let localhost = url.replace("127.0.0.1", "localhost");
    let failure = attempt(&Wish { named: false, ..wish(&localhost) }, None).await.unwrap_err();
    assert!(failure.message.contains("localhost leads to"), "{failure:?}");
    assert!(asked.lock().await.is_empty());
    for url in [
        "http://169.254.169.254/latest",
        "to/http__169.254.169.254/latest",
        "http://0xa9fea9fe/latest",
        "http://2852039166/latest",
        "to/http__0251.0376.0251.0376/latest",
    ] {
        let entry = json!({"url": url});
        let (url, _) = repository(entry).await;
        let failure = attempt(&wish(&url), None).await.unwrap_err();
        assert!(
            failure.reason == "Unreachable" && failure.message.contains("leads to 169.254.169.254"),
            "{failure:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_is_slow_or_away_ends_the_attempt() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let slow =
        Network { chooser: Arc::new(Newest), limits: Limits { time: Duration::from_millis(200), ..LIMITS } };
    let failure = slow.fetch(&wish(&format!("http://{address}")), None, &|_| false).await.unwrap_err();
    assert!(["Timeout", "Unreachable"].contains(&failure.reason), "{failure:?}");
    assert!(failure.message.contains(&address.to_string()), "{failure:?}");
    drop(listener);
    let failure = attempt(&wish(&format!("http://{address}")), None).await.unwrap_err();
    assert!(failure.reason == "Unreachable" && failure.message.contains("refused"), "{failure:?}");
}

/// A registry with one chart.
async fn registry() -> String {
    let layer = json!({"mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "digest": digest_of(ARCHIVE), "size": ARCHIVE.len()});
    let manifest = json!({"layers": [layer]}).to_string();
    let answer = move |uri: Uri| {
        let manifest = manifest.clone();
        async move {
            let path = uri.path().trim_start_matches("/v2/charts/web/");
            let tagged = [
                "manifests/1.0.0",
                "manifests/1.1.0_b",
                &format!("manifests/{}", digest_of(manifest.as_bytes())),
            ]
            .contains(&path);
            let response: Response = match path {
                "tags/list" => json!({"tags": ["1.0.0", "1.1.0_b"]}).to_string().into_response(),
                _ if tagged => manifest.into_response(),
                _ if path.starts_with("blobs/") => ARCHIVE.into_response(),
                _ => {
                    (StatusCode::NOT_FOUND, json!({"errors": [{"message": "manifest unknown"}]}).to_string())
                        .into_response()
                }
            };
            response
        }
    };
    format!("oci://{}/charts", serve(Router::new().fallback(get(answer))).await)
}

#[tokio::test]
async fn a_chart_comes_from_a_registry_by_range_version_and_digest() {
    let url = registry().await;
    let of = |version: &str| Wish { version: version.to_owned(), ..wish(&url) };
    let newest = attempt(&of(""), None).await.unwrap().resolution;
    assert_eq!((newest.version.as_str(), newest.location), ("1.1.0+b", format!("{url}/web:1.1.0_b")));
    let exact = attempt(&of("1.0.0"), None).await.unwrap();
    assert_eq!((exact.resolution.version.as_str(), exact.archive.as_deref()), ("1.0.0", Some(ARCHIVE)));
    let failure = attempt(&of("2.0.0"), None).await.unwrap_err();
    assert!(
        failure.reason == "ChartNotFound"
            && failure.message.ends_with("(the registry says: manifest unknown)"),
        "{failure:?}"
    );
    let failure = attempt(&of("3"), None).await.unwrap_err();
    assert!(failure.message.ends_with("no chart web \"3\": nothing fits 3"), "{failure:?}");
    for digest in [digest_of(ARCHIVE), digest_of(b"other")] {
        let fits = digest == digest_of(ARCHIVE);
        let pinned = Wish { digest: Some(digest), ..of("1.0.0") };
        assert_eq!(attempt(&pinned, None).await.is_ok(), fits);
    }
}
