//! What functions need of the world: the time and random numbers.

use std::time::{Duration, Instant, SystemTime};

/// A clock and a source of random bytes. Tests give one of their own and get the same results every time.
pub trait Platform {
    /// The time, and how long the program has been running by a clock that never goes back. Go prints the latter after
    /// the former (`m=+0.042`); without it nothing is printed.
    fn now(&self) -> (SystemTime, Option<Duration>);

    /// Fills a buffer with random bytes, good enough for keys.
    ///
    /// # Errors
    /// Why there are none.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String>;
}

/// The clock and the random numbers of the operating system, or of the host of a WebAssembly component.
#[derive(Debug)]
pub struct SystemPlatform {
    started: Instant,
}

impl Default for SystemPlatform {
    fn default() -> Self {
        Self { started: Instant::now() }
    }
}

impl Platform for SystemPlatform {
    fn now(&self) -> (SystemTime, Option<Duration>) {
        (SystemTime::now(), Some(self.started.elapsed()))
    }

    fn fill(&self, buffer: &mut [u8]) -> Result<(), String> {
        getrandom::fill(buffer).map_err(|error| error.to_string())
    }
}
