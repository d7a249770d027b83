//! Streams of Kubernetes objects, as kyaml reads and writes them (`kio`).

use std::collections::BTreeMap;

use thiserror::Error;

use super::compose;
use super::emitter::Emitter;
use super::events::{Event, events};
use super::mark::NodeError;
use super::tree::{NodeId, Tree};

const INDEX: &str = "internal.config.kubernetes.io/index";
const LEGACY_INDEX: &str = "config.kubernetes.io/index";
const SEQUENCE_INDENT: &str = "internal.config.kubernetes.io/seqindent";
/// What kyaml calls an object whose only purpose is to hold a list.
const BARE_SEQUENCE: &str = "bareSeqNodeWrappingKey";
/// Annotations that have an old and a new name.
const RENAMED: [(&str, &str); 3] = [
    ("config.kubernetes.io/path", "internal.config.kubernetes.io/path"),
    (LEGACY_INDEX, INDEX),
    ("config.k8s.io/id", "internal.config.kubernetes.io/id"),
];

/// Why a stream cannot be read or written; texts are kyaml's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// A line starts like a separator and is none.
    #[error("invalid document separator: {0}")]
    Separator(String),
    /// A document is no YAML.
    #[error("MalformedYAMLError: {0}")]
    Malformed(#[from] NodeError),
    /// Something that has to be a mapping is none.
    #[error("wrong node kind: expected MappingNode but got {found}: node contents:\n{contents}")]
    Kind {
        /// What it is.
        found: &'static str,
        /// As YAML.
        contents: String,
    },
    /// An object says nothing about itself.
    #[error("missing Resource metadata")]
    NoMetadata,
}

/// An object with its comments.
#[derive(Debug, Clone)]
pub struct Object {
    tree: Tree,
    root: NodeId,
}

/// What an object says about itself.
#[derive(Default)]
struct Meta {
    kind: String,
    annotations: BTreeMap<String, String>,
}

/// What is read from a stream and written to one.
#[derive(Debug, Clone, Default)]
pub struct Objects(pub Vec<Object>);

impl Objects {
    /// Reads all objects of a stream (`kio.ParseAll`). A stream that is one list is what is in the list.
    ///
    /// # Errors
    /// [`ObjectError`].
    pub fn read(stream: &[u8]) -> Result<Self, ObjectError> {
        let text = replace_line_ends(stream);
        let documents = split_documents(&text)?;
        let alone = documents.len() == 1;
        let mut objects = Vec::new();
        let mut index = 0;
        for document in documents {
            let Some((tree, root)) = compose::read(&document)? else { continue };
            let mut object = Object { tree, root };
            if object.tree.get(object.inner()).is_none_or(super::tree::Node::is_null) {
                continue;
            }
            object.mark_as_read(index)?;
            let kind = object.meta().map(|meta| meta.kind).unwrap_or_default();
            match object.items().filter(|_| alone && matches!(kind.as_str(), "List" | "ResourceList")) {
                Some(items) => objects.extend(items),
                None => {
                    objects.push(object);
                    index += 1;
                }
            }
        }
        Ok(Self(objects))
    }

    /// Writes the objects as one stream (`kio.StringAll`).
    ///
    /// # Errors
    /// [`ObjectError::Kind`].
    pub fn write(mut self) -> Result<String, ObjectError> {
        let wide: Vec<bool> =
            self.0.iter().map(|object| object.raw_annotation(SEQUENCE_INDENT) == Some("wide")).collect();
        for object in &mut self.0 {
            for name in [INDEX, LEGACY_INDEX, SEQUENCE_INDENT] {
                object.clear_annotation(name)?;
            }
            object.clear_empty_annotations()?;
        }
        let documents: Vec<Vec<Event<'_>>> =
            self.0.iter().map(|object| events(&object.tree, object.unwrapped())).collect();
        let mut emitter = Emitter::new();
        for (document, wide) in documents.iter().zip(wide) {
            emitter.compact = !wide;
            emitter.document(document);
        }
        Ok(emitter.finish())
    }
}

/// A node as YAML.
pub(super) fn text_of(tree: &Tree, id: NodeId) -> String {
    let document = events(tree, id);
    let mut emitter = Emitter::new();
    emitter.document(&document);
    emitter.finish()
}

impl Object {
    /// An annotation; empty and missing are the same.
    ///
    /// # Errors
    /// [`ObjectError::NoMetadata`].
    pub fn annotation(&self, name: &str) -> Result<String, ObjectError> {
        Ok(self.meta()?.annotations.remove(name).unwrap_or_default())
    }

    /// Sets an annotation.
    ///
    /// # Errors
    /// [`ObjectError::Kind`].
    pub fn set_annotation(&mut self, name: &str, value: &str) -> Result<(), ObjectError> {
        self.clear_empty_annotations()?;
        let object = self.inner();
        let Some(metadata) = self.tree.match_or_make_mapping(object, "metadata")? else { return Ok(()) };
        match self.tree.match_or_make_mapping(metadata, "annotations")? {
            Some(annotations) => self.tree.set_text(annotations, name, value),
            None => Ok(()),
        }
    }

    /// Takes an annotation away.
    ///
    /// # Errors
    /// [`ObjectError::Kind`].
    pub fn clear_annotation(&mut self, name: &str) -> Result<(), ObjectError> {
        let Some(metadata) = self.tree.match_field(self.inner(), "metadata")? else { return Ok(()) };
        match self.tree.match_field(metadata, "annotations")? {
            Some(annotations) => self.tree.clear_field(annotations, name, false),
            None => Ok(()),
        }
    }

    fn clear_empty_annotations(&mut self) -> Result<(), ObjectError> {
        let object = self.inner();
        if let Some(metadata) = self.tree.match_field(object, "metadata")? {
            self.tree.clear_field(metadata, "annotations", true)?;
        }
        self.tree.clear_field(object, "metadata", true)
    }

    /// The object itself.
    fn inner(&self) -> NodeId {
        self.tree.inner(self.root)
    }

    /// What is written: the object, or the list that it only wraps.
    fn unwrapped(&self) -> NodeId {
        match self.tree.match_field(self.inner(), BARE_SEQUENCE) {
            Ok(Some(list)) if !self.tree.is_empty(list) => list,
            _ => self.root,
        }
    }

    /// What kyaml writes into every object that it reads, and takes out again.
    fn mark_as_read(&mut self, index: usize) -> Result<(), ObjectError> {
        if let Ok(meta) = self.meta() {
            for (old, new) in RENAMED {
                let value = |name| meta.annotations.get(name).filter(|value: &&String| !value.is_empty());
                match (value(old), value(new)) {
                    (None, Some(value)) => self.set_annotation(old, value)?,
                    (Some(value), None) => self.set_annotation(new, value)?,
                    _ => {}
                }
            }
        }
        self.set_annotation(LEGACY_INDEX, &index.to_string())?;
        self.set_annotation(INDEX, &index.to_string())
    }

    fn meta(&self) -> Result<Meta, ObjectError> {
        let tree = &self.tree;
        let object = self.inner();
        if tree.get(object).is_none_or(super::tree::Node::is_null) {
            return Ok(Meta::default());
        }
        let field = |id: NodeId, name: &str| tree.field(id, name).filter(|found| !tree.is_empty(*found));
        let kind = field(object, "kind");
        let mut known = kind.is_some() || field(object, "apiVersion").is_some();
        let mut meta =
            Meta { kind: kind.map(|kind| tree.text(kind).to_owned()).unwrap_or_default(), ..Meta::default() };
        if let Some(metadata) = field(object, "metadata") {
            known |= ["name", "namespace", "labels"].iter().any(|name| field(metadata, name).is_some());
            if let Some(annotations) = field(metadata, "annotations") {
                known = true;
                meta.annotations = self.texts(annotations);
            }
        }
        if known { Ok(meta) } else { Err(ObjectError::NoMetadata) }
    }

    /// Keys and values of a mapping; of several values the first.
    fn texts(&self, mapping: NodeId) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        if self.tree.get(mapping).is_some_and(|node| node.kind == super::tree::Kind::Mapping) {
            for (key, value) in self.tree.pairs(mapping) {
                let text = || self.tree.text(value).to_owned();
                texts.entry(self.tree.text(key).to_owned()).or_insert_with(text);
            }
        }
        texts
    }

    /// An annotation as it stands in the text.
    fn raw_annotation(&self, name: &str) -> Option<&str> {
        let metadata = self.tree.field(self.inner(), "metadata")?;
        let annotations = self.tree.field(metadata, "annotations")?;
        self.tree.field(annotations, name).map(|value| self.tree.value(value))
    }

    /// What is in a list.
    fn items(&self) -> Option<Vec<Self>> {
        let tree = &self.tree;
        let items = tree.field(self.inner(), "items");
        let function = tree.field(self.inner(), "functionConfig");
        let items = items.or(function.map(|_| usize::MAX))?;
        let extract = |id: &NodeId| {
            let (tree, root) = tree.extract(*id);
            Self { tree, root }
        };
        Some(tree.content(items).iter().map(extract).collect())
    }
}

fn replace_line_ends(stream: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(stream.len());
    for (at, byte) in stream.iter().enumerate() {
        if !(*byte == b'\r' && stream.get(at + 1) == Some(&b'\n')) {
            text.push(*byte);
        }
    }
    text
}

/// The documents of a stream. A separator takes the line break in front of it and the one behind it, so of two lines of
/// dashes in a row the second one is text.
fn split_documents(text: &[u8]) -> Result<Vec<Vec<u8>>, ObjectError> {
    const MARK: &[u8] = b"\n---";
    let mut documents = Vec::new();
    if text.is_empty() {
        return Ok(documents);
    }
    let (mut start, mut from) = (0, 0);
    while let Some(found) = memchr::memmem::find(text.get(from..).unwrap_or_default(), MARK) {
        let at = from + found;
        let behind = at + MARK.len();
        let Some(length) = memchr::memchr(b'\n', text.get(behind..).unwrap_or_default()) else { break };
        let line = text.get(behind..behind + length).unwrap_or_default();
        if line.trim_ascii_start().first().is_some_and(|first| *first != b'#') {
            let separator = text.get(at..behind + length).unwrap_or_default().trim_ascii();
            return Err(ObjectError::Separator(String::from_utf8_lossy(separator).into_owned()));
        }
        let mut document = text.get(start..at).unwrap_or_default().to_vec();
        document.push(b'\n');
        documents.push(document);
        start = behind + length + 1;
        from = start;
    }
    documents.push(text.get(start..).unwrap_or_default().to_vec());
    Ok(documents)
}
