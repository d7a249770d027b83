//! The world `commands`.

use std::rc::Rc;

use super::bindings::command::exports::pilothouse::operator::command::File;
pub use super::bindings::command::exports::pilothouse::operator::command::{Answer, Guest, Invocation};
use super::imports;
use crate::{CommandAnswer, Host};

/// Answers the world's `run`.
pub fn run(
    invocation: Invocation,
    command: impl FnOnce(Rc<dyn Host>, crate::Invocation) -> CommandAnswer,
) -> Answer {
    let Invocation { name, options } = invocation;
    let CommandAnswer { output, messages, files, failure } =
        command(Rc::new(imports::Imports), crate::Invocation { name, options });
    let files = files.into_iter().map(|file| File { path: file.path, content: file.content }).collect();
    Answer { output, messages, files, failure }
}
