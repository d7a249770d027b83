//! The clock that stops guests: it moves the engine's epoch on, and stands while no guest runs. A host at rest would be
//! woken a hundred times a second otherwise.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::limits::TICK;

/// A thread that ticks while somebody has a [`Turn`].
#[derive(Debug)]
pub(super) struct Clock(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    turns: usize,
    stopped: bool,
}

impl Clock {
    /// Starts the thread. It ends with the clock or the engine.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub(super) fn start(engine: &wasmtime::Engine) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (weak, seen) = (engine.weak(), Arc::clone(&shared));
        // A thread of its own: tokio's timers stand still when every worker runs a guest.
        std::thread::Builder::new().name("epoch".to_owned()).spawn(move || {
            while seen.somebody_runs() {
                std::thread::sleep(TICK);
                let Some(engine) = weak.upgrade() else { return };
                engine.increment_epoch();
            }
        })?;
        Ok(Self(shared))
    }

    /// Lets the clock tick until what is returned is dropped.
    pub(super) fn turn(&self) -> Turn {
        self.0.state().turns += 1;
        self.0.changed.notify_one();
        Turn(Arc::clone(&self.0))
    }

    /// Whether it ticks.
    pub(super) fn ticks(&self) -> bool {
        self.0.state().turns > 0
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.0.state().stopped = true;
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a guest runs. False: the clock was stopped.
    fn somebody_runs(&self) -> bool {
        let waits = |state: &mut State| state.turns == 0 && !state.stopped;
        let state = self.changed.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner);
        !state.stopped
    }
}

/// A guest runs, or may.
#[derive(Debug)]
pub(super) struct Turn(Arc<Shared>);

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.turns = state.turns.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ticks_as_long_as_anybody_runs() {
        let clock = Clock::start(&wasmtime::Engine::default()).unwrap();
        assert!(!clock.ticks());
        let (one, other) = (clock.turn(), clock.turn());
        drop(one);
        assert!(clock.ticks());
        drop(other);
        assert!(!clock.ticks());
    }

    #[test]
    fn whoever_stops_it_does_not_wait_for_a_guest() {
        let shared = Arc::new(Shared::default());
        let clock = Clock(Arc::clone(&shared));
        let waiting = std::thread::spawn(move || shared.somebody_runs());
        drop(clock);
        assert!(!waiting.join().unwrap());
    }
}
