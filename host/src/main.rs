//! The `pilothouse` binary: parse, run, exit code.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use pilothouse::app;
use pilothouse::cli::{Command, handover, helm, plugin, project, release};
use pilothouse::handover::client::ClientError;
use pilothouse::plugin::compiler;

fn main() -> ExitCode {
    let helm = |result: Result<(), helm::HelmError>| match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    };
    let project = |result| told(result, project::ProjectCommandError::exit_code);
    let release = |result| told(result, release::ReleaseError::exit_code);
    let handed = |result: Result<(), ClientError>| told(result.map(|()| String::new()), |_| 1);
    match helm::refusal::parse().command {
        Command::Run(args) => match app::run(*args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error, error.exit_code()),
        },
        Command::Plugin(command) => told(plugin::execute(&command), |_| 1),
        Command::Template(args) => helm(helm::template::execute(&args)),
        Command::Lint(args) => helm(helm::lint::execute(&args)),
        Command::Show(command) => helm(helm::show::execute(&command)),
        Command::Init(args) => project(project::init::execute(&args)),
        Command::Create(command) => project(project::create::execute(&command)),
        Command::Adopt(args) => project(project::adopt::execute(&args)),
        Command::Bundle(args) => project(project::bundle::execute(&args)),
        Command::Releases(args) => release(release::list::execute(&args)),
        Command::History(args) => release(release::history::execute(&args)),
        Command::Diff(args) => match release::diff::execute(&args) {
            Ok(difference) => {
                print(&difference.text);
                ExitCode::from(difference.exit_code)
            }
            // 1 says that something differs.
            Err(error) => failed(&error, 2),
        },
        Command::Rollback(args) => release(release::rollback::execute(&args).map(|()| String::new())),
        Command::Pipe(args) => handed(handover::make_pipe(&args)),
        Command::Upload(args) => handed(handover::send(&args)),
        Command::Download(args) => handed(handover::fetch(&args)),
        Command::CompilePlugin(args) => compiler::compile_as_child(&args),
        Command::Version => {
            print(&app::version());
            ExitCode::SUCCESS
        }
    }
}

/// What was asked for, or why not.
fn told<E: Error>(result: Result<String, E>, exit_code: impl FnOnce(&E) -> u8) -> ExitCode {
    match result {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error, exit_code(&error)),
    }
}

fn failed(error: &dyn Error, code: u8) -> ExitCode {
    eprintln!("pilothouse: {error}");
    ExitCode::from(code)
}

/// Whoever reads it may have read enough, as `head` has.
fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
