//! An API server that only keeps what is posted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use http::{Request, Response};
use kube::client::Body;

use super::*;
use crate::object::Gvk;
use crate::telemetry::ClientMetrics;

/// Reasons of events in the order in which they came, and when.
type Posted = Arc<Mutex<Vec<(String, Instant)>>>;

fn api(posted: &Posted) -> Api {
    let posted = Arc::clone(posted);
    let service = tower::service_fn(move |request: Request<Body>| {
        let posted = Arc::clone(&posted);
        async move {
            let body = request.into_body().collect_bytes().await.unwrap();
            let event: Value = serde_json::from_slice(&body).unwrap();
            let reason = event["reason"].as_str().unwrap().to_owned();
            posted.lock().unwrap_or_else(PoisonError::into_inner).push((reason, Instant::now()));
            Ok::<_, std::io::Error>(Response::builder().status(201).body(Body::from(body.to_vec())).unwrap())
        }
    });
    Api::new(kube::Client::new(service, "default"), ClientMetrics::default())
}

fn told(recorder: &Recorder, reason: &str) {
    let key = ObjectKey::new(Arc::new(Gvk::new("", "v1", "ConfigMap")), Some("shop"), "web");
    let event =
        Event { event_type: EventType::Normal, reason: reason.to_owned(), message: "done".to_owned() };
    recorder.publish(&Regarding { key, uid: Arc::from("u") }, event);
}

fn posted(posted: &Posted) -> Vec<(String, Instant)> {
    posted.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

async fn until(what: &Posted, count: usize) -> Vec<(String, Instant)> {
    while posted(what).len() < count {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    posted(what)
}

#[tokio::test(start_paused = true)]
async fn events_make_way_for_work_but_not_for_long() {
    let (busy, kept) = (Arc::new(AtomicBool::new(true)), Posted::default());
    let is_busy = Arc::clone(&busy);
    let recorder = Recorder::start(api(&kept), "host", move || is_busy.load(Ordering::Relaxed));
    let begun = Instant::now();
    told(&recorder, "First");
    told(&recorder, "Second");
    let all = until(&kept, 2).await;
    let waits: Vec<u64> = all.iter().map(|(_, at)| at.duration_since(begun).as_secs()).collect();
    assert_eq!(waits, [2, 2], "each waits for two seconds, and not one after the other");
    busy.store(false, Ordering::Relaxed);
    let begun = Instant::now();
    told(&recorder, "Third");
    let all = until(&kept, 3).await;
    let reasons: Vec<&str> = all.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reasons, ["First", "Second", "Third"]);
    assert!(
        all[2].1.duration_since(begun) < Duration::from_millis(100),
        "nothing waits while nothing is to be done"
    );
}
