//! Which dependencies a release has, under which names, and what they give to their parents: Helm's
//! `ProcessDependencies`.
//!
//! First, from the top down, aliases are applied and disabled dependencies removed; tags are looked at before
//! conditions. Then, from the bottom up, `import-values` are taken over into the parents' defaults.

use crate::{
    chart::{Chart, dependency_path},
    coalesce::{CoalesceError, Warnings, coalesce_values, merge_tables, merge_values},
    log::{Level, Remark},
    metadata::Dependency,
    values::{Nulls, deep_copy_map, path_value, table},
    version,
};
use helm_template::{Map, Type, Value, fmt};
use std::{collections::BTreeSet, rc::Rc};

/// The chart as a release with `values` sees it. The original is left as it is.
///
/// # Errors
/// [`CoalesceError`] when values do not fit the tree of charts.
pub fn process_dependencies(
    chart: &Chart,
    values: &Map,
    warnings: &mut Warnings,
) -> Result<Chart, CoalesceError> {
    Processing::enable(chart, values, warnings)?.import_values(warnings)
}

/// A chart between the two steps: the second does not depend on values from outside, so its result can be
/// kept for all values that enable the same dependencies.
#[derive(Debug)]
pub(crate) struct Processing(Chart);

/// Which charts a tree consists of. Equal for the same chart with the same dependencies enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape(Vec<(String, *const ())>);

impl Processing {
    /// Applies aliases, tags and conditions.
    pub(crate) fn enable(
        chart: &Chart,
        values: &Map,
        warnings: &mut Warnings,
    ) -> Result<Self, CoalesceError> {
        let mut chart = chart.clone();
        let name = chart.name().to_owned();
        enable(&mut chart, values, At { values: "", chart: &name }, warnings)?;
        Ok(Self(chart))
    }

    /// What tells this tree from the others of its chart: paths, and which files they came from.
    pub(crate) fn shape(&self) -> Shape {
        fn collect(chart: &Chart, path: String, shape: &mut Vec<(String, *const ())>) {
            for dependency in &chart.dependencies {
                collect(dependency, dependency_path(&path, chart, dependency), shape);
            }
            shape.push((path, Rc::as_ptr(&chart.raw).cast()));
        }
        let mut shape = Vec::new();
        collect(&self.0, self.0.name().to_owned(), &mut shape);
        Shape(shape)
    }

    /// Takes imported values over.
    pub(crate) fn import_values(self, warnings: &mut Warnings) -> Result<Chart, CoalesceError> {
        let Self(mut chart) = self;
        import_values(&mut chart, warnings)?;
        Ok(chart)
    }
}

/// Names of the dependencies that `Chart.yaml` asks for and `charts/` does not have (`CheckDependencies`).
#[must_use]
pub fn missing_dependencies(chart: &Chart) -> Vec<String> {
    let present = |dependency: &&Dependency| !chart.dependencies.iter().any(|c| c.name() == dependency.name);
    chart.metadata.dependencies().filter(present).map(|dependency| dependency.name.clone()).collect()
}

/// The place of a chart in its tree.
#[derive(Clone, Copy)]
struct At<'a> {
    /// Where its values lie in those of the tree, with a dot at the end.
    values: &'a str,
    /// Its full path.
    chart: &'a str,
}

/// `processDependencyEnabled`.
fn enable(chart: &mut Chart, values: &Map, at: At<'_>, warnings: &mut Warnings) -> Result<(), CoalesceError> {
    if chart.metadata.dependencies.is_none() {
        return Ok(());
    }
    let mut wanted: Vec<Dependency> = chart.metadata.dependencies().cloned().collect();
    chart.dependencies = resolve(chart, at.chart, &wanted);
    chart.children_path = None;
    for dependency in &mut wanted {
        dependency.name = dependency.key().to_owned();
        dependency.enabled = true;
    }
    set_dependencies(chart, wanted.clone());
    let merged = coalesce_values(chart, values, warnings)?;
    apply_tags(&mut wanted, &merged, warnings);
    apply_conditions(&mut wanted, &merged, at.values, warnings);

    let disabled: BTreeSet<&str> =
        wanted.iter().filter(|dependency| !dependency.enabled).map(|dependency| &*dependency.name).collect();
    chart.dependencies.retain(|dependency| !disabled.contains(dependency.name()));
    let kept = wanted.iter().filter(|dependency| !disabled.contains(&*dependency.name)).cloned().collect();
    for dependency in &mut chart.dependencies {
        let below = format!("{}{}.", at.values, dependency.name());
        let path = format!("{}/charts/{}", at.chart, dependency.name());
        enable(dependency, &merged, At { values: &below, chart: &path }, warnings)?;
    }
    set_dependencies(chart, kept);
    Ok(())
}

/// The charts of `charts/` that nothing asks for, then for each dependency the chart that fits it.
fn resolve(chart: &Chart, path: &str, wanted: &[Dependency]) -> Vec<Chart> {
    let fits = |candidate: &Chart, dependency: &Dependency| {
        candidate.name() == dependency.name
            && version::is_compatible(&dependency.version, &candidate.metadata.version)
    };
    let unasked = chart.dependencies.iter().filter(|candidate| !wanted.iter().any(|d| fits(candidate, d)));
    let mut resolved: Vec<Chart> = unasked.cloned().collect();
    for dependency in wanted {
        if let Some(found) = chart.dependencies.iter().find(|candidate| fits(candidate, dependency)) {
            let mut found = copy(found, &dependency_path(path, chart, found));
            if !dependency.alias.is_empty() {
                Rc::make_mut(&mut found.metadata).name.clone_from(&dependency.alias);
            }
            resolved.push(found);
        }
    }
    resolved
}

/// `getAliasDependency`'s copy: the chart and its dependencies are copied, and what is below those still points to the
/// originals. `path` is that of the original.
fn copy(original: &Chart, path: &str) -> Chart {
    let mut copy = original.clone();
    for dependency in &mut copy.dependencies {
        if dependency.children_path.is_none() && !dependency.dependencies.is_empty() {
            dependency.children_path = Some(dependency_path(path, original, dependency).into());
        }
    }
    copy.children_path = None;
    copy
}

/// An emptied list becomes no list, as Go's `append(nil, …)` leaves it.
fn set_dependencies(chart: &mut Chart, dependencies: Vec<Dependency>) {
    let dependencies = (!dependencies.is_empty()).then(|| dependencies.into_iter().map(Some).collect());
    Rc::make_mut(&mut chart.metadata).dependencies = dependencies;
}

/// One tag that is true enables, else one that is false disables.
fn apply_tags(dependencies: &mut [Dependency], values: &Map, warnings: &mut Warnings) {
    let Some(tags) = table(values, "tags") else { return };
    for dependency in dependencies {
        let (mut any_true, mut any_false) = (false, false);
        for tag in &dependency.tags {
            match tags.get(tag) {
                None => {}
                Some(Value::Bool(truth)) => {
                    any_true |= truth;
                    any_false |= !truth;
                }
                Some(_) => {
                    warnings.push(non_bool(&[("tag", tag), ("chart", &dependency.name)]));
                }
            }
        }
        dependency.enabled = any_true || !any_false;
    }
}

/// The first path that leads to a truth value decides, whatever the tags said.
fn apply_conditions(dependencies: &mut [Dependency], values: &Map, path: &str, warnings: &mut Warnings) {
    for dependency in dependencies {
        for condition in dependency.condition.trim().split(',').filter(|condition| !condition.is_empty()) {
            match path_value(values, &format!("{path}{condition}")) {
                None => {}
                Some(Value::Bool(enabled)) => {
                    dependency.enabled = enabled;
                    break;
                }
                Some(_) => {
                    warnings.push(non_bool(&[("path", condition), ("chart", &dependency.name)]));
                }
            }
        }
    }
}

/// `processDependencyImportValues` with nulls kept: children first, then the chart itself.
fn import_values(chart: &mut Chart, warnings: &mut Warnings) -> Result<(), CoalesceError> {
    for dependency in &mut chart.dependencies {
        import_values(dependency, warnings)?;
    }
    if chart.metadata.dependencies.is_none() {
        return Ok(());
    }
    let values = merge_values(chart, &Map::new(), warnings)?;
    let imported = Map::new();
    let mut dependencies: Vec<Dependency> = chart.metadata.dependencies().cloned().collect();
    for dependency in &mut dependencies {
        let mut normalized = Vec::new();
        for import in &dependency.import_values {
            let Some((child, parent)) = import_paths(import) else { continue };
            normalized.push(import_pair(&child, &parent));
            match table(&values, &format!("{}.{child}", dependency.name)) {
                Some(found) => {
                    // An empty table is not shared, as in Helm.
                    let found = if found.is_empty() { Map::new() } else { found };
                    merge_tables(&imported, &nested(&parent, found), chart.rules, warnings)?;
                }
                None => warnings.push(missing_table(import, dependency, &values, &child)),
            }
        }
        dependency.import_values = normalized;
    }
    set_dependencies(chart, dependencies);
    // The chart's own values win over imported ones. The copy keeps the two from sharing tables.
    let values = deep_copy_map(&values, Nulls::Keep)?;
    merge_tables(&values, &imported, chart.rules, warnings)?;
    chart.values = Some(values);
    Ok(())
}

fn non_bool(attributes: &[(&'static str, &str)]) -> Remark {
    Remark::new(Level::Warn, "returned non-bool value", attributes)
}

/// What Helm says of something to import that is not there.
fn missing_table(import: &Value, dependency: &Dependency, values: &Map, child: &str) -> Remark {
    let name = &dependency.name;
    let error = format!("{} is not a table", first_missing(values, &format!("{name}.{child}")));
    match import {
        Value::String(_) => Remark::new(Level::Warn, "ImportValues missing table", &[("error", &error)]),
        _ => {
            let attributes = [("chart", name.as_str()), ("error", &error)];
            Remark::new(Level::Warn, "ImportValues missing table from chart", &attributes)
        }
    }
}

/// Both forms of an import: `{child: …, parent: …}` and the name of an export.
fn import_paths(import: &Value) -> Option<(String, String)> {
    match import {
        Value::Map(pair) => {
            let path = |key: &str| {
                let value = pair.get(key).unwrap_or_default();
                fmt::text(&value).map(|text| text.to_string()).unwrap_or_default()
            };
            Some((path("child"), path("parent")))
        }
        Value::String(export) => Some((format!("exports.{export}"), ".".to_owned())),
        _ => None,
    }
}

/// What Helm leaves in the metadata, which templates can see: a `map[string]string`.
fn import_pair(child: &str, parent: &str) -> Value {
    let pair = Map::typed(&Type::STRING_MAP);
    pair.insert("child", child);
    pair.insert("parent", parent);
    Value::Map(pair)
}

/// A table put under a dotted path; `.` is the top.
fn nested(path: &str, values: Map) -> Map {
    if path == "." {
        return values;
    }
    path.split('.').rev().fold(values, |inner, key| [(key, Value::Map(inner))].into_iter().collect())
}

/// The key at which following `path` fails, quoted.
fn first_missing(values: &Map, path: &str) -> String {
    let mut table = values.clone();
    for key in path.split('.') {
        match table.get(key) {
            Some(Value::Map(inner)) => table = inner,
            _ => return fmt::quote(key.as_bytes()),
        }
    }
    String::new()
}

#[cfg(test)]
mod tests;
