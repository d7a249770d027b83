//! The `pilothouse` binary: parse, run, exit code.

use std::process::ExitCode;

use clap::Parser as _;
use pilothouse::app;
use pilothouse::cli::{Cli, Command, plugin};
use pilothouse::plugin::compiler;

fn main() -> ExitCode {
    let failed = |error: &dyn std::error::Error, code: u8| {
        eprintln!("pilothouse: {error}");
        ExitCode::from(code)
    };
    match Cli::parse().command {
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
        Command::CompilePlugin(args) => compiler::compile_as_child(&args),
        Command::Version => {
            print!("{}", app::version());
            ExitCode::SUCCESS
        }
    }
}
