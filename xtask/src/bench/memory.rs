//! Memory and convergence with many releases.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::figures::{self, Pss};
use super::{NAMESPACE, PATIENCE, apply, await_line, prepare};
use crate::demo::access::Access;
use crate::demo::stage::{Process, Stage as _};
use crate::steps::say;

/// Flags of `cargo xtask bench memory`.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// How many player-stats resources.
    #[arg(long, default_value_t = 200)]
    releases: usize,
}

/// Measures memory.
pub(super) fn memory(args: &MemoryArgs) -> Result<()> {
    let (cluster, access, mut host) = prepare("memory")?;
    let work = cluster.directory().join("bench");
    host.start()?;
    await_line(&host, "plugin at work", 2)?;
    await_line(&host, "watching", 2)?;
    let mut table = vec![("just started, no resources".to_owned(), Duration::ZERO, pss(&host)?)];

    let resources = work.join("resources.yaml");
    fs::write(&resources, player_stats(args.releases))?;
    let started = Instant::now();
    apply(&access, &resources)?;
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

fn pss(host: &Process) -> Result<Pss> {
    figures::pss(host.pid().context("the host is not there")?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_seconds_and_mebibytes() {
        let table = render(&[("x".to_owned(), Duration::from_millis(1_500), (20_480, 2_048))]);
        assert!(table.ends_with("| x | 1.5 | 20 | 2 |\n"), "{table}");
    }
}
