//! Programs of the system that a node needs.

use std::path::PathBuf;

use crate::{busybox, paths};

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
    missing.extend(busybox::program().is_none().then_some("busybox-static"));
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
