//! Rendered files on their way to a post-renderer and back (`annotateAndMerge` and `splitAndDeannotate` of Helm's
//! `pkg/action/action.go`).
//!
//! A post-renderer reads one stream. Each object carries the path of its template as an annotation meanwhile.

use std::collections::BTreeMap;

use helm_yaml::nodes::{ObjectError, Objects};
use thiserror::Error;

use crate::go_path;
use crate::manifest::split_manifests;

/// The annotation with the path of an object's template.
const PATH: &str = "postrenderer.helm.sh/postrender-filename";

/// Why files cannot go to a post-renderer, or not come back. Texts are Helm's.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PostRenderError {
    /// A document is nothing that can be handed over.
    #[error("error merging manifests: parsing {path}: {error}")]
    Parse {
        /// The template it comes from.
        path: String,
        /// What is wrong with it.
        #[source]
        error: ObjectError,
    },
    /// A document cannot carry an annotation.
    #[error("error merging manifests: annotating {path}: {error}")]
    Annotate {
        /// The template it comes from.
        path: String,
        /// What is wrong with it.
        #[source]
        error: ObjectError,
    },
    /// The stream cannot be written.
    #[error("error merging manifests: writing merged docs: {0}")]
    Write(#[source] ObjectError),
    /// What came back is no stream of objects.
    #[error("error while parsing post rendered output: {what}: {error}")]
    Output {
        /// What was tried.
        what: String,
        /// What is wrong.
        #[source]
        error: ObjectError,
    },
}

/// The stream that a post-renderer reads.
///
/// # Errors
/// [`PostRenderError`], but for [`PostRenderError::Output`].
pub fn merged(files: &[(String, String)]) -> Result<String, PostRenderError> {
    let mut files: Vec<&(String, String)> = files.iter().collect();
    files.sort_unstable();
    let mut all = Objects::default();
    for (path, content) in files {
        if go_path::base(path).starts_with('_') {
            continue;
        }
        for document in split_manifests(content) {
            let objects = Objects::read(document.as_bytes());
            let objects = objects.map_err(|error| PostRenderError::Parse { path: path.clone(), error })?;
            for mut object in objects.0 {
                let annotated = object.set_annotation(PATH, path);
                annotated.map_err(|error| PostRenderError::Annotate { path: path.clone(), error })?;
                all.0.push(object);
            }
        }
    }
    all.write().map_err(PostRenderError::Write)
}

/// The files of which a post-renderer's stream consists. Objects that it made have files of their own.
///
/// # Errors
/// [`PostRenderError::Output`].
pub fn split(stream: &[u8]) -> Result<Vec<(String, String)>, PostRenderError> {
    let failed = |what: &str, error| PostRenderError::Output { what: what.to_owned(), error };
    let objects = Objects::read(stream).map_err(|error| failed("error parsing YAML", error))?;
    let mut files: BTreeMap<String, Objects> = BTreeMap::new();
    for (at, mut object) in objects.0.into_iter().enumerate() {
        let path = object.annotation(PATH).map_err(|error| failed("getting metadata", error))?;
        let path = if path.is_empty() { format!("generated-by-postrender-{at}.yaml") } else { path };
        let cleared = object.clear_annotation(PATH);
        cleared.map_err(|error| failed("clearing filename annotation", error))?;
        files.entry(path).or_default().0.push(object);
    }
    let write = |(path, objects): (String, Objects)| match objects.write() {
        Ok(text) => Ok((path, text)),
        Err(error) => Err(failed(&format!("re-writing {path}"), error)),
    };
    files.into_iter().map(write).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> (String, String) {
        (path.to_owned(), text.to_owned())
    }

    #[test]
    fn objects_come_back_to_their_files_with_their_comments() {
        let files = [
            file("c/templates/b.yaml", "# above\nkind: B\nlist:\n    - 1 # one\n---\nkind: B2\n"),
            file("c/templates/a.yaml", "kind: A\nmetadata:\n  annotations: {}\n"),
            file("c/templates/_partial.yaml", "kind: X\n"),
            file("c/templates/empty.yaml", "\n  \n"),
        ];
        let stream = merged(&files).unwrap();
        assert!(
            stream.starts_with("kind: A\nmetadata:\n  annotations:\n    postrenderer.helm.sh/"),
            "{stream}"
        );
        assert!(!stream.contains("kind: X"));
        let back = split(stream.as_bytes()).unwrap();
        assert_eq!(
            back,
            [
                file("c/templates/a.yaml", "kind: A\n"),
                file("c/templates/b.yaml", "# above\nkind: B\nlist:\n- 1 # one\n---\nkind: B2\n"),
            ]
        );
    }

    #[test]
    fn what_a_post_renderer_adds_gets_files_of_its_own() {
        let back = split(b"kind: New\n---\nkind: Newer\n").unwrap();
        assert_eq!(
            back,
            [
                file("generated-by-postrender-0.yaml", "kind: New\n"),
                file("generated-by-postrender-1.yaml", "kind: Newer\n"),
            ]
        );
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_file() {
        let error = merged(&[file("c/templates/a.yaml", "just text")]).unwrap_err().to_string();
        assert_eq!(
            error,
            "error merging manifests: parsing c/templates/a.yaml: wrong node kind: expected MappingNode but got ScalarNode: \
             node contents:\njust text\n"
        );
        let error = split(b"a: [\n").unwrap_err().to_string();
        assert!(
            error.starts_with("error while parsing post rendered output: error parsing YAML: "),
            "{error}"
        );
    }
}
