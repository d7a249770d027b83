//! Faults that tests bring about.

use rustix::process::Signal;

use super::{Cluster, control_plane};
use crate::binaries::{ETCD_SERVER, KUBE_APISERVER};
use crate::error::Result;
use crate::progress::Quiet;

impl Cluster {
    /// The API server stands still, as if the network were cut: connections stay open and nothing answers.
    pub fn pause_api_server(&self) {
        self.daemon("kube-apiserver").signal(Signal::STOP);
    }

    /// The API server goes on.
    pub fn resume_api_server(&self) {
        self.daemon("kube-apiserver").signal(Signal::CONT);
    }

    /// The API server is gone: connections are refused. It ends in order, which takes until its clients let go.
    pub fn stop_api_server(&self) {
        self.daemon("kube-apiserver").stop();
    }

    /// The API server is gone at once, as after a crash.
    pub fn kill_api_server(&self) {
        self.daemon("kube-apiserver").kill();
    }

    /// The API server is back, at the same address.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn start_api_server(&self) -> Result<()> {
        control_plane::api_server(self, &KUBE_APISERVER.find(&Quiet)?)
    }

    /// etcd stands still: the API server answers, but slowly and with time-outs.
    pub fn pause_etcd(&self) {
        self.daemon("etcd").signal(Signal::STOP);
    }

    /// etcd goes on.
    pub fn resume_etcd(&self) {
        self.daemon("etcd").signal(Signal::CONT);
    }

    /// etcd ends and starts again on what it wrote; returns when the API server serves from it again.
    ///
    /// # Errors
    /// When one of the two does not come back.
    pub fn restart_etcd(&self) -> Result<()> {
        self.daemon("etcd").stop();
        control_plane::etcd(self, &ETCD_SERVER.find(&Quiet)?)?;
        control_plane::await_serving(self)
    }
}
