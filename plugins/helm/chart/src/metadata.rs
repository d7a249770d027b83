//! `Chart.yaml`: what a chart says about itself (Helm's `pkg/chart/v2/metadata.go` and `dependency.go`).

use crate::{
    decode::{DecodeError, Fields, document},
    go_path, version,
};
use helm_template::{List, Map, Type, Value, fmt::quote};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// `apiVersion` of charts whose dependencies stand in `requirements.yaml`.
pub const API_VERSION_V1: &str = "v1";
/// `apiVersion` of charts whose dependencies stand in `Chart.yaml`.
pub const API_VERSION_V2: &str = "v2";
/// The `apiVersion` of charts to come.
pub const API_VERSION_V3: &str = "v3";

/// A `Chart.yaml` that Helm refuses, with its text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("validation: {0}")]
pub struct ValidationError(pub String);

impl ValidationError {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// Who maintains a chart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Maintainer {
    /// Name of a person or organisation.
    pub name: String,
    /// Address for mail.
    pub email: String,
    /// Address for a browser.
    pub url: String,
}

/// A chart that another one needs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dependency {
    /// Name in the other chart's `Chart.yaml`; after processing the alias, when there is one.
    pub name: String,
    /// Version or range of versions.
    pub version: String,
    /// Repository it comes from.
    pub repository: String,
    /// Comma separated paths of values; the first that is a truth value decides whether it is enabled.
    pub condition: String,
    /// Tags it can be enabled or disabled by.
    pub tags: Vec<String>,
    /// Whether it is part of the release.
    pub enabled: bool,
    /// What is taken over into the parent's values: a string (`exports.NAME`) or a `child`/`parent` pair.
    pub import_values: Vec<Value>,
    /// Name it goes by in this chart.
    pub alias: String,
}

/// The content of a `Chart.yaml`, with the dependencies of a `requirements.yaml`.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of Chart.yaml")]
pub struct Metadata {
    pub name: String,
    pub home: String,
    pub sources: Vec<String>,
    pub version: String,
    pub description: String,
    pub keywords: Vec<String>,
    pub maintainers: Vec<Option<Maintainer>>,
    pub icon: String,
    pub api_version: String,
    pub condition: String,
    pub tags: String,
    pub app_version: String,
    pub deprecated: bool,
    /// `None` when there are none at all, which prints differently from an empty map.
    pub annotations: Option<BTreeMap<String, String>>,
    pub kube_version: String,
    /// `None` when there is no list, which is not the same as an empty one: Helm then leaves all charts of
    /// `charts/` and theirs unprocessed. A `None` element is a null in the file, refused by validation.
    pub dependencies: Option<Vec<Option<Dependency>>>,
    /// `application`, `library` or empty.
    pub chart_type: String,
}

impl Metadata {
    /// Reads a `Chart.yaml`.
    ///
    /// # Errors
    /// [`DecodeError`] for a field of the wrong type.
    pub fn decode(yaml: Value) -> Result<Self, DecodeError> {
        let mut metadata = Self::default();
        metadata.decode_over(yaml)?;
        Ok(metadata)
    }

    /// Reads what `yaml` names over what is there, as Helm does with `requirements.yaml`.
    ///
    /// # Errors
    /// [`DecodeError`] for a field of the wrong type.
    pub fn decode_over(&mut self, yaml: Value) -> Result<(), DecodeError> {
        document(yaml, "v2.Metadata")?.each(|field| self.take(field))
    }

    /// Takes the fields there are.
    fn take(&mut self, fields: &Fields<'_>) -> Result<(), DecodeError> {
        let text = |name: &str, into: &mut String| {
            if fields.has(name) {
                *into = fields.string(name)?;
            }
            Ok::<_, DecodeError>(())
        };
        text("name", &mut self.name)?;
        text("home", &mut self.home)?;
        text("version", &mut self.version)?;
        text("description", &mut self.description)?;
        text("icon", &mut self.icon)?;
        text("apiVersion", &mut self.api_version)?;
        text("condition", &mut self.condition)?;
        text("tags", &mut self.tags)?;
        text("appVersion", &mut self.app_version)?;
        text("kubeVersion", &mut self.kube_version)?;
        text("type", &mut self.chart_type)?;
        if fields.has("sources") {
            self.sources = fields.strings("sources")?;
        }
        if fields.has("keywords") {
            self.keywords = fields.strings("keywords")?;
        }
        if fields.has("deprecated") {
            self.deprecated = fields.bool("deprecated")?;
        }
        if fields.has("annotations") {
            self.annotations.get_or_insert_default().extend(fields.string_map("annotations")?);
        }
        if let Some(maintainers) = fields.structs("maintainers", "v2.Maintainer", maintainer)? {
            self.maintainers = maintainers;
        }
        if let Some(dependencies) = fields.structs("dependencies", "v2.Dependency", dependency)? {
            self.dependencies = Some(dependencies);
        }
        Ok(())
    }

    /// Checks the metadata and takes unprintable characters out of it (`Metadata.Validate`).
    ///
    /// # Errors
    /// [`ValidationError`] for the first thing Helm would refuse.
    pub fn validate(&mut self) -> Result<(), ValidationError> {
        self.sanitize();
        if self.api_version.is_empty() {
            return Err(ValidationError::new("chart.metadata.apiVersion is required"));
        }
        self.validate_name()?;
        if self.version.is_empty() {
            return Err(ValidationError::new("chart.metadata.version is required"));
        }
        if !version::is_valid(&self.version) {
            let version = quote(self.version.as_bytes());
            return Err(ValidationError(format!("chart.metadata.version {version} is invalid")));
        }
        if !matches!(&*self.chart_type, "" | "application" | "library") {
            return Err(ValidationError::new("chart.metadata.type must be application or library"));
        }
        for maintainer in &mut self.maintainers {
            let maintainer = maintainer
                .as_mut()
                .ok_or_else(|| ValidationError::new("maintainers must not contain empty or null nodes"))?;
            for text in [&mut maintainer.name, &mut maintainer.email, &mut maintainer.url] {
                sanitize(text);
            }
        }
        self.validate_dependencies()
    }

    fn sanitize(&mut self) {
        for text in [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ] {
            sanitize(text);
        }
        self.sources.iter_mut().chain(&mut self.keywords).for_each(sanitize);
    }

    fn validate_name(&self) -> Result<(), ValidationError> {
        let quoted = || quote(self.name.as_bytes());
        match &*self.name {
            "" => Err(ValidationError::new("chart.metadata.name is required")),
            "." | ".." => Err(ValidationError(format!("chart.metadata.name {} is not allowed", quoted()))),
            name if go_path::base(name) != name => {
                Err(ValidationError(format!("chart.metadata.name {} is invalid", quoted())))
            }
            _ => Ok(()),
        }
    }

    fn validate_dependencies(&mut self) -> Result<(), ValidationError> {
        let mut seen = BTreeSet::new();
        for dependency in self.dependencies.iter_mut().flatten() {
            let dependency = dependency
                .as_mut()
                .ok_or_else(|| ValidationError::new("dependencies must not contain empty or null nodes"))?;
            dependency.validate()?;
            if !seen.insert(dependency.key()) {
                let key = quote(dependency.key().as_bytes());
                return Err(ValidationError(format!("more than one dependency with name or alias {key}")));
            }
        }
        Ok(())
    }

    /// The dependencies, none for a missing list.
    pub fn dependencies(&self) -> impl Iterator<Item = &Dependency> {
        self.dependencies.iter().flatten().flatten()
    }

    /// Whether the chart only offers definitions to others.
    #[must_use]
    pub fn is_library(&self) -> bool {
        self.chart_type.eq_ignore_ascii_case("library")
    }

    /// What `.Chart` is in Helm 4: a map by the names of Go's fields, with `IsRoot`.
    #[must_use]
    pub fn to_value(&self, is_root: bool) -> Map {
        let annotations = match &self.annotations {
            None => Map::nil(&Type::STRING_MAP),
            Some(annotations) => {
                let map = Map::typed(&Type::STRING_MAP);
                map.extend_from(annotations);
                map
            }
        };
        let maintainers = self.maintainers.iter().flatten().map(Maintainer::to_value).collect::<Vec<_>>();
        let dependencies = self.dependencies().map(Dependency::to_value).collect::<Vec<_>>();
        let map = Map::new();
        for (key, text) in [
            ("Name", &self.name),
            ("Home", &self.home),
            ("Version", &self.version),
            ("Description", &self.description),
            ("Icon", &self.icon),
            ("APIVersion", &self.api_version),
            ("Condition", &self.condition),
            ("Tags", &self.tags),
            ("AppVersion", &self.app_version),
            ("KubeVersion", &self.kube_version),
            ("Type", &self.chart_type),
        ] {
            map.insert(key, text);
        }
        map.insert("Sources", texts(&self.sources));
        map.insert("Keywords", texts(&self.keywords));
        map.insert("Maintainers", maintainers);
        map.insert("Deprecated", self.deprecated);
        map.insert("Annotations", Value::Map(annotations));
        map.insert("Dependencies", dependencies);
        map.insert("IsRoot", is_root);
        map
    }
}

impl Maintainer {
    fn to_value(&self) -> Value {
        Value::Map([("Name", &self.name), ("Email", &self.email), ("URL", &self.url)].into_iter().collect())
    }
}

impl Dependency {
    /// The name it goes by: its alias or its name.
    #[must_use]
    pub fn key(&self) -> &str {
        if self.alias.is_empty() { &self.name } else { &self.alias }
    }

    fn validate(&mut self) -> Result<(), ValidationError> {
        for text in [&mut self.name, &mut self.version, &mut self.repository, &mut self.condition] {
            sanitize(text);
        }
        self.tags.iter_mut().for_each(sanitize);
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if self.alias.chars().all(legal) {
            return Ok(());
        }
        let name = quote(self.name.as_bytes());
        Err(ValidationError(format!("dependency {name} has disallowed characters in the alias")))
    }

    fn to_value(&self) -> Value {
        let map = Map::new();
        for (key, text) in [
            ("Name", &self.name),
            ("Version", &self.version),
            ("Repository", &self.repository),
            ("Condition", &self.condition),
            ("Alias", &self.alias),
        ] {
            map.insert(key, text);
        }
        map.insert("Tags", texts(&self.tags));
        map.insert("Enabled", self.enabled);
        map.insert("ImportValues", Value::List(List::new(self.import_values.clone())));
        Value::Map(map)
    }
}

fn texts(texts: &[String]) -> Value {
    texts.iter().map(Value::from).collect::<Vec<_>>().into()
}

fn maintainer(fields: &Fields<'_>) -> Result<Maintainer, DecodeError> {
    // In the order of Go, which is that of the keys: the first that is wrong is reported.
    Ok(Maintainer {
        email: fields.string("email")?,
        name: fields.string("name")?,
        url: fields.string("url")?,
    })
}

fn dependency(fields: &Fields<'_>) -> Result<Dependency, DecodeError> {
    Ok(Dependency {
        alias: fields.string("alias")?,
        condition: fields.string("condition")?,
        enabled: fields.bool("enabled")?,
        import_values: fields.values("import-values")?,
        name: fields.string("name")?,
        repository: fields.string("repository")?,
        tags: fields.strings("tags")?,
        version: fields.string("version")?,
    })
}

/// Every kind of white space becomes a blank, what cannot be printed is dropped (`sanitizeString`).
fn sanitize(text: &mut String) {
    let clean = |c: char| c == ' ' || c.is_ascii_graphic();
    if !text.chars().all(clean) {
        let kept = |c: char| if c.is_whitespace() { Some(' ') } else { is_printable(c).then_some(c) };
        *text = text.chars().filter_map(kept).collect();
    }
}

/// Go's `unicode.IsPrint`, through the quoting that rests on it.
fn is_printable(c: char) -> bool {
    matches!(c, '"' | '\\') || !quote(c.encode_utf8(&mut [0; 4]).as_bytes()).starts_with("\"\\")
}

/// A `Chart.lock` or `requirements.lock`: which versions the dependencies have been resolved to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lock {
    /// When it was written, as it stands in the file.
    pub generated: String,
    /// Digest of the dependencies it was made from.
    pub digest: String,
    /// The dependencies with exact versions.
    pub dependencies: Vec<Dependency>,
}

impl Lock {
    /// Reads a lock file.
    ///
    /// # Errors
    /// [`DecodeError`] for a field of the wrong type.
    pub fn decode(yaml: Value) -> Result<Self, DecodeError> {
        let mut lock = Self::default();
        document(yaml, "v2.Lock")?.each(|field| {
            if field.has("dependencies") {
                let dependencies = field.structs("dependencies", "v2.Dependency", dependency)?;
                lock.dependencies = dependencies.into_iter().flatten().flatten().collect();
            } else if field.has("digest") {
                lock.digest = field.string("digest")?;
            } else if field.has("generated") {
                lock.generated = field.time("generated")?;
            }
            Ok(())
        })?;
        Ok(lock)
    }
}

#[cfg(test)]
mod tests;
