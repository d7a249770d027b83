//! The `pilothouse` binary: parse, run, exit code.

use std::process::ExitCode;

use pilothouse::app;
use pilothouse::cli::{Command, helm, plugin, project};
use pilothouse::plugin::compiler;

fn main() -> ExitCode {
    let failed = |error: &dyn std::error::Error, code: u8| {
        eprintln!("pilothouse: {error}");
        ExitCode::from(code)
    };
    let helm = |result: Result<(), helm::HelmError>| match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    };
    let project = |result: Result<String, project::ProjectCommandError>| match result {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error, error.exit_code()),
    };
    match helm::refusal::parse().command {
        Command::Run(args) => match app::run(*args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error, error.exit_code()),
        },
        Command::Plugin(command) => match plugin::execute(&command) {
            Ok(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Err(error) => failed(&error, 1),
        },
        Command::Template(args) => helm(helm::template::execute(&args)),
        Command::Lint(args) => helm(helm::lint::execute(&args)),
        Command::Show(command) => helm(helm::show::execute(&command)),
        Command::Init(args) => project(project::init::execute(&args)),
        Command::Create(command) => project(project::create::execute(&command)),
        Command::Adopt(args) => project(project::adopt::execute(&args)),
        Command::Bundle(args) => project(project::bundle::execute(&args)),
        Command::CompilePlugin(args) => compiler::compile_as_child(&args),
        Command::Version => {
            print!("{}", app::version());
            ExitCode::SUCCESS
        }
    }
}
