//! What happens to objects, with the moment at which it was heard.

use std::io::BufReader;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use pilothouse_testbed::binaries::KUBECTL;
use pilothouse_testbed::progress::ToStderr;
use serde_json::Value;

use crate::demo::access::Access;

/// `kubectl get --watch`, until it is dropped.
#[derive(Debug)]
pub(super) struct Watcher {
    child: Child,
    heard: Receiver<(Instant, Value)>,
}

impl Watcher {
    /// Listens to objects: what kubectl calls them, and selectors.
    pub(super) fn start(access: &Access, objects: &[&str]) -> Result<Self> {
        let mut child = Command::new(KUBECTL.find(&ToStderr)?)
            .env("KUBECONFIG", access.kubeconfig())
            .args(["get", "--watch", "--output-watch-events", "--output=json"])
            .args(objects)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("kubectl has no output")?;
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            let events = serde_json::Deserializer::from_reader(BufReader::new(output)).into_iter::<Value>();
            for event in events.map_while(Result::ok) {
                if tell.send((Instant::now(), event)).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, heard })
    }

    /// The moment of the next event that fits: its type (`ADDED`, `MODIFIED`, `DELETED`) and the object.
    pub(super) fn next(&self, patience: Duration, fits: impl Fn(&str, &Value) -> bool) -> Result<Instant> {
        let end = Instant::now() + patience;
        loop {
            match self.heard.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((at, event))
                    if fits(text(&event, "/type"), event.get("object").unwrap_or(&Value::Null)) =>
                {
                    return Ok(at);
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => bail!("not seen in {} s", patience.as_secs()),
                Err(RecvTimeoutError::Disconnected) => bail!("kubectl stopped watching"),
            }
        }
    }
}

/// A text of an object; empty when it has none there.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
