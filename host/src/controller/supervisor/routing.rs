//! From what is observed to the objects that are queued for it.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::Supervisor;
use crate::binding::Binding;
use crate::controller::observe::{Observed, Origin};
use crate::controller::queue::{Priority, Reason};
use crate::controller::routes::Kind;
use crate::controller::watch::{ObjectEvent, WatchSpec};

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
                    self.enqueue(&owner, object.map_or(Reason::Resync, Reason::Related));
                }
            }
        }
    }

    fn on_primary(&self, binding: &Arc<Binding>, event: &ObjectEvent) {
        let Some(after) = &event.after else {
            self.queue.remove(&event.key);
            self.routes().forget(&event.key);
            self.reconciler.forget(&event.key);
            return;
        };
        self.routes().know(&event.key, &after.uid);
        let (reason, priority) = match &event.before {
            None if event.relisted => (Reason::Start, Priority::Low),
            None => (Reason::Changed, Priority::High),
            Some(before) if before.uid != after.uid => (Reason::Changed, Priority::High),
            Some(before) if before.digest == after.digest => return,
            Some(_) if self.reconciler.is_own_write(&event.key, &after.resource_version) => return,
            Some(_) => (Reason::Changed, Priority::High),
        };
        self.queue.add(&event.key, &binding.plugin, reason, priority);
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
        match (waiting, owner) {
            (Some(owner), _) => self.enqueue(&owner, Reason::Child(event.key.clone())),
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
            self.enqueue(&owner, Reason::Related(event.key.clone()));
        }
    }
}
