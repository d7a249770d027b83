//! The chart that a project begins with.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use helm_chart::load_directory;
use helm_survey::{Found, Survey, Wishes, starter};

/// The real helm, as `cargo xtask setup` puts it.
fn helm() -> Option<PathBuf> {
    let cache = std::env::var_os("PILOTHOUSE_CACHE").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache/pilothouse"));
    let tools = cache.into_iter().chain(home()).map(|cache| cache.join("tools"));
    let found = tools.filter_map(|tools| fs::read_dir(tools).ok()).flatten().flatten();
    let mut found: Vec<_> = found
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("helm-v4.3.1"))
        .map(|entry| entry.path().join("helm"))
        .filter(|helm| helm.is_file())
        .collect();
    found.sort();
    found.pop()
}

fn read(directory: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}

#[test]
fn a_new_chart_is_what_helm_create_writes_to_the_byte() -> Result<()> {
    let Some(helm) = helm() else {
        eprintln!("SKIPPED: no helm 4.3.1 in the cache of tools");
        return Ok(());
    };
    let directory = tempfile::tempdir()?;
    for name in ["nginx", "player-stats", "a.b_C", "x"] {
        let created = Command::new(&helm).arg("create").arg(name).current_dir(&directory).output()?;
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        let mut theirs = BTreeMap::new();
        read(&directory.path().join(name), "", &mut theirs)?;
        let ours: BTreeMap<String, Vec<u8>> =
            starter(name)?.into_iter().map(|file| (file.name, file.data.to_vec())).collect();
        assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
        for (path, text) in &theirs {
            let ours = ours.get(path).context("a file")?;
            assert_eq!(String::from_utf8_lossy(ours), String::from_utf8_lossy(text), "{name}/{path}");
        }
    }
    Ok(())
}

#[test]
fn names_that_helm_create_refuses_are_refused() {
    for name in ["", "a b", "a/b", "..", "\u{e4}", &"a".repeat(251)] {
        assert!(starter(name).is_err(), "{name}");
    }
}

#[test]
fn the_operator_of_a_new_chart_has_a_rule_for_each_of_its_objects() {
    let chart = load_directory(starter("nginx").unwrap(), &mut Vec::new()).unwrap();
    let survey = Survey::of(&chart, &Wishes::default()).unwrap();
    let rendered = survey.rules.iter().filter(|rule| rule.found == Found::Rendered);
    let resources: Vec<String> = rendered.flat_map(|rule| rule.resources.clone()).collect();
    for resource in [
        "deployments",
        "services",
        "serviceaccounts",
        "ingresses",
        "httproutes",
        "horizontalpodautoscalers",
        "pods",
        "pods/log",
    ] {
        assert!(resources.iter().any(|known| known == resource), "{resource} in {resources:?}");
    }
    assert_eq!(survey.notes, Vec::<String>::new());
    assert_eq!(survey.names.crd(), "nginxes.charts");
}
