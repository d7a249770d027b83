//! Helm's subcommands, as a person runs them: the real binary, the real plugin.
//!
//! Needs `helm.wasm`, built by `cargo xtask plugins` (`PILOTHOUSE_TEST_PLUGINS` names its directory); skips aloud without
//! it.

#[path = "command/dependencies.rs"]
mod dependencies;
#[path = "command/flags.rs"]
mod flags;
#[path = "command/post_renderer.rs"]
mod post_renderer;
#[path = "command/registry.rs"]
mod registry;
#[path = "command/release.rs"]
mod release;
#[path = "command/server.rs"]
mod server;
#[path = "command/verify.rs"]
mod verify;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

use axum::Router;
use axum::routing::get;
use sha2::{Digest as _, Sha256};

const HOST: &str = env!("CARGO_BIN_EXE_pilothouse");

/// Where all tests find the plugin compiled.
static CACHE: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

/// A directory to work in, with a chart.
struct Place {
    directory: tempfile::TempDir,
    plugin: PathBuf,
}

fn place() -> Option<Place> {
    let plugin = std::env::var_os("PILOTHOUSE_TEST_PLUGINS").map(|dir| PathBuf::from(dir).join("helm.wasm"));
    let Some(plugin) = plugin.filter(|path| path.is_file()) else {
        pilothouse_testbed::skip("no PILOTHOUSE_TEST_PLUGINS with helm.wasm; run `cargo xtask test`");
        return None;
    };
    let directory = tempfile::tempdir().unwrap();
    let place = Place { directory, plugin };
    place.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    place.write("web/values.yaml", "greeting: hello\n");
    place.write(
        "web/templates/config.yaml",
        "greeting: {{ .Values.greeting }} {{ .Release.Name }} {{ .Release.Namespace }}\n",
    );
    Some(place)
}

impl Place {
    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HOST);
        command.args(arguments).current_dir(self.path()).env_clear().env("HOME", self.path());
        command.env("PILOTHOUSE_HELM_PLUGIN", &self.plugin).env("PILOTHOUSE_CACHE_DIR", CACHE.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// What is printed by a command that does well.
    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The last line that a command that fails says.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
        let errors = String::from_utf8(output.stderr).unwrap();
        errors.lines().rfind(|line| line.starts_with("Error: ")).unwrap_or(&errors).to_owned()
    }

    /// The chart as an archive below the directory.
    fn archive(&self, name: &str) -> Vec<u8> {
        let done = Command::new("tar").args(["czf", name, "web"]).current_dir(self.path()).status().unwrap();
        assert!(done.success());
        fs::read(self.path().join(name)).unwrap()
    }
}

fn manifest(greeting: &str, release: &str, namespace: &str) -> String {
    format!("---\n# Source: web/templates/config.yaml\ngreeting: {greeting} {release} {namespace}\n")
}

#[test]
fn a_chart_is_rendered_from_a_directory_an_archive_and_with_values_from_everywhere() {
    let Some(place) = place() else { return };
    assert_eq!(place.printed(&["template", "./web"]), manifest("hello", "release-name", "default"));
    place.archive("web-1.0.0.tgz");
    place.write("prod.yaml", "greeting: from a file\n");
    place.write("text.txt", "from text");
    let render = |flags: &[&str]| {
        place.printed(&[&["template", "rel", "web-1.0.0.tgz", "-n", "shop"], flags].concat())
    };
    assert_eq!(render(&[]), manifest("hello", "rel", "shop"));
    assert_eq!(render(&["-f", "prod.yaml"]), manifest("from a file", "rel", "shop"));
    assert_eq!(render(&["-f", "prod.yaml", "--set", "greeting=set"]), manifest("set", "rel", "shop"));
    assert_eq!(render(&["--set-file", "greeting=text.txt"]), manifest("from text", "rel", "shop"));
    let mut child = place
        .command(&["template", "rel", "./web", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"greeting: piped").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), manifest("piped", "rel", "default"));
}

#[test]
fn what_cannot_be_rendered_is_refused_in_helms_words_with_exit_code_1() {
    let Some(place) = place() else { return };
    place.write("bad/Chart.yaml", "apiVersion: v2\nname: bad\nversion: 1.0.0\n");
    place.write("bad/templates/x.yaml", "a: {{ required \"a is needed\" .Values.a }}\n");
    for (arguments, said) in [
        (&["template", "./none"][..], "Error: path \"./none\" not found"),
        (
            &["template", "none"],
            "Error: non-absolute URLs should be in form of repo_name/path_to_chart, got: none",
        ),
        (&["template", "x/none"], "Error: repo x not found"),
        (&["template", "r", "./web", "-f", "none.yaml"], "Error: open none.yaml: no such file or directory"),
        (
            &["template", "r", "./web", "--set-file", "a=none"],
            "Error: failed parsing --set-file data: open none: no such file or directory",
        ),
        (&["template", "./web", "--bogus"], "Error: unknown flag: --bogus"),
        (&["template", "./bad"], "Error: execution error at (bad/templates/x.yaml:1:6): a is needed"),
        (&["show", "chart"], "Error: \"pilothouse show chart\" requires 1 argument"),
    ] {
        assert_eq!(place.refused(arguments), said, "{arguments:?}");
    }
    let lost = place
        .command(&["template", "./web"])
        .env("PILOTHOUSE_HELM_PLUGIN", "/no/such.wasm")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&lost.stderr).contains("/no/such.wasm: No such file"));
}

#[test]
fn files_are_written_below_the_directory_that_is_named() {
    let Some(place) = place() else { return };
    let told = place.printed(&["template", "rel", "./web", "--output-dir", "out", "--release-name"]);
    assert_eq!(told, "wrote out/rel/web/templates/config.yaml\n\n");
    let written = fs::read_to_string(place.path().join("out/rel/web/templates/config.yaml")).unwrap();
    assert_eq!(written, manifest("hello", "rel", "default") + "\n");
}

#[test]
fn a_chart_reads_no_file_that_nobody_named() {
    let Some(place) = place() else { return };
    place.write("secret.txt", "secret");
    place.write(
        "web/templates/config.yaml",
        "a: {{ .Files.Get \"../secret.txt\" | quote }}\nb: {{ .Files.Get \"/etc/passwd\" | quote }}\n",
    );
    let printed = place.printed(&["template", "./web"]);
    assert!(printed.ends_with("a: \"\"\nb: \"\"\n"), "{printed}");
}

#[test]
fn parts_of_a_chart_are_shown() {
    let Some(place) = place() else { return };
    place.write("web/README.md", "Read me.");
    assert_eq!(place.printed(&["show", "chart", "./web"]), "apiVersion: v2\nname: web\nversion: 1.0.0\n\n");
    assert_eq!(place.printed(&["show", "values", "./web"]), "greeting: hello\n\n");
    assert_eq!(place.printed(&["show", "readme", "./web"]), "Read me.\n");
}

#[test]
fn a_chart_is_linted_and_what_is_wrong_with_it_ends_with_exit_code_1() {
    let Some(place) = place() else { return };
    place.write(
        "web/templates/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n",
    );
    place.archive("web-1.0.0.tgz");
    let fine = |path: &str| {
        format!(
            "==> Linting {path}\n[INFO] Chart.yaml: icon is recommended\n\n1 chart(s) linted, 0 chart(s) failed\n"
        )
    };
    assert_eq!(place.printed(&["lint", "./web"]), fine("./web"));
    assert_eq!(place.printed(&["lint", "web-1.0.0.tgz"]), fine("web-1.0.0.tgz"));
    assert_eq!(place.printed(&["lint", "./web", "--quiet"]), "");
    place.write("bare/Chart.yaml", "apiVersion: v2\nname: bare\nversion: 1.0.0\n");
    fs::create_dir_all(place.path().join("bare/templates")).unwrap();
    assert_eq!(
        place.printed(&["lint", "bare"]),
        fine("bare").replace("recommended\n", "recommended\n[INFO] values.yaml: file does not exist\n")
    );
    place.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: nonsense\n");
    let output = place.run(&["lint", "./web", "./none"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "Error: 2 chart(s) linted, 2 chart(s) failed\n");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("[ERROR] Chart.yaml: version 'nonsense' is not a valid SemVer"), "{printed}");
    assert!(
        printed.contains("==> Linting ./none\nError unable to check Chart.yaml file in chart"),
        "{printed}"
    );
}

#[test]
fn a_pipe_in_a_chart_keeps_nobody_waiting() {
    let Some(place) = place() else { return };
    let pipe = place.path().join("web/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let refused = place.refused(&["template", "./web"]);
    assert!(refused.contains("web/pipe: neither a file nor a directory"), "{refused}");
    place.write("web/.helmignore", "pipe\n");
    assert_eq!(place.printed(&["template", "./web"]), manifest("hello", "release-name", "default"));
}

#[test]
fn a_login_in_a_url_is_not_told() {
    let Some(place) = place() else { return };
    for arguments in [
        &["template", "web", "--repo", "http://me:hidden@127.0.0.1:1/"][..],
        &["template", "http://me:hidden@127.0.0.1:1/web.tgz"],
    ] {
        let refused = place.refused(arguments);
        assert!(refused.contains("127.0.0.1:1") && !refused.contains("hidden"), "{refused}");
    }
}

/// A repository whose index says so about the one archive it has; its URL.
async fn repository(archive: Vec<u8>, digest: &str) -> String {
    let index = format!(
        "apiVersion: v1\nentries:\n  web:\n  - name: web\n    version: 1.0.0\n    digest: {digest}\n    urls: [web-1.0.0.tgz]\n"
    );
    let router = Router::new()
        .route("/charts/index.yaml", get(move || async move { index }))
        .route("/charts/web-1.0.0.tgz", get(move || async move { archive }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}/charts")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_is_fetched_from_a_repository_and_refused_when_it_is_not_what_the_index_promises() {
    let Some(place) = place() else { return };
    let archive = place.archive("web-1.0.0.tgz");
    let digest: String = Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
    let url = repository(archive.clone(), &digest).await;
    let printed = place.printed(&["template", "rel", "web", "--repo", &url, "--version", "^1"]);
    assert_eq!(printed, manifest("hello", "rel", "default"));
    assert_eq!(
        place.refused(&["template", "rel", "web", "--repo", &url, "--version", "2"]),
        format!("Error: chart \"web\" version \"2\" not found in {url} repository")
    );
    place.write("repositories.yaml", &format!("repositories:\n- name: my\n  url: {url}\n"));
    fs::create_dir(place.path().join("cache")).unwrap();
    let named =
        ["template", "rel", "my/web", "--repository-config=repositories.yaml", "--repository-cache=cache"];
    assert!(place.refused(&named).contains("no cached repo found. (try 'helm repo update')"));
    let index = "entries:\n  web:\n  - version: 1.0.0\n    urls: [web-1.0.0.tgz]\n";
    place.write("cache/my-index.yaml", &format!("apiVersion: v1\n{index}"));
    assert_eq!(place.printed(&named), manifest("hello", "rel", "default"));
    let wrong = repository(archive, &"a".repeat(64)).await;
    let refused = place.refused(&["template", "rel", "web", "--repo", &wrong]);
    assert!(refused.contains("is not what the repository's index promises"), "{refused}");
}
