//! Logins of registries: what `helm registry login` or `docker login` left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::LocateError;
use super::oci::Visitor;
use super::repository::home;
use super::web;
use crate::chart_source::arguments::{ChartArgs, SourceArgs};

/// The parts of a Docker configuration that are about logins.
#[derive(Debug, Default, Deserialize)]
struct Config {
    #[serde(default)]
    auths: BTreeMap<String, Login>,
    #[serde(default, rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
    #[serde(default, rename = "credsStore")]
    store: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Login {
    auth: String,
    username: String,
    password: String,
    #[serde(rename = "identitytoken")]
    identity_token: String,
}

/// The answer of a credential helper.
#[derive(Deserialize)]
struct Helped {
    #[serde(rename = "Username")]
    username: String,
    #[serde(rename = "Secret")]
    secret: String,
}

/// How to log in to a registry: as the person says, or as they did before; else as nobody.
pub(super) fn of(server: &str, chart: &ChartArgs, settings: &SourceArgs) -> Result<Visitor, LocateError> {
    if !chart.username.is_empty() {
        return Ok(login(&chart.username, &chart.password));
    }
    let own = settings
        .files
        .registry_config
        .clone()
        .unwrap_or_else(|| home("XDG_CONFIG_HOME", ".config", "registry/config.json"));
    let docker = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let docker = docker.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".docker")));
    for path in [Some(own), docker.map(|dir| dir.join("config.json"))].into_iter().flatten() {
        if let Some(login) = in_file(&path, server)? {
            return Ok(login);
        }
    }
    Ok(Visitor::Anonymous)
}

fn in_file(path: &Path, server: &str) -> Result<Option<Visitor>, LocateError> {
    let Ok(text) = std::fs::read(path) else { return Ok(None) };
    let config = Config::read(&text).map_err(|place| LocateError::Settings {
        path: path.display().to_string(),
        message: format!("{place}: no Docker configuration"),
    })?;
    if let Some(helper) = config.helpers.get(server) {
        return Ok(helped(helper, server));
    }
    if let Some(login) = config.login(server) {
        return Ok(Some(login));
    }
    Ok(if config.store.is_empty() { None } else { helped(&config.store, server) })
}

/// The login of a server in a Docker configuration that somebody else wrote: no program is run for it. What is wrong with the
/// text is told by line and column.
pub(crate) fn in_config(text: &[u8], server: &str) -> Result<Option<Visitor>, String> {
    Config::read(text).map(|config| config.login(server))
}

impl Config {
    fn read(text: &[u8]) -> Result<Self, String> {
        // What it says is nobody's business.
        serde_json::from_slice(text)
            .map_err(|error| format!("line {}, column {}", error.line(), error.column()))
    }

    /// Servers are written as they are, or, as Docker does for its own, as a URL.
    fn login(&self, server: &str) -> Option<Visitor> {
        let bare = |name: &str| {
            let rest = name.split_once("://").map_or(name, |(_, rest)| rest);
            rest.split('/').next().unwrap_or_default().eq_ignore_ascii_case(server)
        };
        let exact = self.auths.get(server);
        exact.or_else(|| self.auths.iter().find(|(name, _)| bare(name)).map(|(_, login)| login))?.auth()
    }
}

/// Somebody with a password.
fn login(name: &str, password: &str) -> Visitor {
    Visitor::Login(web::Login { name: name.to_owned(), password: password.to_owned() })
}

impl Login {
    fn auth(&self) -> Option<Visitor> {
        if !self.identity_token.is_empty() {
            return Some(Visitor::Token(self.identity_token.clone()));
        }
        if !self.username.is_empty() {
            return Some(login(&self.username, &self.password));
        }
        let decoded = String::from_utf8(STANDARD.decode(&self.auth).ok()?).ok()?;
        let (name, password) = decoded.split_once(':')?;
        Some(login(name, password.trim_end_matches('\0')))
    }
}

/// Asks a credential helper, the way Docker does (<https://github.com/docker/docker-credential-helpers>).
fn helped(helper: &str, server: &str) -> Option<Visitor> {
    let mut command = Command::new(format!("docker-credential-{helper}"));
    let mut child =
        command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    std::io::Write::write_all(&mut child.stdin.take()?, server.as_bytes()).ok()?;
    let output = child.wait_with_output().ok().filter(|output| output.status.success())?;
    let Helped { username, secret } = serde_json::from_slice(&output.stdout).ok()?;
    Some(if username == "<token>" { Visitor::Token(secret) } else { login(&username, &secret) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_found_by_the_registry_it_is_for() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let auth = STANDARD.encode("me:se:cret");
        std::fs::write(file.path(), format!(r#"{{"auths":{{"r.example":{{"auth":"{auth}"}}}}}}"#)).unwrap();
        let found = in_file(file.path(), "r.example").unwrap();
        assert!(
            matches!(found, Some(Visitor::Login(web::Login { name, password })) if name == "me" && password == "se:cret")
        );
        assert!(in_file(file.path(), "other.example").unwrap().is_none());
        let docker = format!(r#"{{"auths":{{"https://index.docker.io/v1/":{{"auth":"{auth}"}}}}}}"#);
        assert!(in_config(docker.as_bytes(), "index.docker.io").unwrap().is_some());
        assert!(in_config(docker.as_bytes(), "docker.io").unwrap().is_none());
        assert!(in_file(Path::new("/no/such/file"), "r.example").unwrap().is_none());
    }

    #[test]
    fn a_broken_file_is_named_and_nothing_of_it_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"auths":{"r.example":{"auth":"c2VjcmV0"}"#).unwrap();
        let error = in_file(file.path(), "r.example").unwrap_err().to_string();
        assert!(error.contains(&file.path().display().to_string()) && !error.contains("c2Vj"), "{error}");
    }
}
