//! `helm template --post-renderer` of Helm 4.3.1: what it printed for small charts, and for the corpus when somebody let it
//! render that.
//!
//! `HELM_POST_RENDERED=DIR` names a directory with what `helm` printed for cases of the corpus (`ID.txt`) with a
//! post-renderer that is `cat`, rendered as `cases.jsonl` says; `HELM_POST_RENDERED_DIFF=DIR` keeps both texts of what differs.

use anyhow::{Context as _, Result};
use helm_chart::{
    File, KubeVersion, ParsedChart, Rules, TemplateError, TemplateOptions, load_directory,
    manifest::sort_to_install, post_render, template, values::merge_maps, yaml::load_values,
};
use helm_conformance::cases::{Case, Corpus, RELEASE};
use helm_template::Map;
use std::{fs, path::PathBuf};

/// What is printed when the manifests went through a program.
fn through(
    chart: &ParsedChart,
    values: &Map,
    options: &TemplateOptions,
    program: impl Fn(String) -> String,
) -> Result<String, TemplateError> {
    let mut remarks = Vec::new();
    let rendered = template::render_files(chart, values, options, &mut remarks)?;
    let written = program(post_render::merged(&rendered.files)?);
    if written.trim().is_empty() {
        // What who runs the program says.
        let why = "post-renderer \"cat\" produced empty output";
        return Err(TemplateError::PostRenderer(why.to_owned()));
    }
    let files = post_render::split(written.as_bytes())?;
    let read = files.iter().map(|(path, text)| (&**path, &**text));
    let sorted = sort_to_install(read, Rules::Helm4, &mut remarks).map_err(helm_chart::RenderError::from)?;
    let mut manifest = String::new();
    for object in &sorted.manifests {
        helm_chart::engine::append_document(&mut manifest, &object.path, &object.content);
    }
    let hooks = template::wanted_hooks(&sorted.hooks, options).map(|hook| (&*hook.path, &*hook.manifest));
    template::printed_parts(&manifest, hooks, options, Rules::Helm4)
}

fn printed(files: &[(&str, &str)], program: impl Fn(String) -> String) -> String {
    let chart = [("Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\n")];
    let files = chart.iter().chain(files).map(|(path, text)| File::new(*path, *text)).collect();
    let chart = ParsedChart::new(load_directory(files, &mut Vec::new()).unwrap());
    match through(&chart, &Map::new(), &TemplateOptions::default(), program) {
        Ok(text) => text,
        Err(error) => format!("Error: {error}\n"),
    }
}

#[test]
fn manifests_are_indented_again_and_keep_their_comments() {
    let chart = [(
        "templates/a.yaml",
        "# head\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x # n\ndata:\n    a: [1, 2]\n    b:\n        - 1\n",
    )];
    assert_eq!(
        printed(&chart, |text| text),
        "---\n# Source: c/templates/a.yaml\n# head\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x # n\ndata:\n  a: [1, 2]\n  b:\n  - 1\n"
    );
}

#[test]
fn hooks_go_through_the_program_as_well() {
    let hook = "kind: Job\nmetadata:\n  name: one\n  annotations:\n    \"helm.sh/hook\": pre-install\n";
    let text = printed(&[("templates/hook.yaml", hook)], |text| text.replace("name: one", "name: two"));
    assert_eq!(
        text,
        "\n---\n# Source: c/templates/hook.yaml\nkind: Job\nmetadata:\n  name: two\n  annotations:\n    \"helm.sh/hook\": pre-install\n\n"
    );
}

#[test]
fn what_is_no_object_is_refused() {
    assert_eq!(
        printed(&[("templates/a.yaml", "- 1\n")], |text| text),
        "Error: error merging manifests: parsing c/templates/a.yaml: wrong node kind: expected MappingNode but got SequenceNode: \
         node contents:\n- 1\n\n\nUse --debug flag to render out invalid YAML\n"
    );
}

fn rendered(case: &Case, corpus: &Corpus) -> Result<String> {
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
    let chart = ParsedChart::new(load_directory(files, &mut Vec::new())?);
    Ok(through(&chart, &values, &options, |text| text).unwrap_or_else(|error| format!("Error: {error}\n")))
}

#[test]
fn charts_of_the_corpus_come_out_as_with_helm() {
    let Some(expected) = std::env::var_os("HELM_POST_RENDERED").map(PathBuf::from) else {
        eprintln!("SKIPPED: HELM_POST_RENDERED names no directory");
        return;
    };
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/corpus/helm");
    let corpus = std::env::var_os("HELM_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let corpus = Corpus::open(&corpus).unwrap();
    let (mut same, mut different) = (0, Vec::new());
    for case in &corpus.cases {
        let Ok(theirs) = fs::read_to_string(expected.join(format!("{}.txt", case.id))) else { continue };
        let ours = rendered(case, &corpus).unwrap_or_else(|error| format!("Error: {error}\n"));
        if ours == theirs {
            same += 1;
            continue;
        }
        if let Some(directory) = std::env::var_os("HELM_POST_RENDERED_DIFF").map(PathBuf::from) {
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(format!("{}.ours", case.id)), &ours).unwrap();
            fs::write(directory.join(format!("{}.helm", case.id)), &theirs).unwrap();
        }
        different.push(format!("{} {}", case.id, case.chart));
    }
    eprintln!("{same} of {} are byte-identical", same + different.len());
    assert!(same > 0, "nothing to compare with in {}", expected.display());
    assert!(different.is_empty(), "{different:#?}");
}
