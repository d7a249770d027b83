//! What a client can ask of the in-memory API server.

use serde_json::{Value, json};

use super::{
    apply::{self, Merged},
    defaults,
    kinds::Kind,
    managers::Managers,
    object::{already_exists, bad_request, conflict, gvk_of, is_deleting, not_found, ref_of, section, text},
    patch::patched,
    schema_check,
    selector::{FieldSelector, LabelSelector},
    shape::{drop_nulls, project},
    store::{Key, Part, Store, Stored, Writer},
    validate,
};
use crate::{
    Applied, ApplyOptions, Change, Consistency, DeleteOptions, KubeError, ObjectRef, Page, Patch,
    Propagation, Query, ReadOptions, Taken,
};

/// Objects in a page when nobody says.
const PAGE: usize = 500;

/// What an apply came to, or would come to.
pub(super) struct Tried {
    change: Change,
    pub(super) stored: Stored,
    taken: Vec<Taken>,
}

impl Store {
    /// The object as it is answered; none when there is none.
    pub(super) fn get(&self, object: &ObjectRef, options: &ReadOptions) -> Result<Option<Value>, KubeError> {
        validate::scope(self.kinds.find(&object.kind)?, object.namespace.as_deref())?;
        let stored = self.find(object)?.filter(|_| self.is_seen(&Key::of(object), options));
        Ok(stored.map(|stored| project(Self::answer(stored, &object.kind), &options.fields)))
    }

    fn is_seen(&self, key: &Key, options: &ReadOptions) -> bool {
        options.consistency == Consistency::Live || !self.unseen.contains(key)
    }

    /// One page, in order of namespace and name; the next one starts behind the last object of this one.
    pub(super) fn list(&self, query: &Query, options: &ReadOptions) -> Result<Page, KubeError> {
        let kind = self.kinds.find(&query.kind)?;
        if !kind.namespaced && query.namespace.is_some() {
            validate::scope(kind, query.namespace.as_deref())?;
        }
        let labels = LabelSelector::parse(&query.label_selector)?;
        let fields = FieldSelector::parse(&query.field_selector, &query.kind.kind)?;
        let limit = if query.limit == 0 { PAGE } else { usize::try_from(query.limit).unwrap_or(PAGE) };
        let token = |key: &Key| format!("{}/{}", key.namespace.as_deref().unwrap_or_default(), key.name);
        let mut found = self.objects.iter().filter(|(key, stored)| {
            (&key.group, &key.kind) == (&query.kind.group, &query.kind.kind)
                && (query.namespace.is_none() || key.namespace == query.namespace)
                && labels.matches(&stored.object)
                && fields.matches(&stored.object)
                && query.from.as_ref().is_none_or(|from| token(key) > *from)
                && self.is_seen(key, options)
        });
        let mut page = Page { items: Vec::new(), next: None, resource_version: self.resource_version() };
        let mut last = None;
        for (key, stored) in found.by_ref().take(limit) {
            page.items.push(project(Self::answer(stored, &query.kind), &options.fields).to_string());
            last = Some(token(key));
        }
        page.next = last.filter(|_| found.next().is_some());
        Ok(page)
    }

    /// Creates an object and answers with it.
    pub(super) fn create(&mut self, mut object: Value, writer: &Writer) -> Result<Value, KubeError> {
        let kind = self.kinds.find(&gvk_of(&object))?.clone();
        if !text(&object, "/metadata/resourceVersion").is_empty() {
            return Err(bad_request("resourceVersion should not be set on objects to be created"));
        }
        let prefix = text(&object, "/metadata/generateName").to_owned();
        if text(&object, "/metadata/name").is_empty() && !prefix.is_empty() {
            let name = format!("{prefix}{:05}", self.changes.len() + 1);
            section(&mut object, "metadata").insert("name".to_owned(), name.into());
        }
        let (key, empty) = (self.admit_new(&kind, &mut object)?, json!({}));
        let mut managers = Managers::default();
        let api_version = kind.gvk.api_version();
        managers.update(&empty, &object, &Self::ownership(writer, Part::Main, &api_version, &kind));
        let stored = self.insert(&kind, key, object, managers, writer);
        Ok(Self::answer(&stored, &kind.gvk))
    }

    /// Checks a new object and makes it fit to be stored.
    fn admit_new(&self, kind: &Kind, object: &mut Value) -> Result<Key, KubeError> {
        let reference = ref_of(object);
        validate::scope(kind, reference.namespace.as_deref())?;
        validate::name(&kind.gvk.group, &kind.gvk.kind, &reference.name)?;
        validate::labels(object)?;
        if let Some(namespace) = &reference.namespace {
            self.check_namespace(kind, namespace)?;
        }
        let key = Key::of(&reference);
        if self.objects.contains_key(&key) {
            return Err(already_exists(&resource_name(kind), &reference.name));
        }
        if kind.status
            && let Some(members) = object.as_object_mut()
        {
            members.shift_remove("status");
        }
        let metadata = section(object, "metadata");
        for field in ["uid", "deletionTimestamp", "generation", "managedFields", "creationTimestamp"] {
            metadata.shift_remove(field);
        }
        drop_nulls(object, kind);
        defaults::always(object);
        schema_check::admit(object, kind.schema.as_ref())?;
        validate::size(object)?;
        Ok(key)
    }

    fn check_namespace(&self, kind: &Kind, name: &str) -> Result<(), KubeError> {
        let found = self
            .objects
            .iter()
            .find(|(key, _)| key.kind == "Namespace" && key.group.is_empty() && key.name == name);
        match found {
            None => Err(not_found("namespaces", name)),
            Some((_, stored)) if is_deleting(&stored.object) => Err(KubeError::Invalid(crate::ApiStatus {
                code: 403,
                reason: "Forbidden".to_owned(),
                message: format!(
                    "{} is forbidden: unable to create new content in namespace {name} because it is being terminated",
                    resource_name(kind)
                ),
            })),
            Some(_) => Ok(()),
        }
    }

    /// Replaces an object or its status; the resource version it names is the precondition.
    pub(super) fn replace(&mut self, object: Value, part: Part, writer: &Writer) -> Result<Value, KubeError> {
        let reference = ref_of(&object);
        let (kind, old) = self.existing(&reference)?;
        let version = text(&object, "/metadata/resourceVersion");
        if version.is_empty() {
            return Err(bad_request(
                "a replaced object must carry the metadata.resourceVersion it was read with",
            ));
        }
        if version != text(&old.object, "/metadata/resourceVersion") {
            return Err(moved(&kind, &reference.name));
        }
        self.commit(&kind, &old, object, part, writer)
    }

    /// Patches an object, its status or its scale.
    pub(super) fn patch(
        &mut self,
        object: &ObjectRef,
        patch: &Patch,
        writer: &Writer,
    ) -> Result<Value, KubeError> {
        let (kind, old) = self.existing(object)?;
        let part = Part::of(&patch.subresource).filter(|part| match part {
            Part::Main => true,
            Part::Status => kind.status,
            Part::Scale => kind.scale,
        });
        let Some(part) = part else {
            return Err(not_found(&format!("{}/{}", resource_name(&kind), patch.subresource), &object.name));
        };
        if part == Part::Scale {
            return self.patch_scale(&kind, &old, patch, writer);
        }
        let before = Self::answer(&old, &object.kind);
        let after = patched(&before, patch.format, &patch.body, kind.custom)?;
        let version = text(&after, "/metadata/resourceVersion");
        if !version.is_empty() && version != text(&before, "/metadata/resourceVersion") {
            return Err(moved(&kind, &object.name));
        }
        if ref_of(&after) != ref_of(&before) {
            return Err(bad_request("a patch cannot change what an object is called"));
        }
        self.commit(&kind, &old, after, part, writer)
    }

    pub(super) fn commit(
        &mut self,
        kind: &Kind,
        old: &Stored,
        mut after: Value,
        part: Part,
        writer: &Writer,
    ) -> Result<Value, KubeError> {
        drop_nulls(&mut after, kind);
        let api_version = text(&old.object, "/apiVersion").to_owned();
        section_api_version(&mut after, &api_version);
        let mut new = Stored { object: after, managers: old.managers.clone() };
        new.managers.update(
            &old.object,
            &new.object,
            &Self::ownership(writer, part, &kind.gvk.api_version(), kind),
        );
        let stored = self.update(kind, old, new, part, writer)?;
        Ok(Self::answer(&stored, &kind.gvk))
    }

    /// Server-side apply of one object.
    pub(super) fn apply(
        &mut self,
        config: Value,
        options: ApplyOptions,
        keep: &[String],
        writer: &Writer,
    ) -> Result<Applied, KubeError> {
        let ApplyOptions { force, dry_run, .. } = options;
        let kind = self.kinds.find(&gvk_of(&config))?.clone();
        let (key, said) = (Key::of(&ref_of(&config)), (writer.manager.clone(), config.clone()));
        if self.is_known(&config, options, writer)
            && let Some(known) = self.objects.get(&key)
        {
            return Ok(applied(Change::Unchanged, &known.object));
        }
        let Tried { change, stored, taken } = self.apply_or_try(config, force, dry_run, writer)?;
        if !dry_run {
            self.said.insert(key, said);
        }
        let mut applied = Applied { taken, ..applied(change, &stored.object) };
        // What is only rehearsed is not there.
        if options.strict && !(dry_run && change == Change::Created) {
            self.take_away(&kind, &stored, keep, dry_run, writer, &mut applied)?;
        }
        Ok(applied)
    }

    pub(super) fn apply_or_try(
        &mut self,
        mut config: Value,
        force: bool,
        dry_run: bool,
        writer: &Writer,
    ) -> Result<Tried, KubeError> {
        let kind = self.kinds.find(&gvk_of(&config))?.clone();
        drop_nulls(&mut config, &kind);
        if kind.status
            && let Some(members) = config.as_object_mut()
        {
            members.shift_remove("status");
        }
        let reference = ref_of(&config);
        validate::scope(&kind, reference.namespace.as_deref())?;
        let old = self.find(&reference)?.cloned();
        let api_version = kind.gvk.api_version();
        let who = Self::ownership(writer, Part::Main, &api_version, &kind);
        let live = old.clone().unwrap_or_else(|| Stored { object: json!({}), managers: Managers::default() });
        let Merged { object: mut merged, managers, taken } =
            apply::apply(&live.object, &live.managers, &config, &who, force)?;
        let (change, stored) = match old {
            None => {
                let key = self.admit_new(&kind, &mut merged)?;
                if dry_run {
                    let stored = Stored { object: merged, managers };
                    return Ok(Tried { change: Change::Created, stored, taken });
                }
                (Change::Created, self.insert(&kind, key, merged, managers, writer))
            }
            Some(old) => {
                section_api_version(&mut merged, text(&old.object, "/apiVersion"));
                let new = Stored { object: merged, managers };
                let new = match dry_run {
                    true => self.updated(&kind, &old, new, Part::Main)?,
                    false => self.update(&kind, &old, new, Part::Main, writer)?,
                };
                (if new == old { Change::Unchanged } else { Change::Configured }, new)
            }
        };
        Ok(Tried { change, stored, taken })
    }

    /// Asks for deletion. False: there was none.
    pub(super) fn delete(
        &mut self,
        object: &ObjectRef,
        options: &DeleteOptions,
        writer: &Writer,
    ) -> Result<bool, KubeError> {
        let kind = self.kinds.find(&object.kind)?.clone();
        validate::scope(&kind, object.namespace.as_deref())?;
        let Some(old) = self.find(object)?.cloned() else { return Ok(false) };
        let preconditions = [("uid", &options.uid), ("resourceVersion", &options.resource_version)];
        for (field, wanted) in preconditions {
            let found = text(&old.object, &format!("/metadata/{field}"));
            if wanted.as_ref().is_some_and(|wanted| wanted != found) {
                return Err(conflict(format!(
                    "Operation cannot be fulfilled on {} {:?}: the {field} in the precondition ({}) does not match the \
                     {field} in record ({found}). The object might have been deleted and then recreated",
                    resource_name(&kind),
                    object.name,
                    wanted.as_deref().unwrap_or_default()
                )));
            }
        }
        let finalizer = match options.propagation {
            Propagation::Background => None,
            Propagation::Foreground => Some("foregroundDeletion"),
            Propagation::Orphan => Some("orphan"),
        };
        self.mark_deleted(&kind, &old, finalizer, writer);
        Ok(true)
    }

    /// Sets the deletion time, or takes the object away at once when nothing holds it.
    pub(super) fn mark_deleted(
        &mut self,
        kind: &Kind,
        old: &Stored,
        finalizer: Option<&str>,
        writer: &Writer,
    ) {
        let key = Key::of(&ref_of(&old.object));
        let mut new = old.clone();
        let now = self.timestamp();
        let metadata = section(&mut new.object, "metadata");
        if let Some(finalizer) = finalizer {
            let list = metadata.entry("finalizers").or_insert_with(|| json!([]));
            if let Some(list) =
                list.as_array_mut().filter(|list| !list.iter().any(|known| known == finalizer))
            {
                list.push(finalizer.into());
            }
        }
        let held = kind.gvk.kind == "Namespace" && kind.gvk.group.is_empty();
        if !held && !super::store::has_finalizers(&new.object) {
            self.remove(&key, writer);
            return;
        }
        let metadata = section(&mut new.object, "metadata");
        if !metadata.contains_key("deletionTimestamp") {
            metadata.insert("deletionTimestamp".to_owned(), now.into());
            metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
            if let Some(generation) = metadata.get("generation").and_then(Value::as_u64) {
                metadata.insert("generation".to_owned(), (generation + 1).into());
            }
        }
        if held {
            section(&mut new.object, "status").insert("phase".to_owned(), "Terminating".into());
        }
        if new != *old {
            self.put(key, Some(old), new, writer);
        }
    }

    fn existing(&self, object: &ObjectRef) -> Result<(Kind, Stored), KubeError> {
        let kind = self.kinds.find(&object.kind)?.clone();
        validate::scope(&kind, object.namespace.as_deref())?;
        match self.find(object)?.cloned() {
            Some(stored) => Ok((kind, stored)),
            None => Err(not_found(&resource_name(&kind), &object.name)),
        }
    }
}

/// `deployments.apps`, as the API server names resources in its messages.
pub(super) fn resource_name(kind: &Kind) -> String {
    if kind.gvk.group.is_empty() {
        kind.plural.clone()
    } else {
        format!("{}.{}", kind.plural, kind.gvk.group)
    }
}

fn moved(kind: &Kind, name: &str) -> KubeError {
    conflict(format!(
        "Operation cannot be fulfilled on {} {name:?}: the object has been modified; please apply your changes to the \
         latest version and try again",
        resource_name(kind)
    ))
}

pub(super) fn applied(change: Change, object: &Value) -> Applied {
    Applied {
        change,
        uid: text(object, "/metadata/uid").to_owned(),
        resource_version: text(object, "/metadata/resourceVersion").to_owned(),
        generation: object.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or(0),
        taken: Vec::new(),
        left: None,
    }
}

fn section_api_version(object: &mut Value, api_version: &str) {
    if let Some(members) = object.as_object_mut() {
        members.insert("apiVersion".to_owned(), api_version.into());
    }
}
