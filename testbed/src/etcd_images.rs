//! Images of etcd under the names that `EtcdCluster`s use: its server and tools, and nothing else, as the official ones.

use std::path::PathBuf;

use crate::binaries::{ETCD, ETCD_AFTER, ETCD_BEFORE, Module, etcd_programs, find_all};
use crate::error::Result;
use crate::image::Archive;
use crate::progress::{Progress, ToStderr};

/// The repository of the images.
pub const REPOSITORY: &str = "quay.io/coreos/etcd";

/// One image for each of three minors that follow each other.
///
/// # Errors
/// When a program is not to be had.
pub fn all(progress: &dyn Progress) -> Result<Vec<Archive>> {
    [&ETCD_BEFORE, &ETCD, &ETCD_AFTER].into_iter().map(|module| of(module, progress)).collect()
}

/// The tool for snapshots, on this machine.
///
/// # Errors
/// When it is not to be had.
pub fn etcdutl() -> Result<PathBuf> {
    let [_, _, etcdutl] = etcd_programs(&ETCD_AFTER);
    etcdutl.find(&ToStderr)
}

fn of(module: &'static Module, progress: &dyn Progress) -> Result<Archive> {
    let programs = etcd_programs(module);
    let mut archive = Archive::new(&format!("{REPOSITORY}:{}", module.version));
    for (program, file) in programs.iter().zip(find_all(&programs, progress)?) {
        archive.file_from(&format!("/usr/local/bin/{}", program.name), &file, 0o755)?;
    }
    archive.entrypoint(&["/usr/local/bin/etcd"]);
    Ok(archive)
}
