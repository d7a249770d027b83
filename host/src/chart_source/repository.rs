//! Chart repositories: an index and archives, by URL or by the name that `helm repo add` gave.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::person::Person;
use super::web;
use super::{LocateError, Located, provenance, wanted_version};
use crate::chart_source::arguments::{ChartArgs, SourceArgs};
use crate::command::{self, PersonFile, Question};
use crate::error_text::without_login;
use crate::plugin::bindings::CommandAnswer;

/// `repositories.yaml`.
#[derive(Debug, Default, Deserialize)]
struct Repositories {
    #[serde(default)]
    repositories: Vec<Entry>,
}

/// A repository that somebody added.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) url: String,
    username: String,
    password: String,
    #[serde(rename = "certFile")]
    cert_file: String,
    #[serde(rename = "keyFile")]
    key_file: String,
    #[serde(rename = "caFile")]
    ca_file: String,
    insecure_skip_tls_verify: bool,
    pass_credentials_all: bool,
}

/// `--repo URL NAME`.
pub(super) fn fetch_from(
    repository: &str,
    name: &str,
    chart: &ChartArgs,
    settings: &SourceArgs,
) -> Result<Located, LocateError> {
    let client = Person::new(chart)?;
    let index = web::resolve(repository, "index.yaml");
    let bytes = client
        .get(&index, repository)
        .map_err(|source| LocateError::NotARepository { url: without_login(repository), source })?;
    let file = Located::fetched("index.yaml", &bytes)?;
    let version = wanted_version(chart);
    let wanted = if version.is_empty() { String::new() } else { format!(" version {version:?}") };
    let found = find(file.path(), name, version, settings)?.map_err(|message| {
        if message.contains("no downloadable URLs") {
            LocateError::NotFound(message)
        } else {
            LocateError::NotFound(format!(
                "chart {name:?}{wanted} not found in {} repository",
                without_login(repository)
            ))
        }
    })?;
    let archive = download(&client, repository, &found)?;
    verify(&archive, &client, repository, &found, chart, settings)?;
    Ok(archive)
}

/// `repo/name`.
pub(super) fn fetch_named(
    reference: &str,
    chart: &ChartArgs,
    settings: &SourceArgs,
) -> Result<Located, LocateError> {
    let Some((repository, name)) = reference.split_once('/') else {
        return Err(LocateError::NoReference(reference.to_owned()));
    };
    let entry = entry(repository, settings)?;
    let index = cache(settings).join(format!("{repository}-index.yaml"));
    if !index.is_file() {
        return Err(LocateError::NoIndex(index.display().to_string()));
    }
    let version = wanted_version(chart);
    let found = find(&index, name, version, settings)?.map_err(|message| {
        LocateError::NotFound(format!(
            "chart {name:?} matching {version} not found in {repository} index. (try 'helm repo update'): {message}"
        ))
    })?;
    let client = Person::new(&entry.args(chart))?;
    let archive = download(&client, &entry.url, &found)?;
    verify(&archive, &client, &entry.url, &found, chart, settings)?;
    Ok(archive)
}

/// Where an archive is that an index told of.
pub(super) fn url(repository: &str, found: &Value) -> String {
    web::resolve(repository, found.get("url").and_then(Value::as_str).unwrap_or_default())
}

/// An archive of a repository that somebody added, or of its index at least.
pub(super) fn fetch_found(entry: &Entry, found: &Value) -> Result<Located, LocateError> {
    download(&Person::new(&entry.args(&ChartArgs::default()))?, &entry.url, found)
}

/// The index of a repository.
pub(super) fn fetch_index(entry: &Entry) -> Result<Vec<u8>, LocateError> {
    let client = Person::new(&entry.args(&ChartArgs::default()))?;
    Ok(client.get(&web::resolve(&entry.url, "index.yaml"), &entry.url)?)
}

/// Verifies what was fetched, where the person wants that.
fn verify(
    archive: &Located,
    client: &Person,
    repository: &str,
    found: &Value,
    chart: &ChartArgs,
    settings: &SourceArgs,
) -> Result<(), LocateError> {
    if !chart.verify {
        return Ok(());
    }
    let source = url(repository, found) + ".prov";
    provenance::verify_fetched(archive, client.get(&source, repository), &source, chart, settings)
}

fn download(client: &Person, repository: &str, found: &Value) -> Result<Located, LocateError> {
    let url = url(repository, found);
    let bytes = client.get(&url, repository)?;
    let digest = found.get("digest").and_then(Value::as_str).unwrap_or_default();
    let promised = digest.strip_prefix("sha256:").unwrap_or(digest);
    let is = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    if !promised.is_empty() && !promised.eq_ignore_ascii_case(&is) {
        return Err(LocateError::Digest {
            url: without_login(&url),
            promised: promised.to_owned(),
            found: is,
        });
    }
    Located::fetched(web::path_of(&url), &bytes)
}

/// Asks the plugin for the version; its own words when there is none.
fn find(
    index: &Path,
    name: &str,
    version: &str,
    settings: &SourceArgs,
) -> Result<Result<Value, String>, LocateError> {
    let answer = ask(index, name, version, settings)?;
    for line in &answer.messages {
        eprintln!("{line}");
    }
    Ok(found(answer))
}

/// [`find`] without what it tells meanwhile.
pub(super) fn find_quietly(
    index: &Path,
    name: &str,
    version: &str,
    settings: &SourceArgs,
) -> Result<Result<Value, String>, LocateError> {
    Ok(found(ask(index, name, version, settings)?))
}

fn found(answer: CommandAnswer) -> Result<Value, String> {
    match answer.failure {
        Some(failure) => Err(failure),
        None => serde_json::from_slice(&answer.output).map_err(|error| error.to_string()),
    }
}

fn ask(index: &Path, name: &str, version: &str, settings: &SourceArgs) -> Result<CommandAnswer, LocateError> {
    let question = Question {
        command: "find-chart",
        options: json!({"index": "index", "name": name, "version": version}),
        files: vec![PersonFile::tree("index", index)],
        output_dir: None,
        cluster: None,
        debug: settings.debug,
    };
    Ok(command::ask(&question, &settings.plugin)?)
}

fn entry(name: &str, settings: &SourceArgs) -> Result<Entry, LocateError> {
    let found = entries(settings)?.into_iter().find(|entry| entry.name == name && !entry.url.is_empty());
    found.ok_or_else(|| LocateError::NoRepository(name.to_owned()))
}

/// The repositories that somebody added.
pub(super) fn entries(settings: &SourceArgs) -> Result<Vec<Entry>, LocateError> {
    let path = settings
        .files
        .repository_config
        .clone()
        .unwrap_or_else(|| home("XDG_CONFIG_HOME", ".config", "repositories.yaml"));
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => {
            return Err(LocateError::Settings {
                path: path.display().to_string(),
                message: error.to_string(),
            });
        }
    };
    let all = if text.trim().is_empty() {
        Repositories::default()
    } else {
        serde_saphyr::from_str(&text).map_err(|error| LocateError::Settings {
            path: path.display().to_string(),
            message: error.to_string(),
        })?
    };
    Ok(all.repositories)
}

/// Where indexes are kept.
pub(super) fn cache(settings: &SourceArgs) -> PathBuf {
    settings.files.repository_cache.clone().unwrap_or_else(|| home("XDG_CACHE_HOME", ".cache", "repository"))
}

/// A place of Helm's own: `$HELM_…`'s defaults.
pub(super) fn home(variable: &str, below: &str, name: &str) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set(variable).or_else(|| Some(set("HOME")?.join(below)));
    base.unwrap_or_default().join("helm").join(name)
}

impl Entry {
    /// A repository that nobody added.
    pub(super) fn unknown(name: &str, url: &str) -> Self {
        Self { name: name.to_owned(), url: url.to_owned(), ..Self::default() }
    }

    /// What the repository was added with, under what the person says now.
    fn args(&self, given: &ChartArgs) -> ChartArgs {
        let text = |given: &String, own: &String| if given.is_empty() { own.clone() } else { given.clone() };
        let path = |given: &Option<PathBuf>, own: &String| {
            given.clone().or_else(|| (!own.is_empty()).then(|| PathBuf::from(own)))
        };
        ChartArgs {
            username: text(&given.username, &self.username),
            password: text(&given.password, &self.password),
            pass_credentials: given.pass_credentials || self.pass_credentials_all,
            ca_file: path(&given.ca_file, &self.ca_file),
            cert_file: path(&given.cert_file, &self.cert_file),
            key_file: path(&given.key_file, &self.key_file),
            insecure_skip_tls_verify: given.insecure_skip_tls_verify || self.insecure_skip_tls_verify,
            ..given.clone()
        }
    }
}
