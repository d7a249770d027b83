//! Rendered files into manifests and hooks, in the order they are installed (Helm's `manifest.go` and
//! `manifest_sorter.go` of `pkg/release/v1/util`).

use crate::{
    coalesce::Warnings,
    decode::{DecodeError, document},
    go_path,
    hook::{self, Hook},
    log::{Level, Remark},
    order::{INSTALL_ORDER, INSTALL_ORDER_OF_HELM3, KindOrder},
    rules::Rules,
    yaml,
};
use helm_yaml::outline::{Content, Entry, outline};
use std::collections::BTreeMap;
use thiserror::Error;

/// A rendered file that is not a stream of Kubernetes objects.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// A document is not YAML.
    #[error("YAML parse error on {path}: {error}")]
    Yaml {
        /// The template it comes from.
        path: String,
        /// What is wrong with it.
        #[source]
        error: helm_yaml::Error,
    },
    /// A document has a head of the wrong types.
    #[error("YAML parse error on {path}: {error}")]
    Decode {
        /// The template it comes from.
        path: String,
        /// What is wrong with it.
        #[source]
        error: DecodeError,
    },
}

/// What Helm reads of an object (`SimpleHead`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
}

/// A document of a rendered file that is not a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Path of the template it comes from.
    pub path: String,
    /// The document without its separator; white space at its end is kept.
    pub content: String,
    /// What it says about itself.
    pub head: Head,
}

/// The documents of a chart, split and sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sorted {
    /// Hooks by kind; weights count only when they run.
    pub hooks: Vec<Hook>,
    /// Everything else by kind.
    pub manifests: Vec<Manifest>,
}

/// Splits a stream of documents at lines that start with `---` (`SplitManifests`). What follows the dashes on
/// their line belongs to the next document; documents of white space are dropped.
pub fn split_manifests(stream: &str) -> impl Iterator<Item = &str> {
    let stream = stream.trim_start();
    // What is in front of the first separator is the first document, so one at the very start needs no more
    // than being taken off.
    let mut rest = Some(stream.strip_prefix("---").unwrap_or(stream));
    let documents = std::iter::from_fn(move || {
        let current = rest.take()?;
        let Some((document, after)) = current.split_once("\n---") else { return Some(current) };
        rest = Some(after);
        Some(current.get(..=document.len()).unwrap_or(document))
    });
    documents.map(str::trim_start).filter(|document| !document.is_empty())
}

/// [`split_manifests`] as Helm 3 had it: white space around documents is taken off, with the line of a separator that
/// follows a separator.
fn split_manifests_of_helm3(stream: &str) -> Vec<&str> {
    let stream = stream.trim();
    let mut rest = Some(stream.strip_prefix("---").unwrap_or(stream));
    let mut documents = Vec::new();
    while let Some(current) = rest.map(str::trim_start) {
        let (document, after) = match current.split_once("\n---") {
            Some((document, after)) => (document, Some(after)),
            None => (current, None),
        };
        documents.push(document.trim());
        rest = after;
    }
    documents.retain(|document| !document.is_empty());
    documents
}

/// The documents of a stream, as they were split by somebody's rules.
pub(crate) fn documents(stream: &str, rules: Rules) -> Vec<&str> {
    match rules {
        Rules::Helm4 => split_manifests(stream).collect(),
        Rules::Helm3 => split_manifests_of_helm3(stream),
    }
}

/// Splits and sorts rendered files in the order of their installation.
///
/// # Errors
/// As [`sort_manifests`].
pub fn sort_to_install<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    rules: Rules,
    warnings: &mut Warnings,
) -> Result<Sorted, ManifestError> {
    match rules {
        Rules::Helm4 => sort(files, INSTALL_ORDER, rules, warnings),
        Rules::Helm3 => sort(files, INSTALL_ORDER_OF_HELM3, rules, warnings),
    }
}

/// Splits and sorts rendered files (`SortManifests`). Partials (`_…`) and empty files are left out. Hooks with
/// an event nobody knows are dropped and reported in `warnings`.
///
/// # Errors
/// [`ManifestError`] for the first document, by path and position, that cannot be read.
pub fn sort_manifests<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    order: KindOrder,
    warnings: &mut Warnings,
) -> Result<Sorted, ManifestError> {
    sort(files, order, Rules::Helm4, warnings)
}

fn sort<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    order: KindOrder,
    rules: Rules,
    warnings: &mut Warnings,
) -> Result<Sorted, ManifestError> {
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_unstable_by_key(|(path, _)| *path);
    let mut sorted = Sorted::default();
    for (path, content) in files {
        if go_path::base(path).starts_with('_') {
            continue;
        }
        for document in documents(content, rules) {
            sorted.add(path, document, warnings)?;
        }
    }
    sorted.manifests.sort_by(|a, b| order.compare(&a.head.kind, &b.head.kind));
    sorted.hooks.sort_by(|a, b| order.compare(&a.kind, &b.kind));
    Ok(sorted)
}

impl Sorted {
    fn add(&mut self, path: &str, content: &str, warnings: &mut Warnings) -> Result<(), ManifestError> {
        let head = Head::read(path, content)?;
        let (path, content) = (path.to_owned(), content.to_owned());
        let Some(events) = head.annotations.get(hook::HOOK_ANNOTATION) else {
            self.manifests.push(Manifest { path, content, head });
            return Ok(());
        };
        match Hook::new(path, content, &head, events) {
            Some(hook) => self.hooks.push(hook),
            None => {
                let hook_types = [("hookTypes", events.as_str())];
                warnings.push(Remark::new(Level::Info, "skipping unknown hooks", &hook_types));
            }
        }
        Ok(())
    }
}

impl Head {
    /// Reads the head of a document; a document without content has an empty one.
    ///
    /// # Errors
    /// [`ManifestError`] when the document is not YAML or its head is of the wrong types.
    pub fn read(path: &str, content: &str) -> Result<Self, ManifestError> {
        if let Some(head) = Skimmed::head(content) {
            return Ok(head);
        }
        let yaml = yaml::typed(content.as_bytes())
            .map_err(|error| ManifestError::Yaml { path: path.to_owned(), error })?;
        let read = || {
            let fields = document(yaml, "util.SimpleHead")?;
            let metadata = fields.pointer("metadata", "struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }", |metadata| {
                Ok((metadata.string("name")?, metadata.string_map("annotations")?))
            })?;
            let (name, annotations) = metadata.unwrap_or_default();
            let (api_version, kind) = (fields.string("apiVersion")?, fields.string("kind")?);
            Ok(Self { api_version, kind, name, annotations })
        };
        read().map_err(|error| ManifestError::Decode { path: path.to_owned(), error })
    }
}

/// A head that is put together from a document's outline.
#[derive(Default)]
struct Skimmed {
    head: Head,
    within: Within,
}

/// The collection whose entries come next.
#[derive(Default, PartialEq, Eq)]
enum Within {
    #[default]
    Other,
    Metadata,
    Annotations,
}

impl Skimmed {
    /// The head of a document that has an outline, when all of it is of the types that Helm decodes.
    fn head(content: &str) -> Option<Head> {
        let mut skimmed = Self::default();
        outline(content, |entry| skimmed.entry(entry))?;
        Some(skimmed.head)
    }

    fn entry(&mut self, entry: Entry<'_>) -> Option<()> {
        match (entry.depth, &self.within) {
            (0, _) => self.root(entry.key?, entry.value),
            (1, Within::Metadata | Within::Annotations) => self.metadata(entry.key?, entry.value),
            (2, Within::Annotations) => {
                self.head.annotations.insert(entry.key?.to_owned(), text(entry.value)?);
                Some(())
            }
            _ => Some(()),
        }
    }

    fn root(&mut self, key: &str, value: Content<'_>) -> Option<()> {
        self.within = Within::Other;
        match key {
            "apiVersion" => self.head.api_version = text(value)?,
            "kind" => self.head.kind = text(value)?,
            "metadata" => {
                (self.head.name, self.head.annotations) = Default::default();
                self.within = open(value, Within::Metadata)?;
            }
            key => unlike(key, &["apiVersion", "kind", "metadata"])?,
        }
        Some(())
    }

    fn metadata(&mut self, key: &str, value: Content<'_>) -> Option<()> {
        self.within = Within::Metadata;
        match key {
            "name" => self.head.name = text(value)?,
            "annotations" => {
                self.head.annotations = BTreeMap::new();
                self.within = open(value, Within::Annotations)?;
            }
            key => unlike(key, &["name", "annotations"])?,
        }
        Some(())
    }
}

fn text(value: Content<'_>) -> Option<String> {
    let Content::Text(text) = value else { return None };
    Some(text.to_owned())
}

fn open(value: Content<'_>, within: Within) -> Option<Within> {
    (value == Content::Open).then_some(within)
}

/// Go's decoder takes names in any case.
fn unlike(key: &str, names: &[&str]) -> Option<()> {
    (!names.iter().any(|name| name.eq_ignore_ascii_case(key))).then_some(())
}

#[cfg(test)]
mod tests;
