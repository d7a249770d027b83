//! Renders the corpus of public charts and compares every byte with what helm 4.3.1 wrote.
//!
//! The corpus lies beside the repository, in `../shared/corpus/helm` (or where `HELM_CORPUS` says):
//! `cases.jsonl`, `charts.tar.gz`, `expected.tar.gz`. Without it the test says so and passes.
//! `HELM_CORPUS_DIFF=DIR` writes both texts of every case that differs to a directory,
//! `HELM_CORPUS_ONLY=TEXT` runs the cases whose chart or id contains it.

use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use helm_chart::{
    File, KubeVersion, ParsedChart, TemplateOptions, load_directory, template, values::merge_maps,
    yaml::load_values,
};
use helm_template::Map;
use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

/// How many deterministic cases have to be byte-identical. Only ever raise it.
const FLOOR: usize = 575;
/// How many of the cases Helm refuses have to be refused with the same text.
const FLOOR_ERRORS: usize = 13;

type Tree = BTreeMap<String, Vec<u8>>;

struct Case {
    id: String,
    chart: String,
    values: Vec<String>,
    fails: bool,
    random: bool,
}

#[derive(Default, Clone, Copy)]
struct Count {
    identical: usize,
    different: usize,
    failed: usize,
}

fn corpus() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/corpus/helm");
    let path = std::env::var_os("HELM_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    path.join("cases.jsonl").is_file().then_some(path)
}

fn unpack(path: &Path) -> Result<Tree> {
    let mut tree = Tree::new();
    let file = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    for entry in tar::Archive::new(GzDecoder::new(file)).entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let mut data = Vec::new();
            entry.read_to_end(&mut data)?;
            tree.insert(entry.path()?.to_string_lossy().into_owned(), data);
        }
    }
    Ok(tree)
}

fn cases(text: &str) -> Result<Vec<Case>> {
    let case = |line: &str| -> Result<Case> {
        let json: serde_json::Value = serde_json::from_str(line)?;
        let text = |key: &str| json.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        let values = json.get("values").and_then(|values| values.as_array()).cloned().unwrap_or_default();
        Ok(Case {
            id: text("id").context("id")?,
            chart: text("chart").context("chart")?,
            values: values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect(),
            fails: json.get("exit").and_then(serde_json::Value::as_i64) != Some(0),
            random: json.get("random").and_then(serde_json::Value::as_bool).unwrap_or_default(),
        })
    };
    text.lines().map(case).collect()
}

/// What our engine prints, or the text of its error.
fn render(case: &Case, charts: &Tree) -> Result<String> {
    let prefix = format!("{}/", case.chart);
    let inside = charts.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
    let files: Vec<File> =
        inside.map(|(path, data)| File::new(path.trim_start_matches(&prefix), data)).collect();
    let mut values = Map::new();
    for name in &case.values {
        let data = charts.get(&format!("{prefix}{name}")).context("values file")?;
        values = merge_maps(&values, &load_values(data)?);
    }
    let chart = load_directory(files, &mut Vec::new())?;
    let options = TemplateOptions {
        release_name: "rel".to_owned(),
        namespace: "demo".to_owned(),
        kube_version: Some(KubeVersion::parse("1.31.0")?),
        ..TemplateOptions::default()
    };
    Ok(template(&ParsedChart::new(chart), &values, &options)?)
}

fn first_difference(ours: &str, theirs: &str) -> String {
    let mut lines = ours.split('\n').zip(theirs.split('\n')).enumerate();
    let differing = lines.find(|(_, (ours, theirs))| ours != theirs);
    differing.map_or_else(
        || "one is longer than the other".to_owned(),
        |(line, (ours, theirs))| format!("line {}: {ours:?} instead of {theirs:?}", line + 1),
    )
}

fn keep(case: &Case, ours: &str, theirs: &str) -> Result<()> {
    if let Some(directory) = std::env::var_os("HELM_CORPUS_DIFF").map(PathBuf::from) {
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(format!("{}.ours", case.id)), ours)?;
        fs::write(directory.join(format!("{}.helm", case.id)), theirs)?;
    }
    Ok(())
}

fn family(case: &Case) -> String {
    if case.random {
        return "random, not counted".to_owned();
    }
    if case.fails {
        return "refused by helm".to_owned();
    }
    case.chart.split('/').next().unwrap_or_default().to_owned()
}

#[test]
fn charts_render_byte_for_byte_as_helm_renders_them() -> Result<()> {
    let Some(corpus) = corpus() else {
        eprintln!("SKIPPED: no corpus in ../shared/corpus/helm");
        return Ok(());
    };
    let charts = unpack(&corpus.join("charts.tar.gz"))?;
    let expected = unpack(&corpus.join("expected.tar.gz"))?;
    let only = std::env::var("HELM_CORPUS_ONLY").unwrap_or_default();
    let mut table: BTreeMap<String, Count> = BTreeMap::new();
    for case in cases(&fs::read_to_string(corpus.join("cases.jsonl"))?)? {
        if !case.chart.contains(&only) && !case.id.contains(&only) {
            continue;
        }
        let theirs = String::from_utf8(expected[&format!("{}.txt", case.id)].clone())?;
        let ours = catch_unwind(AssertUnwindSafe(|| render(&case, &charts)));
        let count = table.entry(family(&case)).or_default();
        let ours = match ours {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => format!("Error: {error}\n"),
            Err(_) => "PANIC".to_owned(),
        };
        if ours == theirs {
            count.identical += 1;
            continue;
        }
        keep(&case, &ours, &theirs)?;
        let failed = ours.starts_with("Error: ") || ours == "PANIC";
        *(if failed && !case.fails { &mut count.failed } else { &mut count.different }) += 1;
        if !case.random {
            let what = if failed && !case.fails { ours.clone() } else { first_difference(&ours, &theirs) };
            let what: String = what.chars().take(300).collect();
            eprintln!("{} {} {:?}: {what}", case.id, case.chart, case.values);
        }
    }
    report(&table);
    if only.is_empty() {
        let identical: usize =
            table.iter().filter(|(family, _)| !family.contains(' ')).map(|(_, count)| count.identical).sum();
        assert!(identical >= FLOOR, "{identical} identical cases, {FLOOR} before");
        let errors = table.get("refused by helm").copied().unwrap_or_default().identical;
        assert!(errors >= FLOOR_ERRORS, "{errors} equal errors, {FLOOR_ERRORS} before");
    }
    Ok(())
}

fn report(table: &BTreeMap<String, Count>) {
    eprintln!("{:<40} {:>9} {:>9} {:>9}", "charts", "identical", "different", "failed");
    let mut total = Count::default();
    for (family, count) in table {
        eprintln!("{family:<40} {:>9} {:>9} {:>9}", count.identical, count.different, count.failed);
        if !family.contains(' ') {
            total.identical += count.identical;
            total.different += count.different;
            total.failed += count.failed;
        }
    }
    eprintln!("{:<40} {:>9} {:>9} {:>9}", "deterministic", total.identical, total.different, total.failed);
}
