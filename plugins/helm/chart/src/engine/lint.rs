//! Rendering for the linter, whose steps are not quite those of an installation.

use super::{LintLog, Prepared, RenderError, RenderSettings, functions};
use crate::{
    chart::Chart,
    coalesce::{Warnings, coalesce_values},
    dependencies::Processing,
    schema::{self, SchemaCache},
};
use helm_template::Map;
use std::rc::Rc;

/// What each template wrote, by its full name; `None` when values do not fit the tree of charts, of which
/// the linter says nothing.
pub(crate) type Linted = Option<Vec<(String, Vec<u8>)>>;

/// Renders a chart in lint mode. Unlike an installation it does not look at `kubeVersion`, and it coalesces
/// values twice: a default that was removed with a null comes back.
pub(crate) fn lint(
    chart: &Chart,
    values: &Map,
    settings: &RenderSettings,
    warnings: &mut Warnings,
) -> Result<Linted, RenderError> {
    let Ok(enabled) = Processing::enable(chart, values, warnings) else { return Ok(None) };
    let shape = enabled.shape();
    let Ok(chart) = enabled.import_values(warnings) else { return Ok(None) };
    let Ok(once) = coalesce_values(&chart, values, warnings) else { return Ok(None) };
    let values = coalesce_values(&chart, &once, warnings)?;
    if !settings.skip_schema_validation {
        if settings.debug {
            schema::remarks(&chart, &values, warnings);
        }
        SchemaCache::default().validate(&chart, &values)?;
    }
    let functions = functions::all(chart.rules);
    Prepared::new(chart, shape, functions).execute_raw(&values, settings).map(Some)
}

impl RenderSettings {
    /// These settings in lint mode, with the log that is written to.
    pub(crate) fn linting(mut self) -> (Self, LintLog) {
        let log = LintLog::default();
        self.lookup = None;
        self.lint = Some(Rc::clone(&log));
        (self, log)
    }
}
