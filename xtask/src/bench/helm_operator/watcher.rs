//! What happens to objects, with the moment at which it was heard.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use pilothouse_testbed::binaries::KUBECTL;
use pilothouse_testbed::progress::ToStderr;
use serde_json::Value;

use crate::demo::access::Access;

/// `kubectl get --watch`, until it is dropped.
#[derive(Debug)]
struct Watching<T> {
    child: Child,
    heard: Receiver<(Instant, T)>,
}

impl<T: Send + 'static> Watching<T> {
    /// Starts it with these arguments. `read` makes of its output what is to be heard.
    fn start<I: Iterator<Item = T>>(
        access: &Access,
        arguments: &[&str],
        read: impl FnOnce(BufReader<ChildStdout>) -> I + Send + 'static,
    ) -> Result<Self> {
        let mut child = Command::new(KUBECTL.find(&ToStderr)?)
            .env("KUBECONFIG", access.kubeconfig())
            .args(["get", "--watch"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().context("kubectl has no output")?;
        let (tell, heard) = channel();
        std::thread::spawn(move || {
            // Until nobody listens any more.
            let _ = read(BufReader::new(output)).try_for_each(|event| tell.send((Instant::now(), event)));
        });
        Ok(Self { child, heard })
    }
}

impl<T> Drop for Watching<T> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What happens to objects.
#[derive(Debug)]
pub(super) struct Watcher(Watching<Value>);

impl Watcher {
    /// Listens to objects: what kubectl calls them, and selectors.
    pub(super) fn start(access: &Access, objects: &[&str]) -> Result<Self> {
        let arguments = [&["--output-watch-events", "--output=json"], objects].concat();
        let events = |output| serde_json::Deserializer::from_reader(output).into_iter().map_while(Result::ok);
        Watching::start(access, &arguments, events).map(Self)
    }

    /// The moment of the next event that fits: its type (`ADDED`, `MODIFIED`, `DELETED`) and the object.
    pub(super) fn next(&self, patience: Duration, fits: impl Fn(&str, &Value) -> bool) -> Result<Instant> {
        let end = Instant::now() + patience;
        loop {
            match self.0.heard.recv_timeout(end.saturating_duration_since(Instant::now())) {
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
pub(super) struct Deployed(Watching<String>);

impl Deployed {
    /// Listens to the records of a namespace.
    pub(super) fn start(access: &Access, namespace: &str) -> Result<Self> {
        let selector = ["--selector", "owner=helm,status=deployed"];
        let arguments = [&["secrets", "--output=name", "--namespace", namespace], &selector[..]].concat();
        let releases = |output: BufReader<_>| {
            output.lines().map_while(Result::ok).filter_map(|line| Some(release_of(&line)?.to_owned()))
        };
        Watching::start(access, &arguments, releases).map(Self)
    }

    /// When the last of these was deployed.
    pub(super) fn all(&self, names: &[String], patience: Duration) -> Result<Instant> {
        let mut missing: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let mut last = Instant::now();
        while !missing.is_empty() {
            let (at, release) = self
                .0
                .heard
                .recv_timeout(patience)
                .with_context(|| format!("{} releases are missing", missing.len()))?;
            missing.remove(release.as_str());
            last = at;
        }
        Ok(last)
    }
}

/// The release of a record by the record's name, such as `secret/sh.helm.release.v1.web.v1`.
fn release_of(line: &str) -> Option<&str> {
    Some(line.strip_prefix("secret/sh.helm.release.v1.")?.rsplit_once(".v")?.0)
}

/// A text of an object; empty when it has none there.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_records_name_says_its_release() {
        assert_eq!(release_of("secret/sh.helm.release.v1.web.v1.v12"), Some("web.v1"));
        assert_eq!(release_of("secret/other"), None);
    }
}
