//! Looks at every chart of the corpus of public charts: nothing panics, the time is bounded, and what the real helm rendered
//! with any of the cases' values is covered by the rules.
//!
//! The corpus lies beside the repository, in `../shared/corpus/helm` (or where `HELM_CORPUS` says). Without it the test says so
//! and passes. `HELM_CORPUS_ONLY=TEXT` looks at the charts whose name contains it,
//! `HELM_SURVEY_OUT=DIR` writes what was found to a directory.

use anyhow::Result;
use helm_chart::{File, load_directory, manifest::split_manifests};
use helm_conformance::cases::{Case, Corpus};
use helm_survey::{Found, Survey, Wishes, plural};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::{Duration, Instant},
};

/// No chart takes longer. Ten times what the slowest takes on an idle machine, so that others may work beside.
const LONGEST: Duration = Duration::from_secs(120);

fn corpus() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/corpus/helm");
    let path = std::env::var_os("HELM_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    path.join("cases.jsonl").is_file().then_some(path)
}

/// Groups and kinds in a stream of manifests.
fn kinds(stream: &str) -> BTreeSet<(String, String)> {
    let value = |document: &str, key: &str| {
        let line = document.lines().find_map(|line| line.strip_prefix(key).map(str::to_owned));
        line.unwrap_or_default()
            .split(" #")
            .next()
            .unwrap_or_default()
            .trim()
            .trim_matches(['"', '\''])
            .to_owned()
    };
    split_manifests(stream)
        .map(|document| (value(document, "apiVersion:"), value(document, "kind:")))
        .filter(|(version, kind)| !version.is_empty() && !kind.is_empty() && kind != "List")
        .map(|(version, kind)| (version.split_once('/').map_or("", |(group, _)| group).to_owned(), kind))
        .collect()
}

/// What the rules say of a kind: where its rule was found.
fn covered(survey: &Survey, group: &str, kind: &str) -> Option<Found> {
    let resource = plural(&kind.to_lowercase());
    let rules = survey.rules.iter().filter(|rule| {
        rule.resource_names.is_empty()
            && rule.verbs.iter().any(|verb| verb == "create" || verb == "*")
            && rule.api_groups.iter().any(|known| known == group || known == "*")
            && rule.resources.iter().any(|known| *known == resource || known == "*")
    });
    rules.map(|rule| rule.found).min()
}

#[derive(Default)]
struct Tally {
    times: Vec<(Duration, String)>,
    covered: BTreeMap<Found, usize>,
    in_values: usize,
    gone: usize,
    missed: Vec<String>,
}

fn is_gone(survey: &Survey, group: &str, kind: &str) -> bool {
    matches!((group, kind), ("extensions", _) | ("policy", "PodSecurityPolicy"))
        && survey.notes.iter().any(|note| note.contains(kind) && note.contains("no rule"))
}

fn in_values(corpus: &Corpus, case: &Case, kind: &str) -> bool {
    let files = corpus.chart(&case.chart).filter(|(path, _)| case.values.iter().any(|name| name == path));
    let line = format!("kind: {kind}\n");
    files.map(|(_, data)| String::from_utf8_lossy(data)).any(|text| text.contains(&line))
}

impl Tally {
    fn chart(&mut self, corpus: &Corpus, name: &str, cases: &[&Case]) {
        let files: Vec<File> = corpus.chart(name).map(|(path, data)| File::new(path, data)).collect();
        let Ok(chart) = load_directory(files, &mut Vec::new()) else { return };
        let started = Instant::now();
        let wishes = Wishes { kind: "Thing".into(), domain: "example.com".into(), ..Wishes::default() };
        let survey = Survey::of(&chart, &wishes).unwrap();
        self.times.push((started.elapsed(), name.to_owned()));
        assert_eq!(crate::structural::wrong(&survey.crd), Vec::<String>::new(), "{name}");
        if let Some(out) = std::env::var_os("HELM_SURVEY_OUT") {
            let file = PathBuf::from(out).join(format!("{}.json", name.replace('/', "_")));
            std::fs::write(file, serde_json::to_vec_pretty(&survey).unwrap()).unwrap();
        }
        for case in cases.iter().filter(|case| !case.fails) {
            let stream = String::from_utf8_lossy(corpus.expected(case).unwrap_or_default()).into_owned();
            for (group, kind) in kinds(&stream) {
                match covered(&survey, &group, &kind) {
                    Some(found) => *self.covered.entry(found).or_default() += 1,
                    // Objects that the values hold are nothing that the chart knows of.
                    // No cluster that is supported can have them: there is a note instead of a rule.
                    None if is_gone(&survey, &group, &kind) => self.gone += 1,
                    None if in_values(corpus, case, &kind) => self.in_values += 1,
                    None => self.missed.push(format!("{name} ({:?}): {group} {kind}", case.values)),
                }
            }
        }
    }
}

#[test]
fn every_kind_that_helm_rendered_is_covered_and_no_chart_takes_long() -> Result<()> {
    let Some(directory) = corpus() else {
        eprintln!("SKIPPED: no corpus of charts beside the repository");
        return Ok(());
    };
    let corpus = Corpus::open(&directory)?;
    let only = std::env::var("HELM_CORPUS_ONLY").unwrap_or_default();
    let mut charts: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in corpus.cases.iter().filter(|case| case.chart.contains(&only)) {
        charts.entry(&case.chart).or_default().push(case);
    }
    let mut tally = Tally::default();
    for (name, cases) in &charts {
        tally.chart(&corpus, name, cases);
    }
    tally.times.sort();
    let median = tally.times[tally.times.len() / 2].0;
    let slowest: Vec<_> = tally.times.iter().rev().take(8).collect();
    eprintln!("{} charts, median {median:?}, slowest {slowest:?}", tally.times.len());
    eprintln!("covered {:?}, in values {}, missed {}", tally.covered, tally.in_values, tally.missed.len());
    for missed in &tally.missed {
        eprintln!("missed: {missed}");
    }
    assert!(tally.missed.is_empty(), "{} kinds that helm rendered are not covered", tally.missed.len());
    assert!(slowest[0].0 < LONGEST, "{slowest:?}");
    Ok(())
}
