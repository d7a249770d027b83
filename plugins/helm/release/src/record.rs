//! One revision of a release (Helm's `pkg/release/v1/release.go` and `info.go`).

use std::{borrow::Cow, fmt};

use jiff::Timestamp;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::{Map, Value, value::RawValue};

use crate::{Hook, Status, time};

/// How the objects of a revision were written. A record without it was written before Helm 4, client-side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApplyMethod {
    /// Server-side apply.
    #[serde(rename = "ssa")]
    ServerSide,
    /// Three-way patches made by the client.
    #[serde(other, rename = "csa")]
    ClientSide,
}

/// What is known about a revision beside what was installed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Info {
    /// When the release was installed for the first time.
    #[serde(default, deserialize_with = "time::optional", skip_serializing_if = "Option::is_none")]
    pub first_deployed: Option<Timestamp>,
    /// When this revision was begun.
    #[serde(default, deserialize_with = "time::optional", skip_serializing_if = "Option::is_none")]
    pub last_deployed: Option<Timestamp>,
    /// When its uninstall was begun.
    #[serde(default, deserialize_with = "time::optional", skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Timestamp>,
    /// What happened last, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Where it stands.
    #[serde(default)]
    pub status: Status,
    /// The revision that a rollback went back to; 0 for everything else.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rollback_revision: u32,
    /// The rendered `NOTES.txt`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
    /// What a newer Helm wrote beside it.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One revision of a release: what was installed, from what, and how it went.
#[derive(Debug, Clone, Default)]
pub struct Release {
    /// Name of the release.
    pub name: String,
    /// Namespace of the release.
    pub namespace: String,
    /// Number of the revision, from 1.
    pub version: u32,
    /// How it went.
    pub info: Info,
    /// The chart, as Helm writes it; kept as text, since nobody here needs more of it than its name.
    pub chart: Option<Box<RawValue>>,
    /// The values given by the user.
    pub config: Option<Box<RawValue>>,
    /// The rendered objects, hooks left out: what `helm get manifest` prints.
    pub manifest: String,
    /// The hooks.
    pub hooks: Vec<Hook>,
    /// How the objects were written.
    pub apply_method: Option<ApplyMethod>,
    /// What a newer Helm wrote beside it.
    pub extra: Vec<(String, Box<RawValue>)>,
}

/// What a record says about its chart's name and version.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ChartName {
    /// Name of the chart.
    pub name: String,
    /// Version of the chart.
    pub version: String,
    /// Version of what the chart installs.
    #[serde(rename = "appVersion")]
    pub app_version: String,
}

impl Release {
    /// Name and version of the chart; none when the record has no chart, or one without metadata.
    #[must_use]
    pub fn chart_name(&self) -> Option<ChartName> {
        #[derive(Deserialize)]
        struct Chart {
            metadata: Option<ChartName>,
        }
        serde_json::from_str::<Chart>(self.chart.as_ref()?.get()).ok()?.metadata
    }

    /// Sets status and description at once, as most of Helm's steps do.
    pub fn set_status(&mut self, status: Status, description: impl Into<String>) {
        self.info.status = status;
        self.info.description = description.into();
    }
}

impl Release {
    /// What of it changes while the revision lives: how it goes, and how its hooks went.
    pub(crate) fn head(&self) -> Self {
        let hook = |hook: &Hook| Hook { manifest: String::new(), ..hook.clone() };
        Self {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            version: self.version,
            info: Info { notes: String::new(), ..self.info.clone() },
            hooks: self.hooks.iter().map(hook).collect(),
            apply_method: self.apply_method,
            extra: self.extra.clone(),
            ..Self::default()
        }
    }

    /// A head with what never changes of it. Hooks that the head has no more are not brought back.
    pub(crate) fn with_body(mut self, body: Self) -> Self {
        self.info.notes = body.info.notes;
        for (hook, stored) in self.hooks.iter_mut().zip(body.hooks) {
            hook.manifest = stored.manifest;
        }
        Self { chart: body.chart, config: body.config, manifest: body.manifest, ..self }
    }
}

impl PartialEq for Release {
    fn eq(&self, other: &Self) -> bool {
        let text = |raw: &Option<Box<RawValue>>| raw.as_ref().map(|raw| raw.get().to_owned());
        let extra = |release: &Self| {
            release.extra.iter().map(|(key, raw)| (key.clone(), raw.get().to_owned())).collect::<Vec<_>>()
        };
        (
            &self.name,
            &self.namespace,
            self.version,
            &self.info,
            &self.manifest,
            &self.hooks,
            self.apply_method,
        ) == (
            &other.name,
            &other.namespace,
            other.version,
            &other.info,
            &other.manifest,
            &other.hooks,
            other.apply_method,
        ) && text(&self.chart) == text(&other.chart)
            && text(&self.config) == text(&other.config)
            && extra(self) == extra(other)
    }
}

impl Serialize for Release {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "name", &self.name, !self.name.is_empty())?;
        map.serialize_entry("info", &self.info)?;
        entry(&mut map, "chart", &self.chart, self.chart.is_some())?;
        entry(&mut map, "config", &self.config, self.config.is_some())?;
        entry(&mut map, "manifest", &self.manifest, !self.manifest.is_empty())?;
        entry(&mut map, "hooks", &self.hooks, !self.hooks.is_empty())?;
        entry(&mut map, "version", &self.version, self.version != 0)?;
        entry(&mut map, "namespace", &self.namespace, !self.namespace.is_empty())?;
        entry(&mut map, "apply_method", &self.apply_method, self.apply_method.is_some())?;
        for (key, value) in &self.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

fn entry<M: SerializeMap>(
    map: &mut M,
    key: &str,
    value: &impl Serialize,
    wanted: bool,
) -> Result<(), M::Error> {
    if wanted { map.serialize_entry(key, value) } else { Ok(()) }
}

impl<'de> Deserialize<'de> for Release {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReleaseVisitor)
    }
}

/// By hand, since raw JSON and fields nobody knows cannot be had together from the derive.
struct ReleaseVisitor;

impl<'de> Visitor<'de> for ReleaseVisitor {
    type Value = Release;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a release record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Release, A::Error> {
        let mut release = Release::default();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "name" => release.name = or_default(&mut map)?,
                "namespace" => release.namespace = or_default(&mut map)?,
                "version" => release.version = or_default(&mut map)?,
                "info" => release.info = or_default(&mut map)?,
                "chart" => release.chart = raw(&mut map)?,
                "config" => release.config = raw(&mut map)?,
                "manifest" => release.manifest = or_default(&mut map)?,
                "hooks" => release.hooks = hooks(&mut map)?,
                "apply_method" => release.apply_method = apply_method(&mut map)?,
                _ => release.extra.push((key.into_owned(), map.next_value()?)),
            }
        }
        Ok(release)
    }
}

/// A value that may be null.
fn or_default<'de, A: MapAccess<'de>, T: DeserializeOwned + Default>(map: &mut A) -> Result<T, A::Error> {
    Ok(map.next_value::<Option<T>>()?.unwrap_or_default())
}

fn raw<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Box<RawValue>>, A::Error> {
    let raw: Box<RawValue> = map.next_value()?;
    Ok((raw.get() != "null").then_some(raw))
}

/// Hooks are pointers in Go, so a list may hold nulls; nobody can run those.
fn hooks<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Vec<Hook>, A::Error> {
    let hooks: Vec<Option<Hook>> = or_default(map)?;
    Ok(hooks.into_iter().flatten().collect())
}

fn apply_method<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<ApplyMethod>, A::Error> {
    let word: String = or_default(map)?;
    if word.is_empty() {
        return Ok(None);
    }
    ApplyMethod::deserialize(de::value::StringDeserializer::new(word)).map(Some)
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As helm v3.19 writes it, cut down, with a field that no Helm has.
    const HELM_3: &str = r#"{"name":"web","info":{"first_deployed":"2026-01-02T03:04:05.6789+01:00",
        "last_deployed":"2026-01-02T03:04:05.6789+01:00","deleted":"","description":"Install complete",
        "status":"deployed","notes":"hi\n"},"chart":{"metadata":{"name":"nginx","version":"1.2.3","appVersion":"1.27"},
        "lock":null,"templates":[{"name":"templates/a.yaml","data":"eA=="}],"values":{"n":1.50},"schema":null,"files":[]},
        "config":{"replicas":3,"ratio":1e6},"manifest":"---\n# Source: nginx/templates/a.yaml\nx\n",
        "hooks":[{"name":"j","kind":"Job","path":"nginx/templates/j.yaml","manifest":"m","events":["pre-upgrade"],
        "last_run":{"started_at":"","completed_at":"","phase":""},"weight":-2,"delete_policies":["hook-succeeded"],
        "new":1}, null],"version":7,"namespace":"shop","of_tomorrow":{"a":[1]}}"#;

    #[test]
    fn a_record_of_helm_3_is_read() {
        let release: Release = serde_json::from_str(HELM_3).unwrap();
        assert_eq!((release.name.as_str(), release.namespace.as_str(), release.version), ("web", "shop", 7));
        assert_eq!(release.info.status, Status::Deployed);
        assert_eq!(release.info.first_deployed.unwrap().to_string(), "2026-01-02T02:04:05.6789Z");
        assert_eq!(release.info.deleted, None);
        assert_eq!(release.hooks.len(), 1);
        assert_eq!(release.hooks[0].weight, -2);
        assert_eq!(release.apply_method, None);
        let chart = release.chart_name().unwrap();
        assert_eq!(
            (chart.name.as_str(), chart.version.as_str(), chart.app_version.as_str()),
            ("nginx", "1.2.3", "1.27")
        );
    }

    #[test]
    fn what_is_not_understood_is_written_back_as_it_was() {
        let release: Release = serde_json::from_str(HELM_3).unwrap();
        let text = serde_json::to_string(&release).unwrap();
        assert!(text.contains(r#""of_tomorrow":{"a":[1]}"#), "{text}");
        assert!(text.contains(r#""new":1"#), "{text}");
        assert!(text.contains(r#""values":{"n":1.50}"#), "numbers keep their spelling: {text}");
        assert!(text.contains(r#""config":{"replicas":3,"ratio":1e6}"#), "{text}");
        assert_eq!(serde_json::from_str::<Release>(&text).unwrap(), release);
    }

    #[test]
    fn times_that_are_not_set_are_left_out_as_helm_4_does() {
        let text = serde_json::to_string(&Release { name: "a".into(), ..Release::default() }).unwrap();
        assert_eq!(text, r#"{"name":"a","info":{"status":"unknown"}}"#);
    }

    #[test]
    fn nulls_stand_for_nothing_and_a_wrong_type_is_refused() {
        let release: Release = serde_json::from_str(
            r#"{"name":null,"info":null,"chart":null,"hooks":null,"apply_method":"ssa"}"#,
        )
        .unwrap();
        assert!(release.chart.is_none() && release.chart_name().is_none());
        assert_eq!(release.apply_method, Some(ApplyMethod::ServerSide));
        assert!(serde_json::from_str::<Release>(r#"{"version":"one"}"#).is_err());
    }
}
