//! Rendering: a chart's templates executed with values (Helm's `pkg/engine` and `renderResources`).
//!
//! [`ParsedChart`] parses the templates once for each set of enabled dependencies and then renders any number
//! of times. Templates are parsed and executed deepest path first, in reverse order of their names, so a
//! parent's `define` replaces a dependency's of the same name, and a `set` on shared values is seen by what
//! is executed later, as in Helm.

mod chart_struct;
mod functions;
mod lint;
mod prepared;
mod report;
mod scope;
mod separate;

use crate::{
    capabilities::Capabilities,
    chart::Chart,
    coalesce::{CoalesceError, Warnings, coalesce_values},
    dependencies::Processing,
    hook::Hook,
    manifest::{Manifest, ManifestError, Sorted, sort_to_install},
    release::Release,
    schema::{self, SchemaCache, SchemaError},
    version,
};
use helm_template::{Functions, Limits, Map};
use std::{cell::RefCell, rc::Rc};
use thiserror::Error;

pub use self::separate::Observer;
pub(crate) use self::{functions::strip_no_value, lint::lint};

use self::prepared::Prepared;

/// How many sets of enabled dependencies a chart is kept parsed for.
const MAX_PREPARED: usize = 8;

/// The file whose rendered text is shown after an installation.
const NOTES: &str = "NOTES.txt";

/// Answers `lookup` from a cluster.
pub trait Lookup {
    /// One object, or with an empty `name` the list of them (with an empty `namespace` of all namespaces).
    /// `None` when there is no such object.
    ///
    /// # Errors
    /// The text that the template shall fail with, for an unknown kind or a cluster that cannot be asked.
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Map>, String>;
}

/// What a rendering depends on besides chart and values.
#[derive(Clone)]
pub struct RenderSettings {
    /// The release it is for.
    pub release: Release,
    /// What the cluster offers.
    pub capabilities: Capabilities,
    /// Where `lookup` looks; without it `lookup` finds nothing.
    pub lookup: Option<Rc<dyn Lookup>>,
    /// Leaves `values.schema.json` aside.
    pub skip_schema_validation: bool,
    /// Adds the notes of dependencies to the chart's own.
    pub sub_notes: bool,
    /// What one template may use.
    pub limits: Limits,
    /// Lint mode: `required` and `fail` do not fail, but write to this log.
    pub lint: Option<LintLog>,
    /// Remarks also what helps to find an error.
    pub debug: bool,
}

/// Where templates that are linted say what would have failed, as lines of Helm's log.
pub type LintLog = Rc<RefCell<Vec<String>>>;

impl RenderSettings {
    /// Settings for a release without a cluster.
    #[must_use]
    pub fn new(release: Release) -> Self {
        Self {
            release,
            capabilities: Capabilities::default(),
            lookup: None,
            skip_schema_validation: false,
            sub_notes: false,
            limits: Limits::default(),
            lint: None,
            debug: false,
        }
    }
}

impl std::fmt::Debug for RenderSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RenderSettings")
            .field("release", &self.release)
            .field("capabilities", &self.capabilities)
            .field("lookup", &self.lookup.is_some())
            .finish_non_exhaustive()
    }
}

/// Why a chart cannot be rendered. Texts are Helm's.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// Values do not fit the tree of charts.
    #[error("chart dependencies processing failed: {0}")]
    Dependencies(#[source] CoalesceError),
    /// Values do not fit the charts that are enabled.
    #[error(transparent)]
    Values(#[from] CoalesceError),
    /// Values break a schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The chart wants another Kubernetes.
    #[error("chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {found}")]
    KubeVersion {
        /// The range in `Chart.yaml`.
        wanted: String,
        /// The version there is.
        found: String,
    },
    /// A template cannot be parsed.
    #[error("{0}")]
    Parse(String),
    /// A template failed.
    #[error("{0}")]
    Execute(String),
    /// What came out is not a stream of objects.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl RenderError {
    /// Whether Helm had begun a release when it failed; `helm template` then hints at `--debug`.
    #[must_use]
    pub fn after_release(&self) -> bool {
        matches!(self, Self::KubeVersion { .. } | Self::Parse(_) | Self::Execute(_) | Self::Manifest(_))
    }
}

/// A rendered chart.
#[derive(Debug, Clone)]
pub struct Rendered {
    /// The chart as it was rendered: with enabled dependencies only, under their aliases, and with imported
    /// values. This is what a release record holds.
    pub chart: Chart,
    /// The values it was rendered with, defaults included.
    pub values: Map,
    /// The rendered `NOTES.txt`.
    pub notes: String,
    /// Hooks in the order of their kinds.
    pub hooks: Vec<Hook>,
    /// Everything else in the order of installation.
    pub manifests: Vec<Manifest>,
    /// Remarks Helm logs.
    pub warnings: Warnings,
}

impl Rendered {
    /// The manifests as one stream, which is what a release record and `helm get manifest` hold.
    #[must_use]
    pub fn manifest(&self) -> String {
        let length = self.manifests.iter().map(|m| m.path.len() + m.content.len() + 16).sum();
        let mut stream = String::with_capacity(length);
        for manifest in &self.manifests {
            append_document(&mut stream, &manifest.path, &manifest.content);
        }
        stream
    }
}

/// What a chart's templates wrote.
#[derive(Debug, Clone)]
pub struct RenderedFiles {
    /// As in [`Rendered`].
    pub chart: Chart,
    /// As in [`Rendered`].
    pub values: Map,
    /// As in [`Rendered`].
    pub notes: String,
    /// Paths of templates and what they wrote, notes left out.
    pub files: Vec<(String, String)>,
}

impl RenderedFiles {
    /// Splits and sorts them.
    ///
    /// # Errors
    /// [`RenderError::Manifest`].
    pub fn sort(self, warnings: &mut Warnings) -> Result<Rendered, RenderError> {
        let files = self.files.iter().map(|(path, content)| (&**path, &**content));
        let Sorted { hooks, manifests } = sort_to_install(files, self.chart.rules, warnings)?;
        let Self { chart, values, notes, .. } = self;
        Ok(Rendered { chart, values, notes, hooks, manifests, warnings: Warnings::new() })
    }
}

/// Adds a document to a stream, with the line that says where it comes from.
pub fn append_document(stream: &mut String, path: &str, content: &str) {
    stream.push_str("---\n# Source: ");
    stream.push_str(path);
    stream.push('\n');
    stream.push_str(content);
    stream.push('\n');
}

/// A chart whose templates are kept parsed.
#[derive(Debug)]
pub struct ParsedChart {
    chart: Chart,
    /// Helm's, where there are none.
    functions: Option<Rc<Functions>>,
    schemas: RefCell<SchemaCache>,
    prepared: RefCell<Vec<Rc<Prepared>>>,
}

impl ParsedChart {
    /// Takes a loaded chart. Templates are parsed when it is first rendered, because which ones there are
    /// depends on the values.
    #[must_use]
    pub fn new(chart: Chart) -> Self {
        Self { chart, functions: None, schemas: RefCell::default(), prepared: RefCell::default() }
    }

    /// The chart as it was loaded.
    #[must_use]
    pub fn chart(&self) -> &Chart {
        &self.chart
    }

    /// The chart as a release with these values sees it: without the dependencies that they disable.
    ///
    /// # Errors
    /// [`RenderError::Dependencies`].
    pub fn with_dependencies(&self, values: &Map) -> Result<Chart, RenderError> {
        Ok(self.prepare(values, &mut Warnings::new())?.chart.clone())
    }

    /// Renders the chart with values from outside.
    ///
    /// # Errors
    /// [`RenderError`].
    pub fn render(&self, values: &Map, settings: &RenderSettings) -> Result<Rendered, RenderError> {
        let mut warnings = Warnings::new();
        let rendered = self.render_with_remarks(values, settings, &mut warnings)?;
        Ok(Rendered { warnings, ..rendered })
    }

    /// [`Self::render`] with remarks that are there also when it fails.
    ///
    /// # Errors
    /// [`RenderError`].
    pub fn render_with_remarks(
        &self,
        values: &Map,
        settings: &RenderSettings,
        warnings: &mut Warnings,
    ) -> Result<Rendered, RenderError> {
        self.render_files(values, settings, warnings)?.sort(warnings)
    }

    /// The first half of [`Self::render_with_remarks`]: files that are not looked into yet.
    ///
    /// # Errors
    /// [`RenderError`], but for [`RenderError::Manifest`] where files are text.
    pub fn render_files(
        &self,
        values: &Map,
        settings: &RenderSettings,
        warnings: &mut Warnings,
    ) -> Result<RenderedFiles, RenderError> {
        let prepared = self.prepare(values, warnings)?;
        let chart = &prepared.chart;
        let values = coalesce_values(chart, values, warnings)?;
        if !settings.skip_schema_validation {
            if settings.debug {
                schema::remarks(chart, &values, warnings);
            }
            self.schemas.borrow_mut().validate(chart, &values)?;
        }
        check_kube_version(chart, &settings.capabilities)?;
        let files = prepared.execute(&values, settings)?;
        let (notes, files) = split_notes(files, chart.name(), settings.sub_notes);
        Ok(RenderedFiles { chart: chart.clone(), values, notes, files })
    }

    /// What the templates wrote, by path: also where it is no stream of objects.
    ///
    /// # Errors
    /// [`RenderError`], but for [`RenderError::Manifest`].
    pub fn written(
        &self,
        values: &Map,
        settings: &RenderSettings,
    ) -> Result<Vec<(String, String)>, RenderError> {
        let mut warnings = Warnings::new();
        let prepared = self.prepare(values, &mut warnings)?;
        let values = coalesce_values(&prepared.chart, values, &mut warnings)?;
        let mut files = prepared.execute(&values, settings)?;
        files.retain(|(_, text)| !text.trim().is_empty());
        Ok(split_notes(files, prepared.chart.name(), false).1)
    }

    /// The parsed templates for the dependencies that `values` enable.
    fn prepare(&self, values: &Map, warnings: &mut Warnings) -> Result<Rc<Prepared>, RenderError> {
        let enabled = Processing::enable(&self.chart, values, warnings).map_err(RenderError::Dependencies)?;
        let shape = enabled.shape();
        if let Some(known) = self.prepared.borrow().iter().find(|prepared| prepared.shape == shape) {
            return Ok(Rc::clone(known));
        }
        let chart = enabled.import_values(warnings).map_err(RenderError::Dependencies)?;
        let functions = self.functions.clone().unwrap_or_else(|| functions::all(chart.rules));
        let prepared = Rc::new(Prepared::new(chart, shape, functions));
        let mut kept = self.prepared.borrow_mut();
        if kept.len() >= MAX_PREPARED {
            kept.remove(0);
        }
        kept.push(Rc::clone(&prepared));
        Ok(prepared)
    }
}

fn check_kube_version(chart: &Chart, capabilities: &Capabilities) -> Result<(), RenderError> {
    let wanted = &chart.metadata.kube_version;
    let found = &capabilities.kube_version;
    if wanted.is_empty() || version::is_compatible(wanted, &found.normalized) {
        return Ok(());
    }
    Err(RenderError::KubeVersion { wanted: wanted.clone(), found: found.version.clone() })
}

type Files = Vec<(String, String)>;

/// Takes the notes out of the rendered files: those of the chart, and of its dependencies when asked for.
fn split_notes(files: Files, chart: &str, with_dependencies: bool) -> (String, Files) {
    let (mut noted, files): (Files, Files) = files.into_iter().partition(|(path, _)| path.ends_with(NOTES));
    let own = format!("{chart}/templates/{NOTES}");
    noted.retain(|(path, _)| with_dependencies || *path == own);
    noted.sort_unstable();
    let mut notes = String::new();
    for (_, text) in noted {
        if !notes.is_empty() {
            notes.push('\n');
        }
        notes.push_str(&text);
    }
    (notes, files)
}

#[cfg(test)]
mod tests;
