//! What a person may ask at a command line: which backups there are, and which a storage has that the cluster knows nothing of.

mod import;
mod list;

use std::rc::Rc;

use pilothouse_sdk::{CommandAnswer, Host, Invocation};
use serde::{Serialize, de::DeserializeOwned};

/// Does what was asked.
#[expect(clippy::needless_pass_by_value, reason = "commands are exported so")]
pub fn run(host: Rc<dyn Host>, invocation: Invocation) -> CommandAnswer {
    let Invocation { name, options } = invocation;
    let mut answer = CommandAnswer::default();
    let result = match name.as_str() {
        "backups" => parse(&options).and_then(|options| list::list(&host, &options, &mut answer)),
        "import" => parse(&options).and_then(|options| import::import(&host, &options, &mut answer)),
        other => Err(format!("the backup plugin knows no command {other:?}")),
    };
    answer.failure = result.err();
    answer
}

fn parse<T: DeserializeOwned>(options: &str) -> Result<T, String> {
    serde_json::from_str(options)
        .map_err(|error| format!("the options are not of the command's form: {error}"))
}

fn written(rows: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(rows).map_err(|error| error.to_string())
}
