//! `releases`, `history`, `diff` and `rollback` without a cluster: what is wrong is told before anything is asked.

use super::{Place, place};

const NOBODY: &str = "\
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: me, namespace: shop}}]
clusters: [{name: here, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: me, user: {}}]
";

/// Exit code and standard error.
fn refused(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let output = place.run(arguments);
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn arguments_that_do_not_fit_are_wrong_usage() {
    let Some(place) = place() else { return };
    for (arguments, words) in [
        (&["history", "web"][..], "\"web\" names no object; say KIND/NAME, such as web/shop"),
        (&["diff", "web/"], "\"web/\" is no object"),
        (&["history", "web/a", "b"], "one object at a time: \"b\" is too much"),
        (&["rollback", "web/a", "three"], "\"three\" is not the number of a revision"),
        (&["rollback", "web/a", "--timeout=soon"], "\"soon\" is no duration such as 90s or 1m30s"),
        (&["history"], "required"),
        (&["history", "web/a", "--max=0"], "--max"),
        (&["diff", "web/a", "--color=red"], "[possible values: auto, always, never]"),
    ] {
        let (code, errors) = refused(&place, arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(words), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_cluster_that_does_not_answer_is_named() {
    let Some(place) = place() else { return };
    place.write("kubeconfig", NOBODY);
    for (command, code) in [("releases", 1), ("history", 1), ("rollback", 1), ("diff", 2)] {
        let object = if command == "releases" { &[][..] } else { &["web/a"] };
        let (found, errors) = refused(&place, &[&[command, "--kubeconfig=kubeconfig"], object].concat());
        assert_eq!(found, Some(code), "{command}: {errors}");
        assert!(errors.contains("127.0.0.1") || errors.contains("onnect"), "{command}: {errors}");
        if command != "releases" {
            assert!(errors.contains("no answer from the cluster (kubeconfig): "), "{command}: {errors}");
        }
    }
    let (code, errors) = refused(&place, &["releases", "--kubeconfig=nowhere", "--context=there"]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("no answer from the cluster (nowhere, context there): "), "{errors}");
}

#[test]
fn a_watches_file_of_which_nothing_can_be_used_is_told() {
    let Some(place) = place() else { return };
    place.write("kubeconfig", NOBODY);
    let flags = ["releases", "--kubeconfig=kubeconfig"];
    place.write("watches.yaml", "- group: a\n  version: v1\n  kind: A\n  chart: none\n");
    let (code, errors) = refused(&place, &flags);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("watches.yaml:1:1: chart \"none\" not found"), "{errors}");
    assert!(errors.contains("watches.yaml: there is no entry that can be used"), "{errors}");
    let (code, errors) = refused(&place, &[&flags[..], &["--watches-file=none.yaml"]].concat());
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("none.yaml: No such file"), "{errors}");
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let Some(place) = place() else { return };
    for command in ["releases", "history", "diff", "rollback"] {
        let help = place.printed(&[command, "--help"]);
        assert!(help.contains("EXAMPLES:") && help.contains(&format!("pilothouse {command}")), "{help}");
        for flag in ["--kubeconfig", "--context", "--namespace", "--watches-file"] {
            assert!(help.contains(flag), "{command}: {flag}");
        }
    }
    assert!(place.printed(&["diff", "--help"]).contains("1  something would be"));
}
