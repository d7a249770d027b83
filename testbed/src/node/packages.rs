//! Programs of the system that a node needs.

use std::path::{Path, PathBuf};

use crate::paths;

/// Programs and the Debian packages that have them.
pub const PACKAGES: [(&str, &str); 9] = [
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("runc", "runc"),
    ("iptables", "iptables"),
    ("nft", "nftables"),
    ("conntrack", "conntrack"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("mount", "mount"),
];

/// Debian packages that this machine lacks. A program from elsewhere (Docker's containerd) is as good.
pub fn missing_packages() -> Vec<&'static str> {
    let lacks = |(program, _): &&(&str, &str)| paths::on_path(program).is_none();
    let mut missing: Vec<&str> = PACKAGES.iter().filter(lacks).map(|(_, package)| *package).collect();
    missing.extend(cni_plugins().is_none().then_some("containernetworking-plugins"));
    missing.extend(busybox().is_none().then_some("busybox-static"));
    missing.dedup();
    missing
}

/// The directory of the CNI plugins.
pub(super) fn cni_plugins() -> Option<PathBuf> {
    let places = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"].map(PathBuf::from);
    let has_all = |directory: &PathBuf| {
        ["ptp", "host-local", "portmap", "loopback"]
            .iter()
            .all(|name| paths::is_executable(&directory.join(name)))
    };
    places.into_iter().find(has_all)
}

/// A busybox that needs no libraries, for images.
pub(super) fn busybox() -> Option<PathBuf> {
    [paths::on_path("busybox"), paths::on_path("busybox-static")]
        .into_iter()
        .flatten()
        .find(|file| is_static(file))
}

/// A dynamically linked ELF program names its interpreter.
fn is_static(file: &Path) -> bool {
    std::fs::read(file).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF") && !has_interpreter(&bytes))
}

fn has_interpreter(bytes: &[u8]) -> bool {
    let head = bytes.get(..4096).unwrap_or(bytes);
    head.windows(8).any(|window| window == b"ld-linux" || window == b"/ld-musl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_a_loader_is_not_static() {
        assert!(has_interpreter(b"\x7fELF....../lib64/ld-linux-x86-64.so.2\0"));
        assert!(!has_interpreter(b"\x7fELF......"));
    }
}
