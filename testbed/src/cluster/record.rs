//! What is written down about a cluster, for later commands.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::{node, ports};

const FILE: &str = "cluster.json";

/// Where a cluster listens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Address of its programs as this machine reaches them.
    #[serde(default = "this_machine")]
    pub address: String,
    pub etcd_port: u16,
    pub etcd_peer_port: u16,
    pub api_port: u16,
    /// Number of its node's networks, if it has a node.
    #[serde(default)]
    pub node: Option<u8>,
}

impl Record {
    /// On this machine's own network with free ports, or on a node's network, where all ports are free.
    pub(super) fn new(with_node: bool) -> Result<Self> {
        if with_node {
            let number = node::free_number()?;
            let address = node::Network::new(number).address();
            return Ok(Self {
                address,
                etcd_port: 2379,
                etcd_peer_port: 2380,
                api_port: 6443,
                node: Some(number),
            });
        }
        Ok(Self {
            address: this_machine(),
            etcd_port: ports::free()?,
            etcd_peer_port: ports::free()?,
            api_port: ports::free()?,
            node: None,
        })
    }

    pub(crate) fn read(directory: &Path) -> Result<Self> {
        let file = directory.join(FILE);
        let text = fs::read_to_string(&file).map_err(Error::file(&file))?;
        serde_json::from_str(&text).map_err(|error| Error::Other(format!("{}: {error}", file.display())))
    }

    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let file = directory.join(FILE);
        let text = serde_json::to_string(self).map_err(|error| Error::Other(error.to_string()))?;
        fs::write(&file, text).map_err(Error::file(&file))
    }

    /// The network of Services.
    pub(super) fn service_network(&self) -> String {
        self.node.map_or_else(|| "10.96.0.0/16".to_owned(), |number| node::Network::new(number).services())
    }

    /// The address of the Service `kubernetes`: the first of the network.
    pub(super) fn kubernetes_service(&self) -> String {
        self.node.map_or_else(|| "10.96.0.1".to_owned(), |number| node::Network::new(number).first_service())
    }
}

fn this_machine() -> String {
    "127.0.0.1".to_owned()
}
