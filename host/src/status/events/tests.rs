//! An API server that only keeps what is posted.

use std::sync::atomic::{AtomicBool, Ordering};

use http::{Request, Response};
use kube::client::Body;

use super::*;
use crate::object::Gvk;
use crate::telemetry::ClientMetrics;

/// Reasons of events in the order in which they came, and when.
type Posted = mpsc::UnboundedReceiver<(String, Instant)>;

fn api() -> (Api, Posted) {
    let (posted, receiver) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |request: Request<Body>| {
        let posted = posted.clone();
        async move {
            let body = request.into_body().collect_bytes().await.unwrap();
            let event: Value = serde_json::from_slice(&body).unwrap();
            posted.send((event["reason"].as_str().unwrap().to_owned(), Instant::now())).unwrap();
            Ok::<_, std::io::Error>(Response::builder().status(201).body(Body::from(body.to_vec())).unwrap())
        }
    });
    (Api::new(kube::Client::new(service, "default"), ClientMetrics::default()), receiver)
}

fn told(recorder: &Recorder, reason: &str) {
    let key = ObjectKey::new(Arc::new(Gvk::new("", "v1", "ConfigMap")), Some("shop"), "web");
    let event =
        Event { event_type: EventType::Normal, reason: reason.to_owned(), message: "done".to_owned() };
    recorder.publish(&Regarding { key, uid: Arc::from("u") }, event);
}

#[tokio::test(start_paused = true)]
async fn events_make_way_for_work_but_not_for_long() {
    let (busy, (api, mut posted)) = (Arc::new(AtomicBool::new(true)), api());
    let is_busy = Arc::clone(&busy);
    let recorder = Recorder::start(api, "host", move || is_busy.load(Ordering::Relaxed));
    let begun = Instant::now();
    told(&recorder, "First");
    told(&recorder, "Second");
    for expected in ["First", "Second"] {
        let (reason, at) = posted.recv().await.unwrap();
        let waited = at.duration_since(begun).as_secs();
        assert_eq!(
            (reason.as_str(), waited),
            (expected, 2),
            "each waits for two seconds, and not one after the other"
        );
    }
    busy.store(false, Ordering::Relaxed);
    let begun = Instant::now();
    told(&recorder, "Third");
    let (reason, at) = posted.recv().await.unwrap();
    assert_eq!(reason, "Third");
    assert!(at.duration_since(begun) < LOOK, "nothing waits while nothing is to be done");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_ends_writes_the_events_that_wait_first() {
    let (api, mut posted) = api();
    let recorder = Recorder::start(api, "host", || true);
    let begun = Instant::now();
    told(&recorder, "First");
    told(&recorder, "Second");
    recorder.hurry();
    told(&recorder, "Third");
    recorder.flush(Duration::from_secs(1)).await;
    assert!(begun.elapsed() <= LOOK, "nothing makes way any more");
    for expected in ["First", "Second", "Third"] {
        assert_eq!(posted.try_recv().unwrap().0, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_answer_holds_nobody_who_ends() {
    let service = tower::service_fn(|_: Request<Body>| async {
        std::future::pending::<Result<Response<Body>, std::io::Error>>().await
    });
    let api = Api::new(kube::Client::new(service, "default"), ClientMetrics::default());
    let recorder = Recorder::start(api, "host", || false);
    let begun = Instant::now();
    told(&recorder, "First");
    recorder.flush(Duration::from_secs(1)).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
}
