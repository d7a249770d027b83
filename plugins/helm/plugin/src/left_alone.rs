//! Differences that are left alone: what a rule names, what says so itself, and the replicas of what an autoscaler owns.
//!
//! A field is left out of what is applied only where the cluster has another value for it: then somebody else wrote it and
//! owns it by now, so that leaving it out changes nothing. What nobody else has touched is applied as ever; a field that is
//! simply left out would be taken away.

use std::borrow::Cow;

use pilothouse_sdk::{ApplyItem, Gvk, KubeError, ObjectRef};
use serde_json::Value;

use crate::{
    call::Call,
    options::{IgnoreRule, Target},
    releases::Prepared,
};

/// Says of an object that nobody is to look after it; Flux's annotation means the same.
const OPT_OUT: [&str; 2] = ["helm.pilothouse.dev/driftDetection", "helm.toolkit.fluxcd.io/driftDetection"];
const REPLICAS: &str = "/spec/replicas";

/// What of an object is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exception {
    /// JSON pointers.
    pub(crate) paths: Vec<String>,
    /// All of it.
    pub(crate) whole: bool,
    /// Whether the replicas may be those of an autoscaler that is not of the release.
    pub(crate) scales: bool,
}

impl Exception {
    /// What of an object is left alone. `scaled`: what autoscalers of the release scale, by kind and name.
    pub(crate) fn of(
        reference: &ObjectRef,
        object: &Value,
        rules: &[IgnoreRule],
        scaled: &[(String, String)],
    ) -> Option<Self> {
        let fits = |rule: &&IgnoreRule| rule.target.fits(reference, object);
        let mut paths: Vec<String> =
            rules.iter().filter(fits).flat_map(|rule| rule.paths.iter().cloned()).collect();
        let scales = object.pointer(REPLICAS).is_some();
        if scales && scaled.iter().any(|(kind, name)| *kind == reference.kind.kind && *name == reference.name)
        {
            paths.push(REPLICAS.to_owned());
        }
        let whole = opts_out(object);
        (whole || scales || !paths.is_empty()).then_some(Self { paths, whole, scales })
    }
}

/// What the autoscalers among objects scale: kinds and names.
pub(crate) fn scaled<'a>(objects: impl Iterator<Item = (&'a Gvk, &'a Value)>) -> Vec<(String, String)> {
    let target = |(kind, object): (&Gvk, &Value)| {
        let is_scaler = kind.kind == "HorizontalPodAutoscaler" || kind.kind == "ScaledObject";
        let text = |field: &str| object.pointer(&format!("/spec/scaleTargetRef/{field}"))?.as_str();
        // KEDA's objects mean a Deployment unless they say more.
        is_scaler
            .then(|| Some((text("kind").unwrap_or("Deployment").to_owned(), text("name")?.to_owned())))?
    };
    objects.filter_map(target).collect()
}

impl Target {
    fn fits(&self, reference: &ObjectRef, object: &Value) -> bool {
        let ObjectRef { kind, namespace, name } = reference;
        let names = [
            (&self.group, kind.group.as_str()),
            (&self.version, kind.version.as_str()),
            (&self.kind, kind.kind.as_str()),
            (&self.namespace, namespace.as_deref().unwrap_or_default()),
            (&self.name, name.as_str()),
        ];
        names.iter().all(|(wanted, found)| wanted.is_empty() || whole_match(wanted, found))
            && selects(&self.label_selector, object.pointer("/metadata/labels"))
            && selects(&self.annotation_selector, object.pointer("/metadata/annotations"))
    }
}

/// A regular expression that has to fit all of a name. One that is none fits what is spelt like it.
fn whole_match(pattern: &str, name: &str) -> bool {
    match regex::Regex::new(&format!("^(?:{pattern})$")) {
        Ok(pattern) => pattern.is_match(name),
        Err(_) => pattern == name,
    }
}

/// A selector as kubectl writes it: `a=b`, `a!=b`, `a`, `!a`, `a in (b, c)`, `a notin (b, c)`, all of which have to fit.
fn selects(selector: &str, table: Option<&Value>) -> bool {
    let value = |key: &str| table.and_then(|table| table.get(key.trim())).and_then(Value::as_str);
    let listed = |list: &str, found: Option<&str>| {
        let list = list.trim().trim_start_matches('(').trim_end_matches(')');
        found.is_some_and(|found| list.split(',').any(|word| word.trim() == found))
    };
    requirements(selector).into_iter().all(|one| {
        if let Some((key, list)) = one.split_once(" notin ") {
            !listed(list, value(key))
        } else if let Some((key, list)) = one.split_once(" in ") {
            listed(list, value(key))
        } else if let Some((key, wanted)) = one.split_once("!=") {
            value(key) != Some(wanted.trim())
        } else if let Some((key, wanted)) = one.split_once('=') {
            value(key) == Some(wanted.trim_start_matches('=').trim())
        } else if let Some(key) = one.strip_prefix('!') {
            value(key).is_none()
        } else {
            value(one).is_some()
        }
    })
}

/// The parts between commas that stand in no parentheses.
fn requirements(selector: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let parts = selector.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

impl Call<'_> {
    /// The prepared objects as they are applied now: without what is left alone.
    ///
    /// # Errors
    /// What the cluster refuses.
    pub(crate) fn items_now(
        &self,
        prepared: &Prepared,
    ) -> Result<(Vec<ObjectRef>, Vec<ApplyItem>), KubeError> {
        let mut now = (Vec::new(), Vec::new());
        for (at, reference) in prepared.references.iter().enumerate() {
            if let Some(item) = self.item_now(prepared, at)? {
                now.0.push(reference.clone());
                now.1.push(item.into_owned());
            }
        }
        Ok(now)
    }

    /// One of them; none: all of it is left alone.
    pub(crate) fn item_now<'p>(
        &self,
        prepared: &'p Prepared,
        at: usize,
    ) -> Result<Option<Cow<'p, ApplyItem>>, KubeError> {
        let (Some(reference), Some(item)) = (prepared.references.get(at), prepared.items.get(at)) else {
            return Ok(None);
        };
        match prepared.exceptions.get(&at) {
            None => Ok(Some(Cow::Borrowed(item))),
            Some(exception) => self.without(exception, reference, item, prepared),
        }
    }

    /// An item without what is left alone of it; none: all of it is.
    fn without<'p>(
        &self,
        exception: &Exception,
        reference: &ObjectRef,
        item: &'p ApplyItem,
        prepared: &Prepared,
    ) -> Result<Option<Cow<'p, ApplyItem>>, KubeError> {
        let live: Option<Value> = match self.kube().get_ref(reference) {
            Err(KubeError::UnknownKind(_) | KubeError::NotFound(_)) => None,
            answer => answer?,
        };
        // What is not there is made as the chart has it.
        let Some(live) = live else { return Ok(Some(Cow::Borrowed(item))) };
        if exception.whole || opts_out(&live) {
            return Ok(None);
        }
        let Ok(mut object) = serde_json::from_str::<Value>(&item.object) else {
            return Ok(Some(Cow::Borrowed(item)));
        };
        let differs = |path: &&String| {
            let (ours, theirs) = (object.pointer(path), live.pointer(path));
            ours.is_some() && theirs.is_some() && ours != theirs
        };
        let replicas = REPLICAS.to_owned();
        let by_another =
            exception.scales && differs(&&replicas) && self.is_scaled_by_another(reference, prepared);
        let own = exception.paths.iter().filter(differs);
        let left: Vec<String> = own.chain(by_another.then_some(&replicas)).cloned().collect();
        if left.is_empty() {
            return Ok(Some(Cow::Borrowed(item)));
        }
        for path in &left {
            remove(&mut object, path);
        }
        Ok(Some(Cow::Owned(ApplyItem { object: object.to_string(), ..item.clone() })))
    }

    /// Whether an autoscaler that is not of the release scales an object. Asked only where its replicas differ.
    fn is_scaled_by_another(&self, reference: &ObjectRef, prepared: &Prepared) -> bool {
        let key = (reference.namespace.clone(), reference.kind.kind.clone(), reference.name.clone());
        if prepared.scaled.borrow().contains(&key) {
            return true;
        }
        let scalers = Gvk::new("autoscaling", "v2", "HorizontalPodAutoscaler");
        let kube = self.kube().clone().live().only(["spec.scaleTargetRef"]);
        let namespace = reference.namespace.clone().unwrap_or_default();
        // Whoever may not look at autoscalers has none.
        let found = kube.list_ref::<Value>(scalers.clone(), namespace.as_str()).all().unwrap_or_default();
        let found = scaled(found.iter().map(|found| (&scalers, found)));
        let is_scaled = found.iter().any(|(kind, name)| *kind == key.1 && *name == key.2);
        if is_scaled {
            prepared.scaled.borrow_mut().insert(key);
        }
        is_scaled
    }
}

/// Whether an object says that nobody is to look after it.
fn opts_out(live: &Value) -> bool {
    let annotations = live.pointer("/metadata/annotations");
    OPT_OUT
        .iter()
        .any(|name| annotations.and_then(|all| all.get(name)).and_then(Value::as_str) == Some("disabled"))
}

/// Takes a field away. True: it was there.
fn remove(object: &mut Value, pointer: &str) -> bool {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return false };
    let last = last.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => fields.shift_remove(&last).is_some(),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(at) if at < items.len() => {
                items.remove(at);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_are_those_of_kubectl() {
        let labels = json!({"app": "web", "tier": "front"});
        for (selector, fits) in [
            ("", true),
            ("app=web", true),
            ("app==web, tier=front", true),
            ("app!=web", false),
            ("app in (api, web), tier", true),
            ("app notin (api, web)", false),
            ("!app", false),
            ("other", false),
            ("!other", true),
        ] {
            assert_eq!(selects(selector, Some(&labels)), fits, "{selector}");
        }
        assert!(!selects("a", None));
    }

    #[test]
    fn targets_fit_whole_names() {
        let reference = ObjectRef::new(Gvk::new("apps", "v1", "Deployment"), Some("shop"), "web-api");
        let fits = |target: Value| {
            serde_json::from_value::<Target>(target)
                .unwrap()
                .fits(&reference, &json!({"metadata": {"labels": {"a": "b"}}}))
        };
        assert!(fits(json!({})));
        assert!(fits(json!({"kind": "Deployment", "name": "web-.*"})));
        assert!(!fits(json!({"name": "web"})), "part of a name is not the name");
        assert!(!fits(json!({"namespace": "other"})));
        assert!(fits(json!({"labelSelector": "a=b"})));
        assert!(!fits(json!({"annotationSelector": "a"})));
    }

    #[test]
    fn fields_are_taken_away_by_their_pointers() {
        let mut object = json!({"a": {"b/c": 1, "d": [1, 2]}});
        assert!(remove(&mut object, "/a/b~1c"));
        assert!(remove(&mut object, "/a/d/0"));
        assert!(!remove(&mut object, "/a/d/7") && !remove(&mut object, "/x/y") && !remove(&mut object, ""));
        assert_eq!(object, json!({"a": {"d": [2]}}));
    }
}
