//! Rendering for somebody who looks at what the templates do: each template by itself, and with functions of their own.

use super::{
    ParsedChart, RenderError, RenderSettings,
    functions::{self, strip_no_value},
};
use crate::{
    chart::Chart,
    coalesce::{Warnings, coalesce_values},
};
use helm_template::{Functions, Map};
use std::{cell::RefCell, rc::Rc};

/// Who watches a rendering.
pub trait Observer {
    /// The chart with its enabled dependencies, and the very values that the templates are going to see, defaults included.
    fn begins(&mut self, chart: &Chart, values: &Map);

    /// Whether a template, by its full path, shall be executed.
    fn wants(&mut self, path: &str) -> bool;

    /// What it wrote, or in Helm's words why it failed.
    fn written(&mut self, path: &str, text: Result<String, String>);
}

impl ParsedChart {
    /// [`ParsedChart::new`] with other functions: `change` gets Helm's.
    #[must_use]
    pub fn with_functions(chart: Chart, change: impl FnOnce(&mut Functions)) -> Self {
        let mut functions = (*functions::all(chart.rules)).clone();
        change(&mut functions);
        Self {
            functions: Some(Rc::new(functions)),
            chart,
            schemas: RefCell::default(),
            prepared: RefCell::default(),
        }
    }

    /// Executes templates, and goes on where one fails. Neither schemas nor the version of Kubernetes are looked at.
    ///
    /// # Errors
    /// [`RenderError`] for what keeps all templates from being executed.
    pub fn observe(
        &self,
        values: &Map,
        settings: &RenderSettings,
        observer: &mut dyn Observer,
    ) -> Result<(), RenderError> {
        let mut warnings = Warnings::new();
        let prepared = self.prepare(values, &mut warnings)?;
        let values = coalesce_values(&prepared.chart, values, &mut warnings)?;
        observer.begins(&prepared.chart, &values);
        prepared.execute_each(&values, settings, |path, execute| {
            if observer.wants(path) {
                let written = execute().map_err(|error| error.to_string());
                let text = |written: Vec<u8>| String::from_utf8_lossy(&strip_no_value(&written)).into_owned();
                observer.written(path, written.map(text));
            }
            Ok(())
        })
    }
}
