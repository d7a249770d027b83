//! How values of a release, a chart and its dependencies become one tree: Helm's
//! `pkg/chart/common/util/coalesce.go` of 4.3.
//!
//! The higher chart wins; maps are merged, everything else is replaced. A null given for a key of the chart
//! removes it. *Coalescing* drops nulls of chart defaults, *merging* keeps them because a later coalescing
//! still has to see them.
//!
//! Tables of `global` end up shared between a chart and its dependencies below their first level, as in Helm;
//! a template that changes one (`set`) is seen by the others.

use crate::{
    chart::Chart,
    log::Remark,
    rules::Rules,
    values::{GLOBAL_KEY, Nulls, deep_copy, deep_copy_map, is_table},
};
use helm_template::{
    MAX_DEPTH, Map, Str, TooDeep, Value,
    fmt::{sprintf, text},
};
use std::fmt;
use thiserror::Error;

/// Remarks that Helm writes to its log and goes on.
pub type Warnings = Vec<Remark>;

/// Values that do not fit the tree of charts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CoalesceError {
    /// The value under a dependency's name is not a table. The text is Go's, wrong verb included.
    #[error("type mismatch on {name}: {value}")]
    NotATable {
        /// Name or alias of the dependency.
        name: String,
        /// The value as `fmt` prints it for `%t`.
        value: String,
    },
    /// Values nested so deep that they may contain themselves. Helm has no such check: its stack overflows.
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Coalesce,
    Merge,
}

/// Values for rendering: `values` over the defaults of `chart` and its dependencies (`CoalesceValues`).
///
/// # Errors
/// [`CoalesceError`] when a dependency's values are not a table.
pub fn coalesce_values(chart: &Chart, values: &Map, warnings: &mut Warnings) -> Result<Map, CoalesceError> {
    run(chart, values, Mode::Coalesce, warnings)
}

/// Like [`coalesce_values`] with nulls kept (`MergeValues`).
///
/// # Errors
/// [`CoalesceError`] when a dependency's values are not a table.
pub fn merge_values(chart: &Chart, values: &Map, warnings: &mut Warnings) -> Result<Map, CoalesceError> {
    run(chart, values, Mode::Merge, warnings)
}

/// Merges `source` into `target`, which wins; a null in `target` removes the key (`CoalesceTables`).
///
/// # Errors
/// [`CoalesceError::TooDeep`].
pub fn coalesce_tables(target: &Map, source: &Map, warnings: &mut Warnings) -> Result<(), CoalesceError> {
    let rules = Rules::default();
    Coalescer { warnings, rules }.tables(target, source, &Place::top(), Mode::Coalesce)
}

/// Merges `source` into `target`, which wins; nulls are kept (`MergeTables`). Tables that only `source` has
/// are shared afterwards.
///
/// # Errors
/// [`CoalesceError::TooDeep`].
pub fn merge_tables(
    target: &Map,
    source: &Map,
    rules: Rules,
    warnings: &mut Warnings,
) -> Result<(), CoalesceError> {
    Coalescer { warnings, rules }.tables(target, source, &Place::top(), Mode::Merge)
}

fn run(chart: &Chart, values: &Map, mode: Mode, warnings: &mut Warnings) -> Result<Map, CoalesceError> {
    let target = deep_copy_map(values, Nulls::Keep)?;
    Coalescer { warnings, rules: chart.rules }.chart(chart, &target, None, mode)?;
    Ok(target)
}

/// Where in the tree of charts and values something stands. Written out for warnings only.
#[derive(Clone, Copy)]
struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    name: &'a [u8],
    depth: usize,
}

impl<'a> Place<'a> {
    fn new(parent: Option<&'a Place<'a>>, name: &'a [u8]) -> Self {
        Self { parent, name, depth: parent.map_or(0, |parent| parent.depth + 1) }
    }

    fn top() -> Self {
        Self::new(None, b"")
    }

    fn child(&'a self, key: &'a Str) -> Result<Place<'a>, TooDeep> {
        if self.depth > MAX_DEPTH { Err(TooDeep) } else { Ok(Self::new(Some(self), key.as_bytes())) }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent.filter(|parent| !parent.name.is_empty()) {
            write!(f, "{parent}.")?;
        }
        f.write_str(&String::from_utf8_lossy(self.name))
    }
}

struct Coalescer<'a> {
    warnings: &'a mut Warnings,
    rules: Rules,
}

impl Coalescer<'_> {
    fn chart(
        &mut self,
        chart: &Chart,
        target: &Map,
        parent: Option<&Place<'_>>,
        mode: Mode,
    ) -> Result<(), CoalesceError> {
        let place = Place::new(parent, chart.name().as_bytes());
        self.defaults(chart, target, &place, mode)?;
        for dependency in &chart.dependencies {
            let name = dependency.name();
            let table = match target.get(name) {
                None => {
                    let table = Map::new();
                    target.insert(name, Value::Map(table.clone()));
                    table
                }
                Some(Value::Map(table)) => table,
                Some(other) => {
                    return Err(CoalesceError::NotATable {
                        name: name.to_owned(),
                        value: wrong_bool(&other),
                    });
                }
            };
            self.globals(&table, target, &place)?;
            self.chart(dependency, &table, Some(&place), mode)?;
        }
        Ok(())
    }

    /// The chart's own defaults below `target`. They are copied as far as they are taken, never changed.
    fn defaults(
        &mut self,
        chart: &Chart,
        target: &Map,
        place: &Place<'_>,
        mode: Mode,
    ) -> Result<(), CoalesceError> {
        let Some(defaults) = chart.values.as_ref().and_then(Map::borrow) else { return Ok(()) };
        for (key, default) in defaults.iter() {
            match target.get(key) {
                None if self.keeps_nulls(mode) => {
                    target.insert(key.clone(), deep_copy(default, Nulls::Keep)?);
                }
                None if matches!(default, Value::Nil) => {}
                None => {
                    target.insert(key.clone(), deep_copy(default, Nulls::Drop)?);
                }
                Some(Value::Nil) if mode == Mode::Coalesce => {
                    target.remove(key);
                }
                Some(Value::Map(table)) => match default {
                    Value::Map(default) => {
                        let is_dependency = chart.dependencies.iter().any(|dep| *key == *dep.name());
                        let mode = if is_dependency { Mode::Merge } else { mode };
                        self.default_table(&table, default, &place.child(key)?, mode)?;
                    }
                    Value::Nil => {}
                    _ => self.warn(format!("warning: skipped value for {place}.{key}: Not a table.")),
                },
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// [`Self::tables`] with a source that stays untouched: what is taken is copied, and when coalescing its
    /// nulls do not count.
    fn default_table(
        &mut self,
        target: &Map,
        source: &Map,
        place: &Place<'_>,
        mode: Mode,
    ) -> Result<(), CoalesceError> {
        let nulls = if self.keeps_nulls(mode) { Nulls::Keep } else { Nulls::Drop };
        let Some(entries) = source.borrow() else { return Ok(()) };
        for (key, value) in entries.iter() {
            if matches!(nulls, Nulls::Drop) && matches!(value, Value::Nil) {
                continue;
            }
            match (target.get(key), value) {
                (None, value) => {
                    target.insert(key.clone(), deep_copy(value, nulls)?);
                }
                (Some(Value::Nil), _) => {
                    if mode == Mode::Coalesce {
                        target.remove(key);
                    }
                }
                (Some(Value::Map(target)), Value::Map(source)) => {
                    self.default_table(&target, source, &place.child(key)?, mode)?;
                }
                (Some(existing), value) => self.conflict(&existing, value, &place.child(key)?),
            }
        }
        Ok(())
    }

    /// `coalesceTablesFullKey`: as there, nulls of the target are also written to the source.
    fn tables(
        &mut self,
        target: &Map,
        source: &Map,
        place: &Place<'_>,
        mode: Mode,
    ) -> Result<(), CoalesceError> {
        for (key, value) in source.snapshot() {
            match (target.get(&key), value) {
                (None, value) => {
                    target.insert(key, value);
                }
                (Some(Value::Nil), _) if self.rules == Rules::Helm3 => {
                    if mode == Mode::Coalesce {
                        target.remove(&key);
                    }
                }
                (Some(Value::Nil), value) => {
                    if mode == Mode::Coalesce && !matches!(value, Value::Nil) {
                        target.remove(&key);
                    }
                    source.insert(key, Value::Nil);
                }
                (Some(Value::Map(target)), Value::Map(source)) => {
                    self.tables(&target, &source, &place.child(&key)?, mode)?;
                }
                (Some(existing), value) => self.conflict(&existing, &value, &place.child(&key)?),
            }
        }
        if self.rules == Rules::Helm3 {
            return Ok(());
        }
        for (key, value) in target.snapshot() {
            if matches!(value, Value::Nil) && !source.contains_key(&key) {
                source.insert(key, Value::Nil);
            }
        }
        Ok(())
    }

    /// Whether nulls of defaults go into the result. Helm 3 let them.
    fn keeps_nulls(&self, mode: Mode) -> bool {
        mode == Mode::Merge || self.rules == Rules::Helm3
    }

    fn conflict(&mut self, existing: &Value, value: &Value, place: &Place<'_>) {
        let printed = printed(value);
        if is_table(value) {
            self.warn(format!("warning: cannot overwrite table with non table for {place} ({printed})"));
        } else if is_table(existing) && !matches!(value, Value::Nil) {
            self.warn(format!(
                "warning: destination for {place} is a table. Ignoring non-table value ({printed})"
            ));
        }
    }

    /// Globals of the parent's `source` into those of the dependency's `target`: here the parent wins
    /// (`coalesceGlobals`).
    fn globals(&mut self, target: &Map, source: &Map, place: &Place<'_>) -> Result<(), CoalesceError> {
        let into = match target.get(GLOBAL_KEY) {
            None => Map::new(),
            Some(Value::Map(table)) => table,
            Some(_) => {
                self.warn("warning: skipping globals because destination global is not a table.".to_owned());
                return Ok(());
            }
        };
        let from = match source.get(GLOBAL_KEY) {
            None => Map::new(),
            Some(Value::Map(table)) => table,
            Some(_) => {
                self.warn("warning: skipping globals because source global is not a table.".to_owned());
                return Ok(());
            }
        };
        for (key, value) in from.snapshot() {
            match (value, into.get(&key)) {
                (Value::Map(value), None) => {
                    into.insert(key, Value::Map(shallow_copy(&value)));
                }
                (Value::Map(value), Some(Value::Map(own))) => {
                    let merged = shallow_copy(&value);
                    self.tables(&merged, &own, &place.child(&key)?, Mode::Merge)?;
                    into.insert(key, Value::Map(merged));
                }
                (Value::Map(_), Some(_)) => {
                    self.warn(format!("Conflict: cannot merge map onto non-map for {key:?}. Skipping."));
                }
                (_, Some(Value::Map(_))) => self.warn(format!("key {key} is table. Skipping")),
                (value, _) => {
                    into.insert(key, value);
                }
            }
        }
        target.insert(GLOBAL_KEY, Value::Map(into));
        Ok(())
    }

    fn warn(&mut self, text: String) {
        self.warnings.push(text.into());
    }
}

fn shallow_copy(map: &Map) -> Map {
    map.snapshot().into_iter().collect()
}

/// A value as Go prints it with `%t`, which fits truth values only.
fn wrong_bool(value: &Value) -> String {
    sprintf("%t", std::slice::from_ref(value)).map(|text| text.to_string()).unwrap_or_default()
}

fn printed(value: &Value) -> String {
    text(value).map(|text| text.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
