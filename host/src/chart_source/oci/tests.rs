//! The protocol against a server that answers as it is told.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::json;

use super::*;
use crate::chart_source::web::Terms;

#[test]
fn a_version_is_told_from_a_range() {
    for exact in ["1.2.3", "v1.2.3", "1.2.3-rc.1", "1.2.3+build"] {
        assert!(is_exact(exact), "{exact}");
    }
    for range in ["", "1.2", "^1.2.3", "1.2.x", "~1", ">1.2.3", "1.2.3 - 2.0.0", "*"] {
        assert!(!is_exact(range), "{range}");
    }
}

#[derive(Clone)]
struct Server {
    /// The token that it wants to see; empty: none.
    token: &'static str,
    address: Arc<str>,
}

async fn serve(token: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let state = Server { token, address: address.as_str().into() };
    let router = Router::new()
        .route("/v2/charts/web/tags/list", get(tags))
        .route("/v2/charts/web/manifests/{reference}", get(manifest))
        .route("/v2/charts/web/blobs/{digest}", get(|| async { b"archive".to_vec() }))
        .route("/token", get(give_token))
        .with_state(state);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

async fn tags(State(server): State<Server>, headers: HeaderMap, uri: http::Uri) -> Response {
    if !server.token.is_empty()
        && headers.get("authorization").is_none_or(|shown| shown != &format!("Bearer {}", server.token))
    {
        let challenge = format!(
            r#"Bearer realm="http://{}/token",service="reg",scope="repository:charts/web:pull""#,
            server.address
        );
        let words = json!({"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]});
        return (StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)], words.to_string())
            .into_response();
    }
    if uri.query().unwrap_or_default().contains("last=") {
        return json!({"tags": ["1.1.0"]}).to_string().into_response();
    }
    let link = r#"</v2/charts/web/tags/list?last=1.0.0&n=1>; rel="next""#;
    ([("link", link)], json!({"tags": ["1.0.0"]}).to_string()).into_response()
}

async fn give_token(headers: HeaderMap, uri: http::Uri) -> Response {
    let known = format!("Basic {}", STANDARD.encode("me:secret"));
    if headers.get("authorization").is_none_or(|shown| *shown != known) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    assert_eq!(uri.query(), Some("scope=repository%3Acharts%2Fweb%3Apull&service=reg"));
    json!({"token": "t"}).to_string().into_response()
}

async fn manifest(axum::extract::Path(reference): axum::extract::Path<String>) -> Response {
    let layer = |digest: &str, size: u64| json!({"mediaType": LAYERS[0], "digest": digest, "size": size});
    match reference.as_str() {
        "large" => vec![b' '; 5 << 20].into_response(),
        "large-layer" => json!({"layers": [layer("sha256:0", 1 << 30)]}).to_string().into_response(),
        "lying" => json!({"layers": [layer("sha256:0", 7)]}).to_string().into_response(),
        "image" => json!({"layers": [{"mediaType": "application/x", "digest": "sha256:0", "size": 1}]})
            .to_string()
            .into_response(),
        "html" => "<html>".into_response(),
        "gone" => StatusCode::NOT_FOUND.into_response(),
        _ => json!({"layers": [layer(&digest(b"archive"), 7)]}).to_string().into_response(),
    }
}

async fn with<T>(token: &'static str, visitor: Visitor, ask: impl AsyncFnOnce(&Registry<'_>) -> T) -> T {
    let address = serve(token).await;
    let image: Reference = format!("{address}/charts/web").parse().unwrap();
    let client = Client::new(&Terms::default()).unwrap();
    ask(&Registry::new(&client, &image, visitor, true)).await
}

fn me(password: &str) -> Visitor {
    Visitor::Login(Login { name: "me".to_owned(), password: password.to_owned() })
}

#[tokio::test]
async fn pages_of_tags_are_followed_however_small_they_are() {
    let tags = with("", Visitor::Anonymous, async |registry| registry.tags().await.unwrap()).await;
    assert_eq!(tags, ["1.0.0", "1.1.0"]);
}

#[tokio::test]
async fn a_registry_is_shown_the_token_that_it_sends_its_visitors_for() {
    let tags = with("t", me("secret"), async |registry| registry.tags().await.unwrap()).await;
    assert_eq!(tags.len(), 2);
}

#[tokio::test]
async fn a_login_that_is_none_is_told_without_it() {
    let error = with("t", me("wr0ng"), async |registry| registry.tags().await.unwrap_err()).await;
    let told = crate::error_text::chain(&error);
    assert!(told.contains("401 Unauthorized") && !told.contains("wr0ng"), "{told}");
    let error =
        with("t", Visitor::Token("x".to_owned()), async |registry| registry.tags().await.unwrap_err()).await;
    assert!(error.to_string().ends_with("401 Unauthorized: authentication required"), "{error}");
}

#[tokio::test]
async fn a_chart_is_held_against_its_digest_and_nothing_has_more_bytes_than_it_may() {
    with("", Visitor::Anonymous, async |registry| {
        let (good, _) = registry.manifest("1.0.0").await.unwrap();
        assert_eq!(registry.blob(good.chart().unwrap(), 100).await.unwrap(), b"archive");
        assert!(matches!(
            registry.blob(good.chart().unwrap(), 6).await,
            Err(RegistryError::TooLarge { most: 6 })
        ));
        assert!(registry.manifest("large").await.unwrap_err().to_string().ends_with("more than 4 MiB"));
        let (large, _) = registry.manifest("large-layer").await.unwrap();
        let refused = registry.blob(large.chart().unwrap(), 32 << 20).await.unwrap_err();
        assert_eq!(refused.to_string(), "more than 32 MiB");
        let (lying, _) = registry.manifest("lying").await.unwrap();
        let refused = registry.blob(lying.chart().unwrap(), 100).await.unwrap_err().to_string();
        assert!(refused.starts_with("the layer has the digest sha256:"), "{refused}");
        assert_eq!(
            registry.manifest("image").await.unwrap().0.chart().unwrap_err().to_string(),
            "it holds no chart"
        );
        assert!(
            registry
                .manifest("html")
                .await
                .unwrap_err()
                .to_string()
                .contains("line 1, column 1: no such JSON")
        );
        assert!(registry.manifest("gone").await.unwrap_err().to_string().contains("404 Not Found"));
        let other = format!("sha256:{}", "0".repeat(64));
        assert!(
            registry
                .manifest(&other)
                .await
                .unwrap_err()
                .to_string()
                .starts_with("the manifest has the digest")
        );
    })
    .await;
}
