//! The etcd operator on a real node: how long three members take beside the same pods alone, and what many clusters take at rest.

mod alone;
mod host;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Value, json};

use super::NAMESPACE;
use crate::demo::access::Access;
use crate::demo::stage::{Pod, Stage as _};
use crate::steps::say;
use crate::{build, demo};
use alone::Pods;
use host::Host;

/// Flags of `cargo xtask bench etcd`.
#[derive(Debug, Args)]
pub(crate) struct EtcdArgs {
    /// How many clusters of one member are there at rest; 0 leaves that out.
    #[arg(long, default_value_t = 50)]
    clusters: usize,
    /// How often a cluster of three is made; 0 leaves that out.
    #[arg(long, default_value_t = 3)]
    times: usize,
    /// How long the host is watched at rest, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

const VERSION: &str = "3.6.16";
/// What is waited for, by kubectl's own watch.
const PATIENCE: &str = "--timeout=600s";

/// Measures.
pub(super) fn etcd(args: &EtcdArgs) -> Result<()> {
    let mut plugins = build::plugins()?;
    plugins.retain(|plugin| plugin.ends_with("etcd.wasm"));
    demo::on_a_cluster_of_its_own(true, |cluster, access, work| {
        demo::etcd::put_images(cluster)?;
        let definitions = build::root().join("plugins/etcd/crds").display().to_string();
        access.kubectl(&["apply", "--filename", &definitions])?;
        access.kubectl(&["create", "namespace", NAMESPACE])?;
        let mut host = Pod::of_plugins(access, &plugins, values()?, work)?;
        host.start()?;
        let bench = Bench { access, work };
        bench.starts(args.times)?;
        bench.rest(args.clusters, Duration::from_secs(args.seconds))
    })
}

/// As the documentation has it.
fn values() -> Result<Value> {
    let file = build::root().join("charts/pilothouse/ci/etcd-values.yaml");
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    Ok(serde_saphyr::from_str(&text)?)
}

struct Bench<'a> {
    access: &'a Access,
    work: &'a Path,
}

impl Bench<'_> {
    fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.access.kubectl(&[arguments, &["--namespace", NAMESPACE]].concat())
    }

    fn apply(&self, objects: &[Value]) -> Result<()> {
        let file = self.work.join("objects.json");
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        std::fs::write(&file, list.to_string())?;
        self.kubectl(&["apply", "--filename", &file.display().to_string()]).map(drop)
    }

    /// Three members by the operator, the same three pods at once, and one after the other.
    fn starts(&self, times: usize) -> Result<()> {
        let mut rows: Vec<[f64; 3]> = Vec::new();
        for _ in 0..times {
            let started = Instant::now();
            self.apply(&[cluster("example", 3)])?;
            self.kubectl(&["wait", "--for=condition=Ready", "etcdclusters/example", PATIENCE])?;
            let ours = started.elapsed();
            let pods = Pods::of(&self.objects("pods")?, &self.objects("services")?);
            self.gone("etcdclusters/example")?;
            let at_once = self.alone(&[pods.at_once()])?;
            let in_turn = self.alone(&pods.in_turn())?;
            rows.push([ours, at_once, in_turn].map(|took| took.as_secs_f64()));
        }
        if times > 0 {
            println!("{}", starts_table(&rows));
        }
        Ok(())
    }

    fn objects(&self, kind: &str) -> Result<Vec<Value>> {
        let text = self.kubectl(&["get", kind, "--selector=etcd_cluster=example", "--output=json"])?;
        let list: Value = serde_json::from_str(&text)?;
        Ok(list.get("items").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// Until the pods of each step are ready, one step after the other.
    fn alone(&self, steps: &[Vec<Value>]) -> Result<Duration> {
        let started = Instant::now();
        for objects in steps {
            self.apply(objects)?;
            self.kubectl(&["wait", "--for=condition=Ready", "pods", "--all", PATIENCE])?;
        }
        let took = started.elapsed();
        self.kubectl(&["delete", "pods,services", "--all", "--grace-period=1", "--wait"])?;
        Ok(took)
    }

    fn gone(&self, what: &str) -> Result<()> {
        self.kubectl(&["delete", what, "--wait"])?;
        self.kubectl(&["wait", "--for=delete", "pods", "--all", PATIENCE]).map(drop)
    }

    /// Many clusters, and nothing to do.
    fn rest(&self, clusters: usize, watched: Duration) -> Result<()> {
        if clusters == 0 {
            return Ok(());
        }
        let host = Host::find(self.access)?;
        let before = host.memory()?;
        let all: Vec<Value> = (0..clusters).map(|number| cluster(&format!("c{number:03}"), 1)).collect();
        let started = Instant::now();
        self.apply(&all)?;
        self.kubectl(&["wait", "--for=condition=Ready", "etcdclusters", "--all", PATIENCE])?;
        let ready = started.elapsed();
        say(&format!("{clusters} clusters are ready after {:.0} s", ready.as_secs_f64()));
        // What was begun comes to its end, and memory that is not needed at rest is given back.
        std::thread::sleep(Duration::from_secs(30));
        let rest = host.watch(watched)?;
        println!("{}", rest.table(clusters, before));
        Ok(())
    }
}

fn cluster(name: &str, size: usize) -> Value {
    json!({"apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "metadata": {"name": name},
        "spec": {"size": size, "version": VERSION}})
}

fn starts_table(rows: &[[f64; 3]]) -> String {
    let head = "| three members, seconds | by the operator | pods alone, at once | one after the other | operator / at once | operator / in turn |";
    let mut lines = vec![head.to_owned(), "|---|---|---|---|---|---|".to_owned()];
    for (number, [ours, at_once, in_turn]) in rows.iter().enumerate() {
        let (number, to_once, to_turn) = (number + 1, ours / at_once, ours / in_turn);
        lines.push(format!(
            "| {number} | {ours:.1} | {at_once:.1} | {in_turn:.1} | {to_once:.2} | {to_turn:.2} |"
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_both_ratios() {
        let table = starts_table(&[[3.0, 2.0, 4.0]]);
        assert!(table.ends_with("| 1 | 3.0 | 2.0 | 4.0 | 1.50 | 0.75 |"), "{table}");
    }
}
