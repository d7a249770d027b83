//! Cgroups of a node: one of its own at the top of each hierarchy, below which the kubelet makes those of pods.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

const ROOT: &str = "/sys/fs/cgroup";
/// What a kubelet needs in the unified hierarchy.
const CONTROLLERS: [&str; 4] = ["cpu", "cpuset", "memory", "pids"];

/// The kubelet's `cgroupRoot`.
pub(super) fn name(cluster: &str) -> String {
    format!("/pilothouse-{cluster}")
}

/// The node's directories in all hierarchies.
pub fn cgroups(cluster: &str) -> Vec<PathBuf> {
    let below = |hierarchy: &Path| hierarchy.join(format!("pilothouse-{cluster}"));
    if is_unified() {
        return vec![below(Path::new(ROOT))];
    }
    let entries = fs::read_dir(ROOT).into_iter().flatten().flatten().map(|entry| entry.path());
    // `cpu` and `cpuacct` are often links to one hierarchy of both.
    let mut hierarchies: Vec<PathBuf> = entries.filter(|path| path.join("cgroup.procs").exists()).collect();
    hierarchies.retain(|path| !path.is_symlink());
    hierarchies.sort();
    hierarchies.iter().map(|hierarchy| below(hierarchy)).collect()
}

fn is_unified() -> bool {
    Path::new(ROOT).join("cgroup.controllers").exists()
}

pub(super) fn create(cluster: &str) -> Result<()> {
    for directory in cgroups(cluster) {
        fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
        if is_unified() {
            for at in [Path::new(ROOT), &directory] {
                hand_down(at)?;
            }
        }
    }
    Ok(())
}

/// Lets groups below use the controllers.
fn hand_down(directory: &Path) -> Result<()> {
    let file = directory.join("cgroup.subtree_control");
    let add: Vec<String> = CONTROLLERS.iter().map(|controller| format!("+{controller}")).collect();
    fs::write(&file, add.join(" ")).map_err(Error::file(&file))
}

/// Removes what is left; whether nothing is left.
pub(super) fn remove(cluster: &str) -> bool {
    cgroups(cluster).iter().for_each(|directory| remove_tree(directory));
    cgroups(cluster).iter().all(|directory| !directory.exists())
}

/// A cgroup's files cannot be removed and need not be.
fn remove_tree(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove_tree(&entry.path());
    }
    let _ = fs::remove_dir(directory);
}
