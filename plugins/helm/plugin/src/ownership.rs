//! Whose an object is (Helm's `checkOwnership` in `pkg/action/validate.go`).

use std::collections::{BTreeMap, BTreeSet};

use pilothouse_sdk::{Error, Gvk, Kube, KubeError, ObjectRef};
use serde_json::Value;

use crate::{
    decorate::{MANAGED_BY, Owner, RELEASE_NAME, RELEASE_NAMESPACE},
    objects::Object,
};

/// What the cluster says about an object that may have to be taken over or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Live {
    /// `metadata.uid`.
    pub(crate) uid: String,
    /// Why it does not belong to the release; none: it does.
    pub(crate) foreign: Option<String>,
    /// Whether its live annotation says that it outlives the release, in the one spelling Helm knows for updates.
    pub(crate) kept: bool,
    /// Whether it is on its way out.
    pub(crate) is_going: bool,
}

impl Live {
    fn of(found: &Value, owner: &Owner) -> Self {
        Self {
            uid: found.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned(),
            foreign: foreign(found, &owner.release, &owner.namespace),
            kept: entry(found, "annotations", "helm.sh/resource-policy") == Some("keep"),
            is_going: found.pointer("/metadata/deletionTimestamp").is_some(),
        }
    }
}

/// What of an object says whose it is, and whether it stays.
const SAID: [&str; 3] = ["metadata.labels", "metadata.annotations", "metadata.deletionTimestamp"];
/// So many objects of a kind in one namespace are listed: looking at each would take as many requests.
const MANY: usize = 8;
/// A list may hold so many times as many objects as are looked for.
const STRANGERS: usize = 100;

/// A kind, and a namespace where it has one.
type Place = (Gvk, Option<String>);

/// The objects of one place, if there are many.
#[derive(Default)]
struct Many {
    /// So many are looked for.
    wanted: usize,
    /// What is there, by name, once it was listed.
    listed: Option<BTreeMap<String, Live>>,
}

/// Looks at objects of a release.
pub(crate) struct Looks<'k> {
    kube: &'k Kube,
    owner: &'k Owner,
    many: BTreeMap<Place, Many>,
}

impl<'k> Looks<'k> {
    /// Looks at these, one after the other.
    pub(crate) fn new<'o>(
        kube: &'k Kube,
        owner: &'k Owner,
        objects: impl IntoIterator<Item = &'o ObjectRef>,
    ) -> Self {
        let mut many: BTreeMap<Place, Many> = BTreeMap::new();
        for object in objects {
            many.entry((object.kind.clone(), object.namespace.clone())).or_default().wanted += 1;
        }
        many.retain(|_, many| many.wanted >= MANY);
        Self { kube, owner, many }
    }

    /// What the cluster says about one of them. None: there is none, or the cluster does not serve its kind.
    ///
    /// # Errors
    /// What the cluster refuses.
    pub(crate) fn at(&mut self, object: &ObjectRef) -> Result<Option<Live>, KubeError> {
        let place = (object.kind.clone(), object.namespace.clone());
        if let Some(many) = self.many.get_mut(&place) {
            if many.listed.is_none() {
                let most = many.wanted.saturating_mul(STRANGERS);
                many.listed = list(self.kube, self.owner, &place, most);
            }
            if let Some(listed) = &many.listed {
                return Ok(listed.get(&object.name).cloned());
            }
            // Who may not list may still look.
            self.many.remove(&place);
        }
        look(self.kube, self.owner, object)
    }
}

/// All objects of a kind in a namespace by their names; none when they cannot be had, or are too many.
fn list(
    kube: &Kube,
    owner: &Owner,
    (kind, namespace): &Place,
    most: usize,
) -> Option<BTreeMap<String, Live>> {
    let kube = kube.clone().live().only(SAID);
    let mut listed = BTreeMap::new();
    for found in kube.list_ref::<Value>(kind.clone(), namespace.as_deref()) {
        let found = found.ok()?;
        let name = found.pointer("/metadata/name").and_then(Value::as_str)?.to_owned();
        listed.insert(name, Live::of(&found, owner));
        if listed.len() > most {
            return None;
        }
    }
    Some(listed)
}

/// Looks at an object. None: there is none, or the cluster does not serve its kind.
///
/// # Errors
/// What the cluster refuses.
pub(crate) fn look(kube: &Kube, owner: &Owner, reference: &ObjectRef) -> Result<Option<Live>, KubeError> {
    let found: Option<Value> = match kube.clone().live().only(SAID).get_ref(reference) {
        Ok(found) => found,
        Err(KubeError::UnknownKind(_) | KubeError::NotFound(_)) => None,
        Err(error) => return Err(error),
    };
    Ok(found.map(|found| Live::of(&found, owner)))
}

/// Refuses objects that exist and belong to somebody else (`existingResourceConflict`); answers which exist.
///
/// # Errors
/// In Helm's words, `action` being `install` or `update`; permanent refusals of the cluster as well.
pub(crate) fn check(
    kube: &Kube,
    owner: &Owner,
    objects: &[&Object],
    action: &str,
) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    let mut looks = Looks::new(kube, owner, objects.iter().map(|object| &object.reference));
    for object in objects {
        let live = looks.at(&object.reference).map_err(|error| {
            Error::from(error).context(format_args!("could not get information about the resource {object}"))
        })?;
        if live.is_some() {
            found.insert(object.to_string());
        }
        if let Some(reason) = live.and_then(|live| live.foreign) {
            let message = format!(
                "unable to continue with {action}: {object} exists and cannot be imported into the current release: \
                 {reason}"
            );
            return Err(Error::retry("ForeignObject", message));
        }
    }
    Ok(found)
}

fn entry<'a>(object: &'a Value, table: &str, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get(table)?.get(key)?.as_str()
}

/// Why an object does not belong to a release; none: it does.
pub(crate) fn foreign(object: &Value, release: &str, namespace: &str) -> Option<String> {
    let wanted = [
        ("label", "labels", MANAGED_BY, "Helm"),
        ("annotation", "annotations", RELEASE_NAME, release),
        ("annotation", "annotations", RELEASE_NAMESPACE, namespace),
    ];
    let wrong: Vec<String> = wanted
        .into_iter()
        .filter_map(|(what, table, key, value)| {
            let problem = match entry(object, table, key) {
                Some(actual) if actual == value => return None,
                Some(actual) => format!("key {key:?} must equal {value:?}: current value is {actual:?}"),
                None => format!("missing key {key:?}: must be set to {value:?}"),
            };
            Some(format!("{what} validation error: {problem}"))
        })
        .collect();
    (!wrong.is_empty()).then(|| format!("invalid ownership metadata; {}", wrong.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_foreign_object_is_refused_in_helms_words() {
        let object = json!({"metadata": {
            "labels": {MANAGED_BY: "Helm"},
            "annotations": {RELEASE_NAME: "other"},
        }});
        assert_eq!(
            foreign(&object, "shop", "ns").unwrap(),
            "invalid ownership metadata; annotation validation error: key \"meta.helm.sh/release-name\" must equal \
             \"shop\": current value is \"other\"; annotation validation error: missing key \
             \"meta.helm.sh/release-namespace\": must be set to \"ns\""
        );
        let own = json!({"metadata": {
            "labels": {MANAGED_BY: "Helm"},
            "annotations": {RELEASE_NAME: "shop", RELEASE_NAMESPACE: "ns"},
        }});
        assert_eq!(foreign(&own, "shop", "ns"), None);
    }
}
