//! How long work tells the person who waits for it.

/// Hears what is being done. A closure `|line: &str|` is one.
pub trait Progress {
    /// A sentence that stays: what was done, with its duration where it took long.
    fn line(&self, text: &str);

    /// What is being done right now; the next call replaces it. Only a terminal shows it.
    fn now(&self, _text: &str) {}
}

impl<F: Fn(&str)> Progress for F {
    fn line(&self, text: &str) {
        self(text);
    }
}

/// Writes lines to standard error, as tests want them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToStderr;

impl Progress for ToStderr {
    fn line(&self, text: &str) {
        eprintln!("testbed: {text}");
    }
}

/// Says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn line(&self, _text: &str) {}
}
