//! The veth pair between machine and node, and the node's networks.

use std::path::Path;
use std::process::Command;

use rustix::process::Pid;

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::process::run;

/// The networks of a node, by its number. The link lies in 198.18.0.0/15, which is set aside for tests of networks and
/// which nobody routes.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    number: u8,
}

/// A number no other node of this machine has.
///
/// # Errors
/// When all are taken.
pub fn free_number() -> Result<u8> {
    let recorded: Vec<u8> =
        Cluster::all().iter().filter_map(|name| Cluster::open(name).ok()?.record().node).collect();
    let taken = |number: &u8| {
        let link = Network::new(*number).link();
        recorded.contains(number) || Path::new("/sys/class/net").join(link).exists()
    };
    (0..=u8::MAX)
        .find(|number| !taken(number))
        .ok_or_else(|| Error::Other("256 nodes run on this machine already".to_owned()))
}

impl Network {
    /// The networks of the node of this number.
    pub fn new(number: u8) -> Self {
        Self { number }
    }

    /// Where the machine reaches the node.
    pub fn address(&self) -> String {
        format!("198.18.{}.2", self.number)
    }

    /// Where the node reaches the machine, for instance a webhook that is served outside of the cluster.
    pub fn machine(&self) -> String {
        format!("198.18.{}.1", self.number)
    }

    /// The network of pods.
    pub fn pods(&self) -> String {
        format!("10.244.{}.0/24", self.number)
    }

    /// The network of Services.
    pub fn services(&self) -> String {
        format!("10.96.{}.0/24", self.number)
    }

    /// The address of the Service `kubernetes`.
    pub fn first_service(&self) -> String {
        format!("10.96.{}.1", self.number)
    }

    fn link(&self) -> String {
        format!("pilothouse{}", self.number)
    }

    /// Joins the machine and the namespaces of a process.
    pub(super) fn join(&self, pid: Pid) -> Result<()> {
        let (link, target) = (self.link(), pid.as_raw_nonzero().to_string());
        ip(&["link", "add", &link, "type", "veth", "peer", "name", "eth0", "netns", &target])?;
        ip(&["address", "add", &format!("{}/24", self.machine()), "dev", &link])?;
        ip(&["link", "set", &link, "up"])?;
        let inside = |arguments: &[&str]| {
            let enter = ["--net", "--", "ip"];
            run(Command::new("nsenter").arg(format!("--target={target}")).args(enter).args(arguments))
                .map(drop)
        };
        inside(&["link", "set", "lo", "up"])?;
        inside(&["address", "add", &format!("{}/24", self.address()), "dev", "eth0"])?;
        inside(&["link", "set", "eth0", "up"])?;
        // kube-proxy only rewrites what is routed, so there has to be a route to Services and to anywhere else.
        inside(&["route", "add", "default", "via", &self.machine()])?;
        for network in [self.pods(), self.services()] {
            ip(&["route", "add", &network, "via", &self.address(), "dev", &link])?;
        }
        Ok(())
    }

    /// Takes the link away, in case the kernel has not done so yet; its routes go with it.
    pub(super) fn remove(&self) {
        let _ = ip(&["link", "delete", &self.link()]);
    }
}

fn ip(arguments: &[&str]) -> Result<()> {
    run(Command::new("ip").args(arguments)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_two_nodes_do_not_touch() {
        let (one, two) = (Network::new(0), Network::new(255));
        assert_eq!(one.pods(), "10.244.0.0/24");
        assert_eq!(two.address(), "198.18.255.2");
        assert_ne!(one.services(), two.services());
    }

    #[test]
    fn the_name_of_a_link_is_short_enough_for_the_kernel() {
        assert!(Network::new(255).link().len() <= 15);
    }
}
