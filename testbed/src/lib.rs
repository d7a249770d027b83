//! A real Kubernetes on any machine: etcd, kube-apiserver and controller-manager, with a node also scheduler, kubelet,
//! containerd, kube-proxy and CoreDNS. No Docker, no kind.
//!
//! [`binaries`] finds or makes the programs, [`pki`] the certificates, [`Cluster`] starts and stops, [`node`] runs pods in
//! namespaces of its own. Synchronous and light, so that tests and `cargo xtask` share it.

pub mod azurite;
pub mod binaries;
pub mod busybox;
pub mod cluster;
pub mod databases;
pub mod debian;
pub mod error;
pub mod etcd_images;
pub mod image;
pub mod node;
pub mod object_store;
pub mod paths;
pub mod pki;
pub mod playerstats;
pub mod ports;
pub mod process;
pub mod progress;
pub mod registry;

pub use cluster::{Cluster, Options};
pub use error::{Error, Result};
pub use progress::Progress;

/// Says aloud that a test is skipped, and why. Written past the test harness, which shows nothing of tests that pass;
/// `cargo xtask test` repeats it in its summary.
pub fn skip(reason: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr().lock(), "SKIPPED: {reason}");
}
