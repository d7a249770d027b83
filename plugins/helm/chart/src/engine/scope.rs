//! What a template sees as its dot: one scope for each chart (`recAllTpls`).

use super::{RenderSettings, chart_struct};
use crate::{
    chart::{Chart, dependency_path},
    files_value::files_value,
    rules::Rules,
    values::{VALUES_TYPE, table},
};
use helm_template::{Map, Value};

/// The charts of a tree, children before their parents, as far as they do not depend on a rendering.
#[derive(Debug)]
pub(super) struct ChartScopes {
    root: ChartScope,
}

#[derive(Debug)]
struct ChartScope {
    /// Place among all scopes.
    index: usize,
    chart: Chart,
    files: Value,
    base_path: String,
    children: Vec<ChartScope>,
}

/// The scope of one chart in one rendering.
pub(super) struct Scope {
    map: Map,
    base_path: Value,
}

impl ChartScopes {
    pub(super) fn new(chart: &Chart) -> Self {
        Self { root: ChartScope::new(chart, chart.name().to_owned(), &mut 0) }
    }

    /// Goes through the charts, children before their parents, with index and full path of each.
    pub(super) fn visit(&self, mut visitor: impl FnMut(usize, &str, &Chart)) {
        self.root.visit(&mut visitor);
    }

    /// The scopes for a rendering, by index. `values` are those of the root chart.
    pub(super) fn bind(&self, values: &Map, settings: &RenderSettings) -> Vec<Scope> {
        let release = match settings.lint {
            None => settings.release.to_value(),
            Some(_) => settings.release.to_lint_value(),
        };
        let capabilities = settings.capabilities.to_value();
        let mut scopes = Vec::new();
        let values = values.clone().with_type(&VALUES_TYPE);
        self.root.bind(&values, &release, &capabilities, true, &mut scopes);
        scopes
    }
}

impl ChartScope {
    fn new(chart: &Chart, path: String, next: &mut usize) -> Self {
        let child = |dependency: &Chart, next: &mut usize| {
            Self::new(dependency, dependency_path(&path, chart, dependency), next)
        };
        let children = chart.dependencies.iter().map(|dependency| child(dependency, next)).collect();
        let index = *next;
        *next += 1;
        Self { index, chart: chart.clone(), files: files_value(&chart.files), base_path: path, children }
    }

    fn visit(&self, visitor: &mut impl FnMut(usize, &str, &Chart)) {
        for child in &self.children {
            child.visit(visitor);
        }
        visitor(self.index, &self.base_path, &self.chart);
    }

    fn bind(
        &self,
        values: &Map,
        release: &Value,
        capabilities: &Value,
        is_root: bool,
        scopes: &mut Vec<Scope>,
    ) -> Map {
        let subcharts = Map::new();
        let map = Map::new();
        match self.chart.rules {
            Rules::Helm4 => map.insert("Chart", self.chart.metadata.to_value(is_root)),
            Rules::Helm3 => map.insert("Chart", chart_struct::value(&self.chart.metadata, is_root)),
        };
        map.insert("Files", self.files.clone());
        map.insert("Release", release.clone());
        map.insert("Capabilities", capabilities.clone());
        map.insert("Values", values.clone());
        map.insert("Subcharts", subcharts.clone());
        for child in &self.children {
            let name = child.chart.name();
            // By a dotted path, as Helm looks for it: a name with a dot finds nothing.
            let values = table(values, name).unwrap_or_default().with_type(&VALUES_TYPE);
            subcharts.insert(name, child.bind(&values, release, capabilities, false, scopes));
        }
        let base_path = format!("{}/templates", self.base_path).into();
        scopes.push(Scope { map: map.clone(), base_path });
        map
    }
}

impl Scope {
    /// The dot of a template of this chart. `.Template` is put into the map that all of them share.
    pub(super) fn dot(&self, template: &str) -> Value {
        let info = Map::typed(&VALUES_TYPE);
        info.insert("Name", template);
        info.insert("BasePath", self.base_path.clone());
        self.map.insert("Template", info);
        Value::Map(self.map.clone().with_type(&VALUES_TYPE))
    }
}
