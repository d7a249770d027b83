//! A cluster with claims that loses what it keeps: the claim of a member, and then the sense of another one's data.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::three_rest;
use crate::demo::look::Look;
use crate::steps::say;

const RESOURCE: &str = "etcdclusters/lossy";
const MEMBERS: &str = "--selector=etcd_cluster=lossy";
/// Members compare their data more often than by default, so that nobody waits for it.
const EXAMPLE: &str = "apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: { name: lossy }
spec:
  size: 3
  version: 3.6.16
  pod:
    etcdEnv: [{ name: ETCD_COMPACT_HASH_CHECK_TIME, value: 5s }]
    persistentVolumeClaimSpec:
      accessModes: [ReadWriteOnce]
      resources: { requests: { storage: 64Mi } }
";
/// Written into the database, found in its file, and replaced there by what nobody wrote.
const WRITTEN: &str = "kept-as-it-was-acknowledged";
const SPOILED: &str = "kept-as-it-was-never-heard-";
const A_WHILE: Duration = Duration::from_secs(180);

/// Plays it. `tmp`: the node's `/tmp`, in which volumes are.
///
/// # Errors
/// The step that was not seen.
pub(super) fn play(look: Look<'_>, work: &Path, tmp: &Path) -> Result<()> {
    let file = work.join("lossy.yaml");
    std::fs::write(&file, EXAMPLE)?;
    look.kubectl(&["apply", "--filename", &file.display().to_string()])?;
    look.seen_within(A_WHILE, "a cluster with claims: three members are ready", || rests(look, None))?;
    etcdctl(look, &["put", "greeting", WRITTEN])?;
    lost_claim(look)?;
    expect(look)?;
    spoiled_data(look, tmp)?;
    expect(look)?;
    look.kubectl(&["delete", RESOURCE, "--timeout=60s"]).map(drop)
}

fn lost_claim(look: Look<'_>) -> Result<()> {
    let lost = follower(look)?;
    look.kubectl(&["delete", "persistentvolumeclaim", &lost, "--wait=false"])?;
    look.kubectl(&["delete", "pod", &lost, "--wait=false"])?;
    look.seen_within(A_WHILE, "the claim of a member is deleted: another member takes its place", || {
        rests(look, Some(&lost))
    })
}

/// Bytes of a member's database are changed on its disk. It goes on without a sign, and answers what nobody wrote.
fn spoiled_data(look: Look<'_>, tmp: &Path) -> Result<()> {
    let spoiled = follower(look)?;
    let places = spoil(&tmp.join(database(look, &spoiled)?))?;
    say(&format!("the data of member {spoiled} is changed behind its back, in {places} places of its file"));
    let revision = etcdctl(look, &["get", "greeting", "--write-out=fields"])?;
    let revision = revision.lines().find_map(|line| line.strip_prefix("\"Revision\" : "));
    etcdctl(look, &["compaction", revision.context("etcdctl tells no revision")?])?;
    look.seen_within(A_WHILE, "members compare what they have: the one that differs is replaced", || {
        rests(look, Some(&spoiled))
    })?;
    let alarms = etcdctl(look, &["alarm", "list"])?;
    if alarms.trim().is_empty() { Ok(()) } else { bail!("an alarm is left: {alarms}") }
}

/// Below the node's `/tmp`.
fn database(look: Look<'_>, member: &str) -> Result<PathBuf> {
    let volume = look.value(&format!("persistentvolumeclaim/{member}"), "{.spec.volumeName}");
    let path = look.value(&format!("persistentvolume/{volume}"), "{.spec.hostPath.path}");
    let path = Path::new(&path).strip_prefix("/tmp").with_context(|| format!("the volume is at {path:?}"))?;
    Ok(path.join("data/member/snap/db"))
}

/// In place: the member has the file open and mapped. How often it stood there.
fn spoil(file: &Path) -> Result<usize> {
    use std::io::{Seek as _, Write as _};

    let content = std::fs::read(file).with_context(|| file.display().to_string())?;
    let found = content.windows(WRITTEN.len()).enumerate().filter(|(_, part)| *part == WRITTEN.as_bytes());
    let places: Vec<usize> = found.map(|(place, _)| place).collect();
    let mut file = std::fs::OpenOptions::new().write(true).open(file)?;
    for place in &places {
        file.seek(std::io::SeekFrom::Start(u64::try_from(*place)?))?;
        file.write_all(SPOILED.as_bytes())?;
    }
    if places.is_empty() { bail!("what was written is not in the file") } else { Ok(places.len()) }
}

/// All of them, one after the other, have what was acknowledged.
fn expect(look: Look<'_>) -> Result<()> {
    for pod in pods(look)? {
        let said = look.access.kubectl(&command(look, &pod, &["get", "greeting", "--consistency=s"]))?;
        if !said.contains(WRITTEN) {
            bail!("{pod} has {said}");
        }
    }
    Ok(())
}

fn rests(look: Look<'_>, without: Option<&str>) -> bool {
    let ready = look.value(RESOURCE, "{.status.members.ready[*]}");
    let gone = |name: &str| !ready.split_whitespace().any(|member| member == name);
    without.is_none_or(gone) && three_rest(look, "lossy")
}

fn follower(look: Look<'_>) -> Result<String> {
    let leader = look.value(RESOURCE, "{.status.leader}");
    let all = look.value(RESOURCE, "{.status.members.ready[*]}");
    let other = all.split_whitespace().find(|member| *member != leader && !leader.is_empty());
    other.map(str::to_owned).context("nobody leads")
}

fn pods(look: Look<'_>) -> Result<Vec<String>> {
    let names = look.kubectl(&["get", "pods", MEMBERS, "--output=name"])?;
    Ok(names.lines().map(str::to_owned).collect())
}

/// The real etcdctl of a member's image.
fn etcdctl(look: Look<'_>, arguments: &[&str]) -> Result<String> {
    let pod = format!("pod/{}", look.value(RESOURCE, "{.status.leader}"));
    look.access.kubectl(&command(look, &pod, arguments))
}

fn command<'a>(look: Look<'a>, pod: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    let base =
        ["exec", "--namespace", look.namespace, pod, "--container=etcd", "--", "/usr/local/bin/etcdctl"];
    [base.as_slice(), arguments].concat()
}
