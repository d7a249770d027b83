//! From what is observed to the objects that are queued for it.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::Supervisor;
use super::doubts::Seen;
use crate::binding::Binding;
use crate::controller::observe::{Observed, Origin};
use crate::controller::queue::{Priority, Reason};
use crate::controller::routes::Kind;
use crate::controller::watch::{ObjectEvent, WatchSpec};
use crate::lifecycle::{self, run::Run};

impl Supervisor {
    /// Takes changes of watched objects to the queue, until the stream ends.
    pub async fn route(self: Arc<Self>, mut observed: mpsc::UnboundedReceiver<Observed>) {
        while let Some(observed) = observed.recv().await {
            match observed {
                Observed::Changed { origin: Origin::Primary(binding), event } => {
                    self.on_primary(&binding, &event);
                }
                Observed::Changed { origin: Origin::Tied, event } => self.on_tied(&event),
                Observed::Changed { origin: Origin::Wished(spec), event } => self.on_wished(&spec, &event),
                Observed::Missed { owner, object } => {
                    self.enqueue(&owner, object.map_or(Reason::Resync, Reason::Related), Priority::High);
                }
            }
        }
    }

    fn on_primary(&self, binding: &Arc<Binding>, event: &ObjectEvent) {
        if lifecycle::is_own(binding) {
            self.wake_subject(event);
        }
        let Some(after) = &event.after else {
            self.queue.remove(&event.key);
            self.routes().forget(&event.key);
            self.reconciler.forget(&event.key);
            return;
        };
        self.routes().know(&event.key, &after.uid);
        if let Some((reason, priority)) = news(event) {
            self.queue.add(&event.key, &binding.plugin, reason, priority);
        }
    }

    /// Whoever announced a change hears how it stands.
    fn wake_subject(&self, event: &ObjectEvent) {
        let Some(state) = event.after.as_ref().or(event.before.as_ref()) else { return };
        let run = serde_json::from_slice(&state.json).ok().and_then(|object| Run::read(&object).ok());
        if let Some(run) = run {
            self.enqueue(&run.spec.subject.key(), Reason::Related(event.key.clone()), Priority::High);
        }
    }

    fn on_tied(&self, event: &ObjectEvent) {
        let Some(state) = event.after.as_ref().or(event.before.as_ref()) else { return };
        if event.after.is_none() {
            self.reconciler.cluster.executor.forget(&event.key);
        }
        let kind = match (&event.before, &event.after) {
            (_, Some(after))
                if self.reconciler.cluster.executor.is_own_write(&event.key, &after.resource_version) =>
            {
                return;
            }
            // A first list. Owners that wait for this kind may have read it before it became what it is.
            (None, Some(_)) if event.relisted => Kind::StatusOnly,
            (Some(before), Some(after)) if before.digest == after.digest => Kind::StatusOnly,
            _ => Kind::Drift,
        };
        let Some((_, uid)) = crate::action::ownership::owner_of(|label| state.label(label)) else { return };
        let (waiting, owner) = {
            let routes = self.routes();
            (routes.owner_of_child(uid, &event.key.gvk, kind).cloned(), routes.owner(uid).cloned())
        };
        if let (Some(owner), Some(after)) = (&owner, &event.after) {
            let (child, version) = (event.key.clone(), after.resource_version.clone());
            let seen = Seen { child, version, priority: urgency(kind) };
            if self.doubts.keep(owner, seen, || self.queue.is_running(owner)) {
                return;
            }
        }
        match (waiting, owner) {
            (Some(owner), _) => self.enqueue(&owner, Reason::Child(event.key.clone()), urgency(kind)),
            // Nobody waits for it yet; a call under way may be about to say so, on what it read before this.
            (None, Some(owner)) => self.enqueue_if_running(&owner, Reason::Child(event.key.clone())),
            (None, None) => {}
        }
    }

    fn on_wished(&self, spec: &WatchSpec, event: &ObjectEvent) {
        let kind = match (&event.before, &event.after) {
            (None, Some(_)) if event.relisted => Kind::StatusOnly,
            (Some(before), Some(after)) if before.digest == after.digest => Kind::StatusOnly,
            _ => Kind::Drift,
        };
        let waiting = self.routes().waiting_for(spec, kind);
        for owner in waiting {
            self.enqueue(&owner, Reason::Related(event.key.clone()), urgency(kind));
        }
    }
}

/// Drift is somebody's change. That a status moved is news about what was asked for before, and may wait behind what is asked
/// for now: a hundred new objects are not held up by the first of them getting ready.
fn urgency(kind: Kind) -> Priority {
    match kind {
        Kind::Drift => Priority::High,
        Kind::StatusOnly => Priority::Low,
    }
}

/// Why an object has to be reconciled that was seen like this. Who wrote last does not matter: what the host writes (status,
/// finalizers) is not in the digest, and after a break a list shows somebody's change and our write behind it as one.
fn news(event: &ObjectEvent) -> Option<(Reason, Priority)> {
    let after = event.after.as_ref()?;
    match &event.before {
        None if event.relisted => Some((Reason::Start, Priority::Low)),
        Some(before) if before.uid == after.uid && before.digest == after.digest => None,
        None | Some(_) => Some((Reason::Changed, Priority::High)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::watch::Cached;
    use crate::object::{Gvk, ObjectKey};
    use serde_json::{Value, json};

    fn seen(object: Value) -> Option<Arc<Cached>> {
        Some(Arc::new(Cached::of_test(object)))
    }

    fn object(version: &str, replicas: u64, ready: bool) -> Value {
        json!({
            "metadata": {"name": "a", "uid": "u", "resourceVersion": version, "generation": replicas},
            "spec": {"replicas": replicas}, "status": {"ready": ready},
        })
    }

    fn told(before: Option<Arc<Cached>>, after: Option<Arc<Cached>>) -> Option<Reason> {
        let key = ObjectKey::new(Arc::new(Gvk::new("g", "v1", "App")), Some("ns"), "a");
        news(&ObjectEvent { key, before, after, relisted: true }).map(|(reason, _)| reason)
    }

    #[test]
    fn a_change_of_the_spec_that_is_seen_together_with_a_write_of_the_status_is_news() {
        let before = seen(object("1", 1, false));
        assert_eq!(told(before.clone(), seen(object("3", 2, true))), Some(Reason::Changed));
        assert_eq!(told(before, seen(object("2", 1, true))), None, "a status alone is none");
    }

    #[test]
    fn an_object_that_is_listed_for_the_first_time_is_a_start() {
        assert_eq!(told(None, seen(object("1", 1, true))), Some(Reason::Start));
    }
}
