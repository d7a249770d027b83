//! Where an operation stands, as an annotation says it.

use std::{fmt, str::FromStr};

/// The parts of an operation. What `Main` does depends on the operation: apply and prune, or delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Hooks before it.
    Pre,
    /// The objects of the release.
    Main,
    /// Until those are ready.
    Ready,
    /// Hooks after it.
    Post,
    /// Tests after those.
    Test,
    /// Only the records are left to be written.
    Finish,
}

impl Stage {
    /// Whether a test of a deployed revision may be in it.
    pub(crate) fn is_of_a_test(self) -> bool {
        matches!(self, Self::Test | Self::Finish)
    }
}

/// Where an operation stands. It is written *before* what it announces is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The part it is in.
    pub stage: Stage,
    /// The hook it is at, counted in the order in which the hooks of the stage run; as many as there are hooks: all
    /// have run and are to be cleaned up. 0 in the other stages.
    pub hook: usize,
    /// Which run of that hook this is; 0: it has not been begun.
    pub attempt: u32,
}

impl Progress {
    /// The beginning of a stage.
    #[must_use]
    pub fn start(stage: Stage) -> Self {
        Self { stage, hook: 0, attempt: 0 }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match self.stage {
            Stage::Pre => "pre",
            Stage::Main => "main",
            Stage::Ready => "ready",
            Stage::Post => "post",
            Stage::Test => "test",
            Stage::Finish => "finish",
        };
        write!(f, "{stage}/{}/{}", self.hook, self.attempt)
    }
}

impl FromStr for Progress {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split('/');
        let stage = match words.next() {
            Some("pre") => Stage::Pre,
            Some("main") => Stage::Main,
            Some("ready") => Stage::Ready,
            Some("post") => Stage::Post,
            Some("test") => Stage::Test,
            Some("finish") => Stage::Finish,
            _ => return Err(()),
        };
        let hook = words.next().and_then(|word| word.parse().ok()).ok_or(())?;
        let attempt = words.next().and_then(|word| word.parse().ok()).ok_or(())?;
        if words.next().is_some() { Err(()) } else { Ok(Self { stage, hook, attempt }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_is_read_as_it_is_written() {
        for stage in [Stage::Pre, Stage::Main, Stage::Ready, Stage::Post, Stage::Test, Stage::Finish] {
            let progress = Progress { stage, hook: 3, attempt: 1 };
            assert_eq!(progress.to_string().parse(), Ok(progress));
        }
        for broken in ["", "pre", "pre/1", "pre/x/1", "pre/1/1/1", "during/0/0", "pre/-1/0"] {
            assert_eq!(broken.parse::<Progress>(), Err(()), "{broken}");
        }
    }
}
