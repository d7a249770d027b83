//! The rules for `Chart.yaml` (`rules/chartfile.go`).

use super::{
    Linter,
    Severity::{Error, Info, Warning},
    address::Addresses,
    ensure, strict,
};
use crate::{
    go_path,
    metadata::{API_VERSION_V1, API_VERSION_V2, Maintainer, Metadata},
    yaml,
};
use helm_functions::semver::Version;
use helm_template::{Map, fmt::quote};
use helm_yaml::Duplicates;
use std::cmp::Ordering;

const FILE: &str = "Chart.yaml";

impl Linter<'_> {
    pub(super) fn chart_yaml(&mut self) {
        let is_file = !self.directory.is_directory(FILE);
        self.rule(Error, FILE, ensure(is_file, || "should be a file, not a directory".to_owned()));
        let data = self.directory.file(FILE).map(|file| &*file.data);
        let data = match data.ok_or_else(|| format!("read {}/{FILE}: is a directory", self.directory.path)) {
            Ok(data) => data,
            Err(text) => {
                self.rule(Error, FILE, Err(unparsable(&text)));
                return;
            }
        };
        let metadata = match parse(data) {
            Ok(metadata) => metadata,
            Err(text) => {
                self.rule(Error, FILE, Err(unparsable(&text)));
                return;
            }
        };
        let strict = strict::chart_yaml(data);
        let strict =
            strict.map_err(|error| format!("failed to strictly parse chart metadata file\n\t{error}"));
        self.rule(Warning, FILE, strict);
        let fields = helm_yaml::from_yaml_map(data, Duplicates::LastWins).unwrap_or_default();
        self.metadata(&metadata, &fields);
    }

    fn metadata(&mut self, metadata: &Metadata, fields: &Map) {
        let addresses = Addresses::default();
        for result in [
            name(metadata),
            api_version(metadata),
            is_text(fields, "version"),
            version(metadata),
            is_text(fields, "appVersion"),
            maintainers(metadata, &addresses),
            sources(metadata),
        ] {
            self.rule(Error, FILE, result);
        }
        let icon = &metadata.icon;
        self.rule(Info, FILE, ensure(!icon.is_empty(), || "icon is recommended".to_owned()));
        let is_address = icon.is_empty() || helm_functions::url::is_request_url(icon);
        self.rule(Error, FILE, ensure(is_address, || format!("invalid icon URL '{icon}'")));
        self.rule(Error, FILE, chart_type(metadata));
        self.rule(Error, FILE, dependencies(metadata));
        self.rule(Warning, FILE, strict_version(metadata));
    }
}

fn unparsable(error: &str) -> String {
    format!("unable to parse YAML\n\t{error}")
}

fn parse(data: &[u8]) -> Result<Metadata, String> {
    let yaml = yaml::typed(data).map_err(|error| error.to_string())?;
    Metadata::decode(yaml).map_err(|error| error.to_string())
}

fn name(metadata: &Metadata) -> Result<(), String> {
    let name = &*metadata.name;
    ensure(!name.is_empty(), || "name is required".to_owned())?;
    ensure(go_path::base(name) == name, || format!("chart name {} is invalid", quote(name.as_bytes())))
}

fn api_version(metadata: &Metadata) -> Result<(), String> {
    match &*metadata.api_version {
        API_VERSION_V1 | API_VERSION_V2 => Ok(()),
        "" => Err("apiVersion is required. The value must be either \"v1\" or \"v2\"".to_owned()),
        other => Err(format!("apiVersion '{other}' is not valid. The value must be either \"v1\" or \"v2\"")),
    }
}

fn is_text(fields: &Map, key: &str) -> Result<(), String> {
    let found = fields.get(key).map(|value| value.type_name());
    match found.as_deref() {
        None | Some("string") => Ok(()),
        Some(other) => Err(format!("{key} should be of type string but it's of type {other}")),
    }
}

fn version(metadata: &Metadata) -> Result<(), String> {
    const LOWEST: &str = "0.0.0-0";
    let text = &*metadata.version;
    ensure(!text.is_empty(), || "version is required".to_owned())?;
    let version = Version::parse(text).map_err(|_| format!("version '{text}' is not a valid SemVer"))?;
    let is_higher = Version::parse(LOWEST).is_ok_and(|lowest| version.compare(&lowest) == Ordering::Greater);
    ensure(is_higher, || {
        let version = quote(version.to_string().as_bytes());
        format!("version {version} is less than or equal to \"{LOWEST}\"")
    })
}

fn strict_version(metadata: &Metadata) -> Result<(), String> {
    let text = &*metadata.version;
    let number = |part: &str| part == "0" || !part.starts_with('0');
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    let is_strict = Version::parse(text).is_ok()
        && !text.starts_with('v')
        && numbers.split('.').count() == 3
        && numbers.split('.').all(number);
    ensure(is_strict, || format!("version '{text}' is not a valid SemVerV2"))
}

fn maintainers(metadata: &Metadata, addresses: &Addresses) -> Result<(), String> {
    for maintainer in &metadata.maintainers {
        let Some(Maintainer { name, email, url }) = maintainer else {
            return Err("a maintainer entry is empty".to_owned());
        };
        ensure(!name.is_empty(), || "each maintainer requires a name".to_owned())?;
        let is_email = email.is_empty() || addresses.is_email(email);
        ensure(is_email, || format!("invalid email '{email}' for maintainer '{name}'"))?;
        let is_url = url.is_empty() || addresses.is_url(url);
        ensure(is_url, || format!("invalid url '{url}' for maintainer '{name}'"))?;
    }
    Ok(())
}

fn sources(metadata: &Metadata) -> Result<(), String> {
    metadata.sources.iter().try_for_each(|source| {
        ensure(helm_functions::url::is_request_url(source), || format!("invalid source URL '{source}'"))
    })
}

fn chart_type(metadata: &Metadata) -> Result<(), String> {
    let version = &*metadata.api_version;
    ensure(metadata.chart_type.is_empty() || version == API_VERSION_V2, || {
        format!(
            "chart type is not valid in apiVersion '{version}'. It is valid in apiVersion '{API_VERSION_V2}'"
        )
    })
}

fn dependencies(metadata: &Metadata) -> Result<(), String> {
    let version = &*metadata.api_version;
    let has_some = metadata.dependencies.as_ref().is_some_and(|list| !list.is_empty());
    ensure(!has_some || version == API_VERSION_V2, || {
        format!(
            "dependencies are not valid in the Chart file with apiVersion '{version}'. They are valid in apiVersion '{API_VERSION_V2}'"
        )
    })
}
