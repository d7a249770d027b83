//! One call of the plugin, and what the host does with its answer.

use std::{rc::Rc, time::Duration};

use serde_json::Value;

use super::{
    object::{is_deleting, text},
    ownership::Owner,
    runner::Runner,
    session::Session,
    status::Report,
    store::Part,
};
use crate::{
    Error, ErrorClass, Event, Finalized, Host as _, Kube, KubeError, ObjectRef, Outcome, Patch, Reason,
    Request,
};

/// Back-off after the first failure; doubled with each further one.
const FIRST_BACK_OFF: Duration = Duration::from_millis(5);
/// The longest back-off.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);
/// Wall-clock time a hook is told it has.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);

impl Runner {
    /// Calls the hook an object needs now, if it needs one.
    pub(super) fn call(&mut self, object: &ObjectRef, reasons: Vec<Reason>) {
        let Some(live) = self.live(object) else {
            self.forget(object);
            return;
        };
        if is_deleting(&live) {
            if self.is_held(object, &live) {
                self.finalize(object, &live, reasons);
            }
            return;
        }
        match self.ensure_finalizer(object, live) {
            Ok(live) => self.reconcile(object, &live, reasons),
            // Nothing is told: the hook was not called.
            Err(error) => self.back_off(object, Error::from(error).class()),
        }
    }

    fn reconcile(&mut self, object: &ObjectRef, live: &Value, reasons: Vec<Reason>) {
        let session = Rc::new(self.session(live));
        let request = self.request(object, live, reasons);
        let instance = self.take_instance();
        let answer = instance.reconcile(session.clone(), request);
        self.give_back(instance);
        self.remember(object, live, &session);
        match answer.and_then(|outcome| self.within_limits(outcome)) {
            Ok(outcome) => self.carry_out(object, live, &outcome),
            Err(error) => self.failed(object, live, &error),
        }
    }

    fn finalize(&mut self, object: &ObjectRef, live: &Value, reasons: Vec<Reason>) {
        let session = Rc::new(self.session(live));
        let request = self.request(object, live, reasons);
        let instance = self.take_instance();
        let answer = instance.finalize(session.clone(), request);
        self.give_back(instance);
        self.remember(object, live, &session);
        match answer {
            Ok(Finalized::Done) => {
                if let Err(error) = self.let_go(object, live) {
                    self.back_off(object, Error::from(error).class());
                }
            }
            Ok(Finalized::Waiting(outcome)) => match self.within_limits(*outcome) {
                Ok(outcome) => self.carry_out(object, live, &outcome),
                Err(error) => self.failed(object, live, &error),
            },
            Err(error) => self.failed(object, live, &error),
        }
    }

    /// Children first, then status, then events: what is told has happened.
    fn carry_out(&mut self, object: &ObjectRef, live: &Value, outcome: &Outcome) {
        self.owners.entry(object.clone()).or_default().watches.clone_from(&outcome.watches);
        let mut events = outcome.events.clone();
        if let Some(children) = &outcome.children
            && let Err(error) = self.apply_children(live, children)
        {
            let mut report = Report::of_error(&error);
            report.add(outcome.status.as_ref(), &outcome.conditions, &outcome.drop_conditions);
            events.push(Event::warning(error.reason(), error.message()));
            // A status that cannot be written now is written with the next call.
            let _ = self.tell(object, live, &report, &events);
            return self.back_off(object, error.class());
        }
        if let Err(error) = self.tell(object, live, &Report::of_outcome(outcome), &events) {
            return self.back_off(object, Error::from(error).class());
        }
        self.owners.entry(object.clone()).or_default().failures = 0;
        self.queue.release(object);
        if let Some(after) = outcome.requeue_after {
            let due = self.cluster.now() + after;
            self.queue.add(object, Reason::Timer, due);
        }
    }

    /// A hook reported an error, or broke a rule.
    fn failed(&mut self, object: &ObjectRef, live: &Value, error: &Error) {
        let mut inner = error.clone().into_inner();
        let mut report = Report::of_error(error);
        report.add(inner.status.as_ref(), &inner.conditions, &inner.drop_conditions);
        self.owners.entry(object.clone()).or_default().watches = inner.watches;
        if inner.events.is_empty() {
            inner.events.push(Event::warning(error.reason(), error.message()));
        }
        match self.tell(object, live, &report, &inner.events) {
            Err(_) if error.class() == ErrorClass::Permanent => self.back_off(object, ErrorClass::Retry),
            _ => self.back_off(object, error.class()),
        }
    }

    /// Counts a failure and says when the object comes back.
    fn back_off(&mut self, object: &ObjectRef, class: ErrorClass) {
        let known = self.owners.entry(object.clone()).or_default();
        known.failures += 1;
        let doublings = known.failures.saturating_sub(1).min(20);
        let back_off = (FIRST_BACK_OFF * 2_u32.saturating_pow(doublings)).min(LONGEST_BACK_OFF);
        let wait = match class {
            ErrorClass::Retry => back_off,
            ErrorClass::RetryAfter(after) => back_off.max(after),
            ErrorClass::Permanent => {
                known.failures = 0;
                self.queue.release(object);
                return;
            }
        };
        self.queue.hold(object, self.cluster.now() + wait);
    }

    /// Status first, then events.
    fn tell(
        &self,
        object: &ObjectRef,
        given: &Value,
        report: &Report,
        events: &[Event],
    ) -> Result<(), KubeError> {
        let written = self.write_status(object, given, report);
        let session = self.session(given);
        for event in events {
            session.publish(event);
        }
        written
    }

    fn write_status(&self, object: &ObjectRef, given: &Value, report: &Report) -> Result<(), KubeError> {
        let Some(live) = self.live(object) else { return Ok(()) };
        let generation = given.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or(0);
        let now = self.cluster.state().store.timestamp();
        let Some(patch) = report.merge_patch(&live, generation, &now) else { return Ok(()) };
        let has_status = self.cluster.state().store.kinds.find(&object.kind)?.status;
        let patch = Patch::merge(&patch)?;
        let patch = if has_status { patch.subresource(Part::Status.subresource()) } else { patch };
        self.host_kube(object).patch_ref::<Value>(object, &patch).map(drop)
    }

    fn within_limits(&self, outcome: Outcome) -> Result<Outcome, Error> {
        let children = outcome.children.iter().flatten().map(String::len).sum::<usize>();
        let size = children + outcome.status.as_ref().map_or(0, |status| status.to_string().len());
        let limit = self.setup.limits.answer_bytes;
        if u64::try_from(size).unwrap_or(u64::MAX) > limit {
            let message = format!("the answer is {size} bytes, more than the {limit} it may be");
            return Err(Error::retry("PluginAnswerInvalid", message));
        }
        Ok(outcome)
    }

    fn request(&self, object: &ObjectRef, live: &Value, reasons: Vec<Reason>) -> Request {
        let failures = self.owners.get(object).map_or(0, |known| known.failures);
        Request { kind: object.kind.clone(), object: live.to_string(), reasons, failures, deadline: DEADLINE }
    }

    fn remember(&mut self, object: &ObjectRef, live: &Value, session: &Session) {
        let known = self.owners.entry(object.clone()).or_default();
        text(live, "/metadata/uid").clone_into(&mut known.uid);
        known.missing = session.missing_kinds();
        known.wished = session.wished();
    }

    pub(super) fn forget(&mut self, object: &ObjectRef) {
        self.queue.remove(object);
        self.owners.remove(object);
        let mut state = self.cluster.state();
        state.transfers.forget_all(object);
        state.commands.forget_all(object);
        state.handovers.forget_all(object);
    }

    pub(super) fn live(&self, object: &ObjectRef) -> Option<Value> {
        self.cluster.kubectl().get_ref(object).ok().flatten()
    }

    pub(super) fn session(&self, live: &Value) -> Session {
        let setup = &self.setup;
        let (rights, settings) = (setup.rights.clone(), Rc::clone(&setup.settings));
        let owner = Owner::of(live);
        Session::of_hook(
            self.cluster.clone(),
            &setup.name,
            &setup.manager,
            rights,
            owner,
            setup.limits,
            settings,
        )
    }

    pub(super) fn host_kube(&self, object: &ObjectRef) -> Kube {
        Kube::new(Rc::new(Session::of_host(self.cluster.clone(), object)))
    }
}
