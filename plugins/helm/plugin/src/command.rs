//! What a person may ask at a command line: the subcommands of `helm` that need no cluster, and how releases stand.
//!
//! Flags are the host's; what they mean is said here. Texts of errors are Helm's, without the `Error: ` in front.

mod chart;
mod dependencies;
mod diff;
mod history;
mod json_path;
mod lint;
mod options;
mod post_render;
mod releases;
mod repository;
mod rollback;
mod server;
mod show;
mod standing;
mod subject;
mod survey;
mod template;
mod values;
mod verify;

use std::rc::Rc;

use pilothouse_sdk::{CommandAnswer, Host, Invocation};

/// Does what was asked.
#[expect(clippy::needless_pass_by_value, reason = "commands are exported so")]
pub fn run(host: Rc<dyn Host>, invocation: Invocation) -> CommandAnswer {
    let Invocation { name, options } = invocation;
    let mut answer = CommandAnswer::default();
    let result = match name.as_str() {
        "template" => {
            options::parse(&options).and_then(|options| template::template(&host, &options, &mut answer))
        }
        "show" => options::parse(&options).and_then(|options| show::show(&*host, &options, &mut answer)),
        "find-chart" => {
            options::parse(&options).and_then(|options| repository::find_chart(&*host, &options, &mut answer))
        }
        "pick-tag" => {
            options::parse(&options).and_then(|options| repository::pick_tag(&options, &mut answer))
        }
        "dependencies" => options::parse(&options)
            .and_then(|options| dependencies::dependencies(&*host, &options, &mut answer)),
        "inspect-chart" => {
            options::parse(&options).and_then(|options| dependencies::inspect(&*host, &options, &mut answer))
        }
        "lock" => {
            options::parse(&options).and_then(|options| dependencies::lock(&*host, &options, &mut answer))
        }
        "verify" => options::parse(&options).and_then(|options| verify::verify(&*host, &options)),
        "lint" => options::parse(&options).and_then(|options| lint::lint(&*host, &options, &mut answer)),
        "survey" => options::parse(&options).and_then(|options| survey::survey(&*host, options, &mut answer)),
        "starter" => options::parse(&options).and_then(|options| survey::starter(&options, &mut answer)),
        "releases" => {
            options::parse(&options).and_then(|options| releases::releases(&host, &options, &mut answer))
        }
        "history" => {
            options::parse(&options).and_then(|options| history::history(&host, &options, &mut answer))
        }
        "rollback" => {
            options::parse(&options).and_then(|options| rollback::rollback(&host, &options, &mut answer))
        }
        "diff" => options::parse(&options).and_then(|options| diff::diff(&host, &options, &mut answer)),
        other => Err(format!("the Helm plugin knows no command {other:?}")),
    };
    answer.failure = result.err();
    answer
}
