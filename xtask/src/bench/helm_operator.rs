//! Beside operator-sdk's helm-operator: the same project, unchanged, on the same API server, one after the other.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, ValueEnum};
use pilothouse_testbed::{Cluster, Options};

use super::figures::Pss;
use super::{NAMESPACE, PATIENCE, apply};
use crate::build;
use crate::demo::access::Access;
use crate::steps::{Terminal, say};

mod drift;
mod operator;
mod project;
mod watcher;

use drift::Times;
use operator::{Operator, Who};
use watcher::Deployed;

/// Flags of `cargo xtask bench helm-operator`.
#[derive(Debug, Args)]
pub(crate) struct HelmOperatorArgs {
    /// How many resources, one figure or several. A thousand take half an hour.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100])]
    sites: Vec<usize>,
    /// How often an object is deleted or changed, to see when it is back.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
    tries: u16,
    /// The same for helm-operator and charts without `metadata.namespace`: up to a minute each.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    slow_tries: u16,
    /// For how many seconds it is watched at rest.
    #[arg(long, default_value_t = 60)]
    rest: u64,
    /// What is measured.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [What::Load, What::Drift])]
    what: Vec<What>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Many resources at once, and the rest that follows.
    Load,
    /// How soon drift is undone.
    Drift,
}

/// What was measured of one operator with so many resources.
#[derive(Debug, Clone, Copy)]
struct Load {
    sites: usize,
    idle: Pss,
    took: Duration,
    processor: Duration,
    requests: u64,
    rest_processor: Duration,
    rest_requests: u64,
    pss: Pss,
}

/// How soon drift was undone.
#[derive(Debug, Clone)]
struct Drift {
    deleted: Times,
    changed: Times,
    deleted_with_namespace: Times,
    changed_with_namespace: Times,
    /// None: never.
    added: Option<Times>,
}

/// So long an added key may stay before it is said to stay for ever: helm-operator looks once a minute.
const FOR_EVER: Duration = Duration::from_secs(130);

/// Measures.
pub(super) fn helm_operator(args: &HelmOperatorArgs) -> Result<()> {
    build::plugins()?;
    let terminal = Terminal::new();
    let name = format!("bench-helm-operator-{}", std::process::id());
    let cluster = Cluster::up(&Options { name, tied: true, node: false }, &terminal)?;
    drop(terminal);
    let bench = Bench::prepare(&cluster, args)?;
    if args.what.contains(&What::Load) {
        println!("{LOAD_HEADER}");
        for sites in &args.sites {
            let (ours, theirs) =
                (bench.load(Who::Pilothouse, *sites)?, bench.load(Who::HelmOperator, *sites)?);
            // At once: what follows takes long as well.
            print!("{}", load_rows(&ours, &theirs, args.rest));
        }
    }
    if args.what.contains(&What::Drift) {
        let (ours, theirs) = (bench.drift(Who::Pilothouse)?, bench.drift(Who::HelmOperator)?);
        println!("{}", drift_table(&ours, &theirs));
    }
    cluster.down();
    Ok(())
}

/// A cluster with the kind, the project and the users.
struct Bench<'a> {
    cluster: &'a Cluster,
    args: &'a HelmOperatorArgs,
    access: Access,
    work: std::path::PathBuf,
}

impl<'a> Bench<'a> {
    fn prepare(cluster: &'a Cluster, args: &'a HelmOperatorArgs) -> Result<Self> {
        let work = cluster.directory().join("bench");
        fs::create_dir_all(&work)?;
        project::write(&work.join("source"), false)?;
        project::write(&work.join("strict"), true)?;
        let access = Access::new(&cluster.kubeconfig(), &work);
        let bench = Self { cluster, args, access, work };
        bench.apply("definition.yaml", project::DEFINITION)?;
        bench.apply("users.yaml", &operator::users())?;
        bench.access.kubectl(&["create", "namespace", NAMESPACE])?;
        Ok(bench)
    }

    fn apply(&self, file: &str, text: &str) -> Result<()> {
        let path = self.work.join(file);
        fs::write(&path, text)?;
        apply(&self.access, &path)
    }

    /// Creates what is not there yet. `kubectl apply` would ask for each first.
    fn create(&self, file: &str, text: &str) -> Result<()> {
        let path = self.work.join(file);
        fs::write(&path, text)?;
        let file = path.display().to_string();
        self.access.kubectl(&["create", "--namespace", NAMESPACE, "--filename", &file]).map(drop)
    }

    fn start(&self, who: Who, project: &str) -> Result<Operator> {
        let operator = Operator::start(who, self.cluster, &self.work.join(project), &self.work)?;
        // Until it watches: a resource of its kind comes and goes.
        self.installed(|| self.apply("first.yaml", &project::site("first", false)), &["first".to_owned()])?;
        self.remove()?;
        Ok(operator)
    }

    /// Waits until all these releases are deployed, from when something is done.
    fn installed(&self, begin: impl FnOnce() -> Result<()>, names: &[String]) -> Result<Duration> {
        let deployed = Deployed::start(&self.access, NAMESPACE)?;
        let started = Instant::now();
        begin()?;
        let last = deployed.all(names, PATIENCE)?;
        Ok(last - started)
    }

    fn remove(&self) -> Result<()> {
        let all = ["delete", "sites", "--all", "--namespace", NAMESPACE, "--timeout=600s"];
        self.access.kubectl(&all).map(drop)
    }

    fn load(&self, who: Who, sites: usize) -> Result<Load> {
        say(&format!("{}: {sites} resources", who.name()));
        let operator = self.start(who, "source")?;
        // Until it has given back what it needed to start.
        std::thread::sleep(Duration::from_secs(20));
        let idle = operator.pss()?;
        let before = operator.taken(&self.access)?;
        let names: Vec<String> = (0..sites).map(|index| format!("site-{index:04}")).collect();
        let took = self.installed(|| self.create("sites.yaml", &project::sites("site", sites)), &names)?;
        let installed = operator.taken(&self.access)?;
        // Status, events and whatever follows an installation.
        std::thread::sleep(Duration::from_secs(20));
        let rest = operator.taken(&self.access)?;
        std::thread::sleep(Duration::from_secs(self.args.rest));
        let end = operator.taken(&self.access)?;
        let pss = operator.pss()?;
        self.remove()?;
        Ok(Load {
            sites,
            idle,
            took,
            processor: installed.0.saturating_sub(before.0),
            requests: rest.1.saturating_sub(before.1),
            rest_processor: end.0.saturating_sub(rest.0),
            rest_requests: end.1.saturating_sub(rest.1),
            pss,
        })
    }

    fn drift(&self, who: Who) -> Result<Drift> {
        say(&format!("{}: drift", who.name()));
        let operator = self.start(who, "source")?;
        let sites = project::site("plain", false) + "---\n" + &project::site("namespaced", true);
        self.installed(|| self.apply("drift.yaml", &sites), &["plain".to_owned(), "namespaced".to_owned()])?;
        let (tries, slow) = match who {
            Who::Pilothouse => (self.args.tries, self.args.tries),
            Who::HelmOperator => (self.args.tries, self.args.slow_tries),
        };
        let mut drift = Drift {
            deleted: drift::deletions(&self.access, "plain", slow)?,
            changed: drift::changes(&self.access, "plain", slow)?,
            deleted_with_namespace: drift::deletions(&self.access, "namespaced", tries)?,
            changed_with_namespace: drift::changes(&self.access, "namespaced", tries)?,
            added: None,
        };
        self.remove()?;
        drop(operator);
        let _operator = self.start(who, "strict")?;
        let site = project::site("strict", true);
        self.installed(|| self.apply("strict.yaml", &site), &["strict".to_owned()])?;
        drift.added = drift::additions(&self.access, "strict", tries, FOR_EVER)?;
        self.remove()?;
        Ok(drift)
    }
}

const LOAD_HEADER: &str =
    "| resources | | pilothouse | helm-operator | ratio | wanted |\n|---|---|---|---|---|---|";

fn load_rows(ours: &Load, theirs: &Load, rest: u64) -> String {
    let seconds = |time: Duration| time.as_secs_f64();
    let mib = |(pss, _): Pss| pss as f64 / 1024.0;
    let rows = [
        ("created → all deployed, s".to_owned(), seconds(ours.took), seconds(theirs.took), "1/5"),
        ("processor time for it, s".to_owned(), seconds(ours.processor), seconds(theirs.processor), "1/10"),
        ("requests for each".to_owned(), each(ours), each(theirs), ""),
        (
            format!("at rest for {rest} s: processor time, s"),
            seconds(ours.rest_processor),
            seconds(theirs.rest_processor),
            "1/200",
        ),
        (
            format!("at rest for {rest} s: requests"),
            ours.rest_requests as f64,
            theirs.rest_requests as f64,
            "1/100",
        ),
        ("memory (PSS) before, MiB".to_owned(), mib(ours.idle), mib(theirs.idle), ""),
        ("memory (PSS) with them, MiB".to_owned(), mib(ours.pss), mib(theirs.pss), "1/3"),
    ];
    rows.iter().fold(String::new(), |mut text, (what, one, other, wanted)| {
        let ratio = if *other > 0.0 { format!("{:.3}", one / other) } else { String::new() };
        let _ = writeln!(text, "| {} | {what} | {one:.2} | {other:.2} | {ratio} | {wanted} |", ours.sites);
        text
    })
}

fn each(load: &Load) -> f64 {
    load.requests as f64 / load.sites.max(1) as f64
}

fn drift_table(ours: &Drift, theirs: &Drift) -> String {
    let mut text = String::from(
        "\n| drift, ms: median, most of (tries) | pilothouse | helm-operator |\n|---|---|---|\n",
    );
    let rows = [
        ("a deleted Deployment is back", &ours.deleted, &theirs.deleted),
        ("a changed ConfigMap is changed back", &ours.changed, &theirs.changed),
        (
            "the first, with metadata.namespace in the chart",
            &ours.deleted_with_namespace,
            &theirs.deleted_with_namespace,
        ),
        ("the second, with metadata.namespace", &ours.changed_with_namespace, &theirs.changed_with_namespace),
    ];
    for (what, ours, theirs) in rows {
        let _ = writeln!(text, "| {what} | {} | {} |", spread(ours), spread(theirs));
    }
    let or_never = |times: &Option<Times>| times.as_ref().map_or_else(|| "never".to_owned(), spread);
    let (ours, theirs) = (or_never(&ours.added), or_never(&theirs.added));
    let _ = writeln!(text, "| in strict mode, a key added to a ConfigMap is gone | {ours} | {theirs} |");
    text.push_str("\nWanted of ours: a median under 50 ms, the worst of 50 under 500 ms.\n");
    text
}

fn spread(times: &Times) -> String {
    let at = |index: usize| times.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0);
    format!("{:.0}, {:.0} ({})", at(times.len() / 2), at(times.len().saturating_sub(1)), times.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_shown_by_its_median_and_its_worst() {
        let times = [1, 3, 50].map(Duration::from_millis).to_vec();
        assert_eq!(spread(&times), "3, 50 (3)");
    }
}
