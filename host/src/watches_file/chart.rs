//! `chart` of an entry: a path, an address, or where a chart lies in a repository or registry.

use std::fmt;

use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

/// What stands at `chart`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChartKey {
    /// A directory or an archive on disk, as operator-sdk has it.
    Path(String),
    /// A chart elsewhere.
    Elsewhere(Elsewhere),
}

/// Where a chart lies; the names are those of `dependencies` in a Chart.yaml where it has the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Elsewhere {
    /// `oci://host/path`, or the address of a chart repository.
    pub repository: String,
    /// The chart's name.
    pub name: String,
    /// A version or a range; empty: the newest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// `sha256:…` of the archive, or in a registry of the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How often a range is resolved again, as Go writes durations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// A Secret with credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    /// A registry without TLS.
    #[serde(default, rename = "plainHTTP", skip_serializing_if = "is_false")]
    pub plain_http: bool,
    /// Credentials also go to other servers that the repository's index names.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pass_credentials: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretRef {
    /// Its name.
    pub name: String,
    /// Its namespace; the object's own when nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl ChartKey {
    /// A text: `oci://host/path/name[:version][@digest]`, or a path.
    fn of_text(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix("oci://") else {
            if text.starts_with("http://") || text.starts_with("https://") {
                return Err(format!(
                    "{} is an address: write it as `chart: {{repository: …, name: …, version: …}}`",
                    crate::error_text::without_login(text)
                ));
            }
            return Ok(Self::Path(text.to_owned()));
        };
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) if digest.starts_with("sha256:") => (rest, Some(digest.to_owned())),
            _ => (rest, None),
        };
        let wrong = || "an address of a registry is of the form oci://host/path/name:version".to_owned();
        let (place, last) = rest.rsplit_once('/').ok_or_else(wrong)?;
        let (name, version) = last.split_once(':').unwrap_or((last, ""));
        Ok(Self::Elsewhere(Elsewhere {
            repository: format!("oci://{place}"),
            name: name.to_owned(),
            // A tag cannot hold the plus of a version.
            version: version.replace('_', "+"),
            digest,
            ..Elsewhere::default()
        }))
    }
}

impl<'de> Deserialize<'de> for ChartKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ChartKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path, oci://host/path/name:version, or a map with repository and name")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ChartKey, E> {
                ChartKey::of_text(text).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ChartKey, A::Error> {
                Elsewhere::deserialize(MapAccessDeserializer::new(map)).map(ChartKey::Elsewhere)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
