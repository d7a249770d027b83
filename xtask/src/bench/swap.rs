//! How soon a saved plugin is at work.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;

use super::{NAMESPACE, PATIENCE, apply, await_line, prepare};
use crate::build;
use crate::demo::access::Access;
use crate::demo::stage::{Process, Stage as _};
use crate::steps::{run, say};

/// Flags of `cargo xtask bench swap`.
#[derive(Debug, Args)]
pub(crate) struct SwapArgs {
    /// How often each plugin is saved.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    times: u16,
}

const RESOURCES: &str = "\
apiVersion: hello.pilothouse.dev/v1alpha1
kind: Hello
metadata: { name: world }
spec: { greeting: first, replicas: 0 }
---
apiVersion: charts.example.com/v1alpha1
kind: Player-stats
metadata: { name: sample }
spec: { replicaCount: 0 }
";

/// Measures swaps.
pub(super) fn swap(args: &SwapArgs) -> Result<()> {
    let (cluster, access, host) = prepare("swap")?;
    let mut host = host.telling_of_reconciles();
    host.start()?;
    await_line(&host, "plugin at work", 2)?;
    let resources = cluster.directory().join("bench/resources.yaml");
    fs::write(&resources, RESOURCES)?;
    apply(&access, &resources)?;
    await_line(&host, "reconciled", 2)?;
    let stop = AtomicBool::new(false);
    let table = std::thread::scope(|scope| {
        let stream = scope.spawn(|| changes(&access, &stop));
        let table = ["hello", "helm"].map(|name| (name, swaps(&host, name, args.times)));
        stop.store(true, Ordering::Relaxed);
        stream.join().map_err(|_| anyhow::anyhow!("the stream of changes broke off"))??;
        anyhow::Ok(table)
    })?;
    host.stop()?;
    cluster.down();
    let mut text = String::from(
        "| plugin | saved → first reconcile on new code, s: least | median | most |\n|---|---|---|---|\n",
    );
    for (name, times) in table {
        let mut times = times?;
        times.sort_unstable();
        let at = |index: usize| times.get(index).map_or(f64::NAN, Duration::as_secs_f64);
        let (least, middle, most) = (at(0), at(times.len() / 2), at(times.len().saturating_sub(1)));
        writeln!(text, "| {name} | {least:.2} | {middle:.2} | {most:.2} |")?;
    }
    println!("{text}");
    Ok(())
}

/// A resource that somebody changes again and again.
fn changes(access: &Access, stop: &AtomicBool) -> Result<()> {
    let mut count = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        count += 1;
        let patch = format!(r#"{{"spec":{{"greeting":"change {count}"}}}}"#);
        access.kubectl(&[
            "patch",
            "hello/world",
            "--namespace",
            NAMESPACE,
            "--type=merge",
            "--patch",
            &patch,
        ])?;
        std::thread::sleep(Duration::from_millis(250));
    }
    Ok(())
}

/// Saves builds of a plugin that differ in their version, and so in their digest: nothing of them was compiled before.
fn swaps(host: &Process, name: &str, times: u16) -> Result<Vec<Duration>> {
    let file = host.plugins().join(format!("{name}.wasm"));
    let next = file.with_extension("next");
    let component = file.with_extension("original");
    let program = build::host()?;
    fs::copy(&file, &component)?;
    let manifest = build::root().join("plugins").join(if name == "helm" { "helm/plugin" } else { name });
    let manifest = fs::read_to_string(manifest.join("plugin.yaml"))?;
    let stamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    (0..times)
        .map(|time| {
            let version = format!("0.1.0-bench.{stamp}.{time}");
            another_version(&program, &component, &manifest, &version, &next)?;
            let before = host.log().len();
            let saved = Instant::now();
            fs::rename(&next, &file)?;
            await_reconcile(host, before, &version)?;
            let took = saved.elapsed();
            say(&format!("{name}: {:.2} s", took.as_secs_f64()));
            // Better code comes after the draft, and would be in the next one's way.
            std::thread::sleep(Duration::from_secs(1));
            Ok(took)
        })
        .collect()
}

fn another_version(program: &Path, component: &Path, manifest: &str, version: &str, to: &Path) -> Result<()> {
    let lines = manifest.lines().map(|line| match line.strip_prefix("version:") {
        Some(_) => format!("version: {version}"),
        None => line.to_owned(),
    });
    let file = to.with_extension("yaml");
    fs::write(&file, lines.collect::<Vec<_>>().join("\n"))?;
    run(Command::new(program)
        .args(["plugin", "build"])
        .arg(component)
        .arg("--manifest")
        .arg(&file)
        .arg("--output")
        .arg(to))
}

fn await_reconcile(host: &Process, before: usize, version: &str) -> Result<()> {
    let started = Instant::now();
    let wanted = |line: &str| line.contains("reconciled") && line.contains(version);
    while !host.log().get(before..).is_some_and(|log| log.lines().any(wanted)) {
        if started.elapsed() > PATIENCE {
            bail!("no reconcile by version {version}:\n{}", host.log());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
