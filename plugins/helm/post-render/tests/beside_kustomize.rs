//! Patches and images beside `kubectl kustomize`, which has kustomize built in.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use helm_post_render::PostRenderers;
use helm_yaml::{Duplicates, yaml_to_json};
use serde_json::{Value, json};

const OBJECTS: &str = include_str!("data/objects.yaml");

fn kubectl() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    let cache = std::env::var_os("PILOTHOUSE_CACHE")
        .map_or(Path::new(&home).join(".cache/pilothouse"), PathBuf::from);
    let tools = fs::read_dir(cache.join("tools")).ok()?;
    let mut found: Vec<PathBuf> = tools
        .filter_map(|tool| Some(tool.ok()?.path().join("kubectl")))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found.pop()
}

fn documents(text: &str) -> Vec<Value> {
    text.split("\n---\n")
        .map(|document| yaml_to_json(document.as_bytes(), Duplicates::Refuse).expect("YAML"))
        .filter(|document| !document.is_null())
        .collect()
}

fn cases() -> Vec<(&'static str, &'static str)> {
    let cases = include_str!("data/cases.txt").split("=== ").skip(1);
    cases.map(|case| case.split_once('\n').expect("a name and a body")).collect()
}

fn ours(kustomize: &str) -> Result<Vec<Value>, String> {
    let kustomize = yaml_to_json(kustomize.as_bytes(), Duplicates::Refuse).expect("YAML");
    let spec = json!({"postRenderers": [{"kustomize": kustomize}]});
    let mut objects = documents(OBJECTS);
    let renderers = PostRenderers::read(&spec).map_err(|error| error.to_string())?;
    renderers.apply(&mut objects).map_err(|error| error.to_string())?;
    Ok(objects)
}

fn theirs(kubectl: &Path, kustomize: &str) -> Result<Vec<Value>, String> {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("objects.yaml"), OBJECTS).expect("a file");
    let kustomization = format!("resources: [objects.yaml]\n{kustomize}");
    fs::write(dir.path().join("kustomization.yaml"), kustomization).expect("a file");
    let output = Command::new(kubectl).arg("kustomize").arg(dir.path()).output().expect("kubectl runs");
    if output.status.success() {
        Ok(documents(&String::from_utf8(output.stdout).expect("UTF-8")))
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// The order of objects in the output is not compared: kubectl sorts them.
fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|object| format!("{} {}", object["kind"], object["metadata"]["name"]));
    objects
}

fn differences(kubectl: &Path, cases: &[(&str, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, kustomize) in cases {
        match (ours(kustomize), theirs(kubectl, kustomize)) {
            (Ok(ours), Ok(theirs)) => {
                let (ours, theirs) = (sorted(ours), sorted(theirs));
                if ours != theirs {
                    let different = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
                    let (count, other) = (ours.len(), theirs.len());
                    let told = different.map(|(ours, theirs)| format!("  ours: {ours}\n  theirs: {theirs}"));
                    wrong.push(format!("{name}: {count} and {other} objects\n{}", told.unwrap_or_default()));
                }
            }
            (Err(ours), Err(theirs)) => println!("{name}\n  ours: {ours}\n  theirs: {theirs}"),
            (ours, theirs) => wrong.push(format!("{name}\n  ours: {ours:?}\n  theirs: {theirs:?}")),
        }
    }
    wrong
}

#[test]
fn objects_come_out_as_kustomize_lets_them_out() {
    let Some(kubectl) = kubectl() else {
        println!("SKIPPED: there is no kubectl in the tools of the cache");
        return;
    };
    let cases = cases();
    assert!(cases.len() > 100, "only {} cases", cases.len());
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(4));
        let threads: Vec<_> = parts.map(|part| scope.spawn(|| differences(&kubectl, part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
