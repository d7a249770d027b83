//! How much an execution may use.

/// Bounds on one execution. A template that exceeds one ends with a
/// [`crate::LimitExceeded`] error (or Go's depth error), never by exhausting stack or memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep templates may invoke templates, by `template`, `block` or rendering functions.
    /// A level lives on the heap and costs about 200 bytes plus its variables, no native stack.
    pub depth: usize,
    /// How deep functions may execute templates through [`crate::Context::execute_template`].
    /// Such a level does take native stack, about 4 KiB.
    pub nesting: usize,
    /// How many bytes may be written in all, counting text rendered into strings.
    pub output: u64,
    /// How many steps may be done in all: turns of loops, calls of functions and of templates, and
    /// what functions charge.
    pub steps: u64,
}

impl Default for Limits {
    /// Go's depth of 100,000; 32 nested native calls; 1 GiB of output; 10⁹ steps.
    fn default() -> Self {
        Self { depth: 100_000, nesting: 32, output: 1 << 30, steps: 1_000_000_000 }
    }
}
