//! Repeated faults: first the object is left alone, then the plugin. A new revision starts with a clean sheet.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::object::ObjectKey;
use crate::plugin::identity::Identity;

/// Faults in a row after which an object is left alone.
const KEY_FAULTS: u32 = 5;
/// How long an object is left alone.
const KEY_PAUSE: Duration = Duration::from_secs(300);
/// Calls of a plugin that are looked at.
const WINDOW: usize = 20;
/// Faults among them after which the plugin is left alone, …
const PLUGIN_FAULTS: usize = 15;
/// … if they are of at least so many objects: one bad object is no reason to stop the others.
const PLUGIN_KEYS: usize = 3;
/// How long a plugin is left alone.
const PLUGIN_PAUSE: Duration = Duration::from_secs(30);

/// Whether a hook may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Open,
    /// Not for so long.
    Closed(Duration),
}

#[derive(Debug, Default)]
struct State {
    keys: HashMap<ObjectKey, KeyState>,
    plugins: HashMap<Arc<str>, PluginState>,
}

#[derive(Debug, Default)]
struct KeyState {
    faults: u32,
    closed_until: Option<Instant>,
}

#[derive(Debug, Default)]
struct PluginState {
    digest: String,
    calls: VecDeque<Option<ObjectKey>>,
    closed_until: Option<Instant>,
}

/// Who is left alone, and until when.
#[derive(Debug, Default)]
pub struct Quarantine {
    state: Mutex<State>,
}

impl Quarantine {
    /// Whether the plugin may be called for the object.
    pub fn standing(&self, plugin: &Identity, key: &ObjectKey) -> Standing {
        let now = Instant::now();
        let mut state = self.lock();
        let of_plugin = state.plugin(plugin).closed_until;
        let of_key = state.keys.get(key).and_then(|key| key.closed_until);
        match of_plugin.into_iter().chain(of_key).max() {
            Some(until) if until > now => Standing::Closed(until - now),
            _ => Standing::Open,
        }
    }

    /// A call ended well.
    pub fn well(&self, plugin: &Identity, key: &ObjectKey) {
        let mut state = self.lock();
        state.keys.remove(key);
        state.plugin(plugin).record(None);
    }

    /// A call ended in a fault. The answer says what follows from it.
    pub fn fault(&self, plugin: &Identity, key: &ObjectKey) -> Standing {
        let now = Instant::now();
        let mut state = self.lock();
        let of_plugin = state.plugin(plugin);
        of_plugin.record(Some(key.clone()));
        if of_plugin.is_bad() {
            of_plugin.closed_until = Some(now + PLUGIN_PAUSE);
            of_plugin.calls.clear();
            tracing::error!(plugin = %plugin, "the plugin fails for many objects; it is not called for {PLUGIN_PAUSE:?}");
        }
        let closed_plugin = of_plugin.closed_until;
        let of_key = state.keys.entry(key.clone()).or_default();
        of_key.faults += 1;
        if of_key.faults >= KEY_FAULTS {
            of_key.closed_until = Some(now + KEY_PAUSE);
        }
        match closed_plugin.into_iter().chain(of_key.closed_until).max() {
            Some(until) if until > now => Standing::Closed(until - now),
            _ => Standing::Open,
        }
    }

    /// The object is another one now (or gone): its faults are forgotten.
    pub fn pardon(&self, key: &ObjectKey) {
        self.lock().keys.remove(key);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn plugin(&mut self, plugin: &Identity) -> &mut PluginState {
        let state = self.plugins.entry(Arc::clone(&plugin.name)).or_default();
        if state.digest != plugin.digest {
            *state = PluginState { digest: plugin.digest.clone(), ..PluginState::default() };
        }
        state
    }
}

impl PluginState {
    fn record(&mut self, fault_of: Option<ObjectKey>) {
        if self.calls.len() == WINDOW {
            self.calls.pop_front();
        }
        self.calls.push_back(fault_of);
    }

    fn is_bad(&self) -> bool {
        let faults = self.calls.iter().flatten().count();
        let keys: HashSet<_> = self.calls.iter().flatten().collect();
        faults >= PLUGIN_FAULTS && keys.len() >= PLUGIN_KEYS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Gvk;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new(Arc::new(Gvk::new("g", "v1", "K")), Some("ns"), name)
    }

    fn plugin(digest: &str) -> Identity {
        Identity { name: Arc::from("p"), version: "1".to_owned(), digest: digest.to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_is_left_alone_after_five_faults_and_tried_again_later() {
        let quarantine = Quarantine::default();
        for _ in 1..KEY_FAULTS {
            assert_eq!(quarantine.fault(&plugin("a"), &key("x")), Standing::Open);
        }
        assert_eq!(quarantine.fault(&plugin("a"), &key("x")), Standing::Closed(KEY_PAUSE));
        assert_eq!(quarantine.standing(&plugin("a"), &key("y")), Standing::Open);
        tokio::time::advance(KEY_PAUSE).await;
        assert_eq!(quarantine.standing(&plugin("a"), &key("x")), Standing::Open);
    }

    #[tokio::test(start_paused = true)]
    async fn one_bad_object_does_not_stop_the_plugin_but_many_do() {
        let quarantine = Quarantine::default();
        for _ in 0..50 {
            quarantine.fault(&plugin("a"), &key("x"));
        }
        assert_eq!(quarantine.standing(&plugin("a"), &key("y")), Standing::Open);
        for n in 0..PLUGIN_KEYS {
            quarantine.fault(&plugin("a"), &key(&format!("y{n}")));
        }
        assert_eq!(quarantine.standing(&plugin("a"), &key("z")), Standing::Closed(PLUGIN_PAUSE));
        assert_eq!(quarantine.standing(&plugin("b"), &key("z")), Standing::Open, "a new revision");
    }

    #[tokio::test(start_paused = true)]
    async fn success_and_pardon_clear_an_objects_sheet() {
        let quarantine = Quarantine::default();
        for _ in 1..KEY_FAULTS {
            quarantine.fault(&plugin("a"), &key("x"));
        }
        quarantine.well(&plugin("a"), &key("x"));
        assert_eq!(quarantine.fault(&plugin("a"), &key("x")), Standing::Open);
        for _ in 0..KEY_FAULTS {
            quarantine.fault(&plugin("a"), &key("x"));
        }
        quarantine.pardon(&key("x"));
        assert_eq!(quarantine.standing(&plugin("a"), &key("x")), Standing::Open);
    }
}
