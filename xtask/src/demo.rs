//! `cargo xtask demo`: a real cluster, the host, an operator-sdk Helm project, in steps one can follow.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use pilothouse_testbed::{Cluster, Options, node, playerstats};

use crate::image;
use crate::setup;
use crate::steps::{Terminal, say};
use crate::{build, demo::access::Access};

pub(crate) mod access;
mod claim;
mod database;
pub(crate) mod etcd;
mod from_chart;
mod hello;
mod interrupt;
mod look;
mod made;
mod manifest;
mod project;
mod scene;
pub(crate) mod stage;
mod store;

use look::Look;
use made::Made;
use project::Project;
use scene::Scene;
use stage::{Pod, Process, Stage};

/// The scenes that can be played.
pub(crate) const SCENES: [&str; 5] = ["S1", "S2", "S3", "S4", "S5"];

/// The one that is played where nobody says which.
pub(crate) const FIRST: &str = "S1";

/// Is a scene about what runs in pods?
pub(crate) fn needs_pods(scene: &str) -> bool {
    ["S4", "S5"].contains(&scene)
}

/// Flags of `cargo xtask demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES:
  cargo xtask demo                             plays the scene and leaves the cluster to you; Ctrl-C takes it away
  cargo xtask demo --once                      plays it and ends; exit code 0 when every step was seen
  cargo xtask demo --scene S2 --once           from a chart to a deployed operator: init, image, make deploy
  cargo xtask demo --scene S3 --once           a right is missing, is told, and heals; what is deleted comes back
  sudo -E cargo xtask demo --scene S4 --once --node
                                               an etcd cluster grows, shrinks, loses members and is upgraded under load
  sudo -E cargo xtask demo --scene S5 --once --node
                                               a database's upgrade loses rows; the backup before it brings them back
  sudo -E cargo xtask demo --once --node       the host in a pod, hooks and releases in real pods
  cargo xtask demo --project ~/my-operator     your own operator-sdk Helm project instead of the sample
  cargo xtask demo --kubeconfig ~/.kube/config on your cluster, in a namespace of its own that is taken away again")]
pub(crate) struct DemoArgs {
    /// Which scene.
    #[arg(long, default_value = FIRST, value_parser = SCENES)]
    scene: String,
    /// Play it through and end, instead of leaving it to you to try.
    #[arg(long)]
    once: bool,
    /// On a node that runs pods, with the host in one of them. Needs root.
    #[arg(long)]
    node: bool,
    /// Use this cluster instead of a new one; the host runs here.
    #[arg(long, value_name = "FILE", conflicts_with = "node")]
    kubeconfig: Option<PathBuf>,
    /// An operator-sdk Helm project.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// Plays a scene through on a cluster of its own, as `demo --once` does.
///
/// # Errors
/// The step that was not seen.
pub(crate) fn once(scene: &str, node: bool) -> Result<()> {
    demo(&DemoArgs { scene: scene.to_owned(), once: true, node, kubeconfig: None, project: None })
}

/// Plays the scene.
pub(crate) fn demo(args: &DemoArgs) -> Result<()> {
    interrupt::listen()?;
    if args.scene != "S1" {
        if args.kubeconfig.is_some() || args.project.is_some() {
            bail!("scene {} makes its own project on its own cluster", args.scene);
        }
        match args.scene.as_str() {
            "S4" => return etcd::demo(args),
            "S5" => return database::demo(args),
            _ => {}
        }
        return on_a_cluster_of_its_own(args.node, |cluster, access, work| {
            play_made(args, cluster, access, work)
        });
    }
    let source =
        args.project.clone().unwrap_or_else(|| build::root().join("charts/samples/player-stats-operator"));
    Project::read(&source)?;
    if let Some(file) = args.kubeconfig.as_ref().filter(|file| !file.is_file()) {
        bail!("no kubeconfig at {}", file.display());
    }
    let mut plugins = build::plugins()?;
    plugins.retain(|plugin| plugin.ends_with("helm.wasm"));
    match &args.kubeconfig {
        Some(file) => {
            let work = tempfile::tempdir()?;
            let access = Access::new(file, work.path());
            let stage = Process::prepare(&access, &source, &plugins, work.path())?;
            let nodes = access.kubectl(&["get", "nodes", "--output=name"])?;
            if nodes.is_empty() {
                say("this cluster has no node: nothing of the release will run");
            }
            play(args, &access, Box::new(stage), !nodes.is_empty())
        }
        None => on_a_cluster_of_its_own(args.node, |cluster, access, work| {
            if !args.node {
                let stage = Process::prepare(access, &source, &plugins, work)?;
                return play(args, access, Box::new(stage), false);
            }
            put_images(cluster)?;
            let stage = Pod::prepare(access, &source, &plugins, work)?;
            play(args, access, Box::new(stage), true)
        }),
    }
}

/// Plays on a new cluster, and takes it away.
pub(crate) fn on_a_cluster_of_its_own(
    with_node: bool,
    play: impl FnOnce(&Cluster, &Access, &Path) -> Result<()>,
) -> Result<()> {
    if with_node {
        setup::node_packages()?;
        node::check()?;
    }
    say(if with_node { "starting a cluster with a node" } else { "starting a control plane" });
    let terminal = Terminal::new();
    let name = format!("demo-{}", std::process::id());
    let cluster = Cluster::up(&Options { name, tied: true, node: with_node }, &terminal)?;
    drop(terminal);
    // In the cluster's directory, which the node sees and which is taken away with it.
    let work = cluster.directory().join("demo");
    std::fs::create_dir_all(&work)?;
    let access = Access::new(&cluster.kubeconfig(), &work);
    let played = play(&cluster, &access, &work);
    say("taking the cluster away");
    cluster.down();
    played
}

/// The scenes whose project is made from a chart.
fn play_made(args: &DemoArgs, cluster: &Cluster, access: &Access, work: &Path) -> Result<()> {
    let chart = build::root().join("charts/samples/hello");
    let mut made = Made::init(access, &chart, work)?;
    if args.node {
        let busybox = pilothouse_testbed::busybox::archive("docker.io/library/busybox:1.37")?;
        cluster.import_images(&[busybox, made.image()?])?;
    }
    let look = Look { access, namespace: "demo" };
    access.kubectl(&["create", "namespace", look.namespace])?;
    let played = match args.scene.as_str() {
        "S2" => from_chart::play(look, &mut made, args.node),
        _ => hello::play(look, &mut made, args.node),
    };
    if let Err(error) = &played {
        eprintln!("{}", stage::tail(&made.log(), 40));
        say(&format!("not seen: {error:#}"));
    } else if !args.once {
        say("the cluster is yours now; Ctrl-C takes it away");
        println!("  export KUBECONFIG={}", access.kubeconfig().display());
        println!("  cd {}", made.file("").display());
        interrupt::wait();
    }
    made.stop()?;
    played
}

/// A node without a registry: the host's image and small ones under the names that the project uses.
fn put_images(cluster: &Cluster) -> Result<()> {
    let mut images = playerstats::images()?;
    images.push(pilothouse_testbed::busybox::archive("docker.io/library/busybox:1.37")?);
    images.push(image::bare_host()?);
    Ok(cluster.import_images(&images)?)
}

fn play(args: &DemoArgs, access: &Access, stage: Box<dyn Stage>, real_pods: bool) -> Result<()> {
    let project = Project::read(stage.project())?;
    let mut scene = Scene::new(access, stage, project, real_pods);
    say(&format!("scene {}: an operator-sdk Helm project runs unchanged", args.scene));
    let mut played = scene.play();
    if let Err(error) = &played {
        eprintln!("{}", scene.log_tail());
        say(&format!("not seen: {error:#}"));
    } else if !args.once {
        played = scene.leave_to_user();
    }
    let tidied = scene.tidy(args.kubeconfig.is_some());
    if interrupt::happened() && !args.once && played.is_ok() {
        return tidied;
    }
    if interrupt::happened() {
        bail!("interrupted");
    }
    played.and(tidied)
}
