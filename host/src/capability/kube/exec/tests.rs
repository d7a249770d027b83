use super::*;
use crate::exec::ExecError;

fn command() -> kube::Command {
    kube::Command {
        namespace: "shop".to_owned(),
        pod: "db-0".to_owned(),
        uid: "u".to_owned(),
        container: "db".to_owned(),
        arguments: vec!["sync".to_owned()],
        timeout_ms: 30_000,
        stdin: None,
    }
}

fn refusal(name: &str, command: &kube::Command) -> Option<String> {
    let arguments = command.arguments.iter().map(String::len).sum();
    match check(name, command, arguments) {
        Err(Error::Invalid(status)) => Some(status.message),
        other => {
            other.unwrap();
            None
        }
    }
}

#[test]
fn what_is_no_command_is_refused_before_anybody_is_asked() {
    assert_eq!(refusal("freeze", &command()), None);
    let refused = [
        kube::Command { uid: String::new(), ..command() },
        kube::Command { container: String::new(), ..command() },
        kube::Command { arguments: Vec::new(), ..command() },
        kube::Command { arguments: vec!["x".repeat(MAX_ARGUMENTS + 1)], ..command() },
        kube::Command { stdin: Some(vec![0; MAX_INPUT + 1]), ..command() },
        kube::Command { timeout_ms: 0, ..command() },
        kube::Command { timeout_ms: 3_600_001, ..command() },
        kube::Command { timeout_ms: u64::MAX, ..command() },
    ];
    for command in refused {
        assert!(refusal("freeze", &command).is_some(), "{command:?}");
    }
    assert!(refusal("", &command()).is_some() && refusal(&"x".repeat(254), &command()).is_some());
}

#[test]
fn every_part_of_a_command_makes_it_another_one() {
    let same = fingerprint(1, &command());
    assert_eq!(same, fingerprint(1, &command()));
    let others = [
        fingerprint(2, &command()),
        fingerprint(1, &kube::Command { uid: "v".to_owned(), ..command() }),
        fingerprint(1, &kube::Command { stdin: Some(Vec::new()), ..command() }),
        fingerprint(1, &kube::Command { arguments: vec!["sync ".to_owned()], ..command() }),
        fingerprint(1, &kube::Command { timeout_ms: 1, ..command() }),
    ];
    assert!(others.iter().all(|other| *other != same));
}

#[test]
fn an_end_that_is_not_known_is_never_told_as_an_exit_code() {
    let state = |ended| wit_progress(Standing { ended, output: "said".to_owned() }).state;
    assert!(matches!(state(None), kube::CommandState::Running));
    assert!(matches!(state(Some(Ok(3))), kube::CommandState::Done(3)));
    let lost = Some(Err(ExecError::Lost("cut".to_owned())));
    let kube::CommandState::Failed((word, said)) = state(lost) else { panic!("not a failure") };
    assert_eq!((word.as_str(), said.as_str()), ("ConnectionLost", "cut"));
}

#[test]
fn a_plugin_with_too_many_commands_comes_back_and_an_object_with_too_many_names_forgets_some() {
    assert!(matches!(full(Full::Running), Error::Throttled(FULL_MS)));
    assert!(matches!(full(Full::Names), Error::Exhausted(_)));
}
