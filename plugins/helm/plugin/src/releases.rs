//! Deployed revisions as they are applied, kept while the instance lives.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use helm_release::{Entry, HookPhase, Stored};
use jiff::Timestamp;
use pilothouse_sdk::{ApplyItem, Error, Gvk, ObjectRef};
use serde_json::Value;

use crate::{
    call::Call,
    elsewhere::Origin,
    left_alone::{self, Exception},
    mask::mask,
    objects::{self, Object},
    options::IgnoreRule,
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
    /// Where its chart came from, for those that lie elsewhere.
    pub(crate) origin: Option<Origin>,
    /// Version of what the chart installs.
    pub(crate) app_version: String,
    /// Its notes.
    pub(crate) notes: String,
    /// What its record says happened.
    pub(crate) description: String,
    /// Whether an installation made it, and not what followed one.
    pub(crate) is_installation: bool,
    /// How its tests ended; none when none ran.
    pub(crate) tests: Option<Result<(), String>>,
    /// In how many Secrets beside its own its record is.
    pub(crate) chunks: usize,
    /// When it was deployed.
    pub(crate) last_deployed: Option<Timestamp>,
    /// When the records were listed last and this was what is wanted, or else when it was prepared.
    pub(crate) looked_at: Cell<Timestamp>,
    /// Its manifest for status; none when it is too large.
    pub(crate) manifest: Option<String>,
    pub(crate) references: Vec<ObjectRef>,
    pub(crate) items: Vec<ApplyItem>,
    /// What of which item is left alone.
    pub(crate) exceptions: BTreeMap<usize, Exception>,
    /// What autoscalers outside of the release were found to scale: namespace, kind and name.
    pub(crate) scaled: RefCell<BTreeSet<(Option<String>, String, String)>>,
    /// Fields of which item the cluster did not know when it was looked at last.
    pub(crate) undeclared: RefCell<BTreeMap<usize, Vec<String>>>,
    /// Objects of the revision that it takes the place of, while it is being brought about. None: it is there, so that what
    /// is not there any more was taken away.
    pub(crate) before: Option<BTreeMap<objects::Key, Value>>,
    /// Whether the cluster served every kind when it was prepared.
    complete: bool,
    size: usize,
}

impl Prepared {
    /// The kinds of its objects, each once.
    pub(crate) fn kinds(&self) -> Vec<Gvk> {
        let mut kinds: Vec<Gvk> = self.references.iter().map(|reference| reference.kind.clone()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// The same while it takes the place of another revision, which has these objects.
    pub(crate) fn in_place_of(self, objects: Vec<Object>) -> Self {
        let before = objects.into_iter().map(|object| (object.key(), object.value)).collect();
        Self { before: Some(before), ..self }
    }

    /// Whether something of it is named by rules.
    pub(crate) fn has_rules(&self) -> bool {
        self.exceptions.values().any(|exception| !exception.paths.is_empty())
    }
}

/// What makes a stored revision the same one: whose it is, and which write of it.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    owner: crate::decorate::Owner,
    revision: u32,
    resource_version: String,
    /// What of it is left alone is worked out with it.
    rules: Vec<IgnoreRule>,
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
            rules: self.settings().release.drift_detection.ignore.clone(),
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
        let exceptions = self.exceptions(&objects);
        let items = self.items(objects, &chart.name).into_iter().enumerate();
        let items: Vec<ApplyItem> =
            items.map(|(at, item)| item.keep(left_alone::kept(exceptions.get(&at)))).collect();
        let size = items.iter().map(|item| item.object.len()).sum();
        Ok(Prepared {
            revision: stored.release.version,
            chart: format!("{}-{}", chart.name, chart.version),
            origin: Origin::of_mark(stored.marks.chart.as_ref()),
            app_version: chart.app_version,
            notes: stored.release.info.notes.clone(),
            description: stored.release.info.description.clone(),
            is_installation: is_installation(stored),
            tests: tests(stored),
            chunks: stored.chunks().map_or(0, |chunks| chunks.count()),
            last_deployed: stored.release.info.last_deployed,
            looked_at: Cell::new(self.now()),
            manifest: mask(&stored.release.manifest),
            references,
            items,
            exceptions,
            scaled: RefCell::default(),
            undeclared: RefCell::default(),
            before: None,
            complete,
            size,
        })
    }

    /// What of which object is left alone.
    fn exceptions(&self, objects: &[Object]) -> BTreeMap<usize, Exception> {
        let rules = &self.settings().release.drift_detection.ignore;
        let scaled = left_alone::scaled(objects.iter().map(|object| (&object.reference.kind, &object.value)));
        let all = objects.iter().enumerate();
        let exception = |(at, object): (usize, &Object)| {
            Some((at, Exception::of(&object.reference, &object.value, rules, &scaled)?))
        };
        all.filter_map(exception).collect()
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

/// Whether an installation made the revision. Records say so in Helm's words, and where the owner has words of their own by two
/// times that are the same.
fn is_installation(stored: &Stored) -> bool {
    let info = &stored.release.info;
    match info.description.as_str() {
        "Install complete" => true,
        "Upgrade complete" => false,
        words if words.starts_with("Rollback to ") => false,
        _ => stored.release.version == 1 || info.first_deployed == info.last_deployed,
    }
}

/// How the tests of a revision ended; none when none ran.
fn tests(stored: &Stored) -> Option<Result<(), String>> {
    if let Some(failure) = &stored.marks.test_failure {
        return Some(Err(failure.clone()));
    }
    let tests = stored.release.hooks.iter().filter(|hook| hook.events.iter().any(|event| event == "test"));
    let succeeded = tests.map(|hook| hook.last_run.phase == HookPhase::Succeeded).reduce(|a, b| a && b);
    succeeded.filter(|all| *all).map(|_| Ok(()))
}
