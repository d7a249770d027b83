//! `PROJECT`: what a project is and which kinds it has, in kubebuilder's third form.

use serde_json::{Map, Value, json};

use super::naming::Gvk;
use super::yaml_text;

/// The file's name.
pub const FILE: &str = "PROJECT";
/// How projects of charts are laid out.
pub const LAYOUT: &str = "helm.sdk.operatorframework.io/v1";

const HEAD: &str = "\
# What this project is made of, for the commands that add to it. Written by them; please do not edit.
";

/// Why a project cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// Not to be understood.
    #[error("PROJECT cannot be understood: {0}")]
    Unreadable(String),
    /// Another form.
    #[error("PROJECT has version {0:?}; only projects of version 3 can be worked on")]
    Version(String),
    /// Not of charts.
    #[error(
        "this project has the layout {0:?}, not {LAYOUT:?}: pilothouse adds kinds to projects of Helm charts only"
    )]
    Layout(String),
    /// There already.
    #[error("{group}/{existing}, Kind={kind} is in this project already{hint}")]
    Duplicate {
        /// With the domain.
        group: String,
        /// The version it has.
        existing: String,
        /// The kind.
        kind: String,
        /// What to do.
        hint: &'static str,
    },
}

/// The file, with whatever others wrote into it.
#[derive(Clone, Debug)]
pub struct Project {
    head: String,
    value: Map<String, Value>,
}

impl Project {
    /// Of a new project.
    pub fn new(name: &str, domain: &str) -> Self {
        let value = json!({
            "domain": domain,
            "layout": [LAYOUT],
            "plugins": {
                "manifests.sdk.operatorframework.io/v2": {},
                "scorecard.sdk.operatorframework.io/v2": {},
            },
            "projectName": name,
            "version": "3",
        });
        let value = if let Value::Object(map) = value { map } else { Map::new() };
        Self { head: HEAD.to_owned(), value }
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`ProjectError`], but for [`ProjectError::Duplicate`].
    pub fn parse(text: &str) -> Result<Self, ProjectError> {
        let value = yaml_text::read(text).map_err(|error| ProjectError::Unreadable(error.to_string()))?;
        let Value::Object(value) = value else {
            return Err(ProjectError::Unreadable("it is no mapping".to_owned()));
        };
        let head = text.lines().take_while(|line| line.starts_with('#'));
        let project = Self { head: head.map(|line| format!("{line}\n")).collect(), value };
        let version = project.value.get("version").map(plain).unwrap_or_default();
        if version != "3" {
            return Err(ProjectError::Version(version));
        }
        let layout = match project.value.get("layout") {
            Some(Value::Array(layers)) => layers.iter().map(plain).collect::<Vec<_>>(),
            Some(one) => vec![plain(one)],
            None => Vec::new(),
        };
        if !layout.iter().any(|layer| layer == LAYOUT) {
            return Err(ProjectError::Layout(layout.join(", ")));
        }
        Ok(project)
    }

    /// The prefix of its objects.
    pub fn name(&self) -> String {
        self.value.get("projectName").map(plain).unwrap_or_default()
    }

    /// What groups end with.
    pub fn domain(&self) -> String {
        self.value.get("domain").map(plain).unwrap_or_default()
    }

    fn resources(&self) -> impl Iterator<Item = &Value> {
        self.value.get("resources").and_then(Value::as_array).into_iter().flatten()
    }

    /// Its kinds: group with domain, version, kind.
    pub fn kinds(&self) -> Vec<(String, String, String)> {
        let text = |resource: &Value, key: &str| resource.get(key).map(plain).unwrap_or_default();
        self.resources()
            .map(|resource| {
                let kind = text(resource, "kind");
                let gvk = Gvk { group: text(resource, "group"), version: text(resource, "version"), kind };
                (gvk.full_group(&text(resource, "domain")), gvk.version, gvk.kind)
            })
            .collect()
    }

    /// Refuses a kind that is there.
    ///
    /// # Errors
    /// [`ProjectError::Duplicate`].
    pub fn check_new(&self, gvk: &Gvk) -> Result<(), ProjectError> {
        let group = gvk.full_group(&self.domain());
        let same =
            |kind: &&(String, String, String)| kind.0 == group && kind.2.eq_ignore_ascii_case(&gvk.kind);
        let kinds = self.kinds();
        let Some((_, version, kind)) = kinds.iter().find(same) else { return Ok(()) };
        let hint = if *version == gvk.version {
            ""
        } else {
            "; one kind in two versions would be the same objects, reconciled twice. Take another kind, or change the version of \
             this one"
        };
        Err(ProjectError::Duplicate { group, existing: version.clone(), kind: kind.clone(), hint })
    }

    /// Adds a kind.
    pub fn add(&mut self, gvk: &Gvk) {
        let mut resource = json!({
            "api": {"crdVersion": "v1", "namespaced": true},
            "domain": self.domain(),
        });
        if let Value::Object(map) = &mut resource {
            if !gvk.group.is_empty() {
                map.insert("group".to_owned(), json!(gvk.group));
            }
            map.insert("kind".to_owned(), json!(gvk.kind));
            map.insert("version".to_owned(), json!(gvk.version));
        }
        match self.value.get_mut("resources") {
            Some(Value::Array(resources)) => resources.push(resource),
            _ => {
                self.value.insert("resources".to_owned(), json!([resource]));
            }
        }
    }

    /// The text, its keys sorted as kubebuilder sorts them.
    ///
    /// # Errors
    /// When a value cannot be written.
    pub fn text(&self) -> Result<String, yaml_text::YamlError> {
        let mut entries: Vec<(&String, &Value)> = self.value.iter().collect();
        entries.sort_by_key(|(key, _)| key.as_str());
        let sorted: Map<String, Value> =
            entries.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(format!("{}{}", self.head, yaml_text::write(&sorted)?))
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gvk(group: &str, version: &str, kind: &str) -> Gvk {
        Gvk { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    #[test]
    fn a_kind_is_added_and_what_others_wrote_stays() {
        let mut project = Project::new("shop-operator", "example.com");
        project.value.insert("multigroup".to_owned(), json!(true));
        project.add(&gvk("apps", "v1", "Shop"));
        let text = project.text().unwrap();
        let expected = "\
domain: example.com
layout:
- helm.sdk.operatorframework.io/v1
multigroup: true
plugins:
  manifests.sdk.operatorframework.io/v2: {}
  scorecard.sdk.operatorframework.io/v2: {}
projectName: shop-operator
resources:
- api:
    crdVersion: v1
    namespaced: true
  domain: example.com
  group: apps
  kind: Shop
  version: v1
version: \"3\"
";
        assert_eq!(text, format!("{HEAD}{expected}"));
        let again = Project::parse(&text).unwrap();
        assert_eq!(again.text().unwrap(), text);
        assert_eq!(again.kinds(), [("apps.example.com".to_owned(), "v1".to_owned(), "Shop".to_owned())]);
    }

    #[test]
    fn the_same_kind_is_refused_in_the_same_and_in_another_version() {
        let mut project = Project::new("p", "example.com");
        project.add(&gvk("apps", "v1", "Shop"));
        let said = |version: &str, kind: &str| {
            project.check_new(&gvk("apps", version, kind)).unwrap_err().to_string()
        };
        assert_eq!(said("v1", "Shop"), "apps.example.com/v1, Kind=Shop is in this project already");
        assert!(said("v2", "SHOP").contains("reconciled twice"));
        assert!(project.check_new(&gvk("other", "v1", "Shop")).is_ok());
        assert!(project.check_new(&gvk("apps", "v1", "Till")).is_ok());
    }

    #[test]
    fn projects_of_other_sorts_are_refused_by_name() {
        let go = "layout:\n- go.kubebuilder.io/v4\nversion: \"3\"\n";
        assert!(Project::parse(go).unwrap_err().to_string().contains("go.kubebuilder.io/v4"));
        assert!(Project::parse("version: \"2\"\n").unwrap_err().to_string().contains("version \"2\""));
        assert!(Project::parse("- x\n").is_err());
        assert!(Project::parse("a: [").is_err());
        // A number is the same version.
        assert!(Project::parse("layout: helm.sdk.operatorframework.io/v1\nversion: 3\n").is_ok());
    }
}
