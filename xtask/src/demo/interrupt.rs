//! Ctrl-C ends a scene in order: what was started is stopped, what was made is taken away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::steps::say;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C (or SIGTERM) is only noted, the second ends the process at once.
pub(super) fn listen() -> Result<()> {
    let set = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        say("ending; once more to leave everything as it is");
    });
    match set {
        // The second scene of this process.
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(error).context("Ctrl-C cannot be listened for"),
    }
}

/// Whether it came.
pub(super) fn happened() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Waits until it comes.
pub(super) fn wait() {
    while !happened() {
        std::thread::sleep(Duration::from_millis(100));
    }
}
