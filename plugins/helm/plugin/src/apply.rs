//! The release's objects in the cluster: applied, pruned, deleted.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

use pilothouse_sdk::{
    Applied as ApplyAnswer, ApplyItem, ApplyOptions, Change, DeleteOptions, Error, Event, Gvk, Kube,
    KubeError, Level, ObjectRef, Propagation, Taken,
};

use crate::{
    call::Call,
    objects::{Key, Object},
    options::DriftMode,
    ownership::{self, Live, Looks},
};

/// What came of an attempt to bring objects about.
#[derive(Debug)]
pub(crate) enum Applied {
    /// All are as they should be; these had to be created or changed.
    Done(Vec<Changed>),
    /// A kind is not served yet.
    WaitingFor(Gvk),
    /// An object is replaced, and its old one is not gone yet.
    Replacing(ObjectRef),
    /// The cluster refuses one of them, and asking again would not help.
    Refused(String),
}

/// How the place of an object stands that is to be made anew.
enum Cleared {
    /// There is nothing any more.
    Gone,
    /// The old one takes its time.
    Going,
    /// It is not the release's.
    Foreign,
}

/// An object that had to be created or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) reference: ObjectRef,
    /// What of it was others', and is not any more.
    pub(crate) taken: Vec<Taken>,
}

/// So many objects are rehearsed before it is asked for the time.
const REHEARSED_TOGETHER: usize = 16;
/// Fields of one manager, or objects, that a sentence names.
const MOST_NAMED: usize = 3;

/// `apps/v1 Deployment shop/web (kubectl-edit: .spec.paused, .spec.replicas)`
impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reference)?;
        for (at, Taken { manager, fields }) in self.taken.iter().enumerate() {
            f.write_str(if at == 0 { " (" } else { "; " })?;
            let named = fields.get(..MOST_NAMED).unwrap_or(fields);
            write!(f, "{manager}: {}", named.join(", "))?;
            if fields.len() > named.len() {
                write!(f, " and {} more", fields.len() - named.len())?;
            }
        }
        f.write_str(if self.taken.is_empty() { "" } else { ")" })
    }
}

/// Objects with the items they are applied as.
pub(crate) struct Items<'a> {
    /// What they are.
    pub(crate) references: &'a [ObjectRef],
    /// The same in the same order, as they are applied.
    pub(crate) items: &'a [ApplyItem],
}

/// Whether the error is a refusal that asking again does not heal. A conflict is none: applies are forced, so what is left
/// is another writer who came in between.
pub(crate) fn is_refusal(error: &KubeError) -> bool {
    matches!(
        error,
        KubeError::Denied(_) | KubeError::Invalid(_) | KubeError::NotFound(_) | KubeError::AlreadyExists(_)
    )
}

impl Call<'_> {
    /// Applies all objects in their order, and stops at the first that fails. With `replace`, objects whose change is
    /// refused because a field is immutable are deleted and made anew (`upgrade-force`, `rollback-force`); whoever calls
    /// again when the old one is gone goes on there.
    ///
    /// # Errors
    /// Passing failures.
    pub(crate) fn apply(&self, all: &Items<'_>, replace: bool) -> Result<Applied, Error> {
        let mut changed = Vec::new();
        let (mut at, mut replaced) = (0, None);
        while let Some(items) = all.items.get(at..).filter(|items| !items.is_empty()) {
            let failed =
                self.apply_from(items, all.references.get(at..).unwrap_or_default(), &mut at, &mut changed);
            match failed {
                None => break,
                Some((error, reference))
                    if replace && replaced != Some(at) && is_replaceable(&error, reference) =>
                {
                    match self.clear(reference, &error)? {
                        Cleared::Foreign => return of_failure(error, reference),
                        Cleared::Going => return Ok(Applied::Replacing(reference.clone())),
                        // Once more from this one on.
                        Cleared::Gone => (replaced, at) = (Some(at), at - 1),
                    }
                }
                Some((error, reference)) => return of_failure(error, reference),
            }
        }
        Ok(Applied::Done(changed))
    }

    /// Applies all objects, also when some are refused: what stands in the way of one is no reason to leave the others as
    /// somebody changed them. A failure that passes ends it. Answers what had to be changed, and what failed.
    pub(crate) fn apply_each(&self, all: &Items<'_>) -> (Vec<Changed>, Option<Error>) {
        let (mut changed, mut refused, mut at) = (Vec::new(), Vec::new(), 0);
        while let Some(items) = all.items.get(at..).filter(|items| !items.is_empty()) {
            let before = at;
            let references = all.references.get(at..).unwrap_or_default();
            if let Some((error, reference)) = self.apply_from(items, references, &mut at, &mut changed) {
                refused.push(match error {
                    KubeError::UnknownKind(kind) => format!("the cluster does not serve {kind}"),
                    error if is_refusal(&error) => format!("{}: {error}", cannot_apply(reference)),
                    error => {
                        return (changed, Some(Error::from(error).context(cannot_apply(reference))));
                    }
                });
            }
            if at == before {
                break;
            }
        }
        (changed, refusals(refused))
    }

    /// Applies these in their order until one fails, counting in `at` those that were tried. Answers what failed.
    fn apply_from<'r>(
        &self,
        items: &[ApplyItem],
        references: &'r [ObjectRef],
        at: &mut usize,
        changed: &mut Vec<Changed>,
    ) -> Option<(KubeError, &'r ObjectRef)> {
        let strict = self.is_strict();
        let options = ApplyOptions { force: true, dry_run: false, stop_on_error: true, strict };
        for (answer, reference) in self.send(items, options).into_iter().zip(references) {
            *at += 1;
            self.tell_left(&answer, reference);
            match answer {
                Ok(applied) if applied.change == Change::Unchanged => {}
                Ok(applied) => changed.push(Changed { reference: reference.clone(), taken: applied.taken }),
                Err(error) => return Some((error, reference)),
            }
        }
        None
    }

    /// Tells what of others cannot be taken away.
    fn tell_left(&self, answer: &Result<ApplyAnswer, KubeError>, reference: &ObjectRef) {
        if let Ok(ApplyAnswer { left: Some(words), .. }) = answer {
            let message = format!("what others added to {reference} cannot be taken away: {words}");
            self.ctx().publish(&Event::warning("AdditionsStay", message));
        }
    }

    /// Whether what others added to objects of the release is taken away.
    pub(crate) fn is_strict(&self) -> bool {
        self.settings().release.drift_detection.mode == DriftMode::Strict
    }

    /// Deletes an object that is to be made anew, once.
    fn clear(&self, reference: &ObjectRef, refusal: &KubeError) -> Result<Cleared, Error> {
        let failed = |error: KubeError| Error::from(error).context(format_args!("replacing {reference}"));
        let look = || ownership::look(self.kube(), self.owner(), reference).map_err(failed);
        let Some(live) = look()? else { return Ok(Cleared::Gone) };
        if live.foreign.is_some() {
            return Ok(Cleared::Foreign);
        }
        if !live.is_going {
            let reason: &dyn fmt::Display = refusal;
            self.ctx().log(Level::Info, format_args!("replacing {reference}"), &[("reason", reason)]);
            let options = DeleteOptions { uid: Some(live.uid), ..DeleteOptions::default() };
            self.kube().delete_ref(reference, &options).map_err(failed)?;
        }
        Ok(look()?.map_or(Cleared::Gone, |_| Cleared::Going))
    }

    /// Tells whose fields became the release's own.
    pub(crate) fn tell_taken(&self, revision: u32, changed: &[Changed]) {
        let taken: Vec<&Changed> = changed.iter().filter(|changed| !changed.taken.is_empty()).collect();
        if !taken.is_empty() {
            let message = format!("revision {revision} took fields of others over: {}", listed(&taken));
            self.ctx().publish(&Event::normal("FieldsTakenOver", message));
        }
    }

    /// Asks the API server what it would say to these objects, changing nothing. What depends on other objects of the
    /// same release (a namespace, a kind) cannot be answered before those are there, and counts as accepted. Half of the call's
    /// time is spent on it at most: of the rest is found out when it is applied, and what is refused then is undone. Answers
    /// the kinds that the cluster does not serve.
    ///
    /// # Errors
    /// The first refusal, and passing failures.
    pub(crate) fn rehearse(&self, all: &Items<'_>, replace: bool) -> Result<Vec<Gvk>, Error> {
        let options = ApplyOptions { force: true, dry_run: true, ..ApplyOptions::default() };
        let defined = defined_kinds(all);
        let mut unknown = Vec::new();
        let batches = all.items.chunks(REHEARSED_TOGETHER).take_while(|_| !self.is_half_over());
        let answers = batches.flat_map(|items| self.send(items, options));
        for (answer, reference) in answers.zip(all.references) {
            match answer {
                Ok(_) | Err(KubeError::NotFound(_)) => {}
                Err(KubeError::UnknownKind(kind)) => unknown.push(kind),
                // Judged by a definition, or beside an object, that the release is about to change.
                Err(KubeError::Invalid(status))
                    if defined.contains(&(reference.kind.group.clone(), reference.kind.kind.clone()))
                        || status.message.contains("provided port is already allocated") => {}
                Err(error) if replace && is_replaceable(&error, reference) => {}
                Err(error) => return Err(Error::from(error).context(cannot_apply(reference))),
            }
        }
        Ok(unknown)
    }

    /// Deletes what only the origins of a revision have: not what its live annotation keeps, nor what is not the
    /// release's. The inner error is a refusal.
    ///
    /// # Errors
    /// Passing failures.
    pub(crate) fn prune(
        &self,
        origins: &[Object],
        wanted: &BTreeSet<Key>,
    ) -> Result<Result<(), String>, Error> {
        let gone: Vec<&Object> = origins.iter().filter(|object| !wanted.contains(&object.key())).collect();
        let mut looks = self.looks(gone.iter().map(|object| &object.reference));
        for object in gone {
            let live = looks.at(&object.reference);
            match live.and_then(|live| self.delete_seen(object, live, true, Propagation::default())) {
                Ok(_) => {}
                Err(error) if is_refusal(&error) => {
                    return Ok(Err(format!("failed to delete resource {object}: {error}")));
                }
                Err(error) => return Err(Error::from(error).context(format_args!("deleting {object}"))),
            }
        }
        Ok(Ok(()))
    }

    /// Deletes one object if it is the release's. True: there was something to delete.
    ///
    /// # Errors
    /// What the cluster says, but for an object that went away or was replaced meanwhile.
    pub(crate) fn delete(&self, object: &Object, respect_keep: bool) -> Result<bool, KubeError> {
        let live = ownership::look(self.kube(), self.owner(), &object.reference)?;
        self.delete_seen(object, live, respect_keep, Propagation::default())
    }

    /// The same for an object that was looked at, with a word for what it owns.
    ///
    /// # Errors
    /// What the cluster says, but for an object that went away or was replaced meanwhile.
    pub(crate) fn delete_seen(
        &self,
        object: &Object,
        live: Option<Live>,
        respect_keep: bool,
        propagation: Propagation,
    ) -> Result<bool, KubeError> {
        let Some(live) = live else { return Ok(false) };
        if let Some(reason) = &live.foreign {
            let fields: [(&str, &dyn fmt::Display); 1] = [("reason", reason)];
            self.ctx().log(Level::Warn, format_args!("not deleted: {object}"), &fields);
            return Ok(false);
        }
        if respect_keep && live.kept {
            return Ok(false);
        }
        // Asking again would move it once more, and wake who waits for it.
        if live.is_going {
            return Ok(true);
        }
        let options = DeleteOptions { uid: Some(live.uid), propagation, ..DeleteOptions::default() };
        match self.kube().delete_ref(&object.reference, &options) {
            Err(KubeError::NotFound(_) | KubeError::Conflict(_)) => Ok(false),
            answer => answer,
        }
    }

    /// Looks at objects, one after the other.
    pub(crate) fn looks<'o>(&self, objects: impl IntoIterator<Item = &'o ObjectRef>) -> Looks<'_> {
        Looks::new(self.kube(), self.owner(), objects)
    }

    /// Which of these are still there.
    ///
    /// # Errors
    /// What the cluster refuses.
    pub(crate) fn first_left<'o>(&self, objects: &[&'o Object]) -> Result<Option<&'o Object>, Error> {
        let mut looks = self.looks(objects.iter().map(|object| &object.reference));
        for object in objects {
            let live = looks.at(&object.reference);
            let live =
                live.map_err(|error| Error::from(error).context(format_args!("looking for {object}")))?;
            if live.is_some_and(|live| live.foreign.is_none()) {
                return Ok(Some(object));
            }
        }
        Ok(None)
    }
}

/// Objects for a sentence.
pub(crate) fn listed(objects: &[impl ToString]) -> String {
    objects.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// How the API server says that a field stays as it was created; each kind has its own words (`pkg/apis/*/validation`).
/// Rules of definitions mostly say `immutable`.
const IMMUTABLE: [&str; 6] = [
    "immutable",
    // StatefulSet, StorageClass
    "Forbidden: updates to",
    // Service
    "may not change once set",
    // RoleBinding, ClusterRoleBinding
    "cannot change roleRef",
    // Pod
    "updates may not change fields other than",
    // PriorityClass
    "may not be changed in an update",
];

/// What was refused, as one failure; none: nothing was.
fn refusals(mut refused: Vec<String>) -> Option<Error> {
    refused.dedup();
    let more = refused.len().saturating_sub(MOST_NAMED);
    refused.truncate(MOST_NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let message = format!("{}{more}", refused.join("; "));
    (!refused.is_empty()).then(|| Error::retry("ReconcileError", message))
}

/// Whether an object can be made anew where it cannot be changed. What holds data, or takes other objects along when
/// it goes, cannot.
pub(crate) fn is_replaceable(error: &KubeError, reference: &ObjectRef) -> bool {
    const NEVER: [&str; 4] =
        ["CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim"];
    let KubeError::Invalid(status) = error else { return false };
    let is_immutable = IMMUTABLE.iter().any(|words| status.message.contains(words));
    status.code == 422 && is_immutable && !NEVER.contains(&reference.kind.kind.as_str())
}

/// The kinds that definitions among the objects define.
pub(crate) fn defined_kinds(all: &Items<'_>) -> BTreeSet<(String, String)> {
    let definitions = all.references.iter().zip(all.items);
    let definitions = definitions.filter(|(reference, _)| reference.kind.kind == "CustomResourceDefinition");
    definitions.filter_map(|(_, item)| defined_kind(&serde_json::from_str(&item.object).ok()?)).collect()
}

/// Group and name of the kind that a definition defines.
pub(crate) fn defined_kind(definition: &Value) -> Option<(String, String)> {
    let text = |pointer| Some(definition.pointer(pointer)?.as_str()?.to_owned());
    Some((text("/spec/group")?, text("/spec/names/kind")?))
}

fn cannot_apply(reference: &ObjectRef) -> String {
    let namespace = reference.namespace.as_deref().unwrap_or_default();
    format!("cannot apply {} {:?} in namespace {namespace:?}", reference.kind.kind, reference.name)
}

fn of_failure(error: KubeError, reference: &ObjectRef) -> Result<Applied, Error> {
    match error {
        KubeError::UnknownKind(kind) => Ok(Applied::WaitingFor(kind)),
        error if is_refusal(&error) => Ok(Applied::Refused(format!("{}: {error}", cannot_apply(reference)))),
        error => Err(Error::from(error).context(cannot_apply(reference))),
    }
}

/// Whether the plugin may do what an upgrade will need beside applying: create its hooks, delete what goes.
pub(crate) fn require(kube: &Kube, verb: &str, reference: &ObjectRef) -> Result<(), Error> {
    match kube.allowed(verb, &reference.kind, reference.namespace.as_deref(), None) {
        Ok(true) | Err(KubeError::UnknownKind(_)) => Ok(()),
        Ok(false) => {
            let namespace = reference.namespace.as_deref();
            let place =
                namespace.map_or("at cluster scope".to_owned(), |name| format!("in namespace {name}"));
            let message = format!("the plugin's account may not {verb} {} {place}", reference.kind);
            Err(Error::retry("Forbidden", message))
        }
        Err(error) => Err(Error::from(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_object_is_told_with_those_who_had_its_fields() {
        let reference = ObjectRef::new(Gvk::new("apps", "v1", "Deployment"), "shop", "web");
        let taken = |manager: &str, fields: &[&str]| Taken {
            manager: manager.to_owned(),
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        };
        let told = |taken| Changed { reference: reference.clone(), taken }.to_string();
        assert_eq!(told(vec![]), "apps/v1 Deployment shop/web");
        assert_eq!(
            told(vec![taken("kubectl", &[".a"]), taken("vim", &[".a", ".b", ".c", ".d", ".e"])]),
            "apps/v1 Deployment shop/web (kubectl: .a; vim: .a, .b, .c and 2 more)"
        );
    }
}
