//! Credentials out of a Secret.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::wish::SecretName;
use crate::chart_source::credentials::in_config;
use crate::chart_source::oci::Visitor;
use crate::chart_source::web::{Login, Pem};

/// Why a Secret is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Nothing that is known is in it.
    #[error(
        "Secret {0} has none of the entries username and password, .dockerconfigjson, ca.crt, tls.crt and tls.key"
    )]
    Empty(SecretName),
    /// One half of a pair.
    #[error("Secret {0} has only one of the entries {1} and {2}")]
    Half(SecretName, &'static str, &'static str),
    /// An entry cannot be read.
    #[error("Secret {0}: entry {1:?}: {2}")]
    Entry(SecretName, &'static str, String),
}

/// What a Secret holds.
#[derive(Clone, Default)]
pub struct Credentials {
    name: String,
    /// By which a changed Secret is told from the one that was read before.
    pub(super) version: String,
    login: Option<Login>,
    docker: Option<Vec<u8>>,
    pub(super) authorities: Option<Pem>,
    pub(super) identity: Option<Pem>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads a Secret.
    ///
    /// # Errors
    /// [`SecretError`], which tells nothing of what is in it.
    pub fn read(secret: &Value, name: &SecretName) -> Result<Self, SecretError> {
        let entry = |key: &'static str| -> Result<Option<Vec<u8>>, SecretError> {
            let Some(text) = secret.get("data").and_then(|data| data.get(key)).and_then(Value::as_str) else {
                return Ok(None);
            };
            let bytes = STANDARD.decode(text);
            bytes.map(Some).map_err(|_| SecretError::Entry(name.clone(), key, "it is not base64".to_owned()))
        };
        let text = |key: &'static str| -> Result<Option<String>, SecretError> {
            let wrong = |_| SecretError::Entry(name.clone(), key, "it is no text".to_owned());
            // Who writes it with an editor leaves a line end.
            let text = entry(key)?.map(|bytes| String::from_utf8(bytes).map_err(wrong)).transpose()?;
            Ok(text
                .map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
                .filter(|text| !text.is_empty()))
        };
        let login = match (text("username")?, text("password")?) {
            (Some(name), Some(password)) => Some(Login { name, password }),
            (None, None) => None,
            _ => return Err(SecretError::Half(name.clone(), "username", "password")),
        };
        let docker = entry(".dockerconfigjson")?;
        if let Some(text) = &docker {
            let wrong = |place| {
                SecretError::Entry(
                    name.clone(),
                    ".dockerconfigjson",
                    format!("{place}: no Docker configuration"),
                )
            };
            in_config(text, "").map_err(wrong)?;
        }
        let pem = |key: &str, text: Vec<u8>| Pem { place: format!("Secret {name}, entry {key}"), text };
        let identity = match (entry("tls.crt")?, entry("tls.key")?) {
            (Some(certificate), Some(key)) => {
                Some(pem("tls.key", [key, b"\n".to_vec(), certificate].concat()))
            }
            (None, None) => None,
            _ => return Err(SecretError::Half(name.clone(), "tls.crt", "tls.key")),
        };
        let authorities = entry("ca.crt")?.map(|text| pem("ca.crt", text));
        if login.is_none() && docker.is_none() && identity.is_none() && authorities.is_none() {
            return Err(SecretError::Empty(name.clone()));
        }
        let part = |pointer| secret.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let version = format!("{}/{}", part("/metadata/uid"), part("/metadata/resourceVersion"));
        Ok(Self { name: name.to_string(), version, login, docker, authorities, identity })
    }

    /// Who one is for a registry.
    pub(super) fn visitor(&self, server: &str) -> Visitor {
        if let Some(login) = &self.login {
            return Visitor::Login(login.clone());
        }
        let found = self.docker.as_deref().and_then(|text| in_config(text, server).ok().flatten());
        found.unwrap_or_default()
    }

    /// Who one is for a repository.
    pub(super) fn login(&self, server: &str) -> Option<Login> {
        match self.visitor(server) {
            Visitor::Login(login) => Some(login),
            Visitor::Anonymous | Visitor::Token(_) => None,
        }
    }

    /// What to say of them where they are not accepted.
    pub(super) fn refused(&self, server: &str) -> String {
        match self.visitor(server) {
            Visitor::Anonymous => format!("Secret {} has no login for {server}", self.name),
            Visitor::Login(_) | Visitor::Token(_) => {
                format!("the login in Secret {} is not accepted, or may not read the chart", self.name)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(entries: &[(&str, &str)]) -> Result<Credentials, SecretError> {
        let data: serde_json::Map<_, _> =
            entries.iter().map(|(key, text)| ((*key).to_owned(), STANDARD.encode(text).into())).collect();
        let name = SecretName { namespace: "shop".to_owned(), name: "login".to_owned() };
        let secret = json!({"metadata": {"uid": "u", "resourceVersion": "7"}, "data": data});
        Credentials::read(&secret, &name)
    }

    #[test]
    fn a_login_is_for_the_server_that_is_asked() {
        let plain = read(&[("username", "me"), ("password", "hidden\n")]).unwrap();
        assert_eq!(plain.version, "u/7");
        assert!(plain.login("any.example").is_some_and(|login| login.password == "hidden"));
        let docker =
            format!(r#"{{"auths":{{"r.example:5000":{{"auth":"{}"}}}}}}"#, STANDARD.encode("me:hidden"));
        let docker = read(&[(".dockerconfigjson", &docker)]).unwrap();
        assert!(matches!(docker.visitor("r.example:5000"), Visitor::Login(login) if login.name == "me"));
        assert!(matches!(docker.visitor("r.example"), Visitor::Anonymous));
        assert!(docker.refused("r.example").contains("shop/login has no login for r.example"));
    }

    #[test]
    fn what_is_of_no_use_is_told_without_what_is_in_it() {
        for (entries, said) in [
            (&[("token", "hidden")][..], "none of the entries"),
            (&[("username", "hidden")], "only one of the entries username and password"),
            (&[("tls.crt", "hidden")], "only one of the entries tls.crt and tls.key"),
            (&[(".dockerconfigjson", "{hidden")], "line 1, column 2: no Docker configuration"),
        ] {
            let error = read(entries).unwrap_err().to_string();
            assert!(
                error.contains(said) && error.contains("shop/login") && !error.contains("hidden"),
                "{error}"
            );
        }
        let secret = read(&[("username", "me"), ("password", "hidden")]).unwrap();
        assert!(!format!("{secret:?}").contains("hidden"));
    }
}
