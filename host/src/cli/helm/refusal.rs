//! What is said of flags that cannot be followed: Helm's words and exit code for Helm's subcommands.

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::Cli;
use crate::cli::project::foreign;

const HELMS: [&str; 4] = ["template", "lint", "show", "inspect"];

/// The command line, or the end of the program with an answer.
pub fn parse() -> Cli {
    match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let subcommand = std::env::args().nth(1).unwrap_or_default();
            if let Some(hint) = foreign_flag(&subcommand, &error) {
                eprintln!("pilothouse: {hint}");
                std::process::exit(2)
            }
            match told(&subcommand, &error) {
                Some(text) => {
                    eprintln!("Error: {text}");
                    std::process::exit(1)
                }
                None => error.exit(),
            }
        }
    }
}

/// A flag of operator-sdk's that is for other projects than those of charts.
fn foreign_flag(subcommand: &str, error: &clap::Error) -> Option<String> {
    if !["init", "create"].contains(&subcommand) || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => foreign::hint(text.split(['=', ' ']).next()?),
        _ => None,
    }
}

/// Helm's words; none: clap's are as good.
fn told(subcommand: &str, error: &clap::Error) -> Option<String> {
    if !HELMS.contains(&subcommand) {
        return None;
    }
    let invalid = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let flag = invalid.split_whitespace().next().unwrap_or_default();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => None,
        ErrorKind::UnknownArgument => Some(match flag.strip_prefix("--") {
            Some(_) => format!("unknown flag: {flag}"),
            None => format!("unknown shorthand flag: '{0}' in -{0}", flag.trim_start_matches('-')),
        }),
        ErrorKind::InvalidValue if value(error).is_empty() => Some(format!("flag needs an argument: {flag}")),
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Some(match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(values)) => format!("{first}: one of {}", values.join(", ")),
                _ => first.to_owned(),
            })
        }
    }
}

fn value(error: &clap::Error) -> String {
    match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Command;

    #[test]
    fn the_last_of_a_flag_wins_and_flags_for_several_values_add_up() {
        let line =
            ["pilothouse", "template", "x", "--kube-version=1", "--kube-version=2", "--set=a=1", "--set=b=2"];
        let Command::Template(args) = Cli::try_parse_from(line).unwrap().command else { panic!("template") };
        assert_eq!(args.kube_version, "2");
        assert_eq!(args.values.set, ["a=1", "b=2"]);
    }

    #[test]
    fn wrong_flags_of_helms_subcommands_are_answered_in_helms_words() {
        let answer = |arguments: &[&str]| {
            let all = std::iter::once("pilothouse").chain(arguments.iter().copied());
            told(arguments[0], &Cli::try_parse_from(all).unwrap_err())
        };
        assert_eq!(answer(&["template", "x", "--bogus"]).as_deref(), Some("unknown flag: --bogus"));
        assert_eq!(answer(&["template", "x", "-z"]).as_deref(), Some("unknown shorthand flag: 'z' in -z"));
        assert_eq!(answer(&["lint", "x", "--set"]).as_deref(), Some("flag needs an argument: --set"));
        assert_eq!(
            answer(&["template", "x", "--compat", "5"]).as_deref(),
            Some("invalid value '5' for '--compat <HELM>': one of 3, 4")
        );
        assert_eq!(answer(&["run", "--bogus"]), None);
        assert_eq!(answer(&["template", "--help"]), None);
    }

    #[test]
    fn flags_for_projects_in_go_are_answered_with_what_there_is_instead() {
        let answer = |arguments: &[&str]| {
            let all = std::iter::once("pilothouse").chain(arguments.iter().copied());
            foreign_flag(arguments[0], &Cli::try_parse_from(all).unwrap_err())
        };
        let said = answer(&["init", "--repo", "github.com/x/y"]).unwrap();
        assert!(said.contains("--helm-chart-repo"), "{said}");
        assert!(answer(&["create", "api", "--controller=false"]).is_some());
        assert!(answer(&["init", "--bogus"]).is_none());
        assert!(answer(&["init", "--project-version", "2"]).is_none());
    }
}
