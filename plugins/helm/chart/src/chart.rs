//! A loaded chart (Helm's `pkg/chart/v2/chart.go`).

use crate::{
    file::File,
    go_path,
    metadata::{Lock, Metadata},
    rules::Rules,
};
use helm_template::Map;
use std::rc::Rc;

/// A chart with its dependencies. Cloning shares files and values.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    /// `Chart.yaml`.
    pub metadata: Rc<Metadata>,
    /// `Chart.lock` or `requirements.lock`.
    pub lock: Option<Rc<Lock>>,
    /// The files of `templates/`.
    pub templates: Rc<[File]>,
    /// `values.yaml`; never changed in place, only replaced.
    pub values: Option<Map>,
    /// `values.schema.json`.
    pub schema: Option<Rc<[u8]>>,
    /// All other files, `crds/` included.
    pub files: Rc<[File]>,
    /// Every file as it was read.
    pub raw: Rc<[File]>,
    /// The charts of `charts/`, after processing those that are enabled, under their aliases.
    pub dependencies: Vec<Chart>,
    /// Where its dependencies believe to be, when that is not below this chart: they still point to the chart that it is a
    /// copy of (`getAliasDependency` copies no deeper).
    pub children_path: Option<Rc<str>>,
    /// Whose rules it is rendered by.
    pub rules: Rules,
}

/// A file of a chart's `crds/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crd {
    /// Path with the charts above it: `parent/charts/child/crds/a.yaml`.
    pub path: String,
    /// The file.
    pub file: File,
}

impl Chart {
    /// The chart, with its dependencies, to be rendered by other rules.
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self.dependencies =
            self.dependencies.into_iter().map(|dependency| dependency.with_rules(rules)).collect();
        self
    }

    /// Name, or alias after processing.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The files of `crds/`, then those of the dependencies (`Chart.CRDObjects`).
    #[must_use]
    pub fn crds(&self) -> Vec<Crd> {
        let mut crds = Vec::new();
        self.collect_crds(self.name(), &mut crds);
        crds
    }

    fn collect_crds(&self, path: &str, crds: &mut Vec<Crd>) {
        let own = self.files.iter().filter(|file| file.name.starts_with("crds/") && is_manifest(&file.name));
        crds.extend(own.map(|file| Crd { path: go_path::join(path, &file.name), file: file.clone() }));
        for dependency in &self.dependencies {
            dependency.collect_crds(&dependency_path(path, self, dependency), crds);
        }
    }
}

/// The path of a dependency of a chart that has `path` (`Chart.ChartFullPath`).
pub(crate) fn dependency_path(path: &str, chart: &Chart, dependency: &Chart) -> String {
    format!("{}/charts/{}", chart.children_path.as_deref().unwrap_or(path), dependency.name())
}

fn is_manifest(name: &str) -> bool {
    let extension = go_path::extension(name);
    [".yaml", ".yml", ".json"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(name: &str, files: &[&str], dependencies: Vec<Chart>) -> Chart {
        let metadata = Metadata { name: name.to_owned(), ..Metadata::default() };
        Chart {
            metadata: Rc::new(metadata),
            files: files.iter().map(|name| File::new(*name, b"")).collect(),
            dependencies,
            ..Chart::default()
        }
    }

    #[test]
    fn crds_of_dependencies_follow_with_their_path() {
        let child = chart("child", &["crds/c.JSON"], vec![]);
        let parent =
            chart("parent", &["crds/a.yaml", "crds/readme.md", "other/b.yaml", "crds/d/e.yml"], vec![child]);
        let paths: Vec<_> = parent.crds().into_iter().map(|crd| crd.path).collect();
        assert_eq!(paths, ["parent/crds/a.yaml", "parent/crds/d/e.yml", "parent/charts/child/crds/c.JSON"]);
    }
}
