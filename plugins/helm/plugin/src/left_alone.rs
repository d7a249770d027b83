//! Differences that are left alone: what a rule names, what says so itself, and the replicas of what an autoscaler owns.
//!
//! Where the cluster has another value for such a field, that value is applied: nothing changes by that. A field that is
//! simply left out would be taken away, since it may still be ours: it also differs where the API server spells it otherwise,
//! or where nobody but a new revision of the chart has changed it.

use std::borrow::Cow;

use helm_post_render::LabelSelector;
use pilothouse_sdk::{ApplyItem, ApplyOptions, Gvk, KubeError, ObjectRef, Taken};
use serde_json::Value;

use crate::{
    apply::is_refusal,
    call::Call,
    live_values, objects,
    options::{IgnoreRule, Target},
    releases::Prepared,
};

/// Says of an object that nobody is to look after it; Flux's annotation means the same.
const OPT_OUT: [&str; 2] = ["helm.pilothouse.dev/driftDetection", "helm.toolkit.fluxcd.io/driftDetection"];
const REPLICAS: &str = "/spec/replicas";
/// Field managers that set replicas of what they do not own: the controller of HorizontalPodAutoscalers, and KEDA, which
/// goes from zero and to it by itself.
const AUTOSCALERS: [&str; 3] = ["kube-controller-manager", "keda", "keda-operator"];

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
    /// Whether Kubernetes takes it away when it has come to its end: that it is not there does not say that it was not. A new
    /// revision makes it anew.
    pub(crate) expires: bool,
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
        let is_job = reference.kind.group == "batch" && reference.kind.kind == "Job";
        let expires = is_job && object.pointer("/spec/ttlSecondsAfterFinished").is_some_and(Value::is_number);
        (whole || scales || expires || !paths.is_empty()).then_some(Self { paths, whole, scales, expires })
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

/// Whether a selector as kubectl writes it fits a table. One that is none was refused before.
fn selects(selector: &str, table: Option<&Value>) -> bool {
    LabelSelector::parse(selector).is_ok_and(|selector| selector.matches(table))
}

/// A regular expression that has to fit all of a name. One that is none fits what is spelt like it.
fn whole_match(pattern: &str, name: &str) -> bool {
    match regex::Regex::new(&format!("^(?:{pattern})$")) {
        Ok(pattern) => pattern.is_match(name),
        Err(_) => pattern == name,
    }
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
            // Nobody can have set anything of it.
            Some(_) if purpose == Purpose::Operation && self.is_absent(reference) => {
                Ok(Some(Cow::Borrowed(item)))
            }
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
        let Some(live) = live else {
            let is_over = exception.expires && purpose != Purpose::Operation;
            return Ok((!is_over).then_some(Cow::Borrowed(item)));
        };
        if purpose != Purpose::Operation && (exception.whole || opts_out(&live)) {
            return Ok(None);
        }
        let Ok(mut object) = serde_json::from_str::<Value>(&item.object) else {
            return Ok(Some(Cow::Borrowed(item)));
        };
        let rescaled = live.pointer(REPLICAS).is_some_and(|live| object.pointer(REPLICAS) != Some(live));
        let by_another = exception.scales
            && rescaled
            && !exception.paths.iter().any(|path| path == REPLICAS)
            && self.is_scaled_by_another(reference, item, prepared)?;
        let chart = object.clone();
        let paths = exception.paths.iter().map(String::as_str).chain(by_another.then_some(REPLICAS));
        let nothing = Value::Null;
        let before = match &prepared.before {
            None => &chart,
            Some(before) => before.get(&objects::key(reference)).unwrap_or(&nothing),
        };
        live_values::keep(&mut object, &live, before, paths);
        if object == chart {
            return Ok(Some(Cow::Borrowed(item)));
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
    ///
    /// # Errors
    /// Passing failures: nobody knows, and nothing may be done on a guess.
    fn is_scaled_by_another(
        &self,
        reference: &ObjectRef,
        item: &ApplyItem,
        prepared: &Prepared,
    ) -> Result<bool, KubeError> {
        let key = (reference.namespace.clone(), reference.kind.kind.clone(), reference.name.clone());
        if prepared.scaled.borrow().contains(&key) {
            return Ok(true);
        }
        let scalers = Gvk::new("autoscaling", "v2", "HorizontalPodAutoscaler");
        let kube = self.kube().clone().live().only(["spec.scaleTargetRef"]);
        let namespace = reference.namespace.clone().unwrap_or_default();
        let is_scaled = match kube.list_ref::<Value>(scalers.clone(), namespace.as_str()).all() {
            Ok(found) => {
                let found = scaled(found.iter().map(|found| (&scalers, found)));
                found.iter().any(|(kind, name)| *kind == key.1 && *name == key.2)
            }
            Err(KubeError::Denied(_)) => self.is_written_by_autoscaler(item)?,
            Err(error) if is_refusal(&error) || matches!(error, KubeError::UnknownKind(_)) => false,
            Err(error) => return Err(error),
        };
        if is_scaled {
            prepared.scaled.borrow_mut().insert(key);
        }
        Ok(is_scaled)
    }

    /// Whether the replicas of an object were written by an autoscaler, for who may not look at those.
    fn is_written_by_autoscaler(&self, item: &ApplyItem) -> Result<bool, KubeError> {
        let options = ApplyOptions { force: true, dry_run: true, ..ApplyOptions::default() };
        let Some(answer) = self.send(std::slice::from_ref(item), options).pop() else {
            return Ok(false);
        };
        let is_autoscaler = |taken: &Taken| {
            AUTOSCALERS.contains(&taken.manager.as_str())
                && taken.fields.iter().any(|field| field == ".spec.replicas")
        };
        match answer {
            Ok(applied) => Ok(applied.taken.iter().any(is_autoscaler)),
            // The apply itself tells what is wrong with it.
            Err(error) if is_refusal(&error) => Ok(false),
            Err(error) => Err(error),
        }
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
