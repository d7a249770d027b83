//! Brings a release towards what its object and its chart want.

use std::rc::Rc;

use helm_release::{
    Action, Entry, History, Operation, Status, Stored,
    decision::{Decision, Wish, decide},
};
use helm_template::Map;
use pilothouse_sdk::{Error, Event, Outcome, Watch};

use crate::{
    call::{Call, collision},
    charts::LoadedChart,
    drive::Ended,
    elsewhere::{Here, Origin},
    former::Former,
    inputs,
    looked_up::Answers,
    releases::Prepared,
    report::{Concern, Pause, explain},
    values,
};

/// Decisions in one call after which the release is taken to go round in circles.
const TOO_MANY_DECISIONS: u32 = 32;

/// So long helm may wait for objects that are not ready before it is taken for dead.
const LONG_WAIT: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);

/// One reconciliation: what is wanted, and how the release stands.
pub(crate) struct Reconciliation<'c> {
    pub(crate) call: &'c Call<'c>,
    pub(crate) chart: Rc<LoadedChart>,
    /// Where the chart came from, for those that lie elsewhere.
    pub(crate) origin: Option<Origin>,
    pub(crate) values: Map,
    pub(crate) inputs: String,
    /// The same without what was looked up in the cluster.
    pub(crate) base: String,
    /// What is found there now.
    pub(crate) answers: Answers,
    /// How a former version called the same, where that differs.
    pub(crate) former: Option<Former>,
    /// As the API server has it; empty until it was asked.
    pub(crate) history: History,
    /// Whether the deployed revision was somebody else's until this call.
    pub(crate) adopts: bool,
}

/// What a decision led to.
#[expect(clippy::large_enum_variant, reason = "one value for each step of a call")]
pub(crate) enum Step {
    /// Look again, from the API server.
    Again,
    /// The call is over.
    Over(Outcome),
}

impl<'c> Reconciliation<'c> {
    /// Finds out what is wanted.
    ///
    /// # Errors
    /// With operator-sdk's conditions.
    pub(crate) fn open(call: &'c Call<'c>, Here { chart, origin }: Here) -> Result<Self, Error> {
        let irreconcilable = |error| explain(error, Concern::Reconcile);
        call.annotations().reconcile_period().map_err(irreconcilable)?;
        let found = call.values_from().map_err(irreconcilable)?;
        let values =
            values::values(call.spec(), &found, &call.settings().overrides).map_err(irreconcilable)?;
        let capabilities = if inputs::needs_capabilities(&chart) {
            Some(call.kinds()?.capabilities(call.kube())?)
        } else {
            None
        };
        let annotations = call.annotations();
        let post_rendered = call.settings().release.post_rendering().map(|spec| spec.to_string());
        let json = values::to_json(&values)?;
        let digest = |reset: &Option<String>| {
            let asked = [&annotations.force_at, reset, &post_rendered];
            inputs::digest(&chart, &json, capabilities.as_ref(), &asked)
        };
        // The request to forget failures is no input: its place stays empty, so that other digests are what they were.
        let base = digest(&None);
        let former = annotations.reset_at.clone();
        let former = former.map(|reset| Former { inputs: digest(&Some(reset.clone())), reset });
        let (inputs, answers, history) = (base.clone(), Answers::Unasked, History::default());
        Ok(Self { call, chart, origin, values, inputs, base, answers, former, history, adopts: false })
    }

    /// Decides and acts until the release stands as wanted or has to wait.
    ///
    /// # Errors
    /// With operator-sdk's conditions; the release is then left as it is, and its drift is still repaired.
    pub(crate) fn run(mut self) -> Result<Outcome, Error> {
        if let Some(outcome) = self.call.at_rest(&self.base) {
            return Ok(outcome);
        }
        self.refresh()?;
        for _ in 0..TOO_MANY_DECISIONS {
            self.call.tell_failure(&self.history).map_err(|error| explain(error, Concern::Reconcile))?;
            let wish = self.wish()?;
            self.call.judge_way_back(&self.history, wish.back);
            let decision = decide(&self.history, wish);
            self.check_owner()?;
            match self.act(decision)? {
                Step::Again => self.refresh()?,
                Step::Over(outcome) => return Ok(outcome),
            }
        }
        Err(Error::retry("Circles", "the release does not come to rest"))
    }

    pub(crate) fn wish(&self) -> Result<Wish<'_>, Error> {
        let call = self.call;
        let release = &call.settings().release;
        let is_installed = self.history.good().is_some();
        let remedy = if is_installed { release.upgrade_remedy() } else { release.install_remedy() };
        let remedy = remedy.map_err(|error| explain(error, Concern::Reconcile))?;
        let back = call.way_back().map_err(|error| explain(error, Concern::Reconcile))?;
        Ok(Wish {
            inputs: &self.inputs,
            remembered: self.remembered(),
            remedy,
            back,
            test: call.annotations().test_at.as_deref(),
            reset: call.annotations().reset_at.as_deref(),
            now: call.now(),
        })
    }

    /// Looks at the records, and changes nothing.
    pub(crate) fn look(&mut self) -> Result<(), Error> {
        let history = self.call.store().history();
        self.history = self.renamed(&history.map_err(|error| explain(error, Concern::Reconcile))?);
        self.inputs = self.inputs_now(true);
        Ok(())
    }

    fn refresh(&mut self) -> Result<(), Error> {
        let history = self.listed().map_err(|error| explain(error, Concern::Reconcile))?;
        self.history = history;
        self.inputs = self.inputs_now(self.call.asks_again());
        Ok(())
    }

    /// What is wanted, with what is found in the cluster of what the good revision looked up there. `asks`: whether that is asked
    /// again, once in a call; else it is as it was found for the newest attempt.
    fn inputs_now(&mut self, asks: bool) -> String {
        let of_base =
            |entry: &&Entry| entry.marks.inputs.as_deref().map(inputs::base) == Some(self.base.as_str());
        let Some(good) = self.history.good().filter(of_base) else { return self.base.clone() };
        let newest = self.history.life().iter().rev().find(|entry| entry.marks.rollback.is_none());
        let newest = newest.filter(of_base);
        // What is under way goes on with what it found.
        let is_under_way = newest.is_some_and(|newest| newest.status.is_pending());
        if asks && !is_under_way && self.answers == Answers::Unasked {
            self.answers = self.call.answers(good.marks.lookups.as_ref());
        }
        match &self.answers {
            Answers::Otherwise(found) => inputs::found_otherwise(&self.base, found),
            Answers::Same => good.marks.inputs.clone().unwrap_or_default(),
            Answers::Unasked => newest.unwrap_or(good).marks.inputs.clone().unwrap_or_default(),
        }
    }

    fn listed(&self) -> Result<History, Error> {
        let history = self.call.store().tidied_history()?;
        if self.rename(&history)? { self.call.store().history() } else { Ok(history) }
    }

    fn act(&mut self, decision: Decision) -> Result<Step, Error> {
        match decision {
            Decision::Test { revision } => self.test(revision),
            Decision::Keep { revision, by_hand } => self.keep(revision, by_hand),
            Decision::Compare { revision, by_hand } => self.compare(revision, by_hand),
            Decision::Install { revision, attempt } => self.install(revision, attempt),
            Decision::Upgrade { from, revision, attempt } => self.upgrade(from, revision, attempt),
            Decision::Rollback { failed, to, revision, attempt } => {
                self.roll_back(failed, to, revision, attempt)
            }
            Decision::Uninstall { failed } => self.uninstall(failed),
            Decision::Resume { revision, outdated } => self.resume(revision, outdated),
            Decision::Clean { revision } => self.clean(revision),
            Decision::Hold { failed, deployed, until } => self.hold(failed, deployed, until),
            Decision::Await { revision, status, until } => {
                let message = format!(
                    "somebody else's operation ({status}, revision {revision}) is under way; it is taken over at {}",
                    until.strftime("%Y-%m-%dT%H:%M:%SZ")
                );
                let (reason, watches) = ("OperationInProgress", vec![self.watch_of(revision)]);
                let pause = Pause { reason, message, watches, until: Some(until) };
                Ok(Step::Over(self.call.paused(pause, None)))
            }
            Decision::Unlock { revision, status } => self.unlock(revision, status),
            Decision::Supersede(revisions) => {
                revisions
                    .into_iter()
                    .try_for_each(|revision| self.call.change_status(revision, Status::Superseded, None))?;
                Ok(Step::Again)
            }
        }
    }

    /// What is wanted is deployed: only drift has to be repaired.
    fn keep(&self, revision: u32, by_hand: bool) -> Result<Step, Error> {
        self.call.withdraw().map_err(|error| explain(error, Concern::Reconcile))?;
        self.note_lookups(revision).map_err(|error| explain(error, Concern::Reconcile))?;
        let prepared = self.prepared(revision)?;
        let differing = self.call.repair_or_adopt(&prepared, self.adopts)?;
        self.call.trust(&prepared);
        let description = by_hand.then_some(prepared.description.as_str());
        let outcome = self.call.deployed(&prepared, &self.inputs, description);
        Ok(Step::Over(self.call.drifted(outcome, &prepared, &differing)))
    }

    /// Tests what is deployed.
    fn test(&mut self, revision: u32) -> Result<Step, Error> {
        let stored = self.call.store().load(revision)?;
        let words = self.call.annotations().test_at.clone().unwrap_or_default();
        self.carry_on(Operation::test(stored, &words, self.call.now()))
    }

    /// Goes on with our own operation.
    fn resume(&mut self, revision: u32, outdated: bool) -> Result<Step, Error> {
        let stored = self.call.store().load(revision)?;
        let Some(operation) = Operation::resume(stored, self.call.now()) else { return Ok(Step::Again) };
        self.carry_on(if outdated { operation.outdated() } else { operation })
    }

    /// An upgrade failed, and the release is uninstalled for that.
    fn uninstall(&mut self, failed: u32) -> Result<Step, Error> {
        let Some(latest) = self.history.latest() else { return Ok(Step::Again) };
        let stored = self.call.store().load(latest.revision);
        let stored = stored.map_err(|error| explain(error, Concern::Upgrade))?;
        if let Some(pause) = self.call.may_uninstall(latest, &stored)? {
            return Ok(Step::Over(self.call.paused(pause, None)));
        }
        let Some(operation) = self.call.uninstall_operation(latest, stored, true) else {
            return Ok(Step::Again);
        };
        let message = format!("revision {failed} failed: the release is uninstalled and installed anew");
        self.call.ctx().publish(&Event::warning("UpgradeRemediated", message));
        self.carry_on(operation)
    }

    /// Carries an operation on and says what came of it.
    pub(crate) fn carry_on(&self, operation: Operation) -> Result<Step, Error> {
        let action = operation.action();
        let concern = if action == Action::Install { Concern::Install } else { Concern::Upgrade };
        let operation = self.call.as_set(operation)?;
        let ended = self.call.drive(operation, &self.history);
        match ended.map_err(|error| self.call.watched_failure(explain(error, concern), None))? {
            Ended::Done(stored) => {
                self.call.announce(action, &stored);
                // A rollback is followed by a wait that has its own words, an uninstall by an installation.
                if matches!(action, Action::Rollback | Action::Uninstall | Action::Test)
                    || stored.marks.inputs.as_deref() != Some(&self.inputs)
                {
                    return Ok(Step::Again);
                }
                let prepared = self.call.prepare(&stored)?;
                Ok(Step::Over(self.call.deployed(&prepared, &self.inputs, None)))
            }
            // It begins anew: not at once.
            Ended::Failed(message) if action == Action::Uninstall => {
                let error = Error::retry(Concern::Uninstall.reason(), message);
                Err(self.call.watched_failure(explain(error, Concern::Uninstall), None))
            }
            Ended::Failed(message) => {
                let reason = if action == Action::Test { "TestFailed" } else { concern.reason() };
                self.call.ctx().publish(&Event::warning(reason, message));
                Ok(Step::Again)
            }
            Ended::Paused(pause) => {
                let deployed = self.history.deployed().and_then(|entry| self.call.prepared(entry).ok());
                Ok(Step::Over(self.call.paused(pause, deployed.as_deref())))
            }
        }
    }

    /// Somebody died over a revision, or waits longer than usual: helm writes nothing down while it waits for pods.
    fn unlock(&self, revision: u32, status: Status) -> Result<Step, Error> {
        if let Some(pause) = self.may_still_wait(revision)? {
            return Ok(Step::Over(self.call.paused(pause, None)));
        }
        let description = format!("{status}: whoever worked on it stopped before its end");
        self.call.change_status(revision, status, Some(&description))?;
        let message =
            format!("revision {revision} was left unfinished by somebody else and is marked as {status}");
        self.call.ctx().publish(&Event::warning("OperationTakenOver", message));
        Ok(Step::Again)
    }

    /// An operation of helm whose objects are not ready is given more time.
    fn may_still_wait(&self, revision: u32) -> Result<Option<Pause>, Error> {
        let entry = self.entry(revision)?;
        let end = entry.touched.and_then(|touched| touched.checked_add(LONG_WAIT).ok());
        let Some(end) = end.filter(|end| *end > self.call.now() && entry.controller.is_none()) else {
            return Ok(None);
        };
        if !entry.status.is_pending() || entry.marks.progress.is_some() {
            return Ok(None);
        }
        let Ok(prepared) = self.call.prepare(&self.call.store().load(revision)?) else { return Ok(None) };
        let Ok(Some(missing)) = self.call.readiness(&prepared)?.verdict() else { return Ok(None) };
        Ok(Some(Pause {
            reason: "OperationInProgress",
            message: format!(
                "somebody else's operation ({}, revision {revision}) may still wait: {missing}; it is taken over at {}",
                entry.status,
                end.strftime("%Y-%m-%dT%H:%M:%SZ")
            ),
            watches: self
                .call
                .watches(Some(&prepared))
                .into_iter()
                .chain([self.watch_of(revision)])
                .collect(),
            until: Some(end),
        }))
    }

    /// The record of somebody else's operation, by its name: helm's own records have no label by which the host would know
    /// whose they are.
    fn watch_of(&self, revision: u32) -> Watch {
        Watch::object(self.call.store().reference(revision))
    }

    /// The same inputs failed before: what is deployed is kept until the next attempt.
    fn hold(&self, failed: u32, deployed: Option<u32>, until: jiff::Timestamp) -> Result<Step, Error> {
        let message = self.call.store().load(failed)?.release.info.description;
        let prepared = match deployed {
            Some(revision) => Some(self.prepared(revision)?),
            None => None,
        };
        // What failed and was not undone left something between two revisions: only the next attempt may touch that.
        let stays = |entry: &Entry| entry.marks.rollback.is_some() || entry.marks.may_have_applied();
        let left =
            self.history.latest().is_some_and(|latest| latest.status == Status::Failed && stays(latest));
        if let Some(prepared) = prepared.as_deref().filter(|_| !left) {
            self.call.repair(prepared)?;
        }
        let concern = if prepared.is_some() { Concern::Upgrade } else { Concern::Install };
        Ok(Step::Over(self.call.held(prepared.as_deref(), concern, &message, until)))
    }

    pub(crate) fn prepared(&self, revision: u32) -> Result<Rc<Prepared>, Error> {
        let entry = self.entry(revision)?;
        self.call.prepared(entry).map_err(|error| explain(error, Concern::Reconcile))
    }

    pub(crate) fn entry(&self, revision: u32) -> Result<&Entry, Error> {
        let gone = || Error::retry("ReleaseMoved", format!("revision {revision} went away"));
        self.history.get(revision).ok_or_else(gone)
    }

    /// Refuses a release that another object keeps, or that is of another chart.
    pub(crate) fn check_owner(&self) -> Result<(), Error> {
        let Some(latest) = self.history.latest() else { return Ok(()) };
        let refused = |error| explain(error, Concern::Reconcile);
        let owner = self.call.owner();
        if let Some(other) = &latest.controller
            && !owner.is(other)
        {
            let message = format!(
                "duplicate release name: found existing release with name {:?} that belongs to {} {} {:?}",
                owner.release, other.api_version, other.kind, other.name
            );
            return Err(refused(collision(message)));
        }
        // What we rendered from this very chart, or one before it, has been looked at then.
        if latest.marks.ours() || latest.marks.accepted.is_some() {
            return Ok(());
        }
        let stored: Stored = self.call.store().load(latest.revision)?;
        self.call.check_collision(&stored, self.chart.name()).map_err(refused)
    }
}
