//! The beginnings of operations: what is rendered, checked and stored before anything is changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use helm_release::{Action, Limit, Marks, Operation, Release, Status, Stored};
use pilothouse_sdk::{Error, Event};
use serde_json::json;

use crate::{
    apply,
    drive::waiting_for,
    elsewhere::Origin,
    lifecycle::{self, Change},
    objects,
    operations::Definitions,
    reconcile::{Reconciliation, Step},
    releases::Prepared,
    render::Candidate,
    report::{Concern, Pause, explain},
    same::Same,
};

/// A revision that is about to begin.
pub(crate) struct Plan {
    pub(crate) candidate: Candidate,
    pub(crate) revision: u32,
    pub(crate) attempt: u32,
    pub(crate) status: Status,
    labels: BTreeMap<String, String>,
    first_deployed: Option<jiff::Timestamp>,
    /// What an install found there already.
    found: BTreeSet<String>,
    /// The name under which it is announced.
    change: String,
}

/// What an upgrade comes to before it begins.
enum Prospect {
    Begin(Box<Plan>),
    /// Nothing has to be changed, which has been noted.
    Nothing,
    Wait(Pause),
}

impl Reconciliation<'_> {
    /// Installs.
    pub(crate) fn install(&mut self, revision: u32, attempt: u32) -> Result<Step, Error> {
        let failed = |error: Error| {
            let error = error.context("failed to install release");
            self.call.watched_failure(explain(error, Concern::Install), None)
        };
        self.call.check_chart(&self.chart).map_err(failed)?;
        if let Some(pause) = self.call.unmet().map_err(failed)? {
            return Ok(Step::Over(self.call.paused(pause, None)));
        }
        let change = lifecycle::name(revision, &[&self.inputs]);
        if let Some(pause) = self.may_begin((revision, &change), None).map_err(failed)? {
            return Ok(Step::Over(self.call.paused(pause, None)));
        }
        let policy = self.call.settings().release.install.crds.unwrap_or(Definitions::Create);
        if let Some(pause) = self.bring_definitions(policy).map_err(failed)? {
            return Ok(Step::Over(self.call.paused(pause, None)));
        }
        let candidate = self.call.render(&self.chart, &self.values, revision, false).map_err(failed)?;
        let labels = BTreeMap::new();
        let status = Status::PendingInstall;
        let found = BTreeSet::new();
        let mut plan =
            Plan { candidate, revision, attempt, status, labels, first_deployed: None, found, change };
        plan.found = self.check(&plan, "install").map_err(failed)?.found;
        let operation = self.begin(plan).map_err(failed)?;
        self.carry_on(operation)
    }

    /// Upgrades, unless what is there says the same already.
    pub(crate) fn upgrade(&mut self, from: u32, revision: u32, attempt: u32) -> Result<Step, Error> {
        match self.prepare_upgrade(from, revision, attempt) {
            Ok(Prospect::Begin(plan)) => {
                let operation = self.begin(*plan).map_err(|error| explain(error, Concern::Upgrade))?;
                self.carry_on(operation)
            }
            Ok(Prospect::Nothing) => {
                self.adopts = !self.entry(from)?.marks.ours();
                Ok(Step::Again)
            }
            Ok(Prospect::Wait(pause)) => {
                let deployed = self.still_deployed(from)?;
                if let Some(deployed) = &deployed {
                    self.call.repair(deployed)?;
                }
                Ok(Step::Over(self.call.paused(pause, deployed.as_deref())))
            }
            Err((error, concern)) => {
                // What is deployed stays, and stays repaired.
                let deployed = self.still_deployed(from)?;
                let mut error = explain(error, concern);
                if let Some(Err(drift)) = deployed.as_ref().map(|deployed| self.call.repair(deployed)) {
                    error = error.condition(Concern::Reconcile.failed(drift.message()));
                }
                Err(self.call.watched_failure(error, deployed.as_deref()))
            }
        }
    }

    /// A revision, when it is the deployed one and can be read.
    fn still_deployed(&self, revision: u32) -> Result<Option<Rc<Prepared>>, Error> {
        let entry = self.entry(revision)?;
        Ok(self.prepared(revision).ok().filter(|_| entry.status == Status::Deployed))
    }

    fn prepare_upgrade(&self, from: u32, revision: u32, attempt: u32) -> Result<Prospect, (Error, Concern)> {
        let unsynced = |error: Error| (error.context("failed to get candidate release"), Concern::Reconcile);
        let failed = |error: Error| (error.context("failed to upgrade release"), Concern::Upgrade);
        if let Some(pause) = self.call.unmet().map_err(failed)? {
            return Ok(Prospect::Wait(pause));
        }
        self.call.check_chart(&self.chart).map_err(unsynced)?;
        let current = self.call.store().load(from).map_err(unsynced)?;
        let entry = self.entry(from).map_err(unsynced)?;
        let is_forced = self.call.annotations().force_at != entry.marks.forced;
        if entry.status == Status::Deployed
            && !is_forced
            && let Some(same) = self.says_the_same(&current).map_err(unsynced)?
        {
            self.call.store().mark(entry, &self.marks_of(&entry.marks, same)).map_err(unsynced)?;
            return Ok(Prospect::Nothing);
        }
        let candidate = self.call.render(&self.chart, &self.values, revision, true).map_err(unsynced)?;
        let birth = lifecycle::birth(&current.release);
        let plan = Plan {
            // What is found in the cluster may move while others do their part: that is no other change.
            change: lifecycle::name(revision, &[&self.base, &birth]),
            candidate,
            revision,
            attempt,
            status: Status::PendingUpgrade,
            labels: current.labels().clone(),
            first_deployed: current.release.info.first_deployed,
            found: BTreeSet::new(),
        };
        let checked = self.check(&plan, "update").map_err(failed)?;
        let policy = self.call.settings().release.upgrade.crds.unwrap_or(Definitions::Skip);
        // Begun without it, the release would be left between two revisions.
        if let Some(kind) = self.first_missing(&plan, &checked.unknown, policy).map_err(failed)? {
            return Ok(Prospect::Wait(waiting_for(&kind)));
        }
        if let Some(pause) =
            self.may_begin((revision, &plan.change), Some(&current.release)).map_err(failed)?
        {
            return Ok(Prospect::Wait(pause));
        }
        Ok(match self.bring_definitions(policy).map_err(failed)? {
            Some(pause) => Prospect::Wait(pause),
            None => Prospect::Begin(Box::new(plan)),
        })
    }

    /// Announces a new revision. None: it may begin.
    fn may_begin(
        &self,
        (revision, change): (u32, &str),
        from: Option<&Release>,
    ) -> Result<Option<Pause>, Error> {
        let metadata = &self.chart.parsed.chart().metadata;
        let (name, version, app) = (&metadata.name, &metadata.version, &metadata.app_version);
        let to = json!({
            "revision": revision, "chart": {"name": name, "version": version, "appVersion": app},
        });
        let action = if from.is_some() { Action::Upgrade } else { Action::Install };
        self.call.may_begin(&Change { action, name: change.to_owned(), undoes: None, from, to })
    }

    /// Compares a revision that somebody else deployed with what is wanted.
    pub(crate) fn compare(&mut self, revision: u32, by_hand: bool) -> Result<Step, Error> {
        if !by_hand {
            return self.upgrade(revision, self.history.next(), 1);
        }
        let stored = self.call.store().load(revision)?;
        // Without a rendering to compare with, it is what it looks like.
        let same = self.says_the_same(&stored).ok().flatten();
        let entry = self.entry(revision)?;
        let marks = if let Some(same) = same {
            self.marks_of(&entry.marks, same)
        } else {
            let message = format!(
                "revision {revision} was made by hand ({}) and is kept",
                stored.release.info.description
            );
            self.call.ctx().publish(&Event::normal("ManualRevision", message));
            Marks { accepted: Some(self.base.clone()), ..entry.marks.clone() }
        };
        self.call.store().mark(entry, &marks).map_err(|error| explain(error, Concern::Reconcile))?;
        Ok(Step::Again)
    }

    /// The marks of a revision that says what is wanted.
    fn marks_of(&self, marks: &Marks, Same { lookups }: Same) -> Marks {
        let (inputs, chart) = (Some(self.inputs.clone()), self.chart_mark());
        Marks { inputs, accepted: None, chart, lookups, ..marks.clone() }
    }

    /// Goes back to a good revision, as a new one.
    pub(crate) fn roll_back(
        &mut self,
        failed: u32,
        to: u32,
        revision: u32,
        attempt: u32,
    ) -> Result<Step, Error> {
        let explain = |error| self.call.watched_failure(explain(error, Concern::Upgrade), None);
        let store = self.call.store();
        let target = store.load(to).map_err(explain)?;
        let current = store.load(failed).map_err(explain)?;
        let labels = target.labels().clone();
        let words = self.call.annotations().rollback_to.clone().unwrap_or_default();
        let birth = lifecycle::birth(&current.release);
        let change = Change {
            action: Action::Rollback,
            name: lifecycle::name(revision, &["rollback", &to.to_string(), &words, &birth]),
            undoes: self.call.change_after(&self.history, to),
            from: Some(&current.release),
            to: lifecycle::version(&target.release),
        };
        if let Some(pause) = self.call.may_begin(&change).map_err(explain)? {
            let deployed = self.still_deployed(failed)?;
            if let Some(deployed) = &deployed {
                self.call.repair(deployed)?;
            }
            return Ok(Step::Over(self.call.paused(pause, deployed.as_deref())));
        }
        let marks = Marks {
            change: lifecycle::mark(Action::Rollback, &change.name),
            undoes: change.undoes.clone(),
            inputs: target.marks.inputs.clone(),
            accepted: target.marks.accepted.clone(),
            chart: target.marks.chart.clone(),
            lookups: target.marks.lookups.clone(),
            rollback: Some(to),
            attempt,
            asked: self.call.annotations().rollback_to.clone(),
            forced: self.call.annotations().force_at.clone(),
            reset: self.call.annotations().reset_at.clone(),
            ..Marks::default()
        };
        // Who asked for it wants it kept although the spec says otherwise.
        let is_asked = self.entry(failed).map_err(explain)?.status == Status::Deployed;
        let marks = if is_asked {
            Marks { inputs: None, accepted: Some(self.base.clone()), lookups: None, ..marks }
        } else {
            marks
        };
        let mut release = Release { version: revision, ..target.release };
        release.info.first_deployed = current.release.info.first_deployed;
        release.info.last_deployed = Some(self.call.now());
        release.info.deleted = None;
        release.info.rollback_revision = to;
        release.set_status(Status::PendingRollback, format!("Rollback to {to}"));
        release.hooks.iter_mut().for_each(|hook| hook.last_run = Default::default());
        store.make_room(&self.history, self.limit()).map_err(explain)?;
        let operation = begun(Stored::new(release, marks, labels), self.call.now()).map_err(explain)?;
        self.carry_on(operation)
    }

    /// Takes away what a failed install left behind, but not what it found; its record stays, so that it is not repeated at
    /// once.
    pub(crate) fn clean(&mut self, revision: u32) -> Result<Step, Error> {
        let failed = |error| explain(error, Concern::Install);
        let entry = self.entry(revision)?;
        let mut left = self.call.origin_objects(entry).map_err(failed)?;
        objects::sort(&mut left, helm_chart::order::UNINSTALL_ORDER);
        let found = &entry.marks.found;
        for object in left.iter().filter(|object| !object.is_kept() && !found.contains(&object.to_string())) {
            self.call.delete(object, false).map_err(|error| {
                failed(
                    Error::from(error)
                        .context(format_args!("failed installation and failed rollback: {object}")),
                )
            })?;
        }
        let marks = Marks { cleaned: true, ..entry.marks.clone() };
        self.call.store().mark(entry, &marks).map_err(failed)?;
        Ok(Step::Again)
    }

    fn begin(&self, plan: Plan) -> Result<Operation, Error> {
        self.tell_overrides();
        self.tell_repeated(&plan.candidate);
        self.call.store().make_room(&self.history, self.limit())?;
        let Plan { candidate, revision, attempt, status, labels, first_deployed, found, change } = plan;
        let annotations = self.call.annotations();
        let (asked, forced) = (annotations.rollback_to.clone(), annotations.force_at.clone());
        let reset = annotations.reset_at.clone();
        let inputs = Some(self.inputs.clone());
        let chart = self.chart_mark();
        let action = Action::of(status).unwrap_or(Action::Upgrade);
        let (change, lookups) = (lifecycle::mark(action, &change), candidate.lookups());
        let marks = Marks {
            inputs,
            attempt,
            found,
            asked,
            forced,
            chart,
            change,
            reset,
            lookups,
            ..Marks::default()
        };
        let (mut release, marks) = self.call.new_revision(candidate, revision, status, &marks)?;
        release.info.first_deployed = first_deployed.or(release.info.first_deployed);
        begun(Stored::new(release, marks, labels), self.call.now())
    }

    /// What a revision is marked with when it is made from the chart at hand.
    fn chart_mark(&self) -> Option<String> {
        self.origin.as_ref().and_then(Origin::mark)
    }

    fn limit(&self) -> Limit {
        Limit::new(self.call.settings().max_history)
    }

    /// Helm 3 refuses such a chart when it installs it, and Helm 4 takes the last document.
    fn tell_repeated(&self, candidate: &Candidate) {
        let Ok(kinds) = self.call.kinds() else { return };
        let repeated = objects::repeated(candidate.manifest(), &self.call.owner().namespace, &kinds);
        if !repeated.is_empty() {
            let message = format!(
                "the chart makes these more than once, and the last counts: {}",
                apply::listed(&repeated)
            );
            self.call.ctx().publish(&Event::warning("RepeatedObject", message));
        }
    }

    /// operator-sdk's warning about values that the object does not rule.
    fn tell_overrides(&self) {
        let settings = self.call.settings();
        // What cannot be expanded was refused before anything began.
        for (key, value) in settings.overrides.expanded().unwrap_or_default() {
            let shown = if settings.suppress_override_values { "****" } else { &value };
            let message = format!("Chart value {key:?} overridden to {shown:?} by operator's watches.yaml");
            self.call.ctx().publish(&Event::warning("OverrideValuesInUse", message));
        }
    }
}

fn begun(stored: Stored, now: jiff::Timestamp) -> Result<Operation, Error> {
    Operation::begin(stored, now)
        .ok_or_else(|| Error::permanent("InvalidRelease", "the new revision has no operation"))
}
