//! Manifests that go through a program.

use super::{Place, place};

/// A place with a plugin of helm that does `command`.
fn with_plugin(command: &str) -> Option<Place> {
    let place = place()?;
    place.write(
        "plugins/mine/plugin.yaml",
        &format!(
            "apiVersion: v1\nname: mine\nversion: 1.0.0\ntype: postrenderer/v1\nruntime: subprocess\nruntimeConfig:\n  \
             platformCommand:\n  - command: sh\n    args: [\"-c\", {command:?}]\n"
        ),
    );
    place.write(
        "web/templates/config.yaml",
        "# above\nkind: ConfigMap\nmetadata:\n  name: one # beside\ndata:\n    greeting: {{ .Values.greeting }}\n",
    );
    place.write(
        "web/templates/hook.yaml",
        "kind: Job\nmetadata:\n  name: one\n  annotations:\n    \"helm.sh/hook\": pre-install\n",
    );
    Some(place)
}

/// What a command with the place's plugins says: output, errors and whether it did well.
fn ran(place: &Place, arguments: &[&str]) -> (String, String, bool) {
    let mut command = place.command(arguments);
    command.env("HELM_PLUGINS", place.path().join("plugins")).env("PATH", std::env::var_os("PATH").unwrap());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.success())
}

const CONFIG: &str = "---\n# Source: web/templates/config.yaml\n# above\nkind: ConfigMap\nmetadata:\n  name: two # beside\ndata:\n  greeting: hello\n";
const HOOK: &str = "---\n# Source: web/templates/hook.yaml\nkind: Job\nmetadata:\n  name: two\n  annotations:\n    \"helm.sh/hook\": pre-install\n\n";

#[test]
fn manifests_and_hooks_go_through_a_plugin_of_helm_and_keep_their_comments() {
    let Some(place) = with_plugin("sed s/one/two/") else { return };
    let (printed, said, well) = ran(&place, &["template", "./web", "--post-renderer", "mine"]);
    assert_eq!((printed, said, well), (format!("{CONFIG}{HOOK}"), String::new(), true));
    let only = ["template", "./web", "--post-renderer=mine", "-s", "templates/hook.yaml"];
    assert_eq!(ran(&place, &only).0, format!("{HOOK}\n"));
    let (told, _, well) =
        ran(&place, &["template", "./web", "--post-renderer", "mine", "--output-dir", "out"]);
    assert_eq!(told, "wrote out/web/templates/config.yaml\nwrote out/web/templates/hook.yaml\n\n");
    assert!(well);
    let written = std::fs::read_to_string(place.path().join("out/web/templates/config.yaml")).unwrap();
    assert_eq!(written, format!("{CONFIG}\n"));
}

#[test]
fn a_post_renderer_gets_its_arguments_and_what_it_adds_is_printed() {
    let Some(place) = with_plugin("true") else { return };
    let plugin = "apiVersion: v1\nname: mine\nversion: 1.0.0\ntype: postrenderer/v1\nruntime: subprocess\nruntimeConfig:\n  platformCommand:\n  - command: cat -\n";
    place.write("plugins/mine/plugin.yaml", plugin);
    place.write("more.yaml", "---\nkind: Added\nlist:\n  - 1\n");
    let flags =
        ["template", "./web", "--no-hooks", "--post-renderer", "mine", "--post-renderer-args", "more.yaml"];
    let (printed, _, well) = ran(&place, &flags);
    assert!(well);
    let added = "---\n# Source: generated-by-postrender-2.yaml\nkind: Added\nlist:\n- 1\n";
    assert_eq!(printed, format!("{}\n{added}", CONFIG.replace("two", "one")));
}

#[test]
fn a_post_renderer_that_fails_or_is_not_there_is_told_of_in_helms_words() {
    let Some(place) = with_plugin("exit 3") else { return };
    let hint = "\n\nUse --debug flag to render out invalid YAML\n";
    let why = "error while running post render on files: failed to invoke post-renderer plugin \"mine\": plugin \"mine\" exited with error";
    let (printed, said, well) = ran(&place, &["template", "./web", "--post-renderer", "mine"]);
    assert_eq!((printed.as_str(), said, well), ("", format!("Error: {why}{hint}"), false));
    let (printed, said, _) = ran(&place, &["template", "./web", "--post-renderer", "mine", "--debug"]);
    assert_eq!(printed, "\n");
    assert!(said.ends_with(&format!("exitCode=3 stderr=\"\"\nError: {why}\n")), "{said}");
    let (_, said, _) = ran(&place, &["template", "./web", "--post-renderer", "nobody"]);
    assert_eq!(
        said,
        "Error: invalid argument \"nobody\" for \"--post-renderer\" flag: plugin: {Name:nobody Type:postrenderer/v1} not found\n"
    );
    place.write("web/templates/hook.yaml", "- no object\n");
    let (_, said, _) = ran(&place, &["template", "./web", "--post-renderer", "mine"]);
    assert!(
        said.starts_with("Error: error merging manifests: parsing web/templates/hook.yaml: wrong node kind"),
        "{said}"
    );
}

#[test]
fn with_helm_3_any_program_gets_the_manifests_as_they_are_and_hooks_pass_by() {
    let Some(place) = with_plugin("cat") else { return };
    let through = |program: &str, arguments: &[&str]| {
        let flags: Vec<String> =
            arguments.iter().map(|argument| format!("--post-renderer-args={argument}")).collect();
        let mut all = vec!["template", "./web", "--compat=3", "--post-renderer", program];
        all.extend(flags.iter().map(String::as_str));
        ran(&place, &all)
    };
    let (printed, said, _) = through("sed", &["s/one/two/"]);
    let config = CONFIG.replace("  greeting", "    greeting");
    let hook = HOOK.replace("two", "one").replace("\n\n", "\n");
    assert_eq!((printed, said), (format!("{config}{hook}"), String::new()));
    let (_, said, well) = through("sh", &["-c", "echo oops >&2; exit 3"]);
    assert!(!well);
    assert!(
        said.starts_with("Error: error while running post render on files: error while running command /")
    );
    assert!(said.contains("/sh. error output:\noops\n: exit status 3\n"), "{said}");
}
