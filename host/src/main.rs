//! The `pilothouse` binary: parse, run, exit code.

use std::io::Write as _;
use std::process::ExitCode;

use pilothouse::app;
use pilothouse::cli::{Command, backups, handover, helm, plugin, project, release};
use pilothouse::handover::client::ClientError;
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
            print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error, error.exit_code()),
    };
    let release = |result: Result<String, release::ReleaseError>| match result {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error, error.exit_code()),
    };
    let handed = |result: Result<(), ClientError>| match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error, 1),
    };
    match helm::refusal::parse().command {
        Command::Run(args) => match app::run(*args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error, error.exit_code()),
        },
        Command::Plugin(command) => match plugin::execute(&command) {
            Ok(text) => {
                print(&text);
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

/// Whoever reads it may have read enough, as `head` has.
fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
