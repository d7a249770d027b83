use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const REVIEW: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

#[tokio::test(start_paused = true)]
async fn behind_the_fence_nothing_is_written_and_questions_are_asked() {
    let arrived = Arc::new(AtomicUsize::new(0));
    let (seen, hangs) = (Arc::clone(&arrived), "/api/v1/namespaces/x/slow");
    let service = tower::service_fn(move |request: Request<Body>| {
        seen.fetch_add(1, Ordering::SeqCst);
        async move {
            if request.uri().path() == hangs {
                std::future::pending::<()>().await;
            }
            Ok::<_, std::io::Error>(http::Response::new(Body::from(b"{}".to_vec())))
        }
    });
    let fence = Fence::default();
    let client = kube::Client::new(service, "default");
    let api = Api::new(client, ClientMetrics::default()).behind(fence.clone());
    let send = async |method: Method, path: &str| {
        api.send(Call::new(method, path.to_owned(), None)).await.map(|reply| reply.code)
    };
    let map = "/api/v1/namespaces/x/configmaps/a";
    assert_eq!(send(Method::PATCH, map).await.unwrap(), 200);

    let end = Instant::now() + Duration::from_secs(10);
    fence.open_until(end);
    // One that is under way does not wait beyond the fence.
    assert!(send(Method::PATCH, hangs).await.unwrap_err().message.contains("did not answer"));
    assert_eq!(Instant::now(), end);
    let before = arrived.load(Ordering::SeqCst);
    for method in [Method::PATCH, Method::POST, Method::PUT, Method::DELETE] {
        let error = send(method, map).await.unwrap_err();
        assert!(error.message.contains("lease") && error.kind == ErrorKind::Unavailable, "{error}");
    }
    assert_eq!(arrived.load(Ordering::SeqCst), before);
    assert_eq!(send(Method::GET, map).await.unwrap(), 200);
    assert_eq!(send(Method::POST, REVIEW).await.unwrap(), 200);
}

#[test]
fn a_refused_apply_names_whose_fields_stand_in_its_way() {
    let status = serde_json::json!({"kind": "Status", "reason": "Conflict", "code": 409,
    "message": "Apply failed with 2 conflicts: …",
    "details": {"causes": [
        {"reason": "FieldManagerConflict", "message": "conflict with \"kubectl-edit\" using apps/v1", "field": ".spec.paused"},
        {"reason": "FieldManagerConflict", "field": ".spec.replicas",
            "message": "conflict with \"kubectl\" with subresource \"scale\" using apps/v1"},
        {"reason": "FieldValueInvalid", "message": "\"x\" is none", "field": ".spec"},
    ]}});
    let error = failure(StatusCode::CONFLICT, &http::HeaderMap::new(), status.to_string().as_bytes());
    assert_eq!(error.kind, ErrorKind::Conflict);
    let named: Vec<_> =
        error.conflicts.iter().map(|one| (one.manager.as_str(), one.field.as_str())).collect();
    assert_eq!(named, [("kubectl-edit", ".spec.paused"), ("kubectl", ".spec.replicas")]);
    let moved = failure(StatusCode::CONFLICT, &http::HeaderMap::new(), br#"{"reason": "Conflict"}"#);
    assert!(moved.conflicts.is_empty());
}

#[test]
fn a_disruption_budget_is_a_conflict_and_no_wish_for_rest() {
    let refused = |causes: &str| {
        let body = format!(
            r#"{{"kind": "Status", "reason": "TooManyRequests", "code": 429, "message": "Cannot evict pod.",
                "details": {{"retryAfterSeconds": 10, "causes": {causes}}}}}"#
        );
        failure(StatusCode::TOO_MANY_REQUESTS, &http::HeaderMap::new(), body.as_bytes())
    };
    let budget = refused(
        r#"[{"reason": "DisruptionBudget", "message": "The disruption budget db needs 2 healthy pods and has 2 currently"}]"#,
    );
    assert_eq!(budget.kind, ErrorKind::Conflict);
    assert_eq!(
        budget.message,
        "Cannot evict pod. The disruption budget db needs 2 healthy pods and has 2 currently"
    );
    assert_eq!(refused("[]").kind, ErrorKind::Throttled);
}
