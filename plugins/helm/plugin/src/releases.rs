//! Deployed revisions as they are applied, kept while the instance lives.

use std::{cell::Cell, rc::Rc};

use helm_release::{Entry, Stored};
use jiff::Timestamp;
use pilothouse_sdk::{ApplyItem, Error, Gvk, ObjectRef};

use crate::{
    apply::Items,
    call::Call,
    mask::mask,
    objects::{self, Object},
};

/// How many bytes of objects an instance keeps; one revision is always kept.
const MOST_BYTES: usize = 24 << 20;

/// A revision as it is applied and shown.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Its number.
    pub(crate) revision: u32,
    /// `name-version` of its chart.
    pub(crate) chart: String,
    /// Version of what the chart installs.
    pub(crate) app_version: String,
    /// Its notes.
    pub(crate) notes: String,
    /// What its record says happened.
    pub(crate) description: String,
    /// When the records were listed last and this was what is wanted, or else when it was prepared.
    pub(crate) looked_at: Cell<Timestamp>,
    /// Its manifest for status; none when it is too large.
    pub(crate) manifest: Option<String>,
    references: Vec<ObjectRef>,
    items: Vec<ApplyItem>,
    /// Whether the cluster served every kind when it was prepared.
    complete: bool,
    size: usize,
}

impl Prepared {
    /// Its objects.
    pub(crate) fn items(&self) -> Items<'_> {
        Items { references: &self.references, items: &self.items }
    }

    /// The kinds of its objects, each once.
    pub(crate) fn kinds(&self) -> Vec<Gvk> {
        let mut kinds: Vec<Gvk> = self.references.iter().map(|reference| reference.kind.clone()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// What makes a stored revision the same one: whose it is, and which write of it.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    owner: crate::decorate::Owner,
    revision: u32,
    resource_version: String,
}

/// The revisions an instance keeps, the one used last at the end.
#[derive(Debug, Default)]
pub(crate) struct Releases(Vec<(Key, Rc<Prepared>)>);

impl Releases {
    fn take(&mut self, key: &Key) -> Option<Rc<Prepared>> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        let found = self.0.remove(at);
        let prepared = Rc::clone(&found.1);
        self.0.push(found);
        Some(prepared)
    }

    fn keep(&mut self, key: Key, prepared: &Rc<Prepared>) {
        // One revision of a release at a time: the others are of the past.
        self.0.retain(|(known, _)| known.owner != key.owner);
        self.0.push((key, Rc::clone(prepared)));
        while self.0.len() > 1 && self.0.iter().map(|(_, kept)| kept.size).sum::<usize>() > MOST_BYTES {
            self.0.remove(0);
        }
    }
}

impl Call<'_> {
    /// A stored revision, prepared now or before.
    pub(crate) fn prepared(&self, entry: &Entry) -> Result<Rc<Prepared>, Error> {
        let key = Key {
            owner: self.owner().clone(),
            revision: entry.revision,
            resource_version: entry.resource_version.clone(),
        };
        if let Some(found) = self.operator().releases.borrow_mut().take(&key) {
            return Ok(found);
        }
        let prepared = Rc::new(self.prepare(&self.store().load_listed(entry)?)?);
        if prepared.complete {
            self.operator().releases.borrow_mut().keep(key, &prepared);
        }
        Ok(prepared)
    }

    /// Prepares a revision.
    pub(crate) fn prepare(&self, stored: &Stored) -> Result<Prepared, Error> {
        let objects = self.objects(&stored.release.manifest)?;
        let kinds = self.kinds()?;
        let complete = objects.iter().all(|object| kinds.is_namespaced(&object.reference.kind).is_some());
        let chart = stored.release.chart_name().unwrap_or_default();
        let references: Vec<ObjectRef> = objects.iter().map(|object| object.reference.clone()).collect();
        let items = self.items(objects, &chart.name);
        let size = items.iter().map(|item| item.object.len()).sum();
        Ok(Prepared {
            revision: stored.release.version,
            chart: format!("{}-{}", chart.name, chart.version),
            app_version: chart.app_version,
            notes: stored.release.info.notes.clone(),
            description: stored.release.info.description.clone(),
            looked_at: Cell::new(self.now()),
            manifest: mask(&stored.release.manifest),
            references,
            items,
            complete,
            size,
        })
    }

    /// The objects of a manifest.
    ///
    /// # Errors
    /// A manifest that is none.
    pub(crate) fn objects(&self, manifest: &str) -> Result<Vec<Object>, Error> {
        objects::parse(manifest, &self.owner().namespace, &*self.kinds()?)
            .map_err(|error| Error::permanent("InvalidManifest", error.to_string()))
    }

    /// Objects as they are applied.
    pub(crate) fn items(&self, objects: Vec<Object>, chart: &str) -> Vec<ApplyItem> {
        objects.into_iter().map(|object| self.owner().release_object(object, chart)).collect()
    }
}
