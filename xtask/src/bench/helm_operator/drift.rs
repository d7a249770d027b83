//! How soon somebody else's changes are undone.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::watcher::{Watcher, text};
use crate::bench::{NAMESPACE, PATIENCE};
use crate::demo::access::Access;

const GREETING: &str = "/data/greeting";
const ADDED: &str = "/data/added";

/// Then no other try begins: an operator that looks once a minute would be tried for an hour.
const LONG_ENOUGH: Duration = Duration::from_secs(150);

/// Times, sorted.
pub(super) type Times = Vec<Duration>;

/// A release's Deployment is deleted again and again: until it is there again, counted from when it was gone.
pub(super) fn deletions(access: &Access, release: &str, tries: u16) -> Result<Times> {
    let watcher = Watcher::start(access, &["deployments", release, "--namespace", NAMESPACE])?;
    watcher.next(PATIENCE, |what, _| what == "ADDED").context("the Deployment")?;
    let end = Instant::now() + LONG_ENOUGH;
    sorted((0..tries).take_while(|_| Instant::now() < end).map(|_| {
        let name = format!("deployment/{release}");
        access.kubectl(&["delete", &name, "--namespace", NAMESPACE, "--wait=false"])?;
        let gone = watcher.next(PATIENCE, |what, _| what == "DELETED")?;
        let back =
            watcher.next(PATIENCE, |what, _| what == "ADDED").context("the Deployment did not come back")?;
        Ok(back - gone)
    }))
}

/// A key of a release's ConfigMap is changed again and again: until it is as it was.
pub(super) fn changes(access: &Access, release: &str, tries: u16) -> Result<Times> {
    let watcher = Watcher::start(access, &["configmaps", release, "--namespace", NAMESPACE])?;
    watcher.next(PATIENCE, |what, _| what == "ADDED").context("the ConfigMap")?;
    let end = Instant::now() + LONG_ENOUGH;
    sorted((0..tries).take_while(|_| Instant::now() < end).map(|time| {
        let greeting = format!("changed {time}");
        let patch = format!(r#"{{"data":{{"greeting":"{greeting}"}}}}"#);
        let name = format!("configmap/{release}");
        access.kubectl(&["patch", &name, "--namespace", NAMESPACE, "--type=merge", "--patch", &patch])?;
        let changed = watcher.next(PATIENCE, |_, object| text(object, GREETING) == greeting)?;
        let back = watcher.next(PATIENCE, |_, object| text(object, GREETING) == "hello");
        Ok(back.context("the change was not undone")? - changed)
    }))
}

/// A key is added to a release's ConfigMap again and again: until it is gone. None: it is still there after this patience.
pub(super) fn additions(
    access: &Access,
    release: &str,
    tries: u16,
    patience: Duration,
) -> Result<Option<Times>> {
    let watcher = Watcher::start(access, &["configmaps", release, "--namespace", NAMESPACE])?;
    watcher.next(PATIENCE, |what, _| what == "ADDED").context("the ConfigMap")?;
    let mut times = Times::new();
    for _ in 0..tries {
        let name = format!("configmap/{release}");
        let patch = r#"{"data":{"added":"by somebody"}}"#;
        access.kubectl(&["patch", &name, "--namespace", NAMESPACE, "--type=merge", "--patch", patch])?;
        let added = watcher.next(PATIENCE, |_, object| !text(object, ADDED).is_empty())?;
        let Ok(gone) = watcher.next(patience, |_, object| text(object, ADDED).is_empty()) else {
            return Ok(None);
        };
        times.push(gone - added);
    }
    times.sort_unstable();
    Ok(Some(times))
}

fn sorted(times: impl Iterator<Item = Result<Duration>>) -> Result<Times> {
    let mut times = times.collect::<Result<Times>>()?;
    times.sort_unstable();
    Ok(times)
}
