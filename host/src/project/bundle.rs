//! The bundle of an operator for OLM: a ClusterServiceVersion made of what kustomize put together, what does not fit into it
//! beside it, and what registries are told.

mod csv;
mod metadata;
mod rights;

use serde_json::Value;

use super::File;
use super::yaml_text::{self, YamlError};

/// What a bundle is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// The package.
    pub package: String,
    /// The version, without a `v`.
    pub version: String,
    /// Channels, separated by commas.
    pub channels: String,
    /// The channel for those who name none; may be empty.
    pub default_channel: String,
    /// The project's layout.
    pub layout: String,
    /// RFC 3339.
    pub created_at: String,
    /// The directory, relative to the project.
    pub directory: String,
}

/// Why there is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Nothing to start from.
    #[error(
        "no ClusterServiceVersion among the manifests: config/manifests/bases has the one that a bundle is made from"
    )]
    NoBase,
    /// More than one.
    #[error("{0} ClusterServiceVersions among the manifests; a bundle has one")]
    ManyBases(usize),
    /// Nothing to run.
    #[error("no Deployment among the manifests: the bundle would install nothing")]
    NoDeployment,
    /// Not a version.
    #[error("version {0:?} is none of the form 1.2.3")]
    Version(String),
    /// An object without a name.
    #[error("a {0} has no name")]
    NoName(String),
    /// A name that is no name of a file.
    #[error("{0} {1:?} cannot be the name of a file: names of objects have no '/' and no '..'")]
    FileName(String, String),
    /// Not writable.
    #[error(transparent)]
    Yaml(#[from] YamlError),
}

/// A bundle.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Its files, and its Dockerfile.
    pub files: Vec<File>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// An object of the manifests.
#[derive(Clone, Copy, Debug)]
struct Object<'a>(&'a Value);

impl<'a> Object<'a> {
    fn text(self, path: &str) -> &'a str {
        self.0.pointer(path).and_then(Value::as_str).unwrap_or_default()
    }

    fn kind(self) -> &'a str {
        self.text("/kind")
    }

    fn name(self) -> &'a str {
        self.text("/metadata/name")
    }

    fn group(self) -> &'a str {
        self.text("/apiVersion").split_once('/').map_or("", |(group, _)| group)
    }

    fn version(self) -> &'a str {
        let text = self.text("/apiVersion");
        text.split_once('/').map_or(text, |(_, version)| version)
    }

    fn is(self, group: &str, kind: &str) -> bool {
        self.group() == group && self.kind() == kind
    }

    fn list(self, path: &str) -> &'a [Value] {
        self.0.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const SCORECARD: &str = "scorecard.operatorframework.io";

/// Makes the bundle.
///
/// # Errors
/// [`BundleError`].
pub fn bundle(manifests: &[Value], options: &Options) -> Result<Bundle, BundleError> {
    if !is_version(&options.version) {
        return Err(BundleError::Version(options.version.clone()));
    }
    let objects: Vec<Object<'_>> = manifests.iter().map(Object).collect();
    if let Some(object) = objects.iter().find(|object| object.name().is_empty()) {
        return Err(BundleError::NoName(object.kind().to_owned()));
    }
    let rights = rights::Rights::of(&objects);
    let made = csv::csv(&objects, &rights, options)?;
    let mut notes = made.notes;
    let directory = &options.directory;
    let mut files = Vec::new();
    let csv_name = format!("{directory}/manifests/{}.clusterserviceversion.yaml", options.package);
    files.push(File::new(csv_name, yaml_text::write(&made.csv)?));
    for object in &objects {
        if made.absorbed.contains(&(object.kind(), object.name())) || rights.absorbs(*object) {
            continue;
        }
        if let Some(file) = manifest(*object, directory)? {
            files.push(file);
        }
    }
    let scorecard = objects.iter().find(|object| object.is(SCORECARD, "Configuration"));
    if let Some(config) = scorecard {
        files
            .push(File::new(format!("{directory}/tests/scorecard/config.yaml"), yaml_text::write(config.0)?));
    } else {
        notes.push("no scorecard configuration among the manifests: the bundle has no tests".to_owned());
    }
    files.extend(metadata::files(options, scorecard.is_some()));
    Ok(Bundle { files, notes })
}

/// A file for an object that is applied beside the operator; none for what OLM makes itself.
fn manifest(object: Object<'_>, directory: &str) -> Result<Option<File>, BundleError> {
    let (group, kind) = (object.group(), object.kind());
    if object.is("", "Namespace") || group == SCORECARD {
        return Ok(None);
    }
    let name = if object.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        format!("{}_{}.yaml", object.text("/spec/group"), object.text("/spec/names/plural"))
    } else {
        let group = if group.is_empty() { String::new() } else { format!("{group}_") };
        format!("{}_{group}{}_{}.yaml", object.name(), object.version(), kind.to_ascii_lowercase())
    };
    if name.contains(['/', '\\', '\0']) {
        return Err(BundleError::FileName(kind.to_owned(), object.name().to_owned()));
    }
    let mut value = object.0.clone();
    // OLM puts it where the operator is.
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.shift_remove("namespace");
    }
    if let Some(map) = value.as_object_mut() {
        map.shift_remove("status");
    }
    Ok(Some(File::new(format!("{directory}/manifests/{name}"), yaml_text::write(&value)?)))
}

fn is_version(text: &str) -> bool {
    semver::Version::parse(text).is_ok()
}

#[cfg(test)]
mod tests;
