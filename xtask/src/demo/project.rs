//! What a scene has to know of an operator-sdk Helm project.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::store::Store;

/// A project as `operator-sdk init --plugins=helm` laid it out.
#[derive(Debug)]
pub(super) struct Project {
    /// `config/crd/bases`.
    pub(super) crds: PathBuf,
    /// The first sample of a kind that the project watches.
    pub(super) sample: PathBuf,
    /// The sample's name, which is the release's name.
    pub(super) name: String,
    /// How kubectl names the kind: plural and group.
    pub(super) resource: String,
    /// The chart's templates.
    pub(super) templates: PathBuf,
    /// A template that makes objects.
    pub(super) template: PathBuf,
    /// What the release keeps data in, where that is known.
    pub(super) store: Option<Store>,
    /// Whether the chart scales by `replicaCount`.
    pub(super) scales: bool,
    /// Whether the chart's Service listens at `service.port`.
    pub(super) serves: bool,
}

impl Project {
    /// Reads `watches.yaml`, samples, CRDs and the first chart.
    ///
    /// # Errors
    /// What is missing, and where.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let watches = yaml(&root.join("watches.yaml"))?;
        let entry = watches.get(0).context("watches.yaml names no chart")?;
        let (group, kind) = (text(entry, "/group"), text(entry, "/kind"));
        let chart = root.join(text(entry, "/chart"));
        let crds = root.join("config/crd/bases");
        let crd = files(&crds, "yaml")?
            .into_iter()
            .filter_map(|file| yaml(&file).ok())
            .find(|crd| text(crd, "/spec/group") == group && text(crd, "/spec/names/kind") == kind);
        let crd = crd.with_context(|| format!("{} has no definition of {kind}", crds.display()))?;
        let samples = root.join("config/samples");
        let sample = files(&samples, "yaml")?
            .into_iter()
            .filter_map(|file| yaml(&file).ok().map(|object| (file, object)))
            .find(|(_, object)| text(object, "/kind") == kind);
        let (sample, object) =
            sample.with_context(|| format!("{} has no sample of {kind}", samples.display()))?;
        let values = yaml(&chart.join("values.yaml")).unwrap_or_default();
        let known = |pointer: &str| values.pointer(pointer).is_some_and(Value::is_u64);
        Ok(Self {
            sample,
            store: Store::of(&chart, &values, text(&object, "/metadata/name")),
            name: text(&object, "/metadata/name").to_owned(),
            resource: format!("{}.{group}", text(&crd, "/spec/names/plural")),
            template: template(&chart)?,
            templates: chart.join("templates"),
            scales: known("/replicaCount"),
            serves: known("/service/port"),
            crds,
        })
    }
}

fn template(chart: &Path) -> Result<PathBuf> {
    let directory = chart.join("templates");
    let mut found = files(&directory, "yaml")?;
    // Not a hook: those are not made when a template is saved.
    found.retain(|file| fs::read_to_string(file).is_ok_and(|text| !text.contains("helm.sh/hook")));
    found.into_iter().next().with_context(|| format!("{} has no template", directory.display()))
}

fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|found| found == extension));
    files.sort();
    Ok(files)
}

fn yaml(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    match serde_saphyr::from_str(&text) {
        Ok(value) => Ok(value),
        Err(error) => bail!("{}: {error}", file.display()),
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_project_tells_its_kind_its_sample_and_a_template_that_is_no_hook() {
        let root = crate::build::root().join("charts/samples/player-stats-operator");
        let project = Project::read(&root).unwrap();
        assert_eq!(project.resource, "player-stats.charts.example.com");
        assert_eq!(project.name, "player-stats-sample");
        assert!(project.template.ends_with("templates/deployment.yaml"), "{project:?}");
        assert!(project.scales && project.serves);
    }

    #[test]
    fn a_directory_that_is_no_project_is_told_by_the_file_it_lacks() {
        let error = Project::read(Path::new("/nowhere")).unwrap_err().to_string();
        assert_eq!(error, "/nowhere/watches.yaml");
    }
}
