//! `cargo xtask image`: the host's image as a file, without a Docker daemon.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use pilothouse_testbed::image::Archive;
use pilothouse_testbed::{busybox, playerstats};

use crate::build;
use crate::steps::say;

/// Flags of `cargo xtask image`.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  cargo xtask image                                              pilothouse.tar, for docker load, podman load, ctr
  cargo xtask image --plugins --add my-operator:/project         with the plugins and an operator project inside
  cargo xtask image --output p.tar && cargo xtask cluster import p.tar")]
pub(crate) struct ImageArgs {
    /// Where to write the docker-archive.
    #[arg(long, short, value_name = "FILE", default_value = "pilothouse.tar")]
    output: PathBuf,
    /// The image's name.
    #[arg(long, default_value = concat!("pilothouse.dev/pilothouse:", env!("CARGO_PKG_VERSION")))]
    tag: String,
    /// With every plugin of the repository in /plugins.
    #[arg(long)]
    plugins: bool,
    /// A file or directory of this machine, and where it is in the image. Can be given several times.
    #[arg(long, value_name = "HERE:THERE")]
    add: Vec<String>,
    /// Write the small images of the player-stats project instead, for a node without a registry.
    #[arg(long, conflicts_with_all = ["tag", "plugins", "add"])]
    player_stats: bool,
}

/// Who the host runs as: nobody in particular, and not root.
const USER: u32 = 65532;

/// Writes the image.
pub(crate) fn image(args: &ImageArgs) -> Result<()> {
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
    let tag = concat!("pilothouse.dev/pilothouse:", env!("CARGO_PKG_VERSION")).to_owned();
    host(&ImageArgs { output: PathBuf::new(), tag, plugins: false, add: Vec::new(), player_stats: false })
}

/// The host alone on an empty root file system: a static program, and the authorities it trusts outside of the cluster.
pub(crate) fn host(args: &ImageArgs) -> Result<Archive> {
    let mut image = Archive::new(&args.tag);
    image.file_from("/pilothouse", &build::host()?, 0o755)?;
    image.directory("/tmp", 0o1777, 0).directory("/plugins", 0o755, 0);
    let user = USER.to_string();
    image.file("/etc/passwd", format!("pilothouse:x:{user}:{user}:pilothouse:/:/nonexistent\n"), 0o644);
    image.file("/etc/group", format!("pilothouse:x:{user}:\n"), 0o644);
    if let Some(authorities) = authorities() {
        image.file_from("/etc/ssl/certs/ca-certificates.crt", &authorities, 0o644)?;
    }
    if args.plugins {
        for plugin in build::plugins()? {
            let name = plugin.file_name().context("a plugin without a name")?.to_string_lossy().into_owned();
            image.file_from(&format!("/plugins/{name}"), &plugin, 0o644)?;
        }
    }
    for pair in &args.add {
        let Some((here, there)) = pair.rsplit_once(':').filter(|(_, there)| there.starts_with('/')) else {
            bail!("--add {pair}: not of the form HERE:/THERE");
        };
        image.tree_from(there, Path::new(here))?;
    }
    image.user(&format!("{user}:{user}")).entrypoint(&["/pilothouse"]).arguments(&["run"]);
    image.labels(&[
        ("org.opencontainers.image.title", "pilothouse"),
        ("org.opencontainers.image.version", env!("CARGO_PKG_VERSION")),
        ("org.opencontainers.image.licenses", "Apache-2.0"),
    ]);
    Ok(image)
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
