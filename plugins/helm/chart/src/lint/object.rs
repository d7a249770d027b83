//! What the linter reads of an object (`k8sYamlStruct`).

use super::object_name;
use crate::{
    decode::{DecodeError, Fields, document},
    yaml,
};
use helm_template::Value;
use std::collections::BTreeMap;

/// The head of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
}

/// Annotations of an object.
type Annotations = BTreeMap<String, String>;

/// What an object is read from: in YAML numbers and truth values are texts as well, in JSON they are not.
#[derive(Clone, Copy)]
enum Format {
    Yaml,
    Json,
}

impl Format {
    fn text(self, fields: &Fields<'_>, name: &str) -> Result<String, DecodeError> {
        match self {
            Self::Yaml => fields.string(name),
            Self::Json => fields.exact_string(name),
        }
    }
}

impl Object {
    /// Reads a document of YAML; `None` for one of nothing.
    pub(super) fn from_yaml(document: &[u8]) -> Result<Option<Self>, String> {
        let value = yaml::typed(document).map_err(|error| error.to_string())?;
        Self::read(value, Format::Yaml).map_err(|error| error.to_string())
    }

    /// Takes a value of JSON; `None` for null.
    pub(super) fn from_json(value: Value) -> Result<Option<Self>, String> {
        Self::read(value, Format::Json).map_err(|error| error.json())
    }

    fn read(value: Value, format: Format) -> Result<Option<Self>, DecodeError> {
        if matches!(value, Value::Nil) {
            return Ok(None);
        }
        let fields = document(value, "rules.k8sYamlStruct")?;
        let (api_version, kind) = (format.text(&fields, "apiVersion")?, format.text(&fields, "kind")?);
        let name = fields.pointer("metadata", "rules.k8sYamlMetadata", |metadata| {
            let name = format.text(metadata, "name")?;
            format.text(metadata, "namespace")?;
            Ok(name)
        })?;
        Ok(Some(Self { api_version, kind, name: name.unwrap_or_default() }))
    }

    /// Whether the name is one that objects of this kind may have.
    pub(super) fn check_name(&self) -> Result<(), String> {
        object_name::check(&self.kind, &self.name)
    }
}

/// The annotations of each item, when a file's first document is a list.
pub(super) fn annotations_of_items(written: &[u8]) -> Result<Vec<Annotations>, String> {
    const METADATA: &str = "struct { Annotations map[string]string }";
    const ITEM: &str = "struct { Metadata struct { Annotations map[string]string } }";
    let read = |value| {
        let items = document(
            value,
            "struct { Items []struct { Metadata struct { Annotations map[string]string } } }",
        )?
        .values_of("items", ITEM, |item| {
            item.pointer("metadata", METADATA, |metadata| metadata.string_map("annotations"))
        })?;
        Ok::<_, DecodeError>(items.into_iter().flatten().flatten().collect())
    };
    let value = yaml::typed(written).map_err(|error| error.to_string())?;
    read(value).map_err(|error| error.to_string())
}
