//! Scene S4: an etcd cluster by CoreOS's interface. It grows, shrinks, loses members and is upgraded, while clients write and
//! read through its Service all the time.

mod backups;
mod losses;
mod refusals;
mod restores;
mod secure;
pub(super) mod traffic;
mod troubles;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use pilothouse_testbed::progress::ToStderr;
use pilothouse_testbed::{Cluster, etcd_images};
use serde_json::{Value, json};

use super::access::Access;
use super::look::Look;
use super::stage::{self, Pod, Stage as _};
use super::{DemoArgs, claim, interrupt, on_a_cluster_of_its_own};
use crate::steps::say;
use crate::{build, image};
use backups::Store;
use traffic::{Client, Traffic};

const RESOURCE: &str = "etcdclusters/example";
const MEMBERS: &str = "--selector=etcd_cluster=example";
const EXAMPLE: &str = "apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata: { name: example }
spec: { size: 3, version: 3.5.35 }
";

/// Plays it on a cluster of its own.
///
/// # Errors
/// The step that was not seen.
pub(super) fn demo(args: &DemoArgs) -> Result<()> {
    if !args.node {
        bail!("scene S4 has etcd in real pods: add --node (as root)");
    }
    let mut plugins = build::plugins()?;
    plugins.retain(|plugin| plugin.ends_with("etcd.wasm"));
    on_a_cluster_of_its_own(true, |cluster, access, work| {
        put_images(cluster)?;
        access.kubectl(&[
            "apply",
            "--filename",
            &build::root().join("plugins/etcd/crds").display().to_string(),
        ])?;
        let mut store = Store::open(work, &cluster.network()?.machine())?;
        claim::put(access, work)?;
        let mut host = Pod::of_plugins(access, &plugins, values(&store)?, work)?;
        let look = Look { access, namespace: "demo" };
        access.kubectl(&["create", "namespace", look.namespace])?;
        let played = host
            .start()
            .and_then(|()| refusals::play(look, work))
            .and_then(|()| play(look, &mut store, work))
            .and_then(|()| secure::play(look, work))
            .and_then(|()| losses::play(look, work, &cluster.node_tmp()))
            .and_then(|()| troubles::play(look, work));
        if let Err(error) = &played {
            eprintln!("{}", stage::tail(&host.log(), 60));
            say(&format!("not seen: {error:#}"));
            say_what_is_there(access);
        } else if !args.once {
            say("the cluster is yours now; Ctrl-C takes it away");
            println!("  export KUBECONFIG={}", access.kubeconfig().display());
            println!("  kubectl --namespace demo get etcdclusters,pods");
            interrupt::wait();
        }
        played
    })
}

/// etcd in three versions, what its pods begin with, and the host.
///
/// # Errors
/// When one is not to be had.
pub(crate) fn put_images(cluster: &Cluster) -> Result<()> {
    let mut images = etcd_images::all(&ToStderr)?;
    images.push(pilothouse_testbed::busybox::archive("docker.io/library/busybox:1.28.0-glibc")?);
    images.push(image::bare_host()?);
    Ok(cluster.import_images(&images)?)
}

/// What the plugin may do, as the documentation has it, and the stores of the scene.
fn values(store: &Store) -> Result<Value> {
    let file = build::root().join("charts/pilothouse/ci/etcd-values.yaml");
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let mut values: Value = serde_saphyr::from_str(&text)?;
    let place = format!("s3+http://{}/{}", store.address(), backups::BUCKET);
    let grant = values.pointer_mut("/grants/plugins/etcd").and_then(Value::as_object_mut);
    let grant = grant.context("the values grant nothing")?;
    grant.insert("stores".to_owned(), json!([place, claim::url("NAMESPACE")]));
    let disk = json!({"url": claim::url("NAMESPACE")});
    grant.insert("settings".to_owned(), json!({"stores": {backups::DISK: disk}}));
    claim::mount(&mut values)?;
    Ok(values)
}

fn say_what_is_there(access: &Access) {
    for arguments in [
        ["get", "etcdclusters", "--output=yaml"].as_slice(),
        &["get", "pods,services,poddisruptionbudgets", "--output=wide"],
        &["events"],
    ] {
        let all = [arguments, &["--namespace", "demo"]].concat();
        eprintln!("{}", access.kubectl(&all).unwrap_or_else(|error| error.to_string()));
    }
}

fn play(look: Look<'_>, store: &mut Store, work: &Path) -> Result<()> {
    let file = work.join("example.yaml");
    std::fs::write(&file, EXAMPLE)?;
    look.kubectl(&["apply", "--filename", &file.display().to_string()])?;
    let scene = Scene { look };
    look.seen("three members are ready and clients are served", || {
        scene.ready() == 3 && scene.condition("Available") == "True" && scene.status("phase") == "Running"
    })?;
    println!("{}", look.kubectl(&["get", "etcdclusters,pods,services", "--output=wide"])?);
    if look.value(RESOURCE, r#"{.status.conditions[?(@.type=="Available")].lastUpdateTime}"#).is_empty() {
        bail!("the condition does not tell when it was last updated");
    }
    refusals::changes(look, RESOURCE)?;
    let address = format!("{}:2379", look.value("service/example-client", "{.spec.clusterIP}"));
    Client::new(&address).put("greeting", "hello")?;
    let mut rows = Rows { traffic: Traffic::start(&address), rows: Vec::new() };
    scene.resize(&mut rows)?;
    scene.lose_members(&mut rows)?;
    scene.upgrade(&mut rows, "3.5.35", "3.6.16")?;
    scene.upgrade(&mut rows, "3.6.16", "3.7.3")?;
    if Client::new(&address).all("greeting")?.get("greeting").map(String::as_str) != Some("hello") {
        bail!("what was written at the beginning is not there any more");
    }
    rows.print();
    backups::play(look, store, work)?;
    restores::play(look, store, work, &address, rows.traffic)?;
    look.kubectl(&["delete", RESOURCE, "--timeout=60s"])?;
    look.seen("the cluster is deleted: its pods are gone", || scene.pods().is_empty())
}

/// Has a cluster three members that are ready, their pods and no others, and nothing left to do?
fn three_rest(look: Look<'_>, name: &str) -> bool {
    let resource = format!("etcdclusters/{name}");
    let ready = look.value(&resource, "{.status.members.ready[*]}").split_whitespace().count();
    let selector = format!("--selector=etcd_cluster={name}");
    let pods = look.kubectl(&["get", "pods", &selector, "--output=name"]).unwrap_or_default();
    ready == 3
        && pods.lines().count() == 3
        && look.value(&resource, r#"{.status.conditions[?(@.type=="Ready")].status}"#) == "True"
}

/// Figures of each step, for the table at the end.
struct Rows {
    traffic: Traffic,
    rows: Vec<(String, Duration, traffic::Stretch)>,
}

impl Rows {
    fn step(&mut self, what: &str, play: impl FnOnce() -> Result<()>) -> Result<()> {
        self.traffic.stretch();
        let started = Instant::now();
        play()?;
        self.rows.push((what.to_owned(), started.elapsed(), self.traffic.stretch()));
        Ok(())
    }

    fn print(&self) {
        println!("| step | s | writes | reads | unanswered | longest time without a write, ms |");
        println!("|---|---|---|---|---|---|");
        for (what, took, stretch) in &self.rows {
            let traffic::Stretch { writes, reads, unanswered, gap } = stretch;
            let (took, gap) = (took.as_secs_f32(), gap.as_millis());
            println!("| {what} | {took:.1} | {writes} | {reads} | {unanswered} | {gap} |");
        }
    }
}

struct Scene<'a> {
    look: Look<'a>,
}

impl Scene<'_> {
    fn status(&self, field: &str) -> String {
        self.look.value(RESOURCE, &format!("{{.status.{field}}}"))
    }

    fn condition(&self, kind: &str) -> String {
        self.status(&format!("conditions[?(@.type==\"{kind}\")].status"))
    }

    fn ready(&self) -> usize {
        let names = self.status("members.ready[*]");
        if self.status("members.unready[*]").is_empty() { names.split_whitespace().count() } else { 0 }
    }

    fn pods(&self) -> Vec<String> {
        let names = self.look.kubectl(&["get", "pods", MEMBERS, "--output=name"]).unwrap_or_default();
        names.lines().map(str::to_owned).collect()
    }

    fn events(&self, reason: &str) -> usize {
        let selector = format!("--field-selector=reason={reason},involvedObject.kind=EtcdCluster");
        let counts = "--output=jsonpath={range .items[*]}{.message}{\"\\n\"}{end}";
        let found = self.look.kubectl(&["get", "events", &selector, counts]).unwrap_or_default();
        found.lines().filter(|line| !line.is_empty()).count()
    }

    /// Nothing is going on any more, and so many members are ready.
    fn rests_with(&self, members: usize) -> bool {
        let over = ["Scaling", "Upgrading", "Recovering"].iter().all(|kind| self.condition(kind) != "True");
        over && self.ready() == members && self.pods().len() == members && self.condition("Ready") == "True"
    }

    fn resize(&self, rows: &mut Rows) -> Result<()> {
        let mut before = 3;
        for size in [4, 5, 3] {
            rows.step(&format!("{before} to {size} members"), || {
                self.look.patch(RESOURCE, &format!("{{\"spec\":{{\"size\":{size}}}}}"))?;
                self.look
                    .seen(&format!("spec.size {size}: {size} members are ready"), || self.rests_with(size))
            })?;
            before = size;
        }
        Ok(())
    }

    fn lose_members(&self, rows: &mut Rows) -> Result<()> {
        for leads in [false, true] {
            let leader = self.status("leader");
            let members = self.status("members.ready[*]");
            let fits = |member: &&str| (**member == leader) == leads;
            let Some(member) = members.split_whitespace().find(fits) else { bail!("no such member") };
            let who = if leads { "the leader" } else { "a follower" };
            let replaced = self.events("Replacing Dead Member");
            rows.step(&format!("{who} is deleted"), || {
                self.look.kubectl(&["delete", "pod", member, "--wait=false"])?;
                self.look.seen(&format!("{who}'s pod is deleted: another member takes its place"), || {
                    self.events("Replacing Dead Member") > replaced
                        && !self.pods().iter().any(|pod| pod.ends_with(member))
                        && self.rests_with(3)
                })
            })?;
        }
        Ok(())
    }

    fn upgrade(&self, rows: &mut Rows, from: &str, to: &str) -> Result<()> {
        let leader = self.status("leader");
        let upgraded = self.events("Member Upgraded");
        rows.step(&format!("{from} to {to}"), || {
            let patch = format!("[{{\"op\":\"replace\",\"path\":\"/spec/version\",\"value\":\"{to}\"}}]");
            self.look.kubectl(&["patch", RESOURCE, "--type=json", "--patch", &patch])?;
            self.look.seen(&format!("the upgrade from {from} to {to} is under way"), || {
                self.condition("Upgrading") == "True" && self.status("targetVersion") == to
            })?;
            self.look.seen(&format!("all members run {to}"), || {
                self.status("currentVersion") == to && self.rests_with(3)
            })
        })?;
        let events = self.events("Member Upgraded") - upgraded;
        if events != 3 {
            bail!("{events} events `Member Upgraded` for three members");
        }
        if self.status("leader") == leader {
            bail!("{leader} led before the upgrade and after it: it cannot have been asked to go");
        }
        Ok(())
    }
}
