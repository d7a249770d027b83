//! What a plugin does for a person at a command line, beside its hooks.

/// What the person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// Name of the command.
    pub name: String,
    /// The person's options as JSON.
    pub options: String,
}

/// A file to be written below a directory that the person named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFile {
    /// Relative, with `/`, never with `..`.
    pub path: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// What became of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandAnswer {
    /// For standard output, to the byte.
    pub output: Vec<u8>,
    /// Lines for standard error, in order.
    pub messages: Vec<String>,
    /// Files to be written.
    pub files: Vec<CommandFile>,
    /// Why it failed.
    pub failure: Option<String>,
}
