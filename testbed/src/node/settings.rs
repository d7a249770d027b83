//! The files that a node's programs read.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{NAME, cgroup, packages};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::pki::kubeconfig;

/// containerd's socket, in the node's own `/run`.
pub(super) const CONTAINERD: &str = "/run/containerd/containerd.sock";

/// What the first process does.
const INIT: &str = include_str!("init.sh");

pub(super) fn write(cluster: &Cluster) -> Result<()> {
    let directory = cluster.directory().join("node");
    let network = super::network(cluster)?;
    for name in ["tmp", "tmp/hostpath_pv", "var-lib", "var-log", "cni", "kubelet", "containerd"] {
        let path = directory.join(name);
        fs::create_dir_all(&path).map_err(Error::file(&path))?;
    }
    for name in ["tmp", "tmp/hostpath_pv"] {
        let path = directory.join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o1777)).map_err(Error::file(&path))?;
    }
    let put = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(Error::file(&path))
    };
    let pretty = |value: &serde_json::Value| format!("{value:#}");
    put("init.sh", INIT)?;
    put("containerd.toml", &containerd(cluster))?;
    put("cni/10-testbed.conflist", &pretty(&cni(&network.pods())))?;
    put("resolv.conf", &format!("nameserver {}\n", network.address()))?;
    put("kube-proxy.json", &pretty(&kube_proxy(cluster, &network.pods())))?;
    put("storage-class.json", &pretty(&storage_class()))
}

/// What needs the authority, which the control plane made meanwhile.
pub(super) fn write_credentials(cluster: &Cluster) -> Result<()> {
    let directory = cluster.directory().join("node");
    let network = super::network(cluster)?;
    let authority = cluster.authority();
    let user = format!("system:node:{NAME}");
    let pair = authority.server("node", &user, Some("system:nodes"), &[NAME, &network.address()])?;
    let put = |name: &str, text: String| {
        let path = directory.join(name);
        fs::write(&path, text).map_err(Error::file(&path))
    };
    put("node.kubeconfig", kubeconfig(&cluster.server(), &authority.certificate(), &pair)?)?;
    let proxy = authority.client("kube-proxy", "system:kube-proxy", &[])?;
    put("kube-proxy.kubeconfig", kubeconfig(&cluster.server(), &authority.certificate(), &proxy)?)?;
    let names = authority.client("coredns", "coredns", &["system:masters"])?;
    put("coredns.kubeconfig", kubeconfig(&cluster.server(), &authority.certificate(), &names)?)?;
    put("Corefile", corefile(cluster, &network.address()))?;
    let configuration =
        kubelet(cluster, &network.address(), &pair.certificate.display(), &pair.key.display());
    put("kubelet.json", format!("{configuration:#}"))
}

fn containerd(cluster: &Cluster) -> String {
    let directory = cluster.directory().join("node");
    let plugins = packages::cni_plugins().unwrap_or_default();
    let (root, cni, plugins) = (directory.join("containerd"), directory.join("cni"), plugins.display());
    format!(
        r#"version = 2
root = "{root}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]

[grpc]
address = "{CONTAINERD}"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{pause}"
# Without CAP_SYS_RESOURCE, as in a container, runc could not start anything that asks for a lower score.
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "{snapshotter}"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{cni}"
"#,
        root = root.display(),
        cni = cni.display(),
        pause = super::images::PAUSE,
        snapshotter = snapshotter(&root),
    )
}

/// An overlay cannot lie on an overlay, as it would when all this runs in a container.
fn snapshotter(root: &std::path::Path) -> &'static str {
    const OVERLAY: i64 = 0x794c_7630;
    let on_overlay = rustix::fs::statfs(root).is_ok_and(|stat| stat.f_type == OVERLAY);
    if on_overlay { "native" } else { "overlayfs" }
}

/// `ptp` routes between pods, where a bridge would answer a pod past the rules that rewrite a Service's address.
fn cni(pods: &str) -> serde_json::Value {
    json!({
        "cniVersion": "0.4.0", "name": "testbed",
        "plugins": [
            {"type": "ptp", "ipMasq": false, "ipam": {
                "type": "host-local", "ranges": [[{"subnet": pods}]], "routes": [{"dst": "0.0.0.0/0"}],
            }},
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    })
}

fn kubelet(
    cluster: &Cluster,
    address: &str,
    certificate: &dyn std::fmt::Display,
    key: &dyn std::fmt::Display,
) -> serde_json::Value {
    let directory = cluster.directory().join("node");
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": "0.0.0.0",
        "authentication": {
            "anonymous": {"enabled": false}, "webhook": {"enabled": true},
            "x509": {"clientCAFile": cluster.authority().certificate()},
        },
        "tlsCertFile": certificate.to_string(), "tlsPrivateKeyFile": key.to_string(),
        "cgroupDriver": "cgroupfs", "cgroupRoot": cgroup::name(cluster.name()),
        "clusterDNS": [address], "clusterDomain": "cluster.local", "resolvConf": directory.join("resolv.conf"),
        "containerRuntimeEndpoint": format!("unix://{CONTAINERD}"),
        "failSwapOn": false, "oomScoreAdj": 0,
        // The machine's disk belongs to somebody else: how full it is says nothing about the node.
        "evictionHard": {}, "imageGCHighThresholdPercent": 100, "localStorageCapacityIsolation": false,
        "maxPods": 250, "serializeImagePulls": false, "eventRecordQPS": 0, "registryPullQPS": 0,
        "volumePluginDir": directory.join("volume-plugins"),
        "healthzPort": 0,
    })
}

fn kube_proxy(cluster: &Cluster, pods: &str) -> serde_json::Value {
    let config = cluster.directory().join("node/kube-proxy.kubeconfig");
    json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
        "mode": "nftables", "clusterCIDR": pods, "hostnameOverride": NAME, "oomScoreAdj": 0,
        "clientConnection": {"kubeconfig": config},
        // These are settings of the whole machine.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "nftables": {"minSyncPeriod": "100ms"},
    })
}

/// Names change while tests look: nothing is remembered for longer than a second. There is no way to names outside.
fn corefile(cluster: &Cluster, address: &str) -> String {
    let config = cluster.directory().join("node/coredns.kubeconfig");
    format!(
        "cluster.local in-addr.arpa ip6.arpa {{\n    bind {address}\n    errors\n    kubernetes cluster.local in-addr.arpa ip6.arpa {{\n        \
         kubeconfig {}\n        pods insecure\n        ttl 1\n    }}\n}}\n\
         . {{\n    bind {address}\n    errors\n    template ANY ANY {{\n        rcode NXDOMAIN\n    }}\n}}\n",
        config.display()
    )
}

fn storage_class() -> serde_json::Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "kubernetes.io/host-path", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate",
    })
}
