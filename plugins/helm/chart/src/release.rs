//! What a rendering is for: the facts of `.Release`.

use helm_template::{Map, Value};

/// The release a chart is rendered for (Helm's `ReleaseOptions`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Name of the release.
    pub name: String,
    /// Namespace it is installed in.
    pub namespace: String,
    /// Revision that is being made, from 1.
    pub revision: i64,
    /// Whether this is an upgrade (or a rollback), else an installation.
    pub is_upgrade: bool,
}

impl Release {
    /// The first revision of a release.
    #[must_use]
    pub fn install(name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self { name: name.into(), namespace: namespace.into(), revision: 1, is_upgrade: false }
    }

    /// `.Release`.
    pub(crate) fn to_value(&self) -> Value {
        self.value(self.is_upgrade, !self.is_upgrade, self.revision)
    }

    /// `.Release` for the linter: neither an installation nor an upgrade, and no revision.
    pub(crate) fn to_lint_value(&self) -> Value {
        self.value(false, false, 0)
    }

    fn value(&self, is_upgrade: bool, is_install: bool, revision: i64) -> Value {
        let map = Map::new();
        map.insert("Name", &self.name);
        map.insert("Namespace", &self.namespace);
        map.insert("IsUpgrade", is_upgrade);
        map.insert("IsInstall", is_install);
        map.insert("Revision", Value::int(revision));
        map.insert("Service", "Helm");
        Value::Map(map)
    }
}
