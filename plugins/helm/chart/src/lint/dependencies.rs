//! The rules for dependencies (`rules/dependencies.go`).

use super::{
    Linter,
    Severity::{Error, Warning},
    ensure,
};
use crate::{chart::Chart, metadata::Dependency};

impl Linter<'_> {
    pub(super) fn dependencies(&mut self) {
        let chart = match self.load() {
            Ok(chart) => chart,
            Err(text) => {
                self.rule(Error, "", Err(format!("unable to load chart\n\t{text}")));
                return;
            }
        };
        let path = &*self.directory.path;
        self.rule(Error, path, in_metadata(&chart));
        self.rule(Error, path, unique(&chart));
        self.rule(Warning, path, in_directory(&chart));
    }
}

fn none(names: &[&str], text: &str) -> Result<(), String> {
    ensure(names.is_empty(), || format!("{text}: {}", names.join(",")))
}

fn in_metadata(chart: &Chart) -> Result<(), String> {
    let asked = |name: &&str| chart.metadata.dependencies().any(|dependency| dependency.name == **name);
    let missing: Vec<_> = chart.dependencies.iter().map(Chart::name).filter(|name| !asked(name)).collect();
    none(&missing, "chart metadata is missing these dependencies")
}

/// The loader refuses these too, in other words; the rule is here because Helm has it.
fn unique(chart: &Chart) -> Result<(), String> {
    let keys: Vec<_> = chart.metadata.dependencies().map(Dependency::key).collect();
    let again = |(at, key): (usize, &&'_ str)| keys.iter().take(at).any(|other| other == key);
    let shadowing: Vec<_> =
        keys.iter().enumerate().filter(|entry| again(*entry)).map(|(_, key)| *key).collect();
    none(&shadowing, "multiple dependencies with name or alias")
}

fn in_directory(chart: &Chart) -> Result<(), String> {
    let present = |name: &&str| chart.dependencies.iter().any(|dependency| dependency.name() == *name);
    let names = chart.metadata.dependencies().map(|dependency| &*dependency.name);
    let missing: Vec<_> = names.filter(|name| !present(name)).collect();
    none(&missing, "chart directory is missing these dependencies")
}
