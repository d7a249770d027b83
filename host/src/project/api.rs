//! What becomes of a project when a kind is added (`create api`).

mod known_kinds;
mod roles;

use serde_json::{Value, json};

use super::naming::Gvk;
use super::project_file::{self, Project};
use super::rbac;
use super::skeleton::{self, Description};
use super::survey::{Names, Rule, Survey};
use super::yaml_edit::{Document, EditError, at_marker, keys};
use super::yaml_text::{self, YamlError};
use super::{CHARTS, File, Files, WATCHES};

/// Why a kind cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The file about the project says no.
    #[error(transparent)]
    Project(#[from] project_file::ProjectError),
    /// The kind has an entry there.
    #[error("watches.yaml has an entry for {0} already, which PROJECT does not know of")]
    Watched(String),
    /// A file cannot be changed.
    #[error("{path}: {source}")]
    Edit {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: EditError,
    },
    /// What the survey said cannot be written.
    #[error(transparent)]
    Write(#[from] YamlError),
}

/// Files for a new kind.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Files that must not be there yet.
    pub created: Vec<File>,
    /// Files of the project with something more in them.
    pub edited: Vec<File>,
}

/// A kind that is to be added.
#[derive(Debug)]
pub struct Addition<'a> {
    /// The kind.
    pub gvk: Gvk,
    /// What the plugin says of its chart.
    pub survey: &'a Survey,
}

impl<'a> Addition<'a> {
    /// The kind that a survey is about.
    pub fn of(survey: &'a Survey) -> Self {
        let Names { group, version, kind, .. } = &survey.names;
        Self { gvk: Gvk { group: group.clone(), version: version.clone(), kind: kind.clone() }, survey }
    }

    fn singular(&self) -> String {
        self.gvk.kind.to_ascii_lowercase()
    }

    fn api_version(&self) -> String {
        format!("{}/{}", self.survey.names.qualified_group, self.survey.names.version)
    }

    /// The chart's directory in the project.
    pub fn chart_directory(&self) -> String {
        format!("{CHARTS}/{}", self.survey.chart.name)
    }

    fn crd_file(&self) -> String {
        format!("{}_{}.yaml", self.survey.names.qualified_group, self.survey.names.plural)
    }

    /// The file of the sample.
    pub fn sample_file(&self) -> String {
        let Gvk { group, version, .. } = &self.gvk;
        let prefix = if group.is_empty() { String::new() } else { format!("{group}_") };
        format!("{prefix}{version}_{}.yaml", self.singular())
    }
}

/// The files of a project with one kind more. The chart itself is not among them.
///
/// # Errors
/// [`ApiError`].
pub fn add(project: &Project, addition: &Addition<'_>, files: &dyn Files) -> Result<Changes, ApiError> {
    project.check_new(&addition.gvk)?;
    let description =
        Description { name: project.name(), domain: project.domain(), operator_image: String::new() };
    // A file that somebody deleted comes back as it was at first.
    let text =
        |path: &str| files.text(path).or_else(|| skeleton::file(path, &description)).unwrap_or_default();
    let mut changes = Changes::default();
    let mut edited = project.clone();
    edited.add(&addition.gvk);
    changes.edited.push(File::new(project_file::FILE, edited.text()?));
    changes.edited.push(File::new(WATCHES, watches(addition, &text(WATCHES))?));

    let crd = format!("{}{}", crd_head(addition), yaml_text::write(&addition.survey.crd)?);
    changes.created.push(File::new(format!("config/crd/bases/{}", addition.crd_file()), crd));
    let crds = "config/crd/kustomization.yaml";
    let entry = format!("bases/{}", addition.crd_file());
    changes.edited.push(listed(crds, &text(crds), "crdkustomizeresource", &[entry])?);

    let sample = format!("config/samples/{}", addition.sample_file());
    changes.created.push(File::new(sample, sample_text(addition, &description.name)));
    let samples = "config/samples/kustomization.yaml";
    let entry = [addition.sample_file()];
    changes.edited.push(listed(samples, &text(samples), "manifestskustomizesamples", &entry)?);

    let role = "config/rbac/role.yaml";
    changes.edited.push(with_rules(role, &text(role), addition)?);
    let people = roles::of(addition, &description.name, files);
    let roles = "config/rbac/kustomization.yaml";
    let entries: Vec<String> =
        people.iter().filter_map(|file| file.path.rsplit('/').next().map(str::to_owned)).collect();
    changes.edited.push(listed(roles, &text(roles), "userroles", &entries)?);
    changes.created.extend(people);

    let csv = skeleton::csv_base(&description.name);
    changes.edited.push(with_owned(&csv, &text(&csv), addition)?);
    Ok(changes)
}

fn crd_head(addition: &Addition<'_>) -> String {
    let chart = &addition.survey.chart;
    format!(
        "# What may stand in the spec is what chart {} {} takes as values.\n---\n",
        chart.name, chart.version
    )
}

fn watches(addition: &Addition<'_>, text: &str) -> Result<String, ApiError> {
    let names = &addition.survey.names;
    let said = |source| ApiError::Edit { path: WATCHES.to_owned(), source };
    let there = yaml_text::read(text).map_err(|error| said(error.into()))?;
    let watched = |entry: &Value| {
        ["group", "version", "kind"]
            .iter()
            .zip([&names.qualified_group, &names.version, &names.kind])
            .all(|(key, wanted)| entry.get(key).and_then(Value::as_str) == Some(wanted))
    };
    if there.as_array().is_some_and(|entries| entries.iter().any(watched)) {
        return Err(ApiError::Watched(format!("{}, Kind={}", addition.api_version(), names.kind)));
    }
    let entry = format!(
        "- group: {}\n  version: {}\n  kind: {}\n  chart: {}\n",
        names.qualified_group,
        names.version,
        names.kind,
        addition.chart_directory()
    );
    if let Some(text) = at_marker(text, "watch", &entry) {
        return Ok(text);
    }
    let kept = if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let text = format!("{kept}{entry}");
    yaml_text::read(&text).map_err(|error| said(error.into()))?;
    Ok(text)
}

/// A kustomization with more resources.
fn listed(path: &str, text: &str, marker: &str, entries: &[String]) -> Result<File, ApiError> {
    let said = |source| ApiError::Edit { path: path.to_owned(), source };
    let mut document = Document::parse(text).map_err(said)?;
    let resources = document.value().get("resources").and_then(Value::as_array).cloned().unwrap_or_default();
    let new: Vec<&String> = entries.iter().filter(|entry| !resources.contains(&json!(entry))).collect();
    let block: String = new.iter().map(|entry| format!("- {entry}\n")).collect();
    // A marker below another list, or below an empty one, is not where it belongs.
    let grown = at_marker(text, marker, &block).filter(|text| {
        let read = yaml_text::read(text).unwrap_or_default();
        let grown = read.get("resources").and_then(Value::as_array).map_or(0, Vec::len);
        grown == resources.len() + new.len()
    });
    if let Some(text) = grown {
        return Ok(File::new(path, text));
    }
    let items = new.into_iter().map(|entry| json!(entry)).collect::<Vec<_>>();
    if !items.is_empty() {
        document.append(&keys(&["resources"]), items, None).map_err(said)?;
    }
    Ok(File::new(path, document.text()))
}

/// What the kind and its chart take. What every chart takes is there only once.
fn rules_of(addition: &Addition<'_>, existing: &[Value]) -> Vec<Rule> {
    let names = &addition.survey.names;
    let (base, own): (Vec<Rule>, Vec<Rule>) = addition.survey.rules.iter().cloned().partition(Rule::is_base);
    let mut rules = rbac::missing(existing, &base);
    rules.extend(rbac::untold_own_rules(&addition.survey.rules, &names.qualified_group, &names.plural));
    rules.extend(own);
    rules
}

fn with_rules(path: &str, text: &str, addition: &Addition<'_>) -> Result<File, ApiError> {
    let said = |source| ApiError::Edit { path: path.to_owned(), source };
    let mut document = Document::parse(text).map_err(said)?;
    let existing = document.value().get("rules").and_then(Value::as_array).cloned().unwrap_or_default();
    let rules = rules_of(addition, &existing);
    let head = format!("##\n## Rules for {}, Kind: {}\n##\n", addition.api_version(), addition.gvk.kind);
    let block = format!("{head}{}\n", rbac::text(&rules));
    if let Some(text) = at_marker(text, "rules", &block) {
        yaml_text::read(&text).map_err(|error| said(error.into()))?;
        return Ok(File::new(path, text));
    }
    let items = yaml_text::read(&block)?.as_array().cloned().unwrap_or_default();
    document.append(&keys(&["rules"]), items, Some(&block)).map_err(said)?;
    Ok(File::new(path, document.text()))
}

fn sample_text(addition: &Addition<'_>, project: &str) -> String {
    let survey = addition.survey;
    let spec = survey.sample_spec.trim_matches('\n');
    let is_empty = yaml_text::read(spec).is_ok_and(|value| value.is_null() || value == json!({}));
    let spec = if is_empty {
        "spec: {}\n".to_owned()
    } else {
        format!(
            "spec:\n  # The defaults of chart {} {}. What is taken out here stays as the chart has it.\n{}",
            survey.chart.name,
            survey.chart.version,
            yaml_text::indent(spec, 2)
        )
    };
    format!(
        "apiVersion: {}\nkind: {}\nmetadata:\n  labels:\n    app.kubernetes.io/name: {project}\n    \
         app.kubernetes.io/managed-by: kustomize\n  name: {}-sample\n{spec}",
        addition.api_version(),
        addition.gvk.kind,
        addition.singular()
    )
}

/// What OLM shows of the kind.
fn with_owned(path: &str, text: &str, addition: &Addition<'_>) -> Result<File, ApiError> {
    let said = |source| ApiError::Edit { path: path.to_owned(), source };
    let names = &addition.survey.names;
    let chart = &addition.survey.chart;
    let mut document = Document::parse(text).map_err(said)?;
    let owned = keys(&["spec", "customresourcedefinitions", "owned"]);
    let entry = json!({
        "description": format!("A release of chart {}.", chart.name),
        "displayName": skeleton::title(&words_of(&names.kind)),
        "kind": names.kind,
        "name": format!("{}.{}", names.plural, names.qualified_group),
        "resources": known_kinds::made_by(&addition.survey.rules),
        "version": names.version,
    });
    document.append(&owned, vec![entry], None).map_err(said)?;
    Ok(File::new(path, document.text()))
}

/// `PlayerStats` as words: `Player-Stats`.
pub(super) fn words_of(kind: &str) -> String {
    let mut words = String::new();
    let mut last = '-';
    for c in kind.chars() {
        if c.is_ascii_uppercase() && last.is_ascii_lowercase() {
            words.push('-');
        }
        words.push(c);
        last = c;
    }
    words
}

#[cfg(test)]
mod tests;
