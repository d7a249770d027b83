//! Brings a release towards what its object and its chart want.

use std::rc::Rc;

use helm_release::{
    Action, Entry, History, Operation, Status, Stored,
    decision::{Decision, Wish, decide},
};
use helm_template::Map;
use pilothouse_sdk::{Error, Event, Outcome};

use crate::{
    apply::Applied,
    call::{Call, collision},
    charts::LoadedChart,
    drive::Ended,
    inputs,
    releases::Prepared,
    report::{Concern, Pause, explain},
    values,
};

/// Decisions in one call after which the release is taken to go round in circles.
const TOO_MANY_DECISIONS: u32 = 32;

/// One reconciliation: what is wanted, and how the release stands.
pub(crate) struct Reconciliation<'c> {
    pub(crate) call: &'c Call<'c>,
    pub(crate) chart: Rc<LoadedChart>,
    pub(crate) values: Map,
    pub(crate) inputs: String,
    /// As the API server has it; empty until it was asked.
    pub(crate) history: History,
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
    pub(crate) fn open(call: &'c Call<'c>) -> Result<Self, Error> {
        let irreconcilable = |error| explain(error, Concern::Reconcile);
        call.annotations().reconcile_period().map_err(irreconcilable)?;
        let chart = call.operator().charts.borrow_mut().get(call.ctx(), &call.settings().chart);
        let chart = chart.map_err(irreconcilable)?;
        let values = values::values(call.object().value(), &call.settings().override_values)
            .map_err(irreconcilable)?;
        let capabilities = if inputs::needs_capabilities(&chart) {
            Some(call.kinds()?.capabilities(call.kube())?)
        } else {
            None
        };
        let inputs = inputs::digest(&chart, &values::to_json(&values)?, capabilities.as_ref());
        Ok(Self { call, chart, values, inputs, history: History::default() })
    }

    /// Decides and acts until the release stands as wanted or has to wait.
    ///
    /// # Errors
    /// With operator-sdk's conditions; the release is then left as it is, and its drift is still repaired.
    pub(crate) fn run(mut self) -> Result<Outcome, Error> {
        if let Some(outcome) = self.call.at_rest(&self.inputs) {
            return Ok(outcome);
        }
        self.refresh()?;
        for _ in 0..TOO_MANY_DECISIONS {
            let wish =
                Wish { inputs: &self.inputs, remembered: self.call.remembered(), now: self.call.now() };
            let decision = decide(&self.history, wish);
            self.check_owner()?;
            match self.act(decision)? {
                Step::Again => self.refresh()?,
                Step::Over(outcome) => return Ok(outcome),
            }
        }
        Err(Error::retry("Circles", "the release does not come to rest"))
    }

    fn refresh(&mut self) -> Result<(), Error> {
        let history = self.call.store().history();
        self.history = history.map_err(|error| explain(error, Concern::Reconcile))?;
        Ok(())
    }

    fn act(&mut self, decision: Decision) -> Result<Step, Error> {
        match decision {
            Decision::Keep { revision, by_hand } => self.keep(revision, by_hand),
            Decision::Compare { revision, by_hand } => self.compare(revision, by_hand),
            Decision::Install { revision, attempt } => self.install(revision, attempt),
            Decision::Upgrade { from, revision, attempt } => self.upgrade(from, revision, attempt),
            Decision::Rollback { failed, to, revision, attempt } => {
                self.roll_back(failed, to, revision, attempt)
            }
            Decision::Resume { revision, outdated } => self.resume(revision, outdated),
            Decision::Clean { revision } => self.clean(revision),
            Decision::Hold { failed, deployed, until } => self.hold(failed, deployed, until),
            Decision::Await { revision, status, until } => {
                let message = format!(
                    "somebody else's operation ({status}, revision {revision}) is under way; it is taken over at {}",
                    until.strftime("%Y-%m-%dT%H:%M:%SZ")
                );
                let pause = Pause { reason: "OperationInProgress", message, watch: None, until: Some(until) };
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
        let prepared = self.prepared(revision)?;
        self.repair(&prepared)?;
        self.call.trust(&prepared);
        let description = by_hand.then_some(prepared.description.as_str());
        Ok(Step::Over(self.call.deployed(&prepared, &self.inputs, description)))
    }

    /// Applies a deployed revision; what had to be changed is drift.
    pub(crate) fn repair(&self, prepared: &Prepared) -> Result<(), Error> {
        let failed = |error| {
            let error = explain(error, Concern::Reconcile);
            self.call.watched_failure(error, Some(prepared))
        };
        match self.call.apply(&prepared.items(), false).map_err(failed)? {
            Applied::Done(changed) if changed.is_empty() => Ok(()),
            Applied::Done(changed) => {
                let names: Vec<String> = changed.iter().map(ToString::to_string).collect();
                let message = format!("changed back to revision {}: {}", prepared.revision, names.join(", "));
                self.call.ctx().publish(&Event::normal("DriftCorrected", message));
                Ok(())
            }
            Applied::Refused(message) => Err(failed(Error::retry("ReconcileError", message))),
            Applied::WaitingFor(kind) => {
                Err(failed(Error::retry("KindNotServed", format!("the cluster does not serve {kind}"))))
            }
        }
    }

    /// Goes on with our own operation.
    fn resume(&mut self, revision: u32, outdated: bool) -> Result<Step, Error> {
        let stored = self.call.store().load(revision)?;
        let Some(operation) = Operation::resume(stored, self.call.now()) else { return Ok(Step::Again) };
        self.carry_on(if outdated { operation.outdated() } else { operation })
    }

    /// Carries an operation on and says what came of it.
    pub(crate) fn carry_on(&self, operation: Operation) -> Result<Step, Error> {
        let action = operation.action();
        let concern = if action == Action::Install { Concern::Install } else { Concern::Upgrade };
        let operation = operation.with_timeout(self.call.timeout()?);
        let ended = self.call.drive(operation, &self.history);
        match ended.map_err(|error| self.call.watched_failure(explain(error, concern), None))? {
            Ended::Done(stored) => {
                self.call.announce(action, &stored);
                // A rollback is followed by a wait that has its own words.
                if action == Action::Rollback || stored.marks.inputs.as_deref() != Some(&self.inputs) {
                    return Ok(Step::Again);
                }
                let prepared = self.call.prepare(&stored)?;
                Ok(Step::Over(self.call.deployed(&prepared, &self.inputs, None)))
            }
            Ended::Failed(message) => {
                self.call.ctx().publish(&Event::warning(concern.reason(), message));
                Ok(Step::Again)
            }
            Ended::Paused(pause) => {
                let deployed = self.history.deployed().and_then(|entry| self.call.prepared(entry).ok());
                Ok(Step::Over(self.call.paused(pause, deployed.as_deref())))
            }
        }
    }

    /// Somebody died over a revision.
    fn unlock(&self, revision: u32, status: Status) -> Result<Step, Error> {
        let description = format!("{status}: whoever worked on it stopped before its end");
        self.call.change_status(revision, status, Some(&description))?;
        let message =
            format!("revision {revision} was left unfinished by somebody else and is marked as {status}");
        self.call.ctx().publish(&Event::warning("OperationTakenOver", message));
        Ok(Step::Again)
    }

    /// The same inputs failed before: what is deployed is kept until the next attempt.
    fn hold(&self, failed: u32, deployed: Option<u32>, until: jiff::Timestamp) -> Result<Step, Error> {
        let message = self.call.store().load(failed)?.release.info.description;
        let prepared = match deployed {
            Some(revision) => Some(self.prepared(revision)?),
            None => None,
        };
        // A rollback that failed left something between two revisions: only the next rollback may touch that.
        let rolling_back = self.history.get(failed).is_some_and(|entry| entry.marks.rollback.is_some());
        if let Some(prepared) = prepared.as_deref().filter(|_| !rolling_back) {
            self.repair(prepared)?;
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
    fn check_owner(&self) -> Result<(), Error> {
        let Some(latest) = self.history.latest() else { return Ok(()) };
        let refused = |error| explain(error, Concern::Reconcile);
        let owner = self.call.owner();
        if let Some(other) = &latest.controller
            && (other.kind != owner.kind.kind || other.name != owner.name)
        {
            let message = format!(
                "duplicate release name: found existing release with name {:?} that belongs to {} {:?}",
                owner.name, other.kind, other.name
            );
            return Err(refused(collision(message)));
        }
        // What we rendered from this very chart, or one before it, has been looked at then.
        if latest.marks.ours() || latest.marks.accepted.is_some() {
            return Ok(());
        }
        let stored: Stored = self.call.store().load(latest.revision)?;
        self.call.check_collision(&stored, &self.chart.parsed).map_err(refused)
    }
}
