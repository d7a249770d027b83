//! What a chart depends on, for the host to fetch it (Helm's `pkg/downloader/manager.go` and `internal/resolver`): the host
//! knows where charts come from, what they mean is said here.

use helm_chart::archive::write_archive;
use helm_chart::dependencies::missing_dependencies;
use helm_chart::metadata::{API_VERSION_V1, API_VERSION_V2, Dependency};
use helm_chart::{Chart, json::to_value};
use helm_functions::semver::{Constraints, Version};
use pilothouse_sdk::{CommandAnswer, CommandFile, Host};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::chart;
use super::options::NamedChart;
use crate::chart_record;

/// Options of `dependencies`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DependenciesOptions {
    /// The chart.
    chart: NamedChart,
}

/// Options of `inspect-chart`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InspectOptions {
    /// The chart.
    chart: NamedChart,
    /// A range that its version should be in.
    constraint: Option<String>,
    /// Seconds since 1970: pack it, with this as the time of its files.
    package: Option<u64>,
}

/// Options of `lock`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LockOptions {
    /// The chart.
    chart: NamedChart,
    /// Where its dependencies come from, in their order, with the URLs that aliases stand for.
    repositories: Vec<String>,
    /// What was found for them.
    locked: Vec<Locked>,
    /// When.
    generated: String,
}

/// A dependency with its version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Locked {
    name: String,
    version: String,
    repository: String,
}

/// Tells what a chart needs and what of it is missing.
pub(super) fn dependencies(
    host: &dyn Host,
    options: &DependenciesOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    // What is odd about the chart is told when it is rendered.
    let chart = chart::load(host, &options.chart, &mut CommandAnswer::default())?;
    let is_installable = matches!(&*chart.metadata.chart_type, "" | "application");
    let missing = if is_installable { missing_dependencies(&chart) } else { Vec::new() };
    let requirements: Vec<Value> = chart
        .metadata
        .dependencies()
        .map(|dependency| {
            json!({
                "name": dependency.name,
                "version": dependency.version,
                "repository": dependency.repository,
                "constraintError": Constraints::parse(&dependency.version).err().map(|error| error.to_string()),
                "exact": Version::parse(&dependency.version).is_ok(),
            })
        })
        .collect();
    let told = json!({
        "missing": missing,
        "legacy": chart.metadata.api_version == API_VERSION_V1,
        "digest": chart.lock.as_ref().map(|lock| lock.digest.clone()),
        "requirements": requirements,
    });
    answer.output = told.to_string().into_bytes();
    Ok(())
}

/// Tells a chart's name and version, whether that is in a range, and packs it.
pub(super) fn inspect(
    host: &dyn Host,
    options: &InspectOptions,
    answer: &mut CommandAnswer,
) -> Result<(), String> {
    let chart = chart::load(host, &options.chart, answer)?;
    let version = &chart.metadata.version;
    let parsed = Version::parse(version);
    let satisfies = match (&options.constraint, &parsed) {
        (Some(constraint), Ok(parsed)) => {
            Some(Constraints::parse(constraint).map_err(|error| error.to_string())?.check(parsed))
        }
        _ => None,
    };
    if let Some(seconds) = options.package {
        let mut files = Vec::new();
        collect(&chart, "", &mut files)?;
        let content = write_archive(&files, seconds).map_err(|error| error.to_string())?;
        answer.files.push(CommandFile { path: format!("{}-{version}.tgz", chart.name()), content });
    }
    let error = parsed.err().map(|error| error.to_string());
    let told =
        json!({"name": chart.name(), "version": version, "satisfies": satisfies, "versionError": error});
    answer.output = told.to_string().into_bytes();
    Ok(())
}

/// The files of a chart's archive (`writeTarContents`).
fn collect(chart: &Chart, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) -> Result<(), String> {
    let base = format!("{prefix}{}", chart.name());
    let yaml = |json: &Value| helm_yaml::to_yaml(&to_value(json)).map_err(|error| error.to_string());
    let mut metadata = chart_record::metadata(&chart.metadata).map_err(|error| error.to_string())?;
    if chart.metadata.api_version == API_VERSION_V1
        && let Some(fields) = metadata.as_object_mut()
    {
        fields.remove("dependencies");
    }
    files.push((format!("{base}/Chart.yaml"), yaml(&metadata)?));
    if let Some(lock) = chart.lock.as_ref().filter(|_| chart.metadata.api_version == API_VERSION_V2) {
        let lock = chart_record::lock(lock).map_err(|error| error.to_string())?;
        files.push((format!("{base}/Chart.lock"), yaml(&lock)?));
    }
    let values = chart.raw.iter().filter(|file| file.name == "values.yaml");
    files.extend(values.map(|file| (format!("{base}/values.yaml"), file.data.to_vec())));
    files.extend(chart.schema.iter().map(|data| (format!("{base}/values.schema.json"), data.to_vec())));
    let rest = chart.templates.iter().chain(chart.files.iter());
    files.extend(rest.map(|file| (format!("{base}/{}", file.name), file.data.to_vec())));
    let below = format!("{base}/charts/");
    chart.dependencies.iter().try_for_each(|dependency| collect(dependency, &below, files))
}

/// The lock for what was found: its digest, and its text.
pub(super) fn lock(host: &dyn Host, options: &LockOptions, answer: &mut CommandAnswer) -> Result<(), String> {
    let chart = chart::load(host, &options.chart, &mut CommandAnswer::default())?;
    let resolved = chart.metadata.dependencies().zip(&options.repositories);
    let requirements: Vec<Dependency> = resolved
        .map(|(dependency, repository)| Dependency { repository: repository.clone(), ..dependency.clone() })
        .collect();
    let locked: Vec<Dependency> = options
        .locked
        .iter()
        .map(|locked| Dependency {
            name: locked.name.clone(),
            version: locked.version.clone(),
            repository: locked.repository.clone(),
            ..Dependency::default()
        })
        .collect();
    let digest = digest(&requirements, &locked)?;
    let locked: Vec<Value> = options
        .locked
        .iter()
        .map(|Locked { name, version, repository }| {
            json!({"name": name, "repository": repository, "version": version})
        })
        .collect();
    let lock = json!({"dependencies": locked, "digest": digest, "generated": options.generated});
    let text = helm_yaml::to_yaml(&to_value(&lock)).map_err(|error| error.to_string())?;
    answer.output =
        json!({"digest": digest, "text": String::from_utf8_lossy(&text)}).to_string().into_bytes();
    Ok(())
}

/// What tells whether a lock is of these requirements (`HashReq`): of the JSON of both, as Go writes its structs.
fn digest(requirements: &[Dependency], locked: &[Dependency]) -> Result<String, String> {
    let list = |all: &[Dependency]| all.iter().map(go_json).collect::<Result<Vec<_>, _>>();
    let text = format!("[[{}],[{}]]", list(requirements)?.join(","), list(locked)?.join(","));
    let hash = Sha256::digest(text.as_bytes());
    Ok(hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}")))
}

fn go_json(dependency: &Dependency) -> Result<String, String> {
    let value = |value: &helm_template::Value| {
        let bytes = helm_yaml::json::to_json(value).map_err(|error| error.to_string())?;
        Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = |text: &str| value(&text.into());
    let mut fields = vec![format!("\"name\":{}", text(&dependency.name)?)];
    if !dependency.version.is_empty() {
        fields.push(format!("\"version\":{}", text(&dependency.version)?));
    }
    fields.push(format!("\"repository\":{}", text(&dependency.repository)?));
    if !dependency.condition.is_empty() {
        fields.push(format!("\"condition\":{}", text(&dependency.condition)?));
    }
    if !dependency.tags.is_empty() {
        let tags = dependency.tags.iter().map(|tag| text(tag)).collect::<Result<Vec<_>, _>>()?;
        fields.push(format!("\"tags\":[{}]", tags.join(",")));
    }
    if dependency.enabled {
        fields.push("\"enabled\":true".to_owned());
    }
    if !dependency.import_values.is_empty() {
        let list = helm_template::List::new(dependency.import_values.clone());
        fields.push(format!("\"import-values\":{}", value(&helm_template::Value::List(list))?));
    }
    if !dependency.alias.is_empty() {
        fields.push(format!("\"alias\":{}", text(&dependency.alias)?));
    }
    Ok(format!("{{{}}}", fields.join(",")))
}

#[cfg(test)]
mod tests;
