//! Kinds as kubectl takes them: plural, singular, short name or kind, with its group or version behind it.

use kube::core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery};

use crate::object::Gvk;

/// A kind that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) gvk: Gvk,
    /// Plural, lower case.
    pub(super) plural: String,
    pub(super) namespaced: bool,
}

/// Why a word stands for no kind.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KindError {
    /// Nothing is called so.
    #[error("the cluster serves no kind {word:?}{}", hint(own))]
    Unknown {
        /// The word.
        word: String,
        /// Kinds of the watches file.
        own: Vec<String>,
    },
    /// Several are.
    #[error("{word:?} may be {}; say which", found.join(" or "))]
    Ambiguous {
        /// The word.
        word: String,
        /// What it may be.
        found: Vec<String>,
    },
    /// Its objects live in no namespace.
    #[error("{0} lives in no namespace: its objects are no releases")]
    ClusterScoped(Gvk),
}

fn hint(own: &[String]) -> String {
    if own.is_empty() { String::new() } else { format!("; the watches file has {}", own.join(", ")) }
}

/// A kind as discovery tells it.
struct Served<'d> {
    kind: Kind,
    preferred: bool,
    resource: &'d APIResourceDiscovery,
}

/// The kind of a word. `own`: kinds that are meant where several are called so.
///
/// # Errors
/// [`KindError`], but for [`KindError::ClusterScoped`].
pub(super) fn find(word: &str, groups: &[APIGroupDiscovery], own: &[&Gvk]) -> Result<Kind, KindError> {
    let served = served(groups);
    let mut found: Vec<&Served<'_>> = readings(word)
        .iter()
        .map(|reading| reading.of(&served))
        .find(|found| !found.is_empty())
        .unwrap_or_default();
    let is_own = |served: &&Served<'_>| {
        own.iter().any(|gvk| gvk.group == served.kind.gvk.group && gvk.kind == served.kind.gvk.kind)
    };
    if found.iter().any(is_own) {
        found.retain(is_own);
    }
    let mut names: Vec<String> = found.iter().map(|served| full_name(&served.kind)).collect();
    names.sort();
    names.dedup();
    if names.len() > 1 {
        return Err(KindError::Ambiguous { word: word.to_owned(), found: names });
    }
    let of_own = found.iter().find(|served| own.contains(&&served.kind.gvk));
    let best = of_own.or_else(|| found.iter().find(|served| served.preferred)).or_else(|| found.first());
    best.map(|served| served.kind.clone()).ok_or_else(|| {
        let own = own.iter().map(|gvk| format!("{}.{}", gvk.kind.to_lowercase(), gvk.group)).collect();
        KindError::Unknown { word: word.to_owned(), own }
    })
}

/// `plural.group`.
fn full_name(kind: &Kind) -> String {
    if kind.gvk.group.is_empty() {
        kind.plural.clone()
    } else {
        format!("{}.{}", kind.plural, kind.gvk.group)
    }
}

fn served(groups: &[APIGroupDiscovery]) -> Vec<Served<'_>> {
    let mut all = Vec::new();
    for group in groups {
        let name = group.metadata.as_ref().and_then(|metadata| metadata.name.as_deref()).unwrap_or_default();
        for (at, version) in group.versions.iter().enumerate() {
            for resource in &version.resources {
                let kind = resource.response_kind.as_ref().and_then(|kind| kind.kind.as_deref());
                let (Some(kind), Some(plural)) = (kind, resource.resource.clone()) else { continue };
                let gvk = Gvk::new(name, version.version.as_deref().unwrap_or_default(), kind);
                let namespaced = resource.scope.as_deref() == Some("Namespaced");
                all.push(Served { kind: Kind { gvk, plural, namespaced }, preferred: at == 0, resource });
            }
        }
    }
    all
}

/// One way to read a word.
struct Reading<'w> {
    name: &'w str,
    version: Option<&'w str>,
    group: Option<&'w str>,
}

/// `name`, `name.version.group`, `name.group`, in kubectl's order.
fn readings(word: &str) -> Vec<Reading<'_>> {
    let Some((name, rest)) = word.split_once('.') else {
        return vec![Reading { name: word, version: None, group: None }];
    };
    let versioned = rest.split_once('.').map(|(version, group)| (Some(version), group));
    let core = Some((Some(rest), ""));
    let grouped = Some((None, rest));
    let all = [versioned, grouped, core].into_iter().flatten();
    all.map(|(version, group)| Reading { name, version, group: Some(group) }).collect()
}

impl Reading<'_> {
    fn of<'s, 'd>(&self, served: &'s [Served<'d>]) -> Vec<&'s Served<'d>> {
        let fits = |served: &&Served<'_>, exact: bool| {
            let gvk = &served.kind.gvk;
            let group =
                self.group.is_none_or(|group| gvk.group == group || (!exact && gvk.group.starts_with(group)));
            group && self.version.is_none_or(|version| gvk.version == version) && self.names(served)
        };
        let exact: Vec<_> = served.iter().filter(|served| fits(served, true)).collect();
        let is_core = self.group.is_none_or(str::is_empty);
        if exact.is_empty() && !is_core {
            return served.iter().filter(|served| fits(served, false)).collect();
        }
        exact
    }

    fn names(&self, served: &Served<'_>) -> bool {
        let word = self.name.to_lowercase();
        let singular = served.resource.singular_resource.as_deref().unwrap_or_default();
        served.kind.plural == word
            || (!singular.is_empty() && singular == word)
            || served.kind.gvk.kind.to_lowercase() == word
            || served.resource.short_names.contains(&word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn groups() -> Vec<APIGroupDiscovery> {
        let resource = |plural: &str, kind: &str, short: &[&str], scope: &str| {
            json!({"resource": plural, "singularResource": kind.to_lowercase(), "shortNames": short, "scope": scope,
                "responseKind": {"kind": kind}, "verbs": ["get"]})
        };
        let web = resource("webs", "Web", &["w"], "Namespaced");
        serde_json::from_value(json!([
            {"versions": [{"version": "v1", "resources": [resource("pods", "Pod", &["po"], "Namespaced")]}]},
            {"metadata": {"name": "charts.example.com"}, "versions": [
                {"version": "v1", "resources": [web, resource("player-stats", "Player-stats", &[], "Namespaced")]},
                {"version": "v1alpha1", "resources": [web]}]},
            {"metadata": {"name": "other.example.com"}, "versions": [{"version": "v1", "resources": [web]}]},
            {"metadata": {"name": "x.y"}, "versions": [{"version": "v1", "resources": [resource("halls", "Hall", &[], "Cluster")]}]},
        ]))
        .unwrap()
    }

    fn found(word: &str, own: &[&Gvk]) -> Result<String, String> {
        find(word, &groups(), own).map(|kind| kind.gvk.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn kinds_are_taken_as_kubectl_takes_them() {
        for word in ["pod", "pods", "po", "Pod", "pods.v1"] {
            assert_eq!(found(word, &[]).as_deref(), Ok("Pod.v1"), "{word}");
        }
        for word in ["player-stats", "Player-stats", "player-stats.charts.example.com", "player-stats.charts"]
        {
            assert_eq!(found(word, &[]).as_deref(), Ok("Player-stats.v1.charts.example.com"), "{word}");
        }
        for word in ["w.v1alpha1.charts.example.com", "web.v1alpha1.charts.example.com"] {
            assert_eq!(found(word, &[]).as_deref(), Ok("Web.v1alpha1.charts.example.com"), "{word}");
        }
        assert_eq!(found("webs.other.example.com", &[]).as_deref(), Ok("Web.v1.other.example.com"));
    }

    #[test]
    fn of_several_kinds_of_a_name_the_one_of_the_watches_file_is_meant() {
        let ambiguous = "\"web\" may be webs.charts.example.com or webs.other.example.com; say which";
        assert_eq!(found("web", &[]).unwrap_err(), ambiguous);
        let own = Gvk::new("charts.example.com", "v1alpha1", "Web");
        assert_eq!(found("web", &[&own]).as_deref(), Ok("Web.v1alpha1.charts.example.com"));
        assert_eq!(found("web.other.example.com", &[&own]).as_deref(), Ok("Web.v1.other.example.com"));
    }

    #[test]
    fn a_word_that_is_no_kind_is_told_with_those_there_are() {
        let own = Gvk::new("charts.example.com", "v1", "Web");
        assert_eq!(
            found("wbe", &[&own]).unwrap_err(),
            "the cluster serves no kind \"wbe\"; the watches file has web.charts.example.com"
        );
        assert_eq!(found("webs.nowhere", &[]).unwrap_err(), "the cluster serves no kind \"webs.nowhere\"");
        assert!(!find("hall", &groups(), &[]).unwrap().namespaced);
    }
}
