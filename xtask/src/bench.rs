//! `cargo xtask bench`: figures of the host at work. They are printed, never judged: machines differ.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Subcommand;
use pilothouse_testbed::{Cluster, Options};

use crate::build;
use crate::demo::access::Access;
use crate::demo::stage::{Process, Stage as _};
use crate::steps::{Terminal, run};

mod etcd;
mod figures;
mod grown;
mod helm_operator;
mod memory;
mod render;
mod swap;
mod template;

use etcd::EtcdArgs;
use helm_operator::HelmOperatorArgs;
use memory::MemoryArgs;
use render::RenderArgs;
use swap::SwapArgs;
use template::TemplateArgs;

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchTask {
    /// Memory (PSS) and convergence of the host with hello and helm loaded, on a real API server.
    #[command(after_help = "EXAMPLE:\n  cargo xtask bench memory --releases 200")]
    Memory(MemoryArgs),
    /// One hook call beside the same work done natively and behind a webhook; what compiling and loading a plugin takes.
    #[command(after_help = "EXAMPLE:\n  cargo xtask bench call")]
    Call,
    /// From a saved plugin file to the first reconcile on the new code, while resources change.
    #[command(after_help = "EXAMPLE:\n  cargo xtask bench swap --times 5")]
    Swap(SwapArgs),
    /// The Helm plugin beside Helm's SDK: loading and rendering charts, warm, in one process.
    #[command(
        after_help = "EXAMPLES:\n  cargo xtask bench render\n  cargo xtask bench render --times 50 ./mychart"
    )]
    Render(RenderArgs),
    /// The host beside operator-sdk's helm-operator: memory, processor, requests, drift; the same project, the same API server.
    #[command(
        after_help = "EXAMPLES:\n  cargo xtask bench helm-operator\n  cargo xtask bench helm-operator --sites 1000 --what load"
    )]
    HelmOperator(HelmOperatorArgs),
    /// `pilothouse template` beside `helm template`: wall time and peak memory of the processes.
    #[command(
        after_help = "EXAMPLES:\n  cargo xtask bench template\n  cargo xtask bench template --times 30 ./mychart"
    )]
    Template(TemplateArgs),
    /// The etcd operator on a node (root): three members beside their pods alone, and many clusters at rest.
    #[command(
        after_help = "EXAMPLES:\n  sudo -E cargo xtask bench etcd\n  sudo -E cargo xtask bench etcd --times 0 --clusters 80"
    )]
    Etcd(EtcdArgs),
}

/// How long whatever is waited for may take.
const PATIENCE: Duration = Duration::from_secs(300);
const NAMESPACE: &str = "bench";

/// Measures.
pub(crate) fn bench(task: &BenchTask) -> Result<()> {
    match task {
        BenchTask::Memory(args) => memory::memory(args),
        BenchTask::Call => call(),
        BenchTask::Swap(args) => swap::swap(args),
        BenchTask::Render(args) => render::render(args),
        BenchTask::HelmOperator(args) => helm_operator::helm_operator(args),
        BenchTask::Template(args) => template::template(args),
        BenchTask::Etcd(args) => etcd::etcd(args),
    }
}

fn call() -> Result<()> {
    build::plugins()?;
    build::test_guests()?;
    run(build::cargo("test")?
        .args(["--workspace", "--bench", "call"])
        .env("PILOTHOUSE_TEST_PLUGINS", build::plugins_dir()))
}

/// A control plane with the definitions of both plugins, and a host that is not started yet.
fn prepare(what: &str) -> Result<(Cluster, Access, Process)> {
    let plugins = build::plugins()?;
    let terminal = Terminal::new();
    let name = format!("bench-{what}-{}", std::process::id());
    let cluster = Cluster::up(&Options { name, tied: true, node: false }, &terminal)?;
    drop(terminal);
    let work = cluster.directory().join("bench");
    std::fs::create_dir_all(&work)?;
    let access = Access::new(&cluster.kubeconfig(), &work);
    let project = build::root().join("charts/samples/player-stats-operator");
    let host = Process::prepare(&access, &project, &plugins, &work)?;
    for crd in [project.join("config/crd/bases"), build::root().join("plugins/hello/crd.yaml")] {
        access.kubectl(&["apply", "--filename", &crd.display().to_string()])?;
    }
    access.kubectl(&["create", "namespace", NAMESPACE])?;
    Ok((cluster, access, host))
}

fn apply(access: &Access, file: &Path) -> Result<()> {
    let file = file.display().to_string();
    access.kubectl(&["apply", "--server-side", "--namespace", NAMESPACE, "--filename", &file]).map(drop)
}

fn await_line(host: &Process, text: &str, times: usize) -> Result<()> {
    let started = Instant::now();
    while host.log().matches(text).count() < times {
        if started.elapsed() > PATIENCE {
            bail!("the host did not log {text:?} {times} times:\n{}", host.log());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
