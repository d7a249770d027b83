//! One hook call: who it is for, and what was found out during it.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use helm_release::Stored;
use jiff::Timestamp;
use pilothouse_sdk::{Condition, Context, Dynamic, Error, Kube, ObjectRef, Watch};
use serde_json::Value;

use crate::{
    HelmOperator,
    decorate::Owner,
    kinds::Kinds,
    looked_up::Question,
    measures::State,
    settings::{Annotations, Settings},
    store::Store,
};

/// One hook call.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    operator: &'a HelmOperator,
    ctx: &'a Context,
    kube: Kube,
    object: &'a Dynamic,
    owner: Owner,
    settings: Settings,
    annotations: Annotations,
    now: Timestamp,
    kinds: RefCell<Option<Rc<Kinds>>>,
    watches: RefCell<Vec<Watch>>,
    told: RefCell<Option<Condition>>,
    refusal: RefCell<Option<Condition>>,
    state: Cell<Option<State>>,
    /// Objects that were not there when this call looked.
    absent: RefCell<BTreeSet<ObjectRef>>,
    asks_again: OnceCell<bool>,
    /// What was answered in this call to what charts look up.
    asked: RefCell<BTreeMap<Question, String>>,
}

impl<'a> Call<'a> {
    /// Opens a call.
    ///
    /// # Errors
    /// Permanent: settings that cannot be used, a cluster-scoped object.
    pub(crate) fn open(
        operator: &'a HelmOperator,
        ctx: &'a Context,
        object: &'a Dynamic,
    ) -> Result<Self, Error> {
        let Some(namespace) = object.namespace() else {
            let message = "a release needs a namespace, and this object is cluster-scoped";
            return Err(Error::permanent("ClusterScoped", message));
        };
        let settings = Settings::read(ctx, object)?;
        let owner = Owner {
            kind: ctx.kind().clone(),
            name: object.name().to_owned(),
            release: settings.release_name.clone().unwrap_or_else(|| object.name().to_owned()),
            namespace: namespace.to_owned(),
            uid: object.uid().to_owned(),
            is_woken: settings.watch_dependent_resources,
        };
        let now = Timestamp::try_from(ctx.now())
            .map_err(|error| Error::retry("InvalidClock", error.to_string()))?;
        Ok(Self {
            operator,
            ctx,
            kube: ctx.kube(),
            object,
            owner,
            settings,
            annotations: Annotations::read(ctx, object),
            now,
            kinds: RefCell::default(),
            watches: RefCell::default(),
            told: RefCell::default(),
            refusal: RefCell::default(),
            state: Cell::default(),
            absent: RefCell::default(),
            asks_again: OnceCell::new(),
            asked: RefCell::default(),
        })
    }

    pub(crate) fn asks_again_cell(&self) -> &OnceCell<bool> {
        &self.asks_again
    }

    /// Digests of what was answered in this call to what charts look up.
    pub(crate) fn asked(&self) -> &RefCell<BTreeMap<Question, String>> {
        &self.asked
    }

    /// The API server has just said that there are no such objects: what this call makes of them nobody has changed yet.
    pub(crate) fn not_there(&self, objects: impl IntoIterator<Item = ObjectRef>) {
        self.absent.borrow_mut().extend(objects);
    }

    /// Whether the API server said during this call that there is no such object.
    pub(crate) fn is_absent(&self, object: &ObjectRef) -> bool {
        self.absent.borrow().contains(object)
    }

    pub(crate) fn operator(&self) -> &'a HelmOperator {
        self.operator
    }

    pub(crate) fn ctx(&self) -> &'a Context {
        self.ctx
    }

    /// The cluster, read from the host's cache.
    pub(crate) fn kube(&self) -> &Kube {
        &self.kube
    }

    /// The custom resource.
    pub(crate) fn object(&self) -> &'a Dynamic {
        self.object
    }

    /// The same as far as its release goes.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether half of the call's time is over.
    pub(crate) fn is_half_over(&self) -> bool {
        let passed = Timestamp::try_from(self.ctx.now()).map(|now| now.duration_since(self.now));
        passed.is_ok_and(|passed| passed.unsigned_abs() > self.ctx.deadline() / 2)
    }

    /// The records of the release.
    pub(crate) fn store(&self) -> Store<'_> {
        Store::new(self.ctx, &self.owner, self.now).within(self.settings.largest_secret)
    }

    /// Notes where the release stands, for who counts.
    pub(crate) fn stands_at(&self, state: State) {
        self.state.set(Some(state));
    }

    /// Where the release stands; none: as it did before the call.
    pub(crate) fn state(&self) -> Option<State> {
        self.state.get()
    }

    /// Has the object woken by something else as well, whatever becomes of the call.
    pub(crate) fn also_watch(&self, watch: Watch) {
        self.watches.borrow_mut().push(watch);
    }

    /// What [`also_watch`](Self::also_watch) was told.
    pub(crate) fn other_watches(&self) -> Vec<Watch> {
        self.watches.borrow().clone()
    }

    /// Has a condition told, whatever becomes of the call.
    pub(crate) fn also_tell(&self, condition: Condition) {
        *self.told.borrow_mut() = Some(condition);
    }

    /// What [`also_tell`](Self::also_tell) was told.
    pub(crate) fn told(&self) -> Option<Condition> {
        self.told.borrow().clone()
    }

    /// Notes a request that cannot be followed.
    pub(crate) fn refuse(&self, condition: Condition) {
        *self.refusal.borrow_mut() = Some(condition);
    }

    /// What [`refuse`](Self::refuse) was told.
    pub(crate) fn refusal(&self) -> Option<Condition> {
        self.refusal.borrow().clone()
    }

    /// What the cluster serves; asked once, until it is forgotten.
    pub(crate) fn kinds(&self) -> Result<Rc<Kinds>, Error> {
        if let Some(kinds) = &*self.kinds.borrow() {
            return Ok(Rc::clone(kinds));
        }
        let kinds = Rc::new(Kinds::read(&self.kube)?);
        *self.kinds.borrow_mut() = Some(Rc::clone(&kinds));
        Ok(kinds)
    }

    /// Forgets what the cluster serves, after definitions were created.
    pub(crate) fn forget_kinds(&self) {
        *self.kinds.borrow_mut() = None;
    }

    /// The values in the custom resource.
    pub(crate) fn spec(&self) -> Option<&Value> {
        self.settings.values.as_ref().or_else(|| self.object.value().get("spec"))
    }

    /// What the custom resource's status says was brought about last.
    pub(crate) fn remembered(&self) -> Option<&'a str> {
        self.object.value().pointer("/status/release/inputs")?.as_str()
    }

    /// Refuses a release that is not this object's: of another chart (operator-sdk's `getReleaseName`), or kept by
    /// another object.
    pub(crate) fn check_collision(&self, latest: &Stored, chart: &str) -> Result<(), Error> {
        let name = &self.owner.release;
        let Some(found) = latest.release.chart_name() else {
            return Err(collision(format!("could not find chart metadata in release with name {name:?}")));
        };
        if found.name == chart {
            return Ok(());
        }
        Err(collision(format!(
            "duplicate release name: found existing release with name {name:?} for chart {:?}",
            found.name
        )))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function of an error's text")]
pub(crate) fn collision(message: String) -> Error {
    Error::retry("DuplicateRelease", format!("failed to get helm release name: {message}"))
}
