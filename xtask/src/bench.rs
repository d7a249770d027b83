//! `cargo xtask bench`: figures of the host at work. They are printed, never judged: machines differ.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use pilothouse_testbed::{Cluster, Options};

use crate::build;
use crate::demo::access::Access;
use crate::demo::stage::{Process, Stage as _};
use crate::steps::{Terminal, run, say};

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchTask {
    /// Memory (PSS) and convergence of the host with hello and helm loaded, on a real API server.
    #[command(after_help = "EXAMPLE:\n  cargo xtask bench memory --releases 200")]
    Memory(MemoryArgs),
    /// One hook call beside the same work done natively and behind a webhook; what compiling and loading a plugin takes.
    #[command(after_help = "EXAMPLE:\n  cargo xtask bench call")]
    Call,
}

/// Flags of `cargo xtask bench memory`.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// How many player-stats resources.
    #[arg(long, default_value_t = 200)]
    releases: usize,
}

/// How long all of them may take.
const PATIENCE: Duration = Duration::from_secs(300);
const NAMESPACE: &str = "bench";

/// Measures.
pub(crate) fn bench(task: &BenchTask) -> Result<()> {
    match task {
        BenchTask::Memory(args) => memory(args),
        BenchTask::Call => call(),
    }
}

fn call() -> Result<()> {
    build::plugins()?;
    build::test_guests()?;
    run(build::cargo("test")?
        .args(["--workspace", "--bench", "call"])
        .env("PILOTHOUSE_TEST_PLUGINS", build::plugins_dir()))
}

fn memory(args: &MemoryArgs) -> Result<()> {
    let plugins = build::plugins()?;
    let terminal = Terminal::new();
    let name = format!("bench-{}", std::process::id());
    let cluster = Cluster::up(&Options { name, tied: true, node: false }, &terminal)?;
    drop(terminal);
    let work = cluster.directory().join("bench");
    fs::create_dir_all(&work)?;
    let access = Access::new(&cluster.kubeconfig(), &work);
    let project = build::root().join("charts/samples/player-stats-operator");
    let mut host = Process::prepare(&access, &project, &plugins, &work)?;
    for crd in [project.join("config/crd/bases"), build::root().join("plugins/hello/crd.yaml")] {
        access.kubectl(&["apply", "--filename", &crd.display().to_string()])?;
    }
    access.kubectl(&["create", "namespace", NAMESPACE])?;
    host.start()?;
    await_line(&host, "plugin at work", 2)?;
    await_line(&host, "watching", 2)?;
    let mut table = vec![("at rest, no resources".to_owned(), Duration::ZERO, pss(&host)?)];

    let resources = work.join("resources.yaml");
    fs::write(&resources, player_stats(args.releases))?;
    let started = Instant::now();
    run(Command::new(pilothouse_testbed::binaries::KUBECTL.find(&pilothouse_testbed::progress::ToStderr)?)
        .env("KUBECONFIG", access.kubeconfig())
        .args(["apply", "--server-side", "--namespace", NAMESPACE, "--filename"])
        .arg(&resources)
        .stdout(std::process::Stdio::null()))?;
    let applied = started.elapsed();
    await_deployed(&access, args.releases, started)?;
    let converged = started.elapsed();
    table.push((format!("{} releases deployed", args.releases), converged, pss(&host)?));
    host.stop()?;
    host.start()?;
    let started = Instant::now();
    await_line(&host, "watching", 2)?;
    // Long enough for the caches to fill and for every release to be looked at once more.
    std::thread::sleep(Duration::from_secs(20));
    table.push(("after a restart".to_owned(), started.elapsed(), pss(&host)?));
    host.stop()?;
    cluster.down();
    say(&format!("kubectl took {:.1} s to apply {} resources", applied.as_secs_f64(), args.releases));
    println!("{}", render(&table));
    Ok(())
}

/// Kilobytes of proportional set size, and how much of it is anonymous.
type Pss = (u64, u64);

fn pss(host: &Process) -> Result<Pss> {
    let pid = host.pid().context("the host is not there")?;
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().split(' ').next()?.parse().ok()
    };
    field("Pss").zip(field("Pss_Anon")).context("the kernel does not tell PSS")
}

fn render(table: &[(String, Duration, Pss)]) -> String {
    let mut text = String::from(
        "| host with hello and helm | seconds | PSS, MiB | of it anonymous |\n|---|---|---|---|\n",
    );
    for (what, took, (pss, anonymous)) in table {
        let mib = |kilobytes: &u64| kilobytes / 1024;
        let _ = writeln!(text, "| {what} | {:.1} | {} | {} |", took.as_secs_f64(), mib(pss), mib(anonymous));
    }
    text
}

fn player_stats(count: usize) -> String {
    let one = |index: usize| {
        format!(
            "apiVersion: charts.example.com/v1alpha1\nkind: Player-stats\nmetadata:\n  name: p{index:04}\nspec:\n  replicaCount: 0\n"
        )
    };
    (0..count).map(one).collect::<Vec<_>>().join("---\n")
}

fn await_deployed(access: &Access, count: usize, started: Instant) -> Result<()> {
    let selector = "--selector=owner=helm,status=deployed";
    loop {
        let names =
            access.kubectl(&["get", "secrets", "--namespace", NAMESPACE, selector, "--output=name"])?;
        let deployed = names.lines().count();
        if deployed == count {
            return Ok(());
        }
        if started.elapsed() > PATIENCE {
            bail!("{deployed} of {count} releases after {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_seconds_and_mebibytes() {
        let table = render(&[("x".to_owned(), Duration::from_millis(1_500), (20_480, 2_048))]);
        assert!(table.ends_with("| x | 1.5 | 20 | 2 |\n"), "{table}");
    }
}
