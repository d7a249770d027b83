//! The objects of a release as they are and as they would be.

use std::collections::BTreeSet;

use pilothouse_sdk::{ApplyItem, Error, KubeError, ObjectRef, Ownership};
use serde_json::Value;

use super::change::{Change, ObjectChange, differing};
use super::masked::without_bookkeeping;
use super::wanted::{Action, Wanted};
use crate::{
    apply::{self, Items},
    call::Call,
    left_alone::Purpose,
    objects::{self, Key, Object},
    operations::Definitions,
    ownership,
    reconcile::Reconciliation,
    releases::Prepared,
    undeclared::undeclared,
};

/// What would become of which object; those that stay as they are are left out.
///
/// # Errors
/// What the cluster refuses of all of them.
pub(super) fn changes(
    reconciliation: &Reconciliation<'_>,
    wanted: &Wanted,
) -> Result<Vec<ObjectChange>, Error> {
    let call = reconciliation.call;
    let Some(stored) = wanted.stored() else { return Ok(Vec::new()) };
    let mut changes = definitions(reconciliation, wanted.action)?;
    let prepared = call.prepare(stored)?;
    let before = match (&wanted.deployed, &wanted.candidate) {
        (Some(deployed), Some(_)) => Some(call.prepare(deployed)?),
        _ => None,
    };
    let mut origins: Vec<Object> = Vec::new();
    if wanted.candidate.is_some() {
        for entry in reconciliation.history.origins(reconciliation.history.next()) {
            origins.extend(call.origin_objects(entry)?);
        }
    }
    let known = objects::keys(&origins);
    let prepared = match (reconciliation.history.good(), &wanted.candidate) {
        (Some(good), Some(_)) => prepared.in_place_of(call.origin_objects(good)?),
        _ => prepared,
    };
    let purpose = if wanted.candidate.is_some() { Purpose::Operation } else { Purpose::Repair };
    let (references, items) = call.items_now(&prepared, purpose)?;
    let all = Items { references: &references, items: &items };
    let look = Look { call, before, defined: apply::defined_kinds(&all), known, wanted };
    let previews = call.kube().preview::<Value>(&items, call.is_strict());
    for ((reference, item), preview) in references.iter().zip(&items).zip(previews) {
        changes.extend(look.at(reference, item, preview)?);
    }
    let keys: BTreeSet<Key> = prepared.references.iter().map(objects::key).collect();
    let mut gone = BTreeSet::new();
    for object in origins.iter().filter(|object| !keys.contains(&object.key())) {
        if gone.insert(object.key()) {
            changes.extend(look.leaving(object)?);
        }
    }
    Ok(changes)
}

struct Look<'l, 'c> {
    call: &'l Call<'c>,
    /// The deployed revision, where a new one would take its place.
    before: Option<Prepared>,
    /// Kinds that the release itself defines.
    defined: BTreeSet<(String, String)>,
    /// What the release has, or may have, in the cluster.
    known: BTreeSet<Key>,
    wanted: &'l Wanted,
}

impl Look<'_, '_> {
    /// What would become of an object; none: it stays as it is.
    fn at(
        &self,
        reference: &ObjectRef,
        item: &ApplyItem,
        preview: Result<Value, KubeError>,
    ) -> Result<Option<ObjectChange>, Error> {
        let live = self.live(reference)?;
        let foreign = live
            .as_ref()
            .filter(|_| self.wanted.candidate.is_some() && !self.known.contains(&objects::key(reference)))
            .and_then(|live| ownership::foreign(live, &self.call.owner().name, &self.call.owner().namespace));
        let live = live.map(without_bookkeeping);
        if let Some(why) = foreign {
            let change = ObjectChange::new(Change::Refused, reference, live.clone(), live);
            return Ok(Some(
                change.noted(format!("it exists and cannot be imported into the release: {why}")),
            ));
        }
        // A definition that comes along may know them.
        let (preview, unknown) = if undeclared(&preview).is_some() && !self.is_defined(reference) {
            self.call.preview_known(item)
        } else {
            (preview, None)
        };
        let after = match preview {
            Ok(after) => without_bookkeeping(after),
            Err(error) => return Ok(self.not_previewed(reference, item, live, &error)),
        };
        if live.as_ref() == Some(&after) {
            return Ok(None);
        }
        let drift = live.as_ref().map_or_else(Vec::new, |live| self.drift(reference, live));
        let change = if live.is_some() { Change::Changed } else { Change::Added };
        let change = ObjectChange::new(change, reference, live, Some(after)).drifted(drift);
        Ok(Some(match unknown {
            Some(fields) => change.noted(format!("without what the cluster does not know: {fields}")),
            None => change,
        }))
    }

    /// Whether the release itself defines the kind of an object.
    fn is_defined(&self, reference: &ObjectRef) -> bool {
        self.defined.contains(&(reference.kind.group.clone(), reference.kind.kind.clone()))
    }

    fn live(&self, reference: &ObjectRef) -> Result<Option<Value>, Error> {
        match self.call.kube().clone().live().get_ref(reference) {
            Err(KubeError::UnknownKind(_) | KubeError::NotFound(_)) => Ok(None),
            answer => answer.map_err(|error| Error::from(error).context(reference)),
        }
    }

    /// Which fields somebody else has changed: what applying the deployed revision once more would change.
    fn drift(&self, reference: &ObjectRef, live: &Value) -> Vec<String> {
        let key = objects::key(reference);
        let repaired = self.before.as_ref().and_then(|before| {
            let at = before.references.iter().position(|known| objects::key(known) == key)?;
            let item = self.call.item_now(before, at, Purpose::Operation).ok()??;
            self.call.preview_known(&item).0.ok()
        });
        repaired.map_or_else(Vec::new, |repaired| differing(live, &without_bookkeeping(repaired)))
    }

    /// Where the API server has no answer, what is recorded is compared with what would be applied.
    fn not_previewed(
        &self,
        reference: &ObjectRef,
        item: &ApplyItem,
        live: Option<Value>,
        error: &KubeError,
    ) -> Option<ObjectChange> {
        let applied: Value = serde_json::from_str(&item.object).unwrap_or_default();
        let replaces = self.wanted.action == Action::Upgrade && self.call.annotations().upgrade_force;
        match error {
            KubeError::Denied(denial) => {
                let before = self.recorded(reference).or(live);
                if before.as_ref() == Some(&applied) {
                    return None;
                }
                let change = if before.is_some() { Change::Changed } else { Change::Added };
                let why = &denial.message;
                let note = format!("not asked of the API server, compared with the record: {why}");
                Some(ObjectChange::new(change, reference, before, Some(applied)).noted(note))
            }
            error if replaces && apply::is_replaceable(error, reference) => {
                let note = format!("it cannot be changed: {error}");
                Some(ObjectChange::new(Change::Replaced, reference, live, Some(applied)).noted(note))
            }
            KubeError::UnknownKind(_) | KubeError::NotFound(_) => {
                let note = format!("not asked of the API server, as the chart has it: {error}");
                Some(ObjectChange::new(Change::Added, reference, None, Some(applied)).noted(note))
            }
            KubeError::Invalid(_) if self.is_defined(reference) => {
                let change = if live.is_some() { Change::Changed } else { Change::Added };
                let note = "not asked of the API server: the release changes the definition of its kind";
                Some(ObjectChange::new(change, reference, live, Some(applied)).noted(note))
            }
            error => {
                let change = ObjectChange::new(Change::Refused, reference, live, Some(applied));
                Some(change.noted(error.to_string()))
            }
        }
    }

    /// The object as the deployed revision applies it.
    fn recorded(&self, reference: &ObjectRef) -> Option<Value> {
        let (before, key) = (self.before.as_ref()?, objects::key(reference));
        let at = before.references.iter().position(|known| objects::key(known) == key)?;
        serde_json::from_str(&before.items.get(at)?.object).ok()
    }

    /// What becomes of an object that the release would not have any more; none: it is not there, or somebody else's.
    fn leaving(&self, object: &Object) -> Result<Option<ObjectChange>, Error> {
        let Some(live) = self.live(&object.reference)? else { return Ok(None) };
        let owner = self.call.owner();
        if ownership::foreign(&live, &owner.name, &owner.namespace).is_some() {
            return Ok(None);
        }
        let policy = live.pointer("/metadata/annotations/helm.sh~1resource-policy").and_then(Value::as_str);
        let is_kept = policy == Some("keep");
        let live = Some(without_bookkeeping(live));
        let change = |change, after| ObjectChange::new(change, &object.reference, live.clone(), after);
        Ok(Some(if is_kept {
            change(Change::Kept, live.clone()).noted("its annotation helm.sh/resource-policy keeps it")
        } else {
            change(Change::Deleted, None)
        }))
    }
}

/// The definitions in the chart's `crds/` that would be brought.
fn definitions(reconciliation: &Reconciliation<'_>, action: Action) -> Result<Vec<ObjectChange>, Error> {
    let (call, release) = (reconciliation.call, &reconciliation.call.settings().release);
    let policy = match action {
        Action::Install => release.install.crds.unwrap_or(Definitions::Create),
        Action::Upgrade => release.upgrade.crds.unwrap_or(Definitions::Skip),
        Action::Keep => Definitions::Skip,
    };
    let mut changes = Vec::new();
    if policy == Definitions::Skip {
        return Ok(changes);
    }
    let chart = reconciliation.chart.parsed.with_dependencies(&reconciliation.values);
    let chart = chart.map_err(|error| Error::permanent("RenderError", error.to_string()))?;
    for crd in chart.crds() {
        for object in call.objects(&String::from_utf8_lossy(&crd.file.data))? {
            let reference = object.reference.clone();
            let live: Option<Value> = call.kube().clone().live().get_ref(&reference)?;
            if live.is_some() && policy == Definitions::Create {
                continue;
            }
            let definition = call.owner().definition(object, reconciliation.chart.name());
            let item = ApplyItem::json(definition.to_string()).ownership(Ownership::None);
            let after = call.kube().preview::<Value>(&[item], false).pop();
            let after = without_bookkeeping(after.and_then(Result::ok).unwrap_or(definition));
            let live = live.map(without_bookkeeping);
            let change = if live.is_some() { Change::Changed } else { Change::Added };
            if live.as_ref() != Some(&after) {
                let change = ObjectChange::new(change, &reference, live, Some(after));
                changes.push(change.noted(format!("of the chart's {}", crd.path)));
            }
        }
    }
    Ok(changes)
}
