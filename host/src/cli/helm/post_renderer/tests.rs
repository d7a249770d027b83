use std::fs;

use super::*;

fn plugin(directory: &Path, name: &str, text: &str) {
    let directory = directory.join(name);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("plugin.yaml"), text).unwrap();
}

fn described(name: &str, command: &str) -> String {
    format!(
        "apiVersion: v1\nname: {name}\nversion: 1.0.0\ntype: postrenderer/v1\nruntime: subprocess\n\
         runtimeConfig:\n  platformCommand:\n  - {command}\n"
    )
}

fn found(name: &str, directory: &Path) -> Result<PostRenderer, String> {
    let manifest = search::plugin_in(name, &[directory.to_owned()])?;
    Ok(PostRenderer { kind: Kind::Plugin(Box::new(manifest)), arguments: vec!["more".to_owned()] })
}

#[test]
fn a_plugin_runs_with_its_place_in_the_environment_and_the_persons_arguments() {
    let directory = tempfile::tempdir().unwrap();
    let command = "command: sh\n    args: [\"-c\", 'cat; echo \"$HELM_PLUGIN_NAME $HELM_PLUGIN_DIR $0\"']";
    plugin(directory.path(), "d", &described("mine", command));
    let written = found("mine", directory.path()).unwrap().run(b"in\n".to_vec(), false).unwrap();
    // The argument in quotes is expanded before the shell sees it.
    let place = directory.path().join("d");
    assert_eq!(String::from_utf8(written).unwrap(), format!("in\nmine {} \n", place.display()));
}

#[test]
fn what_cannot_be_run_is_told_in_helms_words() {
    let directory = tempfile::tempdir().unwrap();
    for (name, command) in [
        ("none", "os: plan9\n    command: cat"),
        ("fails", "command: sh\n    args: [\"-c\", \"exit 3\"]"),
        ("silent", "command: \"true\""),
        ("absent", "command: no-such-program"),
    ] {
        plugin(directory.path(), name, &described(name, command));
    }
    let failure = |name: &str| found(name, directory.path()).unwrap().run(b"x".to_vec(), false).unwrap_err();
    assert_eq!(
        failure("none"),
        "failed to invoke post-renderer plugin \"none\": failed to prepare plugin command: no plugin command is applicable"
    );
    assert_eq!(
        failure("fails"),
        "failed to invoke post-renderer plugin \"fails\": plugin \"fails\" exited with error"
    );
    assert_eq!(failure("silent"), "post-renderer \"silent\" produced empty output");
    assert_eq!(
        failure("absent"),
        "failed to invoke post-renderer plugin \"absent\": exec: \"no-such-program\": executable file not found in $PATH"
    );
}

#[test]
fn a_plugin_is_found_by_its_name_and_type_and_others_are_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    plugin(directory.path(), "a", "name: old\nversion: 1.0.0\ncommand: cat\n");
    plugin(directory.path(), "b", "apiVersion: v1\nname: bad name\n");
    plugin(directory.path(), "c", "apiVersion: v1\nname: x\nversion: 1\ntype: cli/v1\nruntime: subprocess\n");
    let missing = |name: &str| found(name, directory.path()).unwrap_err();
    for name in ["old", "x", "nobody"] {
        assert_eq!(missing(name), format!("plugin: {{Name:{name} Type:postrenderer/v1}} not found"));
    }
    plugin(directory.path(), "d", &described("old", "command: cat"));
    let place = |name: &str| directory.path().join(name).display().to_string();
    let twice = format!("two plugins claim the name \"old\" at {:?} and {:?}", place("a"), place("d"));
    assert_eq!(missing("old"), twice);
}

#[test]
fn a_program_that_does_not_read_and_one_that_writes_first_are_no_trouble() {
    let directory = tempfile::tempdir().unwrap();
    let much = "command: sh\n    args: [\"-c\", \"head -c 1000000 /dev/zero | tr '\\\\0' a\"]";
    plugin(directory.path(), "much", &described("much", much));
    let written = found("much", directory.path()).unwrap().run(vec![b'x'; 3_000_000], false).unwrap();
    assert_eq!(written.len(), 1_000_000);
}

#[test]
fn the_program_of_helm_3_is_any_and_tells_why_it_failed() {
    let args = |program: &str, arguments: &[&str]| PostRendererArgs {
        post_renderer: vec![program.to_owned()],
        post_renderer_args: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
    };
    let renderer = args("sed", &["s/a/b/"]).find("3").unwrap().unwrap();
    assert_eq!(renderer.run(b"aaa\n".to_vec(), false).unwrap(), b"baa\n");
    let sh = args("sh", &["-c", "echo oops >&2; exit 3"]).find("3").unwrap().unwrap();
    let Kind::Program(path) = &sh.kind else { panic!("a program") };
    assert_eq!(
        sh.run(Vec::new(), false).unwrap_err(),
        format!("error while running command {}. error output:\noops\n: exit status 3", path.display())
    );
    assert_eq!(
        args("no-such-program", &[]).find("3").unwrap_err().to_string(),
        "invalid argument \"no-such-program\" for \"--post-renderer\" flag: unable to find binary at no-such-program: exec: \
         \"no-such-program\": executable file not found in $PATH"
    );
    assert!(args("", &[]).find("4").unwrap().is_none());
}
