//! A gate before an API server in memory.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::Request;
use http_body_util::BodyExt as _;
use kube::client::Body;
use tokio::net::TcpListener;
use tokio::time::advance;

use super::*;
use crate::health::tls::{Certificate, tests::ask};
use crate::health::{Metrics, Protection, serve_metrics};
use crate::telemetry::series::PluginMetrics;
use crate::telemetry::{ClientMetrics, SharedRegistry};

/// What the API server was asked.
type Asked = Arc<Mutex<Vec<Value>>>;

/// An API server that knows prometheus, who may, and eve, who may not; the token `broken` breaks it.
fn gate() -> (Gate, Asked) {
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let seen = Arc::clone(&seen);
        async move {
            let bytes = request.into_body().collect().await.unwrap().to_bytes();
            let review: Value = serde_json::from_slice(&bytes).unwrap();
            let status = match (review["spec"]["token"].as_str(), review["spec"]["user"].as_str()) {
                (Some(name @ ("prometheus" | "eve")), _) => json!({"authenticated": true, "user": {
                    "username": name, "uid": "7", "groups": ["system:authenticated"], "extra": {"k": ["v"]},
                }}),
                // Some authenticators fill in a user beside their no.
                (Some("forged"), _) => json!({"authenticated": false, "user": {"username": "prometheus"}}),
                (Some("broken"), _) => {
                    let refusal = json!({"message": "tokenreviews is forbidden", "code": 403});
                    let answer = http::Response::builder().status(403);
                    return Ok::<_, std::io::Error>(
                        answer.body(Body::from(refusal.to_string().into_bytes())).unwrap(),
                    );
                }
                (None, user) => json!({"allowed": user == Some("prometheus")}),
                _ => json!({"authenticated": false, "error": "no"}),
            };
            seen.lock().unwrap().push(review);
            let answer = json!({"status": status}).to_string().into_bytes();
            Ok(http::Response::new(Body::from(answer)))
        }
    });
    let client = kube::Client::new(service, "default");
    (Gate::new(Api::new(client, ClientMetrics::default())), asked)
}

async fn code(gate: &Gate, authorization: &str) -> u16 {
    let mut headers = HeaderMap::new();
    if !authorization.is_empty() {
        headers.insert(header::AUTHORIZATION, authorization.parse().unwrap());
    }
    gate.admit(&Verb::GET, "/metrics", &headers).await.err().map_or(200, |(code, _)| code.as_u16())
}

#[tokio::test]
async fn only_accounts_that_may_get_the_metrics_are_let_in() {
    let (gate, asked) = gate();
    assert_eq!(code(&gate, "Bearer prometheus").await, 200);
    let reviews = asked.lock().unwrap().clone();
    assert_eq!(reviews[0]["kind"], "TokenReview");
    assert_eq!(
        reviews[1]["spec"],
        json!({
            "user": "prometheus", "uid": "7", "groups": ["system:authenticated"], "extra": {"k": ["v"]},
            "nonResourceAttributes": {"verb": "get", "path": "/metrics"},
        })
    );
    assert_eq!(code(&gate, "Bearer eve").await, 403);
    for nobody in ["Bearer guessed", "Bearer forged", "Bearer ", "Basic prometheus", "prometheus", ""] {
        assert_eq!(code(&gate, nobody).await, 401, "{nobody:?}");
    }
    assert_eq!(code(&gate, "Bearer broken").await, 500);
}

#[tokio::test(start_paused = true)]
async fn answers_hold_for_a_while_and_failures_not_at_all() {
    let (gate, asked) = gate();
    let questions = || asked.lock().unwrap().len();
    for _ in 0..5 {
        code(&gate, "Bearer prometheus").await;
        code(&gate, "Bearer eve").await;
        code(&gate, "Bearer broken").await;
    }
    assert_eq!(questions(), 4);
    advance(REFUSED).await;
    assert_eq!(code(&gate, "Bearer eve").await, 403);
    assert_eq!(code(&gate, "Bearer prometheus").await, 200);
    assert_eq!(questions(), 6);
    advance(ALLOWED).await;
    assert_eq!(code(&gate, "Bearer prometheus").await, 200);
    assert_eq!(questions(), 8);
    for n in 0..2 * MAX_ANSWERS {
        code(&gate, &format!("Bearer guess-{n}")).await;
    }
    assert!(gate.answers.lock().unwrap().len() <= MAX_ANSWERS);
}

#[tokio::test]
async fn metrics_are_served_with_tls_to_those_who_may_and_to_nobody_else() {
    let certificate = Certificate::of_ones_own().unwrap();
    let public = certificate.public();
    let metrics =
        Metrics { registry: SharedRegistry::default(), plugins: Arc::new(PluginMetrics::default()) };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let protection = Protection { tls: Some(certificate), gate: Some(Arc::new(gate().0)) };
    tokio::spawn(serve_metrics(listener, metrics, protection));
    let answer = async |path: &str, token: &str| {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        ask(address, public.clone(), &request).await.unwrap()
    };
    let page = answer("/metrics", "prometheus").await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("# EOF"), "{page}");
    let refused = answer("/metrics", "eve").await;
    assert!(refused.starts_with("HTTP/1.1 403") && !refused.contains("# EOF"), "{refused}");
    assert!(answer("/metrics", "guessed").await.starts_with("HTTP/1.1 401"));
    assert!(answer("/", "prometheus").await.starts_with("HTTP/1.1 404"));
}
