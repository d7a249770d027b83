//! Kubernetes events: created once, counted up when they repeat, never in the way of a reconcile.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::cluster::request::{Api, Call};
use crate::object::ObjectKey;
use crate::plugin::bindings::{Event, EventType};

/// Equal events within this time are one series.
const SERIES: Duration = Duration::from_secs(600);
/// Series remembered.
const MAX_SERIES: usize = 4_096;
/// Events of one object that may be created within a series' time; further ones are dropped, as client-go's spam
/// filter does.
const BURST: u32 = 25;
/// Events waiting to be written.
const BACKLOG: usize = 1_024;
/// So long an event makes way for work that waits, and so often it looks whether there is any.
const COURTESY: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(50);

/// What an event is about.
#[derive(Clone, Debug)]
pub struct Regarding {
    /// The object.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Arc<str>,
}

/// Takes events and writes them in the background. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    queue: mpsc::Sender<Message>,
    hurried: Arc<AtomicBool>,
}

/// What the writer is handed.
#[derive(Debug)]
enum Message {
    Event(Told),
    /// Whoever waits here hears that everything before it was written.
    Flush(oneshot::Sender<()>),
}

/// An event, and when it was handed over.
#[derive(Debug)]
struct Told {
    regarding: Regarding,
    event: Event,
    at: Instant,
}

/// Whether there is work that waits for the API server.
type Busy = Box<dyn Fn() -> bool + Send>;

impl Recorder {
    /// Starts the writer. While the host is `busy`, events make way for a moment.
    pub fn start(api: Api, instance: &str, busy: impl Fn() -> bool + Send + 'static) -> Self {
        let (queue, receiver) = mpsc::channel(BACKLOG);
        let hurried = Arc::new(AtomicBool::new(false));
        let writer = Writer { api, instance: instance.to_owned(), series: HashMap::new(), sequence: 0 };
        let calm = Arc::clone(&hurried);
        let makes_way = move || !calm.load(Ordering::Relaxed) && busy();
        tokio::spawn(writer.run(receiver, Box::new(makes_way)));
        Self { queue, hurried }
    }

    /// From now on events make way for nothing: the host is about to end.
    pub fn hurry(&self) {
        self.hurried.store(true, Ordering::Relaxed);
    }

    /// Waits until everything that was handed over is written, for so long at most.
    pub async fn flush(&self, limit: Duration) {
        let (written, heard) = oneshot::channel();
        let flushed = async {
            if self.queue.send(Message::Flush(written)).await.is_ok() {
                // Gone without a word is gone as well.
                let _ = heard.await;
            }
        };
        if tokio::time::timeout(limit, flushed).await.is_err() {
            tracing::debug!("events were left unwritten");
        }
    }

    /// Hands an event over. When the API server is away for long, events are what is lost.
    pub fn publish(&self, regarding: &Regarding, event: Event) {
        let told = Told { regarding: regarding.clone(), event, at: Instant::now() };
        if self.queue.try_send(Message::Event(told)).is_err() {
            tracing::debug!(object = %regarding.key, "an event was dropped: too many are waiting");
        }
    }
}

#[derive(Debug)]
struct Series {
    path: String,
    count: u32,
    last: Instant,
}

#[derive(Debug)]
struct Writer {
    api: Api,
    instance: String,
    series: HashMap<(Arc<str>, String, String), Series>,
    sequence: u64,
}

impl Writer {
    async fn run(mut self, mut receiver: mpsc::Receiver<Message>, busy: Busy) {
        while let Some(message) = receiver.recv().await {
            let told = match message {
                Message::Event(told) => told,
                Message::Flush(written) => {
                    // Whoever waited may have gone.
                    let _ = written.send(());
                    continue;
                }
            };
            while told.at.elapsed() < COURTESY && busy() {
                tokio::time::sleep(LOOK).await;
            }
            self.write(&told.regarding, told.event).await;
        }
    }

    async fn write(&mut self, regarding: &Regarding, mut event: Event) {
        event.message.truncate(event.message.floor_char_boundary(1_024));
        event.reason.truncate(event.reason.floor_char_boundary(128));
        self.forget_old();
        let identity = (Arc::clone(&regarding.uid), event.reason.clone(), event.message.clone());
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        if let Some(series) = self.series.get_mut(&identity) {
            series.count += 1;
            series.last = Instant::now();
            let patch = json!({"count": series.count, "lastTimestamp": now});
            let call = Call::new(Method::PATCH, series.path.clone(), None);
            let call = call.body("application/merge-patch+json", patch.to_string().into_bytes());
            // Roles of older operators allow `create` only: then the first event of a series has to do.
            if let Err(error) = self.api.send(call).await {
                tracing::debug!(%error, "event not counted up");
            }
            return;
        }
        let of_object = self.series.keys().filter(|(uid, _, _)| *uid == regarding.uid).count();
        if of_object >= usize::try_from(BURST).unwrap_or(usize::MAX) {
            return;
        }
        self.create(regarding, &event, &now, identity).await;
    }

    async fn create(
        &mut self,
        regarding: &Regarding,
        event: &Event,
        now: &str,
        identity: (Arc<str>, String, String),
    ) {
        let namespace = regarding.key.namespace.as_deref().unwrap_or("default");
        self.sequence += 1;
        let name = self.name(regarding);
        let body = render(regarding, event, now, namespace, &name, &self.instance);
        let path = format!("/api/v1/namespaces/{namespace}/events");
        let call = Call::new(Method::POST, path.clone(), None)
            .body("application/json", body.to_string().into_bytes());
        match self.api.send(call).await {
            Ok(_) => {
                let series = Series { path: format!("{path}/{name}"), count: 1, last: Instant::now() };
                self.series.insert(identity, series);
            }
            Err(error) => {
                tracing::warn!(object = %regarding.key, reason = event.reason, %error, "event not written");
            }
        }
    }

    /// client-go's form: the object's name and a hexadecimal number that does not repeat.
    fn name(&self, regarding: &Regarding) -> String {
        let nanoseconds = jiff::Timestamp::now().as_nanosecond();
        let mut name = regarding.key.name.to_string();
        name.truncate(name.floor_char_boundary(200));
        format!("{name}.{:x}{:04x}", nanoseconds, self.sequence & 0xffff)
    }

    fn forget_old(&mut self) {
        if self.series.len() >= MAX_SERIES {
            self.series.clear();
        }
        self.series.retain(|_, series| series.last.elapsed() < SERIES);
    }
}

fn render(
    regarding: &Regarding,
    event: &Event,
    now: &str,
    namespace: &str,
    name: &str,
    instance: &str,
) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": regarding.key.gvk.api_version(), "kind": regarding.key.gvk.kind,
            "name": &*regarding.key.name, "namespace": regarding.key.namespace.as_deref(), "uid": &*regarding.uid,
        },
        "reason": event.reason, "message": event.message,
        "type": match event.event_type { EventType::Normal => "Normal", EventType::Warning => "Warning" },
        "source": {"component": "pilothouse", "host": instance},
        "reportingComponent": "pilothouse", "reportingInstance": instance,
        "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    })
}

#[cfg(test)]
mod tests;
