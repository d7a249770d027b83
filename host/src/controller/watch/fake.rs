//! An API server in memory, as far as watches and discovery go: paged and streamed lists, watches that can be cut, and
//! failures on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use http::{Request, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// What a request is answered with instead of the truth.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) code: u16,
    pub(super) retry_after: u32,
    /// Part of the request's query or path that it concerns.
    pub(super) only: &'static str,
}

#[derive(Default)]
struct State {
    /// Plural of the one kind besides core's ConfigMap that is served.
    things: bool,
    minor: u32,
    version: u64,
    objects: BTreeMap<String, Value>,
    watchers: Vec<mpsc::UnboundedSender<String>>,
    requests: Vec<String>,
    fault: Option<Fault>,
}

/// The server. Clones are the same server.
#[derive(Clone)]
pub(in crate::controller) struct FakeApi {
    state: Arc<Mutex<State>>,
}

impl FakeApi {
    pub(in crate::controller) fn new(minor: u32) -> Self {
        Self { state: Arc::new(Mutex::new(State { minor, version: 1, ..State::default() })) }
    }

    pub(in crate::controller) fn client(&self) -> kube::Client {
        let api = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let answer = api.answer(request.uri());
            async move { Ok::<_, std::convert::Infallible>(answer) }
        });
        kube::Client::new(service, "default")
    }

    pub(super) fn serve_things(&self, served: bool) {
        self.state().things = served;
    }

    pub(super) fn fail(&self, fault: Option<Fault>) {
        self.state().fault = fault;
    }

    /// Requests whose path and query contain all these words.
    pub(super) fn count(&self, words: &[&str]) -> usize {
        self.state().requests.iter().filter(|request| words.iter().all(|word| request.contains(word))).count()
    }

    /// Creates or changes an object; its watchers hear of it unless the change is silent.
    pub(in crate::controller) fn apply(&self, name: &str, spec: u64, silent: bool) {
        let mut state = self.state();
        state.version += 1;
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"spec": spec.to_string()},
            "metadata": {"name": name, "namespace": "a", "uid": name, "resourceVersion": state.version.to_string()},
        });
        let known = state.objects.insert(name.to_owned(), object.clone()).is_some();
        if !silent {
            state.send(if known { "MODIFIED" } else { "ADDED" }, &object);
        }
    }

    pub(in crate::controller) fn delete(&self, name: &str, silent: bool) {
        let mut state = self.state();
        state.version += 1;
        if let Some(mut object) = state.objects.remove(name) {
            object["metadata"]["resourceVersion"] = json!(state.version.to_string());
            if !silent {
                state.send("DELETED", &object);
            }
        }
    }

    /// Ends every watch, with an error event or without a word.
    pub(super) fn cut(&self, code: Option<u16>) {
        let mut state = self.state();
        if let Some(code) = code {
            state.send("ERROR", &status(code, 0));
        }
        state.watchers.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, uri: &http::Uri) -> Response<Body> {
        let text = uri.to_string();
        let mut state = self.state();
        state.requests.push(text.clone());
        if let Some(fault) = state.fault.clone().filter(|fault| text.contains(fault.only)) {
            return reply(fault.code, &status(fault.code, fault.retry_after));
        }
        match uri.path() {
            "/api" => reply(200, &json!({"items": [group("", "configmaps", "ConfigMap")]})),
            "/apis" if state.things => reply(200, &json!({"items": [group("g", "things", "Thing")]})),
            "/apis" => reply(200, &json!({"items": []})),
            "/version" => reply(200, &version(state.minor)),
            path if path.ends_with("/configmaps") => state.resource(&text),
            path if path.ends_with("/things") && state.things => state.resource(&text),
            _ => reply(404, &status(404, 0)),
        }
    }
}

impl State {
    fn resource(&mut self, query: &str) -> Response<Body> {
        if !query.contains("watch=true") {
            return self.page(query);
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        if query.contains("sendInitialEvents=true") {
            for object in self.objects.values() {
                let _ = sender.send(event("ADDED", object));
            }
            let end = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "resourceVersion": self.version.to_string(), "annotations": {"k8s.io/initial-events-end": "true"}}});
            let _ = sender.send(event("BOOKMARK", &end));
        }
        self.watchers.push(sender);
        let lines = futures::stream::unfold(receiver, |mut receiver| async move {
            let line = receiver.recv().await?;
            Some((Ok::<_, std::convert::Infallible>(line), receiver))
        });
        response(200, Body::from_stream(lines))
    }

    /// Two objects a page.
    fn page(&self, query: &str) -> Response<Body> {
        let from =
            query.split("continue=").nth(1).and_then(|rest| rest.split('&').next()).unwrap_or_default();
        let mut rest = self.objects.range(from.to_owned()..);
        let items: Vec<_> = rest.by_ref().take(2).map(|(_, object)| item(object)).collect();
        let next = rest.next().map(|(name, _)| name.clone());
        let metadata = json!({"resourceVersion": self.version.to_string(), "continue": next});
        reply(
            200,
            &json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items}),
        )
    }

    fn send(&mut self, kind: &str, object: &Value) {
        let line = event(kind, object);
        self.watchers.retain(|watcher| watcher.send(line.clone()).is_ok());
    }
}

/// Items of a list do not name their kind.
fn item(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(map) = object.as_object_mut() {
        map.shift_remove("kind");
        map.shift_remove("apiVersion");
    }
    object
}

fn event(kind: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": kind, "object": object}))
}

fn group(name: &str, plural: &str, kind: &str) -> Value {
    let resource = json!({"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced",
        "verbs": ["get", "list", "watch"]});
    json!({"metadata": {"name": name}, "versions": [{"version": "v1", "resources": [resource]}]})
}

fn version(minor: u32) -> Value {
    let text = |name: &str| (name.to_owned(), json!(""));
    let rest = ["gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"];
    let mut version: serde_json::Map<_, _> = rest.map(text).into_iter().collect();
    version.insert("major".to_owned(), json!("1"));
    version.insert("minor".to_owned(), json!(minor.to_string()));
    Value::Object(version)
}

fn status(code: u16, retry_after: u32) -> Value {
    let details = json!({"retryAfterSeconds": retry_after});
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "details": details,
        "message": format!("refused with {code}"), "reason": "Test"})
}

fn reply(code: u16, body: &Value) -> Response<Body> {
    response(code, Body::from(body.to_string()))
}

fn response(code: u16, body: Body) -> Response<Body> {
    Response::builder().status(code).body(body).expect("a response")
}
