//! Images made of one static busybox: small enough to be made on the spot, with a shell and the usual programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::image::Archive;
use crate::paths;
use crate::process::run;

/// A busybox of this machine that needs no libraries.
pub fn program() -> Option<PathBuf> {
    let found = [paths::on_path("busybox"), paths::on_path("busybox-static")];
    found.into_iter().flatten().find(|file| is_static(file))
}

/// An image with busybox under all its names in `/bin`, and a `/tmp`.
///
/// # Errors
/// When this machine has no static busybox.
pub fn archive(tag: &str) -> Result<Archive> {
    let busybox = program().ok_or_else(|| {
        Error::Other(
            "no static busybox on the PATH; `cargo xtask setup --node` installs it (Debian: busybox-static)"
                .to_owned(),
        )
    })?;
    let mut archive = Archive::new(tag);
    archive.file_from("/bin/busybox", &busybox, 0o755)?.directory("/tmp", 0o1777, 0);
    for name in run(Command::new(&busybox).arg("--list"))?.lines().filter(|name| *name != "busybox") {
        archive.link(&format!("/bin/{name}"), "/bin/busybox");
    }
    let users = "root:x:0:0:root:/:/bin/sh\nnonroot:x:65532:65532:nonroot:/:/bin/sh\n";
    archive.file("/etc/passwd", users, 0o644).file("/etc/group", "root:x:0:\nnonroot:x:65532:\n", 0o644);
    archive.environment(&["PATH=/bin"]).arguments(&["sh"]);
    Ok(archive)
}

/// A dynamically linked ELF program names its loader near its beginning.
fn is_static(file: &Path) -> bool {
    std::fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF") && !names_a_loader(&bytes))
}

fn names_a_loader(bytes: &[u8]) -> bool {
    let head = bytes.get(..4096).unwrap_or(bytes);
    head.windows(8).any(|window| window == b"ld-linux" || window == b"/ld-musl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_a_loader_is_not_static() {
        assert!(names_a_loader(b"\x7fELF....../lib64/ld-linux-x86-64.so.2\0"));
        assert!(!names_a_loader(b"\x7fELF......"));
    }
}
