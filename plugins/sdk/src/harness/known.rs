//! What the host knows without asking the API server, and how long asking takes.

use std::time::SystemTime;

use serde_json::Value;

use super::{
    cluster::Cluster,
    hook::DEADLINE,
    object::ref_of,
    store::{Key, Store, Writer},
};
use crate::{ApiStatus, ApplyOptions, KubeError};

impl Store {
    /// Whether the host would know without asking that an apply changes nothing: the last one said the same, and what it said
    /// still holds. Who owns a field is not seen in what it caches.
    pub(super) fn is_known(&mut self, config: &Value, options: ApplyOptions, writer: &Writer) -> bool {
        let key = Key::of(&ref_of(config));
        let same =
            self.said.get(&key).is_some_and(|(manager, said)| *manager == writer.manager && said == config);
        if options.strict || !same {
            return false;
        }
        let Some(known) = self.objects.get(&key).cloned() else { return false };
        let tried = self.apply_or_try(config.clone(), options.force, true, writer);
        tried.is_ok_and(|tried| tried.stored.object == known.object)
    }
}

impl Cluster {
    /// Waits for an answer during a call that began then. A call that asks for longer than it may is told that nobody answers.
    pub(super) fn spend_latency(&self, began: SystemTime) -> Result<(), KubeError> {
        let mut state = self.state();
        let latency = state.latency;
        state.store.now += latency;
        let passed = state.store.now.duration_since(began).unwrap_or_default();
        if latency.is_zero() || passed < DEADLINE.mul_f64(0.9) {
            return Ok(());
        }
        let message = "the request timed out".to_owned();
        Err(KubeError::Unavailable(ApiStatus { code: 0, reason: String::new(), message }))
    }
}
