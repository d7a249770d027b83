//! A third cluster, in trouble: its database is full, it goes back to an older minor, and the data of two of its three members is lost.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};

use super::three_rest;
use super::traffic::Client;
use crate::demo::look::Look;
use crate::steps::say;

const RESOURCE: &str = "etcdclusters/troubled";
const EXAMPLE: &str = "apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: { name: troubled }
spec:
  size: 3
  version: 3.6.16
  options: { quotaBackendBytes: 16777216 }
  quorumRecovery: { policy: FromSurvivor, afterSecond: 5 }
";
const OLD: &str = "3.5.35";
/// Of one value; the quota has room for a few dozen.
const LARGE: usize = 500_000;
const A_WHILE: Duration = Duration::from_secs(180);

/// Plays it.
///
/// # Errors
/// The step that was not seen.
pub(super) fn play(look: Look<'_>, work: &Path) -> Result<()> {
    let file = work.join("troubled.yaml");
    std::fs::write(&file, EXAMPLE)?;
    look.kubectl(&["apply", "--filename", &file.display().to_string()])?;
    look.seen("a cluster with a small quota: three members are ready", || rests(look))?;
    let address = format!("{}:2379", look.value("service/troubled-client", "{.spec.clusterIP}"));
    let client = Client::new(&address);
    client.put("greeting", "hello")?;
    space(look, &client)?;
    downgrade(look, &client)?;
    quorum(look, &client)?;
    look.kubectl(&["delete", RESOURCE, "--timeout=60s"]).map(drop)
}

/// One key is written until etcd takes no more: its history is what fills the database.
fn space(look: Look<'_>, client: &Client) -> Result<()> {
    let mut last = String::new();
    for number in 0..200 {
        let value = format!("{number:03}").repeat(LARGE / 3);
        match client.put("large", &value) {
            Ok(()) => last = value,
            Err(error) if error.to_string().contains("timeout") => {}
            Err(error) => {
                say(&format!("write {number} is refused: {error}"));
                break;
            }
        }
    }
    look.seen_within(A_WHILE, "the database is full: the alarm is told, and history forgotten", || {
        events(look, "Alarm").contains("The quota of the database is reached")
    })?;
    look.seen_within(A_WHILE, "there is space again, and writes are taken", || {
        client.put("small", "1").is_ok() && rests(look)
    })?;
    match client.all("large")?.get("large") {
        Some(value) if *value == last => Ok(()),
        _ => bail!("the last large value that was acknowledged is not there"),
    }
}

fn downgrade(look: Look<'_>, client: &Client) -> Result<()> {
    look.patch(RESOURCE, &format!(r#"{{"spec":{{"version":"{OLD}"}}}}"#))?;
    look.seen_within(A_WHILE, "it goes back to the minor before, member by member", || {
        look.value(RESOURCE, "{.status.currentVersion}") == OLD && rests(look)
    })?;
    expect(client)
}

fn quorum(look: Look<'_>, client: &Client) -> Result<()> {
    let names = look.value(RESOURCE, "{.status.members.ready[*]}");
    let mut lost: Vec<&str> = names.split_whitespace().collect();
    lost.truncate(2);
    let delete = [["delete", "pods"].as_slice(), &lost, &["--grace-period=0", "--force"]].concat();
    look.kubectl(&delete)?;
    look.seen_within(A_WHILE, "the data of two of three members is lost: that is told", || {
        !events(look, "Quorum Lost").is_empty()
    })?;
    look.seen_within(A_WHILE, "it is begun anew with the data of the third, as was asked for", || {
        let now = look.value(RESOURCE, "{.status.members.ready[*]}");
        rests(look) && !lost.iter().any(|lost| now.contains(lost))
    })?;
    expect(client)
}

fn expect(client: &Client) -> Result<()> {
    let all = client.all("greeting")?;
    match all.get("greeting").map(String::as_str) {
        Some("hello") => Ok(()),
        other => bail!("what was written is not there: {other:?}"),
    }
}

fn rests(look: Look<'_>) -> bool {
    three_rest(look, "troubled")
}

fn events(look: Look<'_>, reason: &str) -> String {
    let selector = format!("--field-selector=reason={reason},involvedObject.name=troubled");
    look.kubectl(&["get", "events", &selector, "--output=jsonpath={.items[*].message}"]).unwrap_or_default()
}
