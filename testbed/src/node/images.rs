//! Images for a node that has no registry.

use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::process::Stdio;

use crate::busybox;
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::image::{self, Archive};

/// The container that holds a pod's namespaces.
pub(super) const PAUSE: &str = "pilothouse.dev/testbed/pause:1";

/// It does nothing, for as long as the pod lives.
pub(super) fn pause() -> Result<Archive> {
    let mut archive = busybox::archive(PAUSE)?;
    archive.entrypoint(&["sleep", "2147483647"]).arguments(&[]);
    Ok(archive)
}

pub(super) fn import(cluster: &Cluster, images: &[Archive]) -> Result<()> {
    let mut file = tempfile::tempfile().map_err(Error::file(&std::env::temp_dir()))?;
    image::write_all(images, &mut file)?;
    let rewind = file.flush().and_then(|()| file.rewind());
    rewind.map_err(Error::file(&std::env::temp_dir()))?;
    import_stream(cluster, file)
}

/// `ctr` reads it from its standard input: the node does not see the machine's files.
pub(super) fn import_stream(cluster: &Cluster, archive: File) -> Result<()> {
    let mut command = cluster.on_node("ctr")?;
    command.args(["--namespace=k8s.io", "images", "import", "-"]).stdin(Stdio::from(archive));
    let failed = |message: String| Error::Program { program: "ctr images import".to_owned(), message };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
