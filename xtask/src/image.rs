//! `cargo xtask image`: the host's image as a file, without a Docker daemon.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use pilothouse_testbed::image::Archive;
use pilothouse_testbed::{busybox, databases, playerstats};

use crate::build;
use crate::steps::{Terminal, run, say};

/// Flags of `cargo xtask image`.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  cargo xtask image                                              pilothouse.tar, for docker load, podman load, ctr
  cargo xtask image --form helm-operator                         what an operator-sdk project names in its FROM line
  cargo xtask image --plugins --add my-operator:/project         with the plugins and an operator project inside
  cargo xtask image --databases                                  MariaDB, PostgreSQL, Redis, for a node without a registry
  cargo xtask image --output p.tar && cargo xtask cluster import p.tar")]
pub(crate) struct ImageArgs {
    /// Where to write the docker-archive.
    #[arg(long, short, value_name = "FILE", default_value = "pilothouse.tar")]
    output: PathBuf,
    /// Which of the two images of deploy/Dockerfile.
    #[arg(long, value_enum, default_value_t)]
    form: Form,
    /// The image's name. Default: pilothouse.dev/pilothouse:VERSION or pilothouse.dev/helm-operator:vVERSION.
    #[arg(long)]
    tag: Option<String>,
    /// With plugins of the repository in /plugins: those named (`--plugins=helm,hello`), or all. Default: none, and helm for
    /// the form helm-operator.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', num_args = 0..=1, require_equals = true, default_missing_value = "")]
    plugins: Option<Vec<String>>,
    /// A file or directory of this machine, and where it is in the image. Can be given several times.
    #[arg(long, value_name = "HERE:THERE")]
    add: Vec<String>,
    /// Write the small images of the player-stats project instead, for a node without a registry.
    #[arg(long, conflicts_with_all = ["form", "tag", "plugins", "add"])]
    player_stats: bool,
    /// Make the images of MariaDB, PostgreSQL and Redis instead, which are kept in the cache; says where.
    #[arg(long, conflicts_with_all = ["form", "tag", "plugins", "add", "player_stats", "output"])]
    databases: bool,
}

/// What the image is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The host as its chart runs it.
    #[default]
    Host,
    /// The base of an operator-sdk project's own Dockerfile, as quay.io/operator-framework/helm-operator is.
    HelmOperator,
}

impl Form {
    fn tag(self) -> &'static str {
        match self {
            Self::Host => concat!("pilothouse.dev/pilothouse:", env!("CARGO_PKG_VERSION")),
            Self::HelmOperator => concat!("pilothouse.dev/helm-operator:v", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// Who the host runs as: nobody in particular, and not root.
const USER: &str = "65532:65532";
/// Who it runs as in a project's image: operator-sdk's user, for manifests that name it.
const PROJECT_USER: &str = "1001:0";
/// Where the host looks for compiled plugins (its `--prebuilt-dir`).
const COMPILED: &str = "/usr/lib/pilothouse/compiled";
/// Where a project's Dockerfile puts its files.
const PROJECT: &str = "/opt/helm";
const PASSWD: &str = "\
pilothouse:x:65532:65532:pilothouse:/:/nonexistent
helm:x:1001:0:helm user:/opt/helm:/nonexistent
";

/// Writes the image.
pub(crate) fn image(args: &ImageArgs) -> Result<()> {
    if args.databases {
        return databases();
    }
    let images = if args.player_stats { player_stats()? } else { vec![host(args)?] };
    let file = std::fs::File::create(&args.output).with_context(|| args.output.display().to_string())?;
    let mut output = std::io::BufWriter::new(file);
    pilothouse_testbed::image::write_all(&images, &mut output)?;
    std::io::Write::flush(&mut output).with_context(|| args.output.display().to_string())?;
    let tags: Vec<&str> = images.iter().flat_map(Archive::tags).map(String::as_str).collect();
    let size = std::fs::metadata(&args.output)?.len() / (1 << 20);
    say(&format!("{} in {} ({size} MiB)", tags.join(", "), args.output.display()));
    Ok(())
}

/// The host without plugins, under the name that the chart asks for.
pub(crate) fn bare_host() -> Result<Archive> {
    assemble(Form::Host, Form::Host.tag(), &build::host()?, &[])
}

/// The name of that, for those who name it elsewhere.
pub(crate) fn host_tag() -> &'static str {
    Form::Host.tag()
}

/// What an operator project's own Dockerfile makes: the host with the Helm plugin, and the project's charts.
///
/// # Errors
/// When something of it cannot be built or read.
pub(crate) fn of_project(tag: &str, project: &Path) -> Result<Archive> {
    let add = |path: &str| format!("{}:{PROJECT}/{path}", project.join(path).display());
    host(&ImageArgs {
        output: PathBuf::new(),
        form: Form::HelmOperator,
        tag: Some(tag.to_owned()),
        plugins: None,
        add: vec![add("watches.yaml"), add("helm-charts")],
        player_stats: false,
        databases: false,
    })
}

fn host(args: &ImageArgs) -> Result<Archive> {
    let plugins = match (&args.plugins, args.form) {
        (None, Form::Host) => Vec::new(),
        (None, Form::HelmOperator) => named(&["helm".to_owned()], build::plugins()?)?,
        (Some(names), _) => named(names, build::plugins()?)?,
    };
    let tag = args.tag.as_deref().unwrap_or(args.form.tag());
    let program = build::host()?;
    let mut image = assemble(args.form, tag, &program, &plugins)?;
    if !plugins.is_empty() {
        add_compiled(&mut image, &program, &plugins)?;
    }
    for pair in &args.add {
        let Some((here, there)) = pair.rsplit_once(':').filter(|(_, there)| there.starts_with('/')) else {
            bail!("--add {pair}: not of the form HERE:/THERE");
        };
        image.tree_from(there, Path::new(here))?;
    }
    Ok(image)
}

/// The plugins of these names; all of them where there is no name.
fn named(names: &[String], all: Vec<PathBuf>) -> Result<Vec<PathBuf>> {
    let names: Vec<&str> = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &&str| {
        let found = all.iter().find(|file| file.file_stem().is_some_and(|stem| stem == *name));
        found.cloned().with_context(|| format!("--plugins: no plugin of this repository is named {name:?}"))
    };
    names.iter().map(find).collect()
}

/// The host alone on an empty root file system: a static program, and the authorities it trusts outside of the cluster. As
/// deploy/Dockerfile makes it.
fn assemble(form: Form, tag: &str, program: &Path, plugins: &[PathBuf]) -> Result<Archive> {
    let mut image = Archive::new(tag);
    image.file_from("/pilothouse", program, 0o755)?;
    // Writable by whatever user the platform chooses, where the pod mounts nothing over them.
    image.directory("/tmp", 0o1777, 0).directory("/var/cache", 0o1777, 0).directory("/plugins", 0o755, 0);
    image.file("/etc/passwd", PASSWD, 0o644).file("/etc/group", "pilothouse:x:65532:\n", 0o644);
    if let Some(authorities) = authorities() {
        image.file_from("/etc/ssl/certs/ca-certificates.crt", &authorities, 0o644)?;
    }
    for plugin in plugins {
        let name = plugin.file_name().context("a plugin without a name")?.to_string_lossy().into_owned();
        image.file_from(&format!("/plugins/{name}"), plugin, 0o644)?;
    }
    match form {
        Form::Host => image.user(USER).entrypoint(&["/pilothouse"]).arguments(&["run"]),
        Form::HelmOperator => image
            .directory(PROJECT, 0o755, 0)
            .user(PROJECT_USER)
            .environment(&[&format!("HOME={PROJECT}")])
            .working_directory(PROJECT)
            .entrypoint(&["/pilothouse", "run"]),
    };
    image.labels(&[
        ("org.opencontainers.image.title", "pilothouse"),
        ("org.opencontainers.image.version", env!("CARGO_PKG_VERSION")),
        ("org.opencontainers.image.licenses", "Apache-2.0"),
    ]);
    Ok(image)
}

/// The plugins' machine code: a pod with the memory limit that operator-sdk writes could not compile the Helm plugin.
fn add_compiled(image: &mut Archive, program: &Path, plugins: &[PathBuf]) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut command = Command::new(program);
    run(command.args(["plugin", "compile", "--cache-dir"]).arg(directory.path()).args(plugins))?;
    image.tree_from(COMPILED, directory.path())?;
    Ok(())
}

fn databases() -> Result<()> {
    let terminal = Terminal::new();
    for (tags, file) in [
        (databases::MARIADB, databases::mariadb(&terminal)?),
        (databases::POSTGRESQL, databases::postgresql(&terminal)?),
        (databases::REDIS, databases::redis(&terminal)?),
    ] {
        say(&format!(
            "{} in {} ({} MiB)",
            tags.join(", "),
            file.display(),
            file.metadata()?.len() / (1 << 20)
        ));
    }
    Ok(())
}

fn player_stats() -> Result<Vec<Archive>> {
    let mut images = playerstats::images()?;
    // What the sample project of this repository runs.
    images.push(busybox::archive("docker.io/library/busybox:1.37")?);
    Ok(images)
}

/// Where distributions keep them.
fn authorities() -> Option<PathBuf> {
    let places =
        ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];
    places.into_iter().map(PathBuf::from).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Directory of an image taken apart, and its configuration.
    fn unpacked(image: &Archive) -> (tempfile::TempDir, serde_json::Value) {
        let directory = tempfile::tempdir().unwrap();
        let untar = |file: &str| {
            let ended = Command::new("tar").current_dir(directory.path()).args(["-xpf", file]).status();
            assert!(ended.unwrap().success());
        };
        image.write(&directory.path().join("image.tar")).unwrap();
        untar("image.tar");
        let json = |name: &str| -> serde_json::Value {
            serde_json::from_slice(&std::fs::read(directory.path().join(name)).unwrap()).unwrap()
        };
        let manifest = json("manifest.json");
        untar(manifest[0]["Layers"][0].as_str().unwrap());
        let config = json(manifest[0]["Config"].as_str().unwrap())["config"].clone();
        (directory, config)
    }

    fn assembled(form: Form) -> (tempfile::TempDir, serde_json::Value) {
        let file = tempfile::Builder::new().suffix(".wasm").tempfile().unwrap();
        unpacked(&assemble(form, form.tag(), file.path(), &[file.path().to_owned()]).unwrap())
    }

    #[test]
    fn the_base_of_projects_runs_like_operator_sdks() {
        let (files, config) = assembled(Form::HelmOperator);
        assert_eq!(config["Entrypoint"], serde_json::json!(["/pilothouse", "run"]));
        assert!(config["Cmd"].is_null(), "the Deployment's args follow `run`");
        assert_eq!((&config["WorkingDir"], &config["User"]), (&"/opt/helm".into(), &"1001:0".into()));
        assert_eq!(config["Env"], serde_json::json!(["HOME=/opt/helm"]));
        assert!(files.path().join("opt/helm").is_dir());
        assert_eq!(std::fs::read_dir(files.path().join("plugins")).unwrap().count(), 1);
    }

    #[test]
    fn every_user_may_write_where_caches_and_temporary_files_go() {
        use std::os::unix::fs::PermissionsExt as _;
        for form in [Form::Host, Form::HelmOperator] {
            let (files, _) = assembled(form);
            for path in ["tmp", "var/cache"] {
                let mode = files.path().join(path).metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o777, "{path}: {mode:o}");
            }
        }
    }

    #[test]
    fn both_dockerfiles_and_this_say_the_same() {
        let file = std::fs::read_to_string(build::root().join("deploy/Dockerfile")).unwrap();
        let (host, project) = file.split_once("AS helm-operator").unwrap();
        for (part, words) in [
            (host, format!("USER {USER}")),
            (host, "ENTRYPOINT [\"/pilothouse\"]".to_owned()),
            (host, format!("plugin compile --cache-dir /rootfs{COMPILED} /rootfs/plugins/*.wasm")),
            (host, "install -d -m 1777 /rootfs/tmp /rootfs/var/cache".to_owned()),
            (project, format!("USER {PROJECT_USER}")),
            (project, format!("ENV HOME={PROJECT}")),
            (project, format!("WORKDIR {PROJECT}")),
            (project, "ENTRYPOINT [\"/pilothouse\", \"run\"]".to_owned()),
        ] {
            assert!(part.contains(&words), "{words}");
        }
        for line in PASSWD.lines() {
            assert!(host.contains(line), "{line}");
        }
    }

    #[test]
    fn plugins_are_chosen_by_name() {
        let all = || vec![PathBuf::from("/c/hello.wasm"), PathBuf::from("/c/helm.wasm")];
        assert_eq!(named(&[String::new()], all()).unwrap(), all());
        assert_eq!(named(&["helm".to_owned()], all()).unwrap(), [PathBuf::from("/c/helm.wasm")]);
        let error = named(&["misbehave".to_owned()], all()).unwrap_err().to_string();
        assert!(error.contains("\"misbehave\""), "{error}");
    }
}
