//! The objects of the in-memory cluster, and the one place that changes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use super::{
    defaults, frozen,
    kinds::{Kind, Kinds},
    managers::{Managers, Update},
    object::{is_deleting, ref_of, section, text},
    schema_check, validate,
};
use crate::{Gvk, KubeError, ObjectRef};

/// Where an object is kept: its versions are one object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl Key {
    pub(super) fn of(object: &ObjectRef) -> Self {
        let ObjectRef { kind, namespace, name } = object.clone();
        Self { group: kind.group, kind: kind.kind, namespace, name }
    }
}

/// An object, and who owns its fields.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stored {
    pub(super) object: Value,
    pub(super) managers: Managers,
}

/// Something that happened to an object.
#[derive(Debug, Clone)]
pub(super) struct WatchEvent {
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
    /// The object whose hook did it, if a hook did.
    pub(super) cause: Option<ObjectRef>,
}

/// On whose behalf something is written.
#[derive(Debug, Clone, Default)]
pub(super) struct Writer {
    /// Its field manager.
    pub(super) manager: String,
    /// The object whose hook is running.
    pub(super) cause: Option<ObjectRef>,
}

/// What a write may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The object without its status, where that is a subresource.
    Main,
    /// The status alone.
    Status,
    /// The number of replicas, as the subresource `scale`.
    Scale,
}

impl Part {
    /// The part behind a subresource's name.
    pub(super) fn of(subresource: &str) -> Option<Self> {
        match subresource {
            "" => Some(Self::Main),
            "status" => Some(Self::Status),
            "scale" => Some(Self::Scale),
            _ => None,
        }
    }

    pub(super) fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Scale => "scale",
        }
    }
}

/// All objects, the served kinds and the clock.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) kinds: Kinds,
    pub(super) objects: BTreeMap<Key, Stored>,
    pub(super) changes: Vec<WatchEvent>,
    pub(super) now: SystemTime,
    /// What the last apply of an object said and under whose name, as the host remembers it: what is the same, and still holds, is
    /// not said again.
    pub(super) said: BTreeMap<Key, (String, Value)>,
    /// What caches do not have yet.
    pub(super) unseen: BTreeSet<Key>,
    version: u64,
    created: u64,
}

impl Store {
    /// A cluster with the built-in kinds and the namespaces every cluster has, at the start of 2026.
    pub(super) fn new() -> Self {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let (kinds, objects) = (Kinds::built_in(), BTreeMap::new());
        let mut store = Self {
            kinds,
            objects,
            changes: Vec::new(),
            now,
            said: BTreeMap::new(),
            unseen: BTreeSet::new(),
            version: 0,
            created: 0,
        };
        for name in ["default", "kube-system"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let reference = ref_of(&namespace);
            let kind = store.kinds.find(&reference.kind).cloned();
            if let Ok(kind) = kind {
                store.insert(&kind, Key::of(&reference), namespace, Managers::default(), &Writer::default());
            }
        }
        store
    }

    /// Virtual time as objects write it.
    pub(super) fn timestamp(&self) -> String {
        let now = self.now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(now.as_secs()).unwrap_or_default();
        jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
    }

    pub(super) fn resource_version(&self) -> String {
        self.version.to_string()
    }

    /// The stored object behind a reference.
    pub(super) fn find(&self, object: &ObjectRef) -> Result<Option<&Stored>, KubeError> {
        self.kinds.find(&object.kind)?;
        Ok(self.objects.get(&Key::of(object)))
    }

    /// An object as it is answered in a version.
    pub(super) fn answer(stored: &Stored, gvk: &Gvk) -> Value {
        let mut object = stored.object.clone();
        if let Some(members) = object.as_object_mut() {
            members.insert("apiVersion".to_owned(), gvk.api_version().into());
        }
        object
    }

    /// Puts a new object in its place. The name is given and free.
    pub(super) fn insert(
        &mut self,
        kind: &Kind,
        key: Key,
        mut object: Value,
        managers: Managers,
        writer: &Writer,
    ) -> Stored {
        self.created += 1;
        let (uid, now) = (format!("00000000-0000-4000-8000-{:012x}", self.created), self.timestamp());
        let metadata = section(&mut object, "metadata");
        metadata.insert("uid".to_owned(), uid.into());
        metadata.insert("creationTimestamp".to_owned(), now.into());
        if kind.generation {
            metadata.insert("generation".to_owned(), 1.into());
        }
        defaults::on_create(&mut object, self.created);
        self.put(key, None, Stored { object, managers }, writer)
    }

    /// A changed object as the API server would store it: only `part` moves, the server's fields stay, and the
    /// generation counts changes of the specification.
    pub(super) fn updated(
        &self,
        kind: &Kind,
        old: &Stored,
        new: Stored,
        part: Part,
    ) -> Result<Stored, KubeError> {
        let Stored { object: mut new, managers } = new;
        keep_server_fields(&mut new, &old.object);
        restrict(&mut new, &old.object, part, kind.status);
        defaults::always(&mut new);
        schema_check::admit(&mut new, kind.schema.as_ref())?;
        validate::labels(&new)?;
        frozen::check(&old.object, &new)?;
        validate::size(&new)?;
        if kind.generation && part != Part::Status && specification(&new) != specification(&old.object) {
            let generation = old.object.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or(0);
            section(&mut new, "metadata").insert("generation".to_owned(), (generation + 1).into());
        }
        Ok(Stored { object: new, managers })
    }

    /// Puts a changed object in the place of the old one. An unchanged one keeps its version, and one that is being
    /// deleted goes with its last finalizer.
    pub(super) fn update(
        &mut self,
        kind: &Kind,
        old: &Stored,
        new: Stored,
        part: Part,
        writer: &Writer,
    ) -> Result<Stored, KubeError> {
        let new = self.updated(kind, old, new, part)?;
        if new == *old {
            return Ok(new);
        }
        let key = Key::of(&ref_of(&new.object));
        let gone = is_deleting(&new.object) && !has_finalizers(&new.object) && key.kind != "Namespace";
        let new = self.put(key.clone(), Some(old), new, writer);
        if gone {
            self.remove(&key, writer);
        }
        Ok(new)
    }

    pub(super) fn put(&mut self, key: Key, old: Option<&Stored>, mut new: Stored, writer: &Writer) -> Stored {
        self.version += 1;
        section(&mut new.object, "metadata")
            .insert("resourceVersion".to_owned(), self.version.to_string().into());
        if key.kind == "CustomResourceDefinition" {
            self.kinds.define(&new.object);
        }
        let before = old.map(|old| old.object.clone());
        self.changes.push(WatchEvent {
            before,
            after: Some(new.object.clone()),
            cause: writer.cause.clone(),
        });
        self.objects.insert(key, new.clone());
        new
    }

    /// Takes an object away.
    pub(super) fn remove(&mut self, key: &Key, writer: &Writer) {
        let Some(gone) = self.objects.remove(key) else { return };
        self.version += 1;
        if key.kind == "CustomResourceDefinition" {
            self.kinds.undefine(&gone.object);
            let (group, kind) = (text(&gone.object, "/spec/group"), text(&gone.object, "/spec/names/kind"));
            self.objects.retain(|key, _| !(key.group == group && key.kind == kind));
        }
        self.changes.push(WatchEvent { before: Some(gone.object), after: None, cause: writer.cause.clone() });
    }

    /// The writer's identity as ownership of fields needs it.
    pub(super) fn ownership<'a>(
        writer: &'a Writer,
        part: Part,
        api_version: &'a str,
        kind: &Kind,
    ) -> Update<'a> {
        Update { manager: &writer.manager, subresource: part.subresource(), api_version, custom: kind.custom }
    }
}

/// `metadata` and `status` left out: what the generation counts.
fn specification(object: &Value) -> Value {
    let mut rest = object.clone();
    if let Some(members) = rest.as_object_mut() {
        for name in ["metadata", "status", "apiVersion", "kind"] {
            members.shift_remove(name);
        }
    }
    rest
}

pub(super) fn has_finalizers(object: &Value) -> bool {
    object.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

fn keep_server_fields(new: &mut Value, old: &Value) {
    let metadata = section(new, "metadata");
    for field in [
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "resourceVersion",
    ] {
        match old.pointer(&format!("/metadata/{field}")) {
            Some(value) => drop(metadata.insert(field.to_owned(), value.clone())),
            None => drop(metadata.shift_remove(field)),
        }
    }
    metadata.shift_remove("managedFields");
}

/// Leaves the other part as it was.
fn restrict(new: &mut Value, old: &Value, part: Part, has_status: bool) {
    match part {
        Part::Main | Part::Scale if !has_status => {}
        Part::Main | Part::Scale => match (old.get("status"), new.as_object_mut()) {
            (Some(status), Some(members)) => drop(members.insert("status".to_owned(), status.clone())),
            (None, Some(members)) => drop(members.shift_remove("status")),
            (_, None) => {}
        },
        Part::Status => {
            let status = new.get("status").cloned();
            *new = old.clone();
            if let (Some(status), Some(members)) = (status, new.as_object_mut()) {
                members.insert("status".to_owned(), status);
            }
        }
    }
}
