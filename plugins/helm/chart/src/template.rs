//! `helm template`: a chart as the text Helm prints for it (Helm's `pkg/cmd/template.go`).

use crate::{
    capabilities::{Capabilities, KubeVersion},
    coalesce::Warnings,
    dependencies::missing_dependencies,
    engine::{Lookup, ParsedChart, RenderError, RenderSettings, Rendered, RenderedFiles, append_document},
    hook::{Hook, HookEvent},
    loader::{InvalidReleaseName, validate_release_name},
    manifest::documents,
    metadata::API_VERSION_V3,
    path_match,
    post_render::PostRenderError,
    release::Release,
    rules::Rules,
};
use helm_template::{Execution, Limits, Map, TemplateSet, Value};
use std::{cmp::Ordering, rc::Rc};
use thiserror::Error;

/// The flags of `helm template` that change what is printed.
#[derive(Clone)]
pub struct TemplateOptions {
    /// Name of the release.
    pub release_name: String,
    /// `--namespace`.
    pub namespace: String,
    /// What the cluster offers, with `--dry-run=server`; else those of [`Capabilities::default`].
    pub capabilities: Option<Capabilities>,
    /// `--kube-version`.
    pub kube_version: Option<KubeVersion>,
    /// `--api-versions`, beside those of the capabilities.
    pub api_versions: Vec<String>,
    /// `--include-crds`.
    pub include_crds: bool,
    /// `--no-hooks`.
    pub no_hooks: bool,
    /// `--skip-tests`.
    pub skip_tests: bool,
    /// `--show-only`: patterns for paths of templates below the chart.
    pub show_only: Vec<String>,
    /// `--is-upgrade`.
    pub is_upgrade: bool,
    /// `--skip-schema-validation`.
    pub skip_schema_validation: bool,
    /// What `lookup` asks, as with `--dry-run=server`.
    pub lookup: Option<Rc<dyn Lookup>>,
    /// Remarks also what helps to find an error.
    pub debug: bool,
}

impl Default for TemplateOptions {
    /// The release Helm names `release-name`, in `default`.
    fn default() -> Self {
        Self {
            release_name: "release-name".to_owned(),
            namespace: "default".to_owned(),
            capabilities: None,
            kube_version: None,
            api_versions: Vec::new(),
            include_crds: false,
            no_hooks: false,
            skip_tests: false,
            show_only: Vec::new(),
            is_upgrade: false,
            skip_schema_validation: false,
            lookup: None,
            debug: false,
        }
    }
}

impl std::fmt::Debug for TemplateOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TemplateOptions")
            .field("release_name", &self.release_name)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// Why there is nothing to print. Texts are Helm's, without the `Error: ` that it puts in front.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The chart is a library.
    #[error("{0} charts are not installable")]
    NotInstallable(String),
    /// `charts/` lacks what `Chart.yaml` asks for.
    #[error(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {0}"
    )]
    MissingDependencies(String),
    /// A chart v3 that contains charts it does not ask for.
    #[error(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies: unsupported chart dependency type"
    )]
    DependenciesOfChartV3,
    /// A chart v3.
    #[error("invalid chart apiVersion")]
    ChartV3,
    /// [`Self::MissingDependencies`] in Helm 3.
    #[error(
        "An error occurred while checking for chart dependencies. You may need to run `helm dependency build` to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {0}"
    )]
    MissingDependenciesOfHelm3(String),
    /// The name of the release is not one Helm takes.
    #[error(transparent)]
    ReleaseName(#[from] InvalidReleaseName),
    /// The chart cannot be rendered.
    #[error("{error}{}", if error.after_release() { "\n\nUse --debug flag to render out invalid YAML" } else { "" })]
    Render {
        /// Why.
        #[from]
        #[source]
        error: RenderError,
    },
    /// Manifests cannot go to a post-renderer or not come back.
    #[error("{0}\n\nUse --debug flag to render out invalid YAML")]
    PostRender(#[from] PostRenderError),
    /// A post-renderer failed.
    #[error("error while running post render on files: {0}\n\nUse --debug flag to render out invalid YAML")]
    PostRenderer(String),
    /// Nothing fits a pattern of `--show-only`.
    #[error("could not find template {0} in chart")]
    NotInChart(String),
}

/// What `helm template` prints for a chart.
///
/// # Errors
/// [`TemplateError`].
pub fn template(
    chart: &ParsedChart,
    values: &Map,
    options: &TemplateOptions,
) -> Result<String, TemplateError> {
    printed(&render(chart, values, options)?, options)
}

/// Renders a chart as `helm template` does.
///
/// # Errors
/// [`TemplateError`], but for [`TemplateError::NotInChart`].
pub fn render(
    chart: &ParsedChart,
    values: &Map,
    options: &TemplateOptions,
) -> Result<Rendered, TemplateError> {
    let mut warnings = Warnings::new();
    let rendered = render_with_remarks(chart, values, options, &mut warnings)?;
    Ok(Rendered { warnings, ..rendered })
}

/// [`render`] with remarks that are there also when it fails.
///
/// # Errors
/// As [`render`].
pub fn render_with_remarks(
    chart: &ParsedChart,
    values: &Map,
    options: &TemplateOptions,
    warnings: &mut Warnings,
) -> Result<Rendered, TemplateError> {
    Ok(render_files(chart, values, options, warnings)?.sort(warnings)?)
}

/// [`render_with_remarks`] without a look at what the templates wrote.
///
/// # Errors
/// As [`render`].
pub fn render_files(
    chart: &ParsedChart,
    values: &Map,
    options: &TemplateOptions,
    warnings: &mut Warnings,
) -> Result<RenderedFiles, TemplateError> {
    check_installable(chart)?;
    validate_release_name(&options.release_name)?;
    Ok(chart.render_files(values, &options.settings(chart.chart().rules), warnings)?)
}

/// What `helm template` prints of it.
///
/// # Errors
/// [`TemplateError::NotInChart`].
pub fn printed(rendered: &Rendered, options: &TemplateOptions) -> Result<String, TemplateError> {
    let hooks = wanted_hooks(&rendered.hooks, options).map(|hook| (&*hook.path, &*hook.manifest));
    printed_parts(&manifest(rendered, options), hooks, options, rendered.chart.rules)
}

/// What `helm template` prints of a stream of manifests and of hooks with their paths.
///
/// # Errors
/// [`TemplateError::NotInChart`].
pub fn printed_parts<'a>(
    manifest: &str,
    hooks: impl Iterator<Item = (&'a str, &'a str)>,
    options: &TemplateOptions,
    rules: Rules,
) -> Result<String, TemplateError> {
    let mut stream = manifest.trim().to_owned();
    stream.push('\n');
    for (path, text) in hooks {
        append_document(&mut stream, path, text);
    }
    if options.show_only.is_empty() { Ok(stream) } else { show_only(&stream, &options.show_only, rules) }
}

/// What `helm template --debug` prints of a chart that cannot be rendered: everything that the templates wrote.
pub fn invalid(chart: &ParsedChart, values: &Map, options: &TemplateOptions) -> String {
    let mut written = chart.written(values, &options.settings(chart.chart().rules)).unwrap_or_default();
    written.sort_unstable();
    invalid_files(&written)
}

/// What `helm template --debug` prints of files that are no streams of objects.
#[must_use]
pub fn invalid_files(files: &[(String, String)]) -> String {
    let mut stream = String::new();
    for (path, text) in files {
        append_document(&mut stream, path, text);
    }
    stream.push('\n');
    stream
}

/// The files that `helm template --output-dir` writes, in its order: paths and documents. Documents of one path belong into
/// one file.
pub fn files<'a>(
    rendered: &'a Rendered,
    options: &'a TemplateOptions,
) -> impl Iterator<Item = (String, String)> + 'a {
    let crds = rendered.chart.crds().into_iter().filter(|_| options.include_crds);
    let crds = crds.map(|crd| (crd.path, String::from_utf8_lossy(&crd.file.data).into_owned()));
    let manifests =
        rendered.manifests.iter().map(|manifest| (manifest.path.clone(), manifest.content.clone()));
    let hooks = wanted_hooks(&rendered.hooks, options).map(|hook| (hook.path.clone(), hook.manifest.clone()));
    crds.chain(manifests).chain(hooks).map(|(path, content)| {
        let mut document = String::new();
        append_document(&mut document, &path, &content);
        (path, document)
    })
}

/// The name that `--name-template` gives a release.
///
/// # Errors
/// Go's words.
pub fn release_name(template: &str) -> Result<String, String> {
    const NAME: &str = "name-template";
    let mut set = TemplateSet::new(NAME, helm_functions::functions());
    set.parse(NAME, template).map_err(|error| error.to_string())?;
    let written = set.execute(NAME, Value::Nil, &Execution::default()).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}

/// Whether a chart can be installed at all: not a library, not a chart v3, and with all its dependencies.
///
/// # Errors
/// [`TemplateError::NotInstallable`], [`TemplateError::ChartV3`], [`TemplateError::MissingDependencies`] and their kin.
pub fn check_installable(chart: &ParsedChart) -> Result<(), TemplateError> {
    let chart = chart.chart();
    let chart_type = &*chart.metadata.chart_type;
    if !matches!(chart_type, "" | "application") {
        return Err(TemplateError::NotInstallable(chart_type.to_owned()));
    }
    let missing = missing_dependencies(chart).join(", ");
    if chart.metadata.api_version == API_VERSION_V3 {
        let declared = chart.metadata.dependencies.as_ref().map_or(0, Vec::len);
        // Helm takes as many of the declared ones as there are charts; with fewer charts it breaks down.
        return Err(match chart.dependencies.len().cmp(&declared) {
            Ordering::Greater => TemplateError::DependenciesOfChartV3,
            Ordering::Equal if !missing.is_empty() => TemplateError::MissingDependencies(missing),
            _ => TemplateError::ChartV3,
        });
    }
    match chart.rules {
        _ if missing.is_empty() => Ok(()),
        Rules::Helm4 => Err(TemplateError::MissingDependencies(missing)),
        Rules::Helm3 => Err(TemplateError::MissingDependenciesOfHelm3(missing)),
    }
}

impl TemplateOptions {
    fn settings(&self, rules: Rules) -> RenderSettings {
        let mut capabilities = self.capabilities.clone().unwrap_or_else(|| Capabilities::offline(rules));
        if let Some(version) = &self.kube_version {
            capabilities.kube_version = version.clone();
        }
        capabilities.api_versions.extend(self.api_versions.iter().cloned());
        let mut release = Release::install(&self.release_name, &self.namespace);
        release.is_upgrade = self.is_upgrade;
        RenderSettings {
            release,
            capabilities,
            lookup: self.lookup.clone(),
            skip_schema_validation: self.skip_schema_validation,
            sub_notes: false,
            limits: Limits::default(),
            lint: None,
            debug: self.debug,
        }
    }
}

/// What an installation would apply, with CRDs where they are wanted.
#[must_use]
pub fn manifest(rendered: &Rendered, options: &TemplateOptions) -> String {
    let mut manifest = String::new();
    if options.include_crds {
        for crd in rendered.chart.crds() {
            append_document(&mut manifest, &crd.path, &String::from_utf8_lossy(&crd.file.data));
        }
    }
    manifest.push_str(&rendered.manifest());
    manifest
}

/// The hooks that are wanted.
pub fn wanted_hooks<'a>(hooks: &'a [Hook], options: &TemplateOptions) -> impl Iterator<Item = &'a Hook> {
    let (none, skip_tests) = (options.no_hooks, options.skip_tests);
    let skipped = move |hook: &Hook| skip_tests && hook.events.contains(&HookEvent::Test);
    hooks.iter().filter(move |hook| !none && !skipped(hook))
}

/// The documents whose template, without the chart's name in front, fits one of the patterns.
fn show_only(stream: &str, patterns: &[String], rules: Rules) -> Result<String, TemplateError> {
    let documents: Vec<(&str, &str)> =
        documents(stream, rules).into_iter().filter_map(|text| Some((source(text)?, text))).collect();
    let mut shown = String::new();
    for pattern in patterns {
        let mut missing = true;
        for (path, document) in &documents {
            if path_match::matches(pattern, path).unwrap_or(false) {
                shown.push_str("---\n");
                shown.push_str(document);
                shown.push('\n');
                missing = false;
            }
        }
        if missing {
            return Err(TemplateError::NotInChart(pattern.clone()));
        }
    }
    Ok(shown)
}

/// What follows the first slash in the first line that says where a document comes from.
fn source(document: &str) -> Option<&str> {
    const MARK: &str = "# Source: ";
    document.match_indices(MARK).find_map(|(at, _)| {
        let line = document.get(at + MARK.len()..)?.lines().next()?;
        let (chart, path) = line.split_once('/')?;
        (!chart.is_empty() && !path.is_empty()).then_some(path)
    })
}
