//! What happens to objects, with the moment at which it was heard.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
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

/// Hears which releases become deployed, and nothing else of their records: to print these would take as much of the machine
/// as what is measured.
#[derive(Debug)]
pub(super) struct Deployed {
    child: Child,
    heard: Receiver<(Instant, String)>,
}

impl Deployed {
    /// Listens to the records of a namespace.
    pub(super) fn start(access: &Access, namespace: &str) -> Result<Self> {
        let mut child = Command::new(KUBECTL.find(&ToStderr)?)
            .env("KUBECONFIG", access.kubeconfig())
            .args(["get", "secrets", "--watch", "--output=name", "--namespace", namespace])
            .args(["--selector", "owner=helm,status=deployed"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("kubectl has no output")?;
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let release =
                    line.strip_prefix("secret/sh.helm.release.v1.").and_then(|rest| rest.rsplit_once(".v"));
                let Some((release, _)) = release else { continue };
                if tell.send((Instant::now(), release.to_owned())).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, heard })
    }

    /// When the last of these was deployed.
    pub(super) fn all(&self, names: &[String], patience: Duration) -> Result<Instant> {
        let mut missing: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let mut last = Instant::now();
        while !missing.is_empty() {
            let (at, release) = self
                .heard
                .recv_timeout(patience)
                .with_context(|| format!("{} releases are missing", missing.len()))?;
            missing.remove(release.as_str());
            last = at;
        }
        Ok(last)
    }
}

impl Drop for Deployed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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
