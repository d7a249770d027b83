//! The parsed templates of a chart with its enabled dependencies.

use super::{
    RenderError, RenderSettings,
    functions::{NO_VALUE, SET_NAME, State, strip_no_value},
    report,
    scope::ChartScopes,
};
use crate::{chart::Chart, dependencies::Shape, go_path, manifest::ManifestError, yaml};
use helm_template::{Execution, Functions, Map, MissingKey, Str, TemplateSet};
use std::{cmp::Reverse, collections::HashMap, rc::Rc};

/// A chart ready to be rendered.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) chart: Chart,
    /// Which dependencies are enabled.
    pub(super) shape: Shape,
    scopes: ChartScopes,
    set: TemplateSet,
    /// The templates to execute, in their order, or why they cannot be parsed: Helm says so after it looked at values.
    templates: Result<Vec<TemplateFile>, String>,
}

#[derive(Debug)]
struct TemplateFile {
    name: String,
    /// Index of its chart's scope.
    scope: usize,
}

impl Prepared {
    /// Parses all templates.
    pub(super) fn new(chart: Chart, shape: Shape, functions: Rc<Functions>) -> Self {
        let scopes = ChartScopes::new(&chart);
        let mut set = TemplateSet::new(SET_NAME, functions);
        let templates = parse(&scopes, &mut set);
        Self { chart, shape, scopes, set, templates }
    }

    /// Executes the templates and returns what they wrote, by name, partials left out.
    pub(super) fn execute(
        &self,
        values: &Map,
        settings: &RenderSettings,
    ) -> Result<Vec<(String, String)>, RenderError> {
        let files = self.execute_raw(values, settings)?;
        files.into_iter().map(|(name, written)| text(&name, written).map(|text| (name, text))).collect()
    }

    /// [`Self::execute`] with what was written as it was written.
    pub(super) fn execute_raw(
        &self,
        values: &Map,
        settings: &RenderSettings,
    ) -> Result<Vec<(String, Vec<u8>)>, RenderError> {
        let mut files = Vec::new();
        self.execute_each(values, settings, |name, execute| {
            files.push((name.to_owned(), execute()?));
            Ok(())
        })?;
        Ok(files)
    }

    /// Goes through the templates in their order; each is executed where it is asked for.
    pub(super) fn execute_each(
        &self,
        values: &Map,
        settings: &RenderSettings,
        mut each: impl FnMut(&str, &dyn Fn() -> Result<Vec<u8>, RenderError>) -> Result<(), RenderError>,
    ) -> Result<(), RenderError> {
        let scopes = self.scopes.bind(values, settings);
        let state = Rc::new(State::new(settings));
        let how = Execution { missing_key: MissingKey::Zero, limits: settings.limits, state: Some(state) };
        let templates = self.templates.as_ref().map_err(|error| RenderError::Parse(error.clone()))?;
        for TemplateFile { name, scope } in templates {
            let Some(scope) = scopes.get(*scope) else { continue };
            let execute = || {
                let written = self.set.execute(name, scope.dot(name), &how);
                written
                    .map_err(|error| RenderError::Execute(report::exec_error(name, &error, self.chart.rules)))
            };
            each(name, &execute)?;
        }
        Ok(())
    }
}

/// Parses all templates; the answer is those to execute.
fn parse(scopes: &ChartScopes, set: &mut TemplateSet) -> Result<Vec<TemplateFile>, String> {
    let mut templates = Vec::new();
    for (name, (scope, text)) in sorted_templates(scopes) {
        set.parse(name.as_str(), text).map_err(|error| report::parse_error(&name, &error))?;
        if !go_path::base(&name).starts_with('_') {
            templates.push(TemplateFile { name, scope });
        }
    }
    Ok(templates)
}

/// Every template by its full name with its scope, deepest path first. Of two with the same name the later
/// one counts.
fn sorted_templates(scopes: &ChartScopes) -> Vec<(String, (usize, Str))> {
    let mut by_name = HashMap::new();
    scopes.visit(|scope, path, chart| {
        let is_library = chart.metadata.is_library();
        for file in chart.templates.iter() {
            if !is_library || go_path::base(&file.name).starts_with('_') {
                let text = Str::from_bytes(&file.data);
                by_name.insert(go_path::join(path, &file.name), (scope, text));
            }
        }
    });
    let mut templates: Vec<_> = by_name.into_iter().collect();
    templates.sort_by_cached_key(|(name, _)| Reverse((name.matches('/').count(), name.clone())));
    templates
}

/// What a template wrote, without `<no value>`. Bytes that are no text fail as YAML, but for notes.
fn text(name: &str, written: Vec<u8>) -> Result<String, RenderError> {
    match String::from_utf8(written) {
        Ok(text) if text.contains(NO_VALUE) => Ok(text.replace(NO_VALUE, "")),
        Ok(text) => Ok(text),
        Err(error) => {
            let bytes = strip_no_value(error.as_bytes());
            if !name.ends_with(super::NOTES)
                && let Err(error) = yaml::typed(&bytes)
            {
                return Err(ManifestError::Yaml { path: name.to_owned(), error }.into());
            }
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
    }
}
