//! `helm template` of Helm 3.19.0: what it printed for small charts, and for the corpus when somebody let it render that.
//!
//! `HELM3_EXPECTED=DIR` names a directory with what `helm` 3.19.0 printed for each case of the corpus (`ID.txt`), rendered as
//! `cases.jsonl` says; `HELM3_DIFF=DIR` keeps both texts of what differs.

use anyhow::{Context as _, Result};
use helm_chart::{
    File, KubeVersion, ParsedChart, Rules, TemplateOptions, load_directory, template, values::merge_maps,
    yaml::load_values,
};
use helm_conformance::{
    cases::{Case, Corpus, RELEASE},
    compare::{Outcome, Verdict, compare},
    random::{SAMPLES, compare_random},
};
use helm_template::Map;
use std::{fs, path::PathBuf};

const CHART: &str =
    "apiVersion: v2\nname: web\nversion: 1.0.0\nmaintainers: [{name: me, email: me@example.com}]\n";

fn render(rules: Rules, files: &[(&str, &str)]) -> String {
    let files = [("Chart.yaml", CHART)].iter().chain(files);
    let files = files.map(|(path, text)| File::new(*path, *text)).collect();
    let chart = load_directory(files, &mut Vec::new()).unwrap().with_rules(rules);
    match template(&ParsedChart::new(chart), &Map::new(), &TemplateOptions::default()) {
        Ok(text) => text,
        Err(error) => format!("Error: {error}\n"),
    }
}

/// What both print, which is what they printed.
#[track_caller]
fn printed(files: &[(&str, &str)], helm3: &str, helm4: &str) {
    assert_eq!(render(Rules::Helm3, files), helm3);
    assert_eq!(render(Rules::Helm4, files), helm4);
}

#[test]
fn white_space_around_documents_is_taken_off() {
    printed(
        &[("templates/a.yaml", "\n---\na: 1\n\n\n---\n---\nb: 2\n\n")],
        "---\n# Source: web/templates/a.yaml\na: 1\n---\n# Source: web/templates/a.yaml\n---\nb: 2\n",
        "---\n# Source: web/templates/a.yaml\na: 1\n\n\n\n---\n# Source: web/templates/a.yaml\nb: 2\n",
    );
}

#[test]
fn nulls_of_defaults_stay() {
    printed(
        &[
            ("values.yaml", "a: null\nb: {c: null, d: 1}\n"),
            ("templates/a.yaml", "a: {{ hasKey .Values \"a\" }}\nb: {{ .Values.b | toJson }}\n"),
        ],
        "---\n# Source: web/templates/a.yaml\na: true\nb: {\"c\":null,\"d\":1}\n",
        "---\n# Source: web/templates/a.yaml\na: false\nb: {\"d\":1}\n",
    );
}

#[test]
fn webhooks_come_after_kinds_that_nobody_knows() {
    let a = "kind: Zebra\n---\nkind: ValidatingWebhookConfiguration\n---\nkind: Ant\n";
    let document = |kind: &str| format!("---\n# Source: web/templates/a.yaml\nkind: {kind}\n");
    let all = |kinds: [&str; 3], between: &str| kinds.map(document).join(between);
    printed(
        &[("templates/a.yaml", a)],
        &all(["Ant", "ValidatingWebhookConfiguration", "Zebra"], ""),
        &all(["ValidatingWebhookConfiguration", "Ant", "Zebra"], "\n"),
    );
}

#[test]
fn the_chart_is_a_struct() {
    printed(
        &[(
            "templates/a.yaml",
            "a: {{ .Chart | toJson }}\nb: {{ .Chart.Name }} {{ .Chart.IsRoot }} {{ (index .Chart.Maintainers 0).Name }}\nc: {{ toYaml .Chart.Maintainers | quote }}\nd: {{ typeOf .Chart | quote }}\n",
        )],
        "---\n# Source: web/templates/a.yaml\na: {\"name\":\"web\",\"version\":\"1.0.0\",\"maintainers\":[{\"name\":\"me\",\"email\":\"me@example.com\"}],\"apiVersion\":\"v2\",\"IsRoot\":true}\nb: web true me\nc: \"- email: me@example.com\\n  name: me\"\nd: \"struct { chart.Metadata; IsRoot bool }\"\n",
        "---\n# Source: web/templates/a.yaml\na: {\"APIVersion\":\"v2\",\"Annotations\":null,\"AppVersion\":\"\",\"Condition\":\"\",\"Dependencies\":[],\"Deprecated\":false,\"Description\":\"\",\"Home\":\"\",\"Icon\":\"\",\"IsRoot\":true,\"Keywords\":[],\"KubeVersion\":\"\",\"Maintainers\":[{\"Email\":\"me@example.com\",\"Name\":\"me\",\"URL\":\"\"}],\"Name\":\"web\",\"Sources\":[],\"Tags\":\"\",\"Type\":\"\",\"Version\":\"1.0.0\"}\nb: web true me\nc: \"- Email: me@example.com\\n  Name: me\\n  URL: \\\"\\\"\"\nd: \"map[string]interface {}\"\n",
    );
}

#[test]
fn errors_of_templates_are_gos() {
    printed(
        &[("templates/a.yaml", "a: {{ .Values.a.b }}\n")],
        "Error: template: web/templates/a.yaml:1:13: executing \"web/templates/a.yaml\" at <.Values.a.b>: nil pointer evaluating interface {}.b\n\nUse --debug flag to render out invalid YAML\n",
        "Error: web/templates/a.yaml:1:13\n  executing \"web/templates/a.yaml\" at <.Values.a.b>:\n    nil pointer evaluating interface {}.b\n\nUse --debug flag to render out invalid YAML\n",
    );
}

#[test]
fn functions_that_are_new_are_missing_and_the_cluster_is_an_older_one() {
    printed(
        &[("templates/a.yaml", "a: {{ mustToYaml 1 }}\n")],
        "Error: parse error at (web/templates/a.yaml:1): function \"mustToYaml\" not defined\n\nUse --debug flag to render out invalid YAML\n",
        "---\n# Source: web/templates/a.yaml\na: 1\n",
    );
    printed(
        &[(
            "templates/a.yaml",
            "a: {{ .Capabilities.KubeVersion }} {{ .Capabilities.HelmVersion.Version }} {{ len .Capabilities.APIVersions }}\n",
        )],
        "---\n# Source: web/templates/a.yaml\na: v1.34.0 v3.19.0 57\n",
        "---\n# Source: web/templates/a.yaml\na: v1.37.0 v4.3.1 57\n",
    );
}

fn case(case: &Case, corpus: &Corpus) -> Result<Outcome> {
    let files: Vec<File> = corpus.chart(&case.chart).map(|(path, data)| File::new(path, data)).collect();
    let mut values = Map::new();
    for name in &case.values {
        let data = corpus.charts.get(&format!("{}/{name}", case.chart)).context("values file")?;
        values = merge_maps(&values, &load_values(data)?);
    }
    let options = TemplateOptions {
        release_name: RELEASE.to_owned(),
        namespace: "demo".to_owned(),
        kube_version: Some(KubeVersion::parse("1.31.0")?),
        ..TemplateOptions::default()
    };
    let chart = load_directory(files, &mut Vec::new())?.with_rules(Rules::Helm3);
    Ok(match template(&ParsedChart::new(chart), &values, &options) {
        Ok(text) => Outcome::Rendered(text),
        Err(error) => Outcome::Failed(format!("Error: {error}\n")),
    })
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.trim().lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn the_corpus_renders_as_helm3_rendered_it() -> Result<()> {
    let Some(expected) = std::env::var_os("HELM3_EXPECTED").map(PathBuf::from) else {
        eprintln!("SKIPPED: HELM3_EXPECTED names no directory with what helm 3.19.0 printed");
        return Ok(());
    };
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/corpus/helm");
    let corpus = Corpus::open(&PathBuf::from(directory))?;
    let (mut equal, mut different) = ((0, 0, 0), 0);
    for this in &corpus.cases {
        let theirs = fs::read_to_string(expected.join(format!("{}.txt", this.id)))?;
        let theirs = theirs.trim_start_matches("WARNING: This chart is deprecated\n");
        let fails = theirs.starts_with("Error: ");
        let ours = case(this, &corpus)?;
        let mut verdict = match &ours {
            // Helm 3 goes through what breaks a schema in Go's order of maps.
            Outcome::Failed(ours) if sorted(ours) == sorted(theirs) => Verdict::Identical,
            ours => compare(theirs, fails, ours),
        };
        // What is not random in Helm 4 may be in Helm 3, where a password that is null by default is made up.
        if verdict != Verdict::Identical && !fails {
            let samples = (1..SAMPLES).map(|_| case(this, &corpus)).collect::<Result<Vec<_>>>()?;
            let all = [vec![ours.clone()], samples].concat();
            verdict = compare_random(theirs, &all, &corpus.passwords(this)).0;
        }
        if verdict == Verdict::Identical {
            *(if fails {
                &mut equal.2
            } else if this.random {
                &mut equal.1
            } else {
                &mut equal.0
            }) += 1;
            continue;
        }
        different += 1;
        let what: String = format!("{verdict:?}").chars().take(400).collect();
        eprintln!("{} {} {:?}: {what}", this.id, this.chart, this.values);
        if let Some(directory) = std::env::var_os("HELM3_DIFF").map(PathBuf::from) {
            let (Outcome::Rendered(ours) | Outcome::Failed(ours)) = ours;
            fs::write(directory.join(format!("{}.ours", this.id)), ours)?;
            fs::write(directory.join(format!("{}.helm", this.id)), theirs)?;
        }
    }
    let (deterministic, random, refused) = equal;
    eprintln!(
        "equal: {deterministic} deterministic, {random} random, {refused} refused; different: {different}"
    );
    assert_eq!(different, 0, "cases differ");
    Ok(())
}
