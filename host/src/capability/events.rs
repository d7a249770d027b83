//! `events`: collected during the call, published by the host after it.

use crate::plugin::bindings::{Event, events};
use crate::plugin::instance::HookState;

/// Events one call may publish; further ones are dropped.
const MAX_EVENTS: usize = 100;

impl events::Host for HookState {
    async fn publish(&mut self, event: Event) -> wasmtime::Result<()> {
        if self.budget.take(event.message.len()).is_ok() && self.events.len() < MAX_EVENTS {
            self.events.push(event);
        }
        Ok(())
    }
}
