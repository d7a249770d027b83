//! Differences that are left alone: what a rule names, what says so itself, and the replicas of what an autoscaler owns.
//!
//! Where the cluster has another value for such a field, that value is applied: nothing changes by that. A field that is
//! simply left out would be taken away, since it may still be ours: it also differs where the API server spells it otherwise,
//! or where nobody but a new revision of the chart has changed it.

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

/// What stays of an object whoever added it: what a rule names, and how it says that nobody is to look after it.
pub(crate) fn kept(exception: Option<&Exception>) -> impl Iterator<Item = String> {
    let opt_out = OPT_OUT.map(|name| format!("/metadata/annotations/{}", name.replace('/', "~1")));
    exception.map(|exception| exception.paths.clone()).into_iter().flatten().chain(opt_out)
}

/// What objects are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To see whether they are as they would be applied.
    Look,
    /// To change back what somebody changed.
    Repair,
    /// To bring a revision about: then an object that nobody is to look after is changed all the same.
    Operation,
}

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
        purpose: Purpose,
    ) -> Result<(Vec<ObjectRef>, Vec<ApplyItem>), KubeError> {
        let mut now = (Vec::new(), Vec::new());
        for (at, reference) in prepared.references.iter().enumerate() {
            if let Some(item) = self.item_now(prepared, at, purpose)? {
                now.0.push(reference.clone());
                now.1.push(item.into_owned());
            }
        }
        Ok(now)
    }

    /// One of them; none: nothing is to be applied of it.
    pub(crate) fn item_now<'p>(
        &self,
        prepared: &'p Prepared,
        at: usize,
        purpose: Purpose,
    ) -> Result<Option<Cow<'p, ApplyItem>>, KubeError> {
        let (Some(reference), Some(item)) = (prepared.references.get(at), prepared.items.get(at)) else {
            return Ok(None);
        };
        match prepared.exceptions.get(&at) {
            None if purpose == Purpose::Repair && self.is_opted_out(reference) => Ok(None),
            None => Ok(Some(Cow::Borrowed(item))),
            Some(exception) => self.with_live_values(exception, (reference, item), prepared, purpose),
        }
    }

    /// An item with the present values of what is left alone of it; none: there is nothing else.
    fn with_live_values<'p>(
        &self,
        exception: &Exception,
        (reference, item): (&ObjectRef, &'p ApplyItem),
        prepared: &Prepared,
        purpose: Purpose,
    ) -> Result<Option<Cow<'p, ApplyItem>>, KubeError> {
        let kube = match purpose {
            Purpose::Look => self.kube().clone(),
            // Caches may be a moment behind an autoscaler.
            Purpose::Repair | Purpose::Operation => self.kube().clone().live(),
        };
        let live: Option<Value> = match kube.get_ref(reference) {
            Err(KubeError::UnknownKind(_) | KubeError::NotFound(_)) => None,
            answer => answer?,
        };
        // What is not there is made as the chart has it.
        let Some(live) = live else { return Ok(Some(Cow::Borrowed(item))) };
        if purpose != Purpose::Operation && (exception.whole || opts_out(&live)) {
            return Ok(None);
        }
        let Ok(mut object) = serde_json::from_str::<Value>(&item.object) else {
            return Ok(Some(Cow::Borrowed(item)));
        };
        let differs = |path: &&String| match (object.pointer(path), live.pointer(path)) {
            (Some(ours), Some(theirs)) => ours != theirs,
            _ => false,
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
            if let (Some(ours), Some(theirs)) = (object.pointer_mut(path), live.pointer(path)) {
                ours.clone_from(theirs);
            }
        }
        // To say the same of somebody else's field once more would be a write for nothing, unless there is more to see.
        if purpose != Purpose::Operation && !self.is_strict() && holds(&live, &object) {
            return Ok(None);
        }
        Ok(Some(Cow::Owned(ApplyItem { object: object.to_string(), ..item.clone() })))
    }

    /// Whether an object says that nobody is to look after it, as far as is known.
    pub(crate) fn is_opted_out(&self, reference: &ObjectRef) -> bool {
        let kube = self.kube().clone().only(["metadata.annotations"]);
        kube.get_ref::<Value>(reference).ok().flatten().is_some_and(|live| opts_out(&live))
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

/// Whether everything that is wanted is there as it is wanted.
fn holds(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| live.get(name).is_some_and(|live| holds(live, wanted)))
        }
        (Value::Array(live), Value::Array(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| holds(live, wanted))
        }
        (live, wanted) => live == wanted,
    }
}

/// Whether an object says that nobody is to look after it.
fn opts_out(live: &Value) -> bool {
    let annotations = live.pointer("/metadata/annotations");
    OPT_OUT
        .iter()
        .any(|name| annotations.and_then(|all| all.get(name)).and_then(Value::as_str) == Some("disabled"))
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
}
