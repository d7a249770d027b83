//! Files into a chart (Helm's `pkg/chart/v2/loader`). Nothing is read here: the caller brings the files.

use crate::{
    archive::{ArchiveError, MAX_CHART_BYTES, read_archive},
    chart::Chart,
    coalesce::Warnings,
    decode::{DecodeError, document},
    file::File,
    go_path,
    ignore::{HELM_IGNORE, IgnoreError, IgnoreRules},
    metadata::{API_VERSION_V1, API_VERSION_V2, API_VERSION_V3, Lock, Metadata, ValidationError},
    rules::Rules,
    yaml::{self, LoadValuesError},
};
use helm_template::{Value, fmt::quote};
use std::{collections::BTreeMap, rc::Rc};
use thiserror::Error;

/// How deep charts may contain charts. Helm has no limit; an archive that contains itself again and again
/// would otherwise cost memory without end.
pub const MAX_CHART_DEPTH: usize = 64;

/// Why a chart cannot be loaded. Texts are Helm's.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The archive of a dependency is refused.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The chart's own archive is refused. At its command line Helm says no more than the first words.
    #[error("unable to load chart archive: {0}")]
    Unreadable(#[source] ArchiveError),
    /// `.helmignore` is refused.
    #[error(transparent)]
    Ignore(#[from] IgnoreError),
    /// The files of a directory exceed [`MAX_CHART_BYTES`] together.
    #[error("error reading {0}: chart exceeds maximum decompressed size of {MAX_CHART_BYTES} bytes")]
    TooLarge(String),
    /// A file is not YAML.
    #[error("cannot load {file}: {error}")]
    Yaml {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        #[source]
        error: helm_yaml::Error,
    },
    /// A file has a field of the wrong type.
    #[error("cannot load {file}: {error}")]
    Decode {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        #[source]
        error: DecodeError,
    },
    /// `values.yaml` cannot be used.
    #[error("cannot load values.yaml: {0}")]
    Values(#[from] LoadValuesError),
    /// No `Chart.yaml` among the files.
    #[error("Chart.yaml file is missing")]
    NoChartYaml,
    /// No `Chart.yaml` in the chart's own archive.
    #[error("unable to detect chart version, no Chart.yaml found")]
    NoChartYamlInArchive,
    /// An `apiVersion` nobody knows.
    #[error("unsupported chart version")]
    UnsupportedVersion,
    /// `Chart.yaml` breaks a rule.
    #[error(transparent)]
    Validation(#[from] ValidationError),
    /// A file in `charts/NAME.tgz/`.
    #[error("error unpacking subchart tar in {chart}: expected {expected}, got {got}")]
    MisplacedArchive {
        /// The chart it is in.
        chart: String,
        /// Name of the archive.
        expected: String,
        /// Name of the file.
        got: String,
    },
    /// A chart of `charts/` cannot be loaded.
    #[error("error unpacking subchart {name} in {chart}: {error}")]
    Subchart {
        /// Its file or directory.
        name: String,
        /// The chart it is in.
        chart: String,
        /// Why.
        #[source]
        error: Box<LoadError>,
    },
    /// Charts nested deeper than [`MAX_CHART_DEPTH`].
    #[error("charts are nested deeper than {MAX_CHART_DEPTH}")]
    TooDeep,
}

/// Loads a chart directory: all its files, with paths relative to it. `.helmignore` is applied here, so a
/// caller may leave out what it knows to be ignored ([`IgnoreRules`]) but need not. Links have to be
/// resolved by the caller; Helm follows them.
///
/// # Errors
/// [`LoadError`].
pub fn load_directory(files: Vec<File>, warnings: &mut Warnings) -> Result<Chart, LoadError> {
    // Helm looks at the file before it looks at what is ignored, and then perhaps never again.
    let loader = ApiLoader::of(&files)?;
    load_with(loader, kept(files)?, warnings)
}

/// [`load_directory`] for files that [`IgnoreRules`] have left, default rules included.
///
/// # Errors
/// [`LoadError`].
pub fn load_kept(files: Vec<File>, warnings: &mut Warnings) -> Result<Chart, LoadError> {
    load_with(ApiLoader::of(&files)?, files, warnings)
}

fn load_with(loader: ApiLoader, mut files: Vec<File>, warnings: &mut Warnings) -> Result<Chart, LoadError> {
    pack(&mut files)?;
    loader.load(files, 0, warnings)
}

/// [`load_directory`] without a look at the `apiVersion`, as Helm's linter does it.
pub(crate) fn load_any_version(files: Vec<File>, warnings: &mut Warnings) -> Result<Chart, LoadError> {
    load_with(ApiLoader::V2, kept(files)?, warnings)
}

/// The files of a directory that `.helmignore` leaves.
fn kept(mut files: Vec<File>) -> Result<Vec<File>, LoadError> {
    let mut rules = match files.iter().find(|file| file.name == HELM_IGNORE) {
        Some(file) => IgnoreRules::parse(&String::from_utf8_lossy(&file.data))?,
        None => IgnoreRules::default(),
    };
    rules.add_defaults()?;
    let mut ignored = rules.files();
    files.retain(|file| !ignored.ignores(&file.name));
    Ok(files)
}

/// Brings files into the order of Helm's walk, by the names on each level, unless they are too large together.
fn pack(files: &mut [File]) -> Result<(), LoadError> {
    files.sort_by(|a, b| a.name.split('/').cmp(b.name.split('/')));
    let mut remaining = MAX_CHART_BYTES;
    for file in files {
        remaining = remaining
            .checked_sub(file.data.len() as u64)
            .ok_or_else(|| LoadError::TooLarge(file.name.clone()))?;
    }
    Ok(())
}

/// Loads a `.tgz`. `.helmignore` has no effect on what has been packed.
///
/// # Errors
/// [`LoadError`].
pub fn load_archive(data: &[u8], warnings: &mut Warnings) -> Result<Chart, LoadError> {
    let files = read_archive(data).map_err(LoadError::Unreadable)?;
    let loader = ApiLoader::of(&files).map_err(|error| match error {
        LoadError::NoChartYaml => LoadError::NoChartYamlInArchive,
        other => other,
    })?;
    loader.load(files, 0, warnings)
}

/// Which of Helm's loaders takes a chart, and with it all charts within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApiLoader {
    /// For charts v1 and v2.
    V2,
    /// For charts v3, which Helm 4.3 loads and shows but does not install. They know nothing of `requirements.yaml`.
    V3,
}

impl ApiLoader {
    /// Only the root chart's `apiVersion` decides.
    fn of(files: &[File]) -> Result<Self, LoadError> {
        let chart_yaml = files.iter().find(|file| file.name == "Chart.yaml").ok_or(LoadError::NoChartYaml)?;
        match &*api_version(typed_yaml("Chart.yaml", &chart_yaml.data)?)
            .map_err(|error| LoadError::Decode { file: "Chart.yaml", error })?
        {
            "" | API_VERSION_V1 | API_VERSION_V2 => Ok(Self::V2),
            API_VERSION_V3 => Ok(Self::V3),
            _ => Err(LoadError::UnsupportedVersion),
        }
    }

    /// A field of the wrong type, which has another name for each loader.
    fn wrong(self, file: &'static str, error: DecodeError) -> LoadError {
        let error = if self == Self::V3 { error.of_chart_v3() } else { error };
        LoadError::Decode { file, error }
    }

    /// The `apiVersion` of a chart that states none.
    fn default_version(self) -> &'static str {
        match self {
            Self::V2 => API_VERSION_V1,
            Self::V3 => API_VERSION_V3,
        }
    }
}

/// What `Chart.yaml` says of itself, before anything else in it is looked at.
fn api_version(yaml: Value) -> Result<String, DecodeError> {
    let mut version = String::new();
    document(yaml, "loader.chartBase")?.each(|field| {
        if field.has("apiVersion") {
            version = field.string("apiVersion")?;
        }
        Ok(())
    })?;
    Ok(version)
}

fn typed_yaml(file: &'static str, data: &[u8]) -> Result<Value, LoadError> {
    yaml::typed(data).map_err(|error| LoadError::Yaml { file, error })
}

impl ApiLoader {
    fn load(self, files: Vec<File>, depth: usize, warnings: &mut Warnings) -> Result<Chart, LoadError> {
        if depth > MAX_CHART_DEPTH {
            return Err(LoadError::TooDeep);
        }
        let mut builder = Builder::default();
        for file in files.iter().filter(|file| file.name == "Chart.yaml") {
            builder.read_metadata(file, self)?;
        }
        for file in &files {
            builder.read(file, self, warnings)?;
        }
        let Builder { metadata, lock, templates, values, schema, files: rest, subcharts } = builder;
        let mut metadata = metadata.ok_or(LoadError::NoChartYaml)?;
        metadata.validate()?;
        let mut dependencies = Vec::new();
        for (name, files) in subcharts {
            if name.starts_with(['_', '.']) {
                continue;
            }
            dependencies.push(self.load_subchart(&name, files, &metadata.name, depth, warnings)?);
        }
        Ok(Chart {
            children_path: None,
            metadata: Rc::new(metadata),
            lock: lock.map(Rc::new),
            templates: templates.into(),
            values,
            schema,
            files: rest.into(),
            raw: files.into(),
            dependencies,
            rules: Rules::default(),
        })
    }

    fn load_subchart(
        self,
        name: &str,
        files: Vec<File>,
        chart: &str,
        depth: usize,
        warnings: &mut Warnings,
    ) -> Result<Chart, LoadError> {
        let result = if go_path::extension(name) == ".tgz" {
            let first = files.into_iter().next().ok_or(LoadError::NoChartYaml)?;
            if first.name != name {
                return Err(LoadError::MisplacedArchive {
                    chart: chart.to_owned(),
                    expected: name.to_owned(),
                    got: first.name,
                });
            }
            read_archive(&first.data)
                .map_err(LoadError::from)
                .and_then(|files| self.load(files, depth + 1, warnings))
        } else {
            // A file right in charts/ is no chart; without a Chart.yaml the error comes from loading nothing.
            let inside = files.into_iter().filter_map(|file| {
                let (_, inner) = file.name.split_once('/')?;
                Some(File { name: inner.to_owned(), data: file.data })
            });
            self.load(inside.collect(), depth + 1, warnings)
        };
        result.map_err(|error| LoadError::Subchart {
            name: name.to_owned(),
            chart: chart.to_owned(),
            error: Box::new(error),
        })
    }
}

#[derive(Default)]
struct Builder {
    metadata: Option<Metadata>,
    lock: Option<Lock>,
    templates: Vec<File>,
    values: Option<helm_template::Map>,
    schema: Option<Rc<[u8]>>,
    files: Vec<File>,
    subcharts: BTreeMap<String, Vec<File>>,
}

impl Builder {
    fn read_metadata(&mut self, file: &File, loader: ApiLoader) -> Result<(), LoadError> {
        let metadata = self.metadata.get_or_insert_default();
        let yaml = typed_yaml("Chart.yaml", &file.data)?;
        metadata.decode_over(yaml).map_err(|error| loader.wrong("Chart.yaml", error))?;
        // Helm 2 took charts without an apiVersion.
        if metadata.api_version.is_empty() {
            loader.default_version().clone_into(&mut metadata.api_version);
        }
        Ok(())
    }

    fn read(&mut self, file: &File, loader: ApiLoader, warnings: &mut Warnings) -> Result<(), LoadError> {
        match &*file.name {
            "Chart.yaml" => {}
            "Chart.lock" => self.lock = Some(decode_lock("Chart.lock", file, loader)?),
            "values.yaml" => self.values = Some(yaml::load_values(&file.data)?),
            "values.schema.json" => self.schema = Some(Rc::clone(&file.data)),
            "requirements.yaml" if loader == ApiLoader::V2 => {
                let yaml = typed_yaml("requirements.yaml", &file.data)?;
                let metadata = self.metadata.get_or_insert_default();
                metadata.decode_over(yaml).map_err(|error| loader.wrong("requirements.yaml", error))?;
                self.keep_v1_file(file, warnings, "Warning: Dependencies are handled in Chart.yaml since apiVersion \"v2\". We recommend migrating dependencies to Chart.yaml.");
            }
            "requirements.lock" if loader == ApiLoader::V2 => {
                self.lock = Some(decode_lock("requirements.lock", file, loader)?);
                self.metadata.get_or_insert_default();
                self.keep_v1_file(file, warnings, "Warning: Dependency locking is handled in Chart.lock since apiVersion \"v2\". We recommend migrating to Chart.lock.");
            }
            name if name.starts_with("templates/") => self.templates.push(file.clone()),
            name => match name.strip_prefix("charts/") {
                Some(inner) if go_path::extension(name) != ".prov" => {
                    let top = inner.split('/').next().unwrap_or(inner);
                    let file = File { name: inner.to_owned(), data: Rc::clone(&file.data) };
                    self.subcharts.entry(top.to_owned()).or_default().push(file);
                }
                _ => self.files.push(file.clone()),
            },
        }
        Ok(())
    }

    /// Files of charts v1 stay among the chart's files; later charts should not have them.
    fn keep_v1_file(&mut self, file: &File, warnings: &mut Warnings, warning: &str) {
        if self.metadata.as_ref().is_some_and(|metadata| metadata.api_version == API_VERSION_V1) {
            self.files.push(file.clone());
        } else {
            warnings.push(warning.to_owned().into());
        }
    }
}

fn decode_lock(name: &'static str, file: &File, loader: ApiLoader) -> Result<Lock, LoadError> {
    let yaml = typed_yaml(name, &file.data)?;
    Lock::decode(yaml).map_err(|error| loader.wrong(name, error))
}

/// Whether a release name is one Helm takes (`ValidateReleaseName`).
///
/// # Errors
/// Helm's text, with the name in front.
pub fn validate_release_name(name: &str) -> Result<(), InvalidReleaseName> {
    const MAX_LENGTH: usize = 53;
    if name.is_empty() {
        return Err(InvalidReleaseName { name: quote(b""), reason: "no name provided" });
    }
    if name.len() > MAX_LENGTH || !name.split('.').all(is_dns_label) {
        let reason = "invalid release name, must match regex ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ and the length must not be longer than 53";
        return Err(InvalidReleaseName { name: quote(name.as_bytes()), reason });
    }
    Ok(())
}

/// A release name Helm refuses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("release name check failed: release name {name}: {reason}")]
pub struct InvalidReleaseName {
    name: String,
    reason: &'static str,
}

fn is_dns_label(label: &str) -> bool {
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.first().is_some_and(|&b| legal(b))
        && bytes.last().is_some_and(|&b| legal(b))
        && bytes.iter().all(|&b| legal(b) || b == b'-')
}

#[cfg(test)]
mod tests;
