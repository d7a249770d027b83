//! A real Kubernetes on any machine: etcd, kube-apiserver and controller-manager, with `--node` also scheduler, kubelet,
//! containerd, kube-proxy and CoreDNS. No Docker, no kind.
//!
//! [`binaries`] finds or makes the programs, [`pki`] the certificates, [`cluster`] starts and stops, [`image`] writes
//! container images without a daemon. Synchronous and light, so that tests and `cargo xtask` share it.

pub mod binaries;
pub mod cluster;
pub mod error;
pub mod paths;
pub mod pki;
pub mod process;

pub use cluster::{Cluster, Options};
pub use error::{Error, Result};
