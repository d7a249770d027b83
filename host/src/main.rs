//! The `pilothouse` binary: parse, run, exit code.

use std::io::Write as _;
use std::process::ExitCode;

use pilothouse::app;
use pilothouse::cli::project::ProjectCommandError;
use pilothouse::cli::release::ReleaseError;
use pilothouse::cli::{Command, backups, handover, helm, plugin, project, release};
use pilothouse::handover::client::ClientError;
use pilothouse::plugin::compiler;

fn main() -> ExitCode {
    match helm::refusal::parse().command {
        Command::Run(args) => match app::run(*args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error, error.exit_code()),
        },
        Command::Plugin(command) => told(plugin::execute(&command), |_| 1),
        Command::Template(args) => of_helm(helm::template::execute(&args)),
        Command::Lint(args) => of_helm(helm::lint::execute(&args)),
        Command::Show(command) => of_helm(helm::show::execute(&command)),
        Command::Init(args) => told(project::init::execute(&args), ProjectCommandError::exit_code),
        Command::Create(command) => told(project::create::execute(&command), ProjectCommandError::exit_code),
        Command::Adopt(args) => told(project::adopt::execute(&args), ProjectCommandError::exit_code),
        Command::Bundle(args) => told(project::bundle::execute(&args), ProjectCommandError::exit_code),
        Command::Releases(args) => told(release::list::execute(&args), ReleaseError::exit_code),
        Command::History(args) => told(release::history::execute(&args), ReleaseError::exit_code),
        Command::Diff(args) => match release::diff::execute(&args) {
            Ok(difference) => {
                print(&difference.text);
                ExitCode::from(difference.exit_code)
            }
            // 1 says that something differs.
            Err(error) => failed(&error, 2),
        },
        Command::Rollback(args) => {
            told(release::rollback::execute(&args).map(|()| String::new()), ReleaseError::exit_code)
        }
        Command::Backups(args) => match backups::execute(&args) {
            Ok(report) => {
                print(&report.text);
                ExitCode::from(report.exit_code)
            }
            Err(error) => failed(&error, error.exit_code()),
        },
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

fn failed(error: &dyn std::error::Error, code: u8) -> ExitCode {
    eprintln!("pilothouse: {error}");
    ExitCode::from(code)
}

/// In the words of `helm`.
fn of_helm(result: Result<(), helm::HelmError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn told<E: std::error::Error>(result: Result<String, E>, code: impl Fn(&E) -> u8) -> ExitCode {
    match result {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error, code(&error)),
    }
}

fn handed(result: Result<(), ClientError>) -> ExitCode {
    told(result.map(|()| String::new()), |_| 1)
}

/// Whoever reads it may have read enough, as `head` has.
fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
