//! What an installed program says of itself.

use std::path::Path;
use std::process::{Command, Stdio};

/// The text of `--version`, or of `version` for a program that has only that.
pub(super) fn version_of(file: &Path) -> Option<String> {
    let ask = |argument: &str| {
        let output = Command::new(file).arg(argument).stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    ask("--version").or_else(|| ask("version"))
}
