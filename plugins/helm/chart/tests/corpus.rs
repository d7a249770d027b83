//! Renders the corpus of public charts and compares every byte with what helm 4.3.1 wrote.
//!
//! The corpus lies beside the repository, in `../shared/corpus/helm` (or where `HELM_CORPUS` says):
//! `cases.jsonl`, `charts.tar.gz`, `expected.tar.gz`. Without it the test says so and passes.
//! `HELM_CORPUS_DIFF=DIR` writes both texts of every case that differs to a directory,
//! `HELM_CORPUS_ONLY=TEXT` runs the cases whose chart or id contains it.

use anyhow::{Context, Result, bail};
use helm_chart::{
    File, KubeVersion, ParsedChart, TemplateOptions, load_directory, template, values::merge_maps,
    yaml::load_values,
};
use helm_conformance::{
    cases::{Case, Corpus, RELEASE},
    compare::{Outcome, Verdict, compare},
    random::{Generated, SAMPLES, compare_random},
};
use helm_template::Map;
use std::{
    collections::BTreeMap,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

/// How many deterministic cases have to be byte-identical. Only ever raise it.
const FLOOR: usize = 614;
/// How many cases in which something is random have to be equal in everything else. Only ever raise it.
const FLOOR_RANDOM: usize = 133;
/// How many of the cases Helm refuses have to be refused with the same text.
const FLOOR_ERRORS: usize = 13;

const RANDOM: &str = "(random)";
const REFUSED: &str = "(refused by helm)";

#[derive(Default, Clone, Copy)]
struct Count {
    identical: usize,
    same_yaml: usize,
    different: usize,
    failed: usize,
    passed: usize,
}

impl Count {
    fn add(&mut self, verdict: &Verdict) {
        *match verdict {
            Verdict::Identical => &mut self.identical,
            Verdict::SameYaml(_) => &mut self.same_yaml,
            Verdict::Different(_) => &mut self.different,
            Verdict::WronglyFailed(_) => &mut self.failed,
            Verdict::WronglyPassed => &mut self.passed,
        } += 1;
    }
}

fn corpus() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/corpus/helm");
    let path = std::env::var_os("HELM_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    path.join("cases.jsonl").is_file().then_some(path)
}

/// What our engine prints.
fn render(case: &Case, corpus: &Corpus) -> Result<String> {
    let files: Vec<File> = corpus.chart(&case.chart).map(|(path, data)| File::new(path, data)).collect();
    let mut values = Map::new();
    for name in &case.values {
        let data = corpus.charts.get(&format!("{}/{name}", case.chart)).context("values file")?;
        values = merge_maps(&values, &load_values(data)?);
    }
    let chart = load_directory(files, &mut Vec::new())?;
    let options = TemplateOptions {
        release_name: RELEASE.to_owned(),
        namespace: "demo".to_owned(),
        kube_version: Some(KubeVersion::parse("1.31.0")?),
        ..TemplateOptions::default()
    };
    Ok(template(&ParsedChart::new(chart), &values, &options)?)
}

fn outcome(case: &Case, corpus: &Corpus) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| render(case, corpus))) {
        Ok(Ok(text)) => Outcome::Rendered(text),
        Ok(Err(error)) => Outcome::Failed(format!("Error: {error}\n")),
        Err(_) => Outcome::Failed("PANIC".to_owned()),
    }
}

fn judge(case: &Case, corpus: &Corpus, theirs: &str) -> (Verdict, Generated, Outcome) {
    let first = outcome(case, corpus);
    if !case.random {
        return (compare(theirs, case.fails, &first), Generated::default(), first);
    }
    let mut ours = vec![first.clone()];
    ours.extend((1..SAMPLES).map(|_| outcome(case, corpus)));
    let (verdict, generated) = compare_random(theirs, &ours, &corpus.passwords(case));
    (verdict, generated, first)
}

fn keep(directory: &Path, case: &Case, ours: &Outcome, theirs: &str) -> Result<()> {
    let (Outcome::Rendered(ours) | Outcome::Failed(ours)) = ours;
    fs::create_dir_all(directory)?;
    fs::write(directory.join(format!("{}.ours", case.id)), ours)?;
    Ok(fs::write(directory.join(format!("{}.helm", case.id)), theirs)?)
}

fn family(case: &Case) -> &str {
    match case {
        Case { random: true, .. } => RANDOM,
        Case { fails: true, .. } => REFUSED,
        case => case.family(),
    }
}

#[test]
fn charts_render_byte_for_byte_as_helm_renders_them() -> Result<()> {
    let Some(directory) = corpus() else {
        eprintln!("SKIPPED: no corpus in ../shared/corpus/helm");
        return Ok(());
    };
    let corpus = Corpus::open(&directory)?;
    let diff = std::env::var_os("HELM_CORPUS_DIFF").map(PathBuf::from);
    let only = std::env::var("HELM_CORPUS_ONLY").unwrap_or_default();
    let (mut table, mut generated): (BTreeMap<&str, Count>, Vec<Generated>) = Default::default();
    for case in corpus.cases.iter().filter(|case| case.chart.contains(&only) || case.id.contains(&only)) {
        let theirs = std::str::from_utf8(corpus.expected(case).context("nothing expected")?)?;
        let (verdict, made, ours) = judge(case, &corpus, theirs);
        table.entry(family(case)).or_default().add(&verdict);
        generated.push(made);
        if verdict != Verdict::Identical {
            let what: String = format!("{verdict:?}").chars().take(600).collect();
            eprintln!("{} {} {:?}: {what}", case.id, case.chart, case.values);
            diff.as_deref().map_or(Ok(()), |directory| keep(directory, case, &ours, theirs))?;
        }
    }
    report(&table, &generated);
    if only.is_empty() { hold(&table) } else { Ok(()) }
}

fn hold(table: &BTreeMap<&str, Count>) -> Result<()> {
    let identical = |of: &str| table.get(of).copied().unwrap_or_default().identical;
    let deterministic = deterministic(table).identical;
    for (what, found, floor) in [
        ("deterministic", deterministic, FLOOR),
        ("random", identical(RANDOM), FLOOR_RANDOM),
        ("refused", identical(REFUSED), FLOOR_ERRORS),
    ] {
        if found < floor {
            bail!("{found} {what} cases are equal, {floor} before");
        }
    }
    Ok(())
}

fn deterministic(table: &BTreeMap<&str, Count>) -> Count {
    let mut total = Count::default();
    for (_, count) in table.iter().filter(|(family, _)| ![RANDOM, REFUSED].contains(family)) {
        total.identical += count.identical;
        total.same_yaml += count.same_yaml;
        total.different += count.different;
        total.failed += count.failed;
        total.passed += count.passed;
    }
    total
}

fn report(table: &BTreeMap<&str, Count>, generated: &[Generated]) {
    let heads = ["identical", "same YAML", "different", "failed", "passed"];
    let row = |name: &str, cells: [String; 5]| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>9}")).collect();
        eprintln!("{name:<40}{cells}");
    };
    row("charts", heads.map(str::to_owned));
    let total = deterministic(table);
    for (family, count) in
        table.iter().map(|(family, count)| (*family, *count)).chain([("deterministic", total)])
    {
        let Count { identical, same_yaml, different, failed, passed } = count;
        row(family, [identical, same_yaml, different, failed, passed].map(|count| count.to_string()));
    }
    eprintln!("{}", Generated::told(generated));
}
