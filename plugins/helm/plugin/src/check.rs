//! What can be known to go wrong with a revision before anything of it is stored.

use std::collections::BTreeSet;

use helm_release::{Hook, Status};
use pilothouse_sdk::{Error, Gvk, ObjectRef};

use crate::{
    apply::{self, Items},
    change::Plan,
    objects::{self, Object},
    operations::Definitions,
    ownership,
    reconcile::Reconciliation,
};

/// What a look at the cluster found before anything is stored.
pub(crate) struct Checked {
    /// Objects that are new to the release and exist already.
    pub(crate) found: BTreeSet<String>,
    /// Kinds that the cluster does not serve.
    pub(crate) unknown: Vec<Gvk>,
}

impl Reconciliation<'_> {
    /// The first of these kinds that the release does not bring itself, by its templates or its `crds/`.
    pub(crate) fn first_missing(
        &self,
        plan: &Plan,
        unknown: &[Gvk],
        policy: Definitions,
    ) -> Result<Option<Gvk>, Error> {
        if unknown.is_empty() {
            return Ok(None);
        }
        let mut objects = self.call.objects(plan.candidate.manifest())?;
        if policy != Definitions::Skip {
            objects.extend(self.definitions()?);
        }
        let definitions =
            objects.iter().filter(|object| object.reference.kind.kind == "CustomResourceDefinition");
        let defined: BTreeSet<_> =
            definitions.filter_map(|object| apply::defined_kind(&object.value)).collect();
        let is_defined = |kind: &Gvk| defined.contains(&(kind.group.clone(), kind.kind.clone()));
        Ok(unknown.iter().find(|kind| !is_defined(kind)).cloned())
    }

    /// Everything that can be known to go wrong, before anything is stored.
    pub(crate) fn check(&self, plan: &Plan, action: &str) -> Result<Checked, Error> {
        let call = self.call;
        let wanted = call.objects(plan.candidate.manifest())?;
        let mut origins: Vec<Object> = Vec::new();
        for entry in self.history.origins(plan.revision) {
            origins.extend(call.origin_objects(entry)?);
        }
        let known = objects::keys(&origins);
        let new: Vec<&Object> = wanted.iter().filter(|object| !known.contains(&object.key())).collect();
        // What an earlier attempt found is not this one's either.
        let mut found: BTreeSet<String> = match plan.status {
            Status::PendingInstall => {
                let origins = self.history.origins(plan.revision).into_iter();
                origins.flat_map(|entry| entry.marks.found.iter().cloned()).collect()
            }
            _ => BTreeSet::new(),
        };
        let there = ownership::check(call.kube(), call.owner(), &new, action)?;
        let absent = new.iter().filter(|object| !there.contains(&object.to_string()));
        call.not_there(absent.map(|object| object.reference.clone()));
        found.extend(there);
        // The first attempt to install into nothing needs no rehearsal: when it fails, it is taken away again.
        if plan.status == Status::PendingInstall && plan.attempt == 1 && found.is_empty() {
            return Ok(Checked { found, unknown: Vec::new() });
        }
        let keys = objects::keys(&wanted);
        // The same right is asked for once.
        let mut places = BTreeSet::new();
        for gone in origins.iter().filter(|object| !keys.contains(&object.key())) {
            if places.insert((&gone.reference.kind, &gone.reference.namespace)) {
                apply::require(call.kube(), "delete", &gone.reference)?;
            }
        }
        let events = if plan.status == Status::PendingInstall {
            ["pre-install", "post-install"]
        } else {
            ["pre-upgrade", "post-upgrade"]
        };
        let runs = |hook: &&Hook| hook.events.iter().any(|event| events.contains(&event.as_str()));
        for hook in plan.candidate.hooks().iter().filter(runs) {
            for object in call.hook_objects(hook)? {
                apply::require(call.kube(), "create", &object.reference)?;
            }
        }
        let references: Vec<ObjectRef> = wanted.iter().map(|object| object.reference.clone()).collect();
        let items = call.items(wanted, self.chart.name());
        let all = Items { references: &references, items: &items };
        let unknown = call.rehearse(&all, call.annotations().upgrade_force)?;
        Ok(Checked { found, unknown })
    }
}
