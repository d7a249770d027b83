//! `plugin.yaml`, as far as post-renderers are concerned.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

/// The name of the file.
pub(super) const FILE: &str = "plugin.yaml";
/// The type of plugins that are post-renderers.
pub(super) const TYPE: &str = "postrenderer/v1";

const FIELDS: [&str; 8] =
    ["apiVersion", "name", "type", "runtime", "version", "sourceURL", "config", "runtimeConfig"];

/// A plugin.
#[derive(Debug)]
pub(super) enum Loaded {
    /// One that is run.
    PostRenderer(Manifest),
    /// One of another type, by its name.
    Other(String),
}

/// What is known of a post-renderer.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) directory: PathBuf,
    commands: Vec<PlatformCommand>,
}

/// A command for a kind of machine.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct PlatformCommand {
    os: String,
    arch: String,
    command: String,
    args: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RuntimeConfig {
    platform_command: Vec<PlatformCommand>,
}

impl Loaded {
    /// Reads the plugin of a directory.
    ///
    /// # Errors
    /// Helm's words, but for what is no YAML.
    pub(super) fn read(directory: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(directory.join(FILE)).map_err(|error| error.to_string())?;
        let document: Value = serde_saphyr::from_str(&text).map_err(|error| error.to_string())?;
        let Value::Object(fields) = document else { return Err("invalid plugin `name`".to_owned()) };
        match text_of(&fields, "apiVersion") {
            "" => Self::legacy(&fields),
            "v1" => Self::v1(&fields, directory),
            other => Err(format!("invalid plugin apiVersion: {other:?}")),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::PostRenderer(manifest) => &manifest.name,
            Self::Other(name) => name,
        }
    }

    /// Plugins of Helm 3 are commands or downloaders.
    fn legacy(fields: &Map<String, Value>) -> Result<Self, String> {
        let name = text_of(fields, "name");
        if !is_name(name) {
            return Err(format!("invalid plugin name {name:?}: must contain only a-z, A-Z, 0-9, _ and -"));
        }
        Ok(Self::Other(name.to_owned()))
    }

    fn v1(fields: &Map<String, Value>, directory: &Path) -> Result<Self, String> {
        if let Some(unknown) = fields.keys().find(|field| !FIELDS.contains(&field.as_str())) {
            return Err(format!("field {unknown} not found in type plugin.MetadataV1"));
        }
        let name = text_of(fields, "name");
        let version = text_of(fields, "version");
        let missing = |field: &str| text_of(fields, field).is_empty();
        let problem = match () {
            () if !is_name(name) => "invalid plugin `name`".to_owned(),
            () if version.is_empty() => "plugin `version` is required".to_owned(),
            () if semver::Version::parse(version).is_err() => {
                format!("invalid plugin `version` {version:?}: must be valid semver")
            }
            () if missing("type") => "`type` missing".to_owned(),
            () if missing("runtime") => "`runtime` missing".to_owned(),
            () => String::new(),
        };
        if !problem.is_empty() {
            return Err(problem);
        }
        if text_of(fields, "type") != TYPE {
            return Ok(Self::Other(name.to_owned()));
        }
        match text_of(fields, "runtime") {
            "subprocess" => {}
            "extism/v1" => {
                return Err("pilothouse runs post-renderers of the runtime subprocess only".to_owned());
            }
            other => {
                let problem = "failed to convert MetadataV1 to Metadata: unsupported plugin runtime type";
                return Err(format!("{problem}: {other:?}"));
            }
        }
        let config = fields.get("runtimeConfig").filter(|config| !config.is_null()).cloned();
        let config = config.unwrap_or_else(|| Value::Object(Map::new()));
        let config: RuntimeConfig = serde_json::from_value(config).map_err(|error| error.to_string())?;
        let (name, directory) = (name.to_owned(), directory.to_owned());
        Ok(Self::PostRenderer(Manifest { name, directory, commands: config.platform_command }))
    }
}

impl Manifest {
    /// The command for a machine like this one, and its arguments: the closest one counts, of equals the first.
    pub(super) fn command(&self) -> Option<(&str, &[String])> {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let same = |own: &str, wanted: &str| own.eq_ignore_ascii_case(wanted);
        let exact = |command: &&PlatformCommand| same(&command.os, os) && same(&command.arch, arch);
        let of_system = |command: &&PlatformCommand| same(&command.os, os) && command.arch.is_empty();
        let any = |command: &&PlatformCommand| command.os.is_empty() && command.arch.is_empty();
        let first = |fits: &dyn Fn(&&PlatformCommand) -> bool| self.commands.iter().find(fits);
        let found = first(&exact).or_else(|| first(&of_system)).or_else(|| first(&any))?;
        (!found.command.split(' ').next().unwrap_or_default().is_empty())
            .then_some((&*found.command, &*found.args))
    }
}

fn text_of<'a>(fields: &'a Map<String, Value>, name: &str) -> &'a str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
