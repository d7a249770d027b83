//! One call of the plugin, and everything the host does around it.

use std::{rc::Rc, time::Duration};

use serde_json::{Value, json};

use super::{
    inventory::Plan,
    object::{is_deleting, text, texts},
    ownership::Owner,
    runner::{Known, Runner},
    session::Session,
    status::Report,
    store::Part,
};
use crate::{
    ApplyItem, ApplyOptions, DeleteOptions, Error, ErrorClass, Event, Finalized, Host as _, Kube, KubeError,
    ObjectRef, Outcome, Patch, Reason, Request,
};

/// Back-off after the first failure; doubled with each further one.
const FIRST_BACK_OFF: Duration = Duration::from_secs(1);
/// The longest back-off.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(300);
/// Wall-clock time a hook is told it has.
const DEADLINE: Duration = Duration::from_secs(10);

impl Runner {
    /// Calls the hook an object needs now, if it needs one.
    pub(super) fn call(&mut self, object: &ObjectRef, reasons: Vec<Reason>) {
        let Some(mut live) = self.live(object) else {
            self.owners.remove(object);
            return;
        };
        let finalizer =
            self.setup.kinds.iter().find(|(kind, _)| *kind == object.kind).and_then(|(_, name)| name.clone());
        let held = |live: &Value, name: &str| texts(live, "/metadata/finalizers").any(|known| known == name);
        match &finalizer {
            Some(finalizer) if is_deleting(&live) => {
                if held(&live, finalizer) {
                    self.finalize(object, &live, finalizer, reasons);
                }
                return;
            }
            Some(finalizer) if !held(&live, finalizer) => {
                let mut all: Vec<_> = texts(&live, "/metadata/finalizers").collect();
                all.push(finalizer);
                match self.set_finalizers(object, &live, &all) {
                    Ok(patched) => live = patched,
                    Err(error) => return self.failed(object, &Error::from(error)),
                }
            }
            None if is_deleting(&live) => return,
            _ => {}
        }
        let session = Rc::new(self.session(&live));
        let request = self.request(object, &live, reasons);
        let instance = self.take_instance();
        let answer = instance.reconcile(session.clone(), request);
        self.give_back(instance);
        self.remember(object, &session);
        match answer.and_then(|outcome| self.within_limits(outcome)) {
            Ok(outcome) => self.carry_out(object, &live, &outcome),
            Err(error) => self.failed(object, &error),
        }
    }

    fn finalize(&mut self, object: &ObjectRef, live: &Value, finalizer: &str, reasons: Vec<Reason>) {
        let session = Rc::new(self.session(live));
        let request = self.request(object, live, reasons);
        let instance = self.take_instance();
        let answer = instance.finalize(session.clone(), request);
        self.give_back(instance);
        self.remember(object, &session);
        let finished = match answer {
            Ok(Finalized::Waiting(outcome)) => match self.within_limits(*outcome) {
                Ok(outcome) => return self.carry_out(object, live, &outcome),
                Err(error) => Err(error),
            },
            Ok(Finalized::Done) => self.let_go(object, live, finalizer).map_err(Error::from),
            Err(error) => Err(error),
        };
        if let Err(error) = finished {
            self.failed(object, &error);
        }
    }

    /// The clean-up is done: children the garbage collector does not reach go, and then the finalizer.
    fn let_go(&mut self, object: &ObjectRef, live: &Value, finalizer: &str) -> Result<(), KubeError> {
        let uid = text(live, "/metadata/uid");
        let children = self.cluster.state().inventories.get(uid).cloned().unwrap_or_default();
        let session = self.session(live).into_host();
        for child in children.iter().rev().filter(|child| child.namespace != object.namespace) {
            session.delete(child, &DeleteOptions::default())?;
        }
        self.record(uid, Vec::new());
        let Some(live) = self.live(object) else { return Ok(()) };
        let rest: Vec<_> = texts(&live, "/metadata/finalizers").filter(|known| *known != finalizer).collect();
        self.set_finalizers(object, &live, &rest).map(drop)
    }

    /// Children first, then status, then events: what is told has happened.
    fn carry_out(&mut self, object: &ObjectRef, live: &Value, outcome: &Outcome) {
        self.owners.entry(object.clone()).or_default().watches.clone_from(&outcome.watches);
        if let Some(children) = &outcome.children
            && let Err(error) = self.apply_children(live, children)
        {
            let mut report = Report::of_error(&error);
            report.patch.clone_from(&outcome.status);
            report.add(&outcome.conditions, &outcome.drop_conditions);
            return self.settle_failure(object, &error, &report, &outcome.events);
        }
        if let Err(error) = self.tell(object, &Report::of_outcome(outcome), &outcome.events) {
            return self.failed(object, &error.into());
        }
        self.owners.entry(object.clone()).or_default().failures = 0;
        if let Some(after) = outcome.requeue_after {
            let due = self.cluster.now() + after;
            self.queue.add(object, Reason::Timer, due);
        }
    }

    fn apply_children(&mut self, live: &Value, children: &[String]) -> Result<(), Error> {
        let owner = Owner::of(live);
        let known = self.cluster.state().inventories.get(&owner.uid).cloned().unwrap_or_default();
        let plan = {
            let state = self.cluster.state();
            Plan::new(&known, children, &owner, |kind| {
                state.store.kinds.find(kind).is_ok_and(|kind| kind.namespaced)
            })?
        };
        self.record(&owner.uid, plan.announce);
        let session = self.session(live).into_host();
        let items: Vec<_> = plan.apply.iter().map(|child| ApplyItem::json(child.to_string())).collect();
        let answers = session.apply(&items, ApplyOptions { force: true, ..ApplyOptions::default() });
        self.owners.entry(self.own(&owner)).or_default().missing.extend(session.missing_kinds());
        for (answer, child) in answers.into_iter().zip(&plan.settle) {
            answer.map_err(|error| Error::from(error).context(child))?;
        }
        for child in &plan.delete {
            session
                .delete(child, &DeleteOptions::default())
                .map_err(|error| Error::from(error).context(child))?;
        }
        self.record(&owner.uid, plan.settle);
        Ok(())
    }

    /// Writes an inventory down. It is a write like any other: the host may die after it.
    fn record(&self, uid: &str, children: Vec<ObjectRef>) {
        let mut state = self.cluster.state();
        let before = state.inventories.insert(uid.to_owned(), children);
        let changed = before.as_ref() != state.inventories.get(uid);
        state.crash.after_call(changed);
    }

    /// A hook reported an error, or broke a rule.
    fn failed(&mut self, object: &ObjectRef, error: &Error) {
        let mut report = Report::of_error(error);
        let inner = error.clone().into_inner();
        report.patch = inner.status;
        report.add(&inner.conditions, &inner.drop_conditions);
        self.owners.entry(object.clone()).or_default().watches = inner.watches;
        self.settle_failure(object, error, &report, &inner.events);
    }

    fn settle_failure(&mut self, object: &ObjectRef, error: &Error, report: &Report, events: &[Event]) {
        // A status that cannot be written now is written with the next call.
        let told = self.tell(object, report, events);
        let known = self.owners.entry(object.clone()).or_default();
        known.failures += 1;
        let doublings = known.failures.saturating_sub(1).min(16);
        let back_off = (FIRST_BACK_OFF * 2_u32.saturating_pow(doublings)).min(LONGEST_BACK_OFF);
        let wait = match error.class() {
            ErrorClass::Retry => back_off,
            ErrorClass::RetryAfter(after) => back_off.max(after),
            ErrorClass::Permanent if told.is_err() => back_off,
            ErrorClass::Permanent => return,
        };
        let due = self.cluster.now() + wait;
        self.queue.add(object, Reason::Retry, due);
    }

    fn tell(&self, object: &ObjectRef, report: &Report, events: &[Event]) -> Result<(), KubeError> {
        let Some(live) = self.live(object) else { return Ok(()) };
        let now = self.cluster.state().store.timestamp();
        if let Some(patch) = report.merge_patch(&live, &now) {
            let has_status = self.cluster.state().store.kinds.find(&object.kind)?.status;
            let patch = Patch::merge(&patch)?;
            let patch = if has_status { patch.subresource(Part::Status.subresource()) } else { patch };
            self.host_kube(object).patch_ref::<Value>(object, &patch)?;
        }
        let session = self.session(&live);
        for event in events {
            session.publish(event);
        }
        Ok(())
    }

    fn set_finalizers(&self, object: &ObjectRef, live: &Value, all: &[&str]) -> Result<Value, KubeError> {
        // The version makes sure that nobody's finalizer is lost by the list.
        let version = text(live, "/metadata/resourceVersion");
        let patch = Patch::merge(&json!({"metadata": {"resourceVersion": version, "finalizers": all}}))?;
        self.host_kube(object).patch_ref(object, &patch)
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

    fn remember(&mut self, object: &ObjectRef, session: &Session) {
        let uid = self.live(object).map(|live| text(&live, "/metadata/uid").to_owned()).unwrap_or_default();
        let known: &mut Known = self.owners.entry(object.clone()).or_default();
        known.uid = uid;
        known.missing = session.missing_kinds();
    }

    fn own(&self, owner: &Owner) -> ObjectRef {
        owner.reference.clone()
    }

    fn live(&self, object: &ObjectRef) -> Option<Value> {
        self.cluster.kubectl().get_ref(object).ok().flatten()
    }

    fn session(&self, live: &Value) -> Session {
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

    fn host_kube(&self, object: &ObjectRef) -> Kube {
        Kube::new(Rc::new(Session::of_host(self.cluster.clone(), object)))
    }
}
