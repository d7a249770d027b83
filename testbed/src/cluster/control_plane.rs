//! etcd, kube-apiserver and kube-controller-manager.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::Cluster;
use crate::binaries::{ETCD_SERVER, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, Program};
use crate::error::{Error, Result};
use crate::pki::{Authority, kubeconfig};
use crate::process::wait_until;
use crate::progress::Progress;

/// In the order in which they start.
pub(super) const DAEMONS: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller-manager"];

/// How long each may take, on a machine that is busy with a build.
const START: Duration = Duration::from_secs(300);

/// Starts them and waits until the controllers are at work.
pub(super) fn start(
    cluster: &Cluster,
    program: &dyn Fn(&Program) -> Result<PathBuf>,
    progress: &dyn Progress,
) -> Result<()> {
    let started = Instant::now();
    certificates(cluster)?;
    progress.now("etcd");
    etcd(cluster, &program(&ETCD_SERVER)?)?;
    progress.now("kube-apiserver");
    api_server(cluster, &program(&KUBE_APISERVER)?)?;
    progress.now("kube-controller-manager");
    controller_manager(cluster, &program(&KUBE_CONTROLLER_MANAGER)?)?;
    progress.line(&format!(
        "control plane at {} in {:.1} s",
        cluster.server(),
        started.elapsed().as_secs_f32()
    ));
    Ok(())
}

fn certificates(cluster: &Cluster) -> Result<()> {
    let authority = Authority::create(&cluster.pki())?;
    let (address, service) = (&*cluster.record.address, cluster.record.kubernetes_service());
    let names = [
        "127.0.0.1",
        address,
        &service,
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
    ];
    authority.server("apiserver", "kube-apiserver", None, &names)?;
    authority.client("kubelet-client", "kube-apiserver-kubelet-client", &["system:masters"])?;
    authority.client("service-account", "service-accounts", &[])?;
    let write = |file: &str, path: PathBuf, user: &str, groups: &[&str]| -> Result<()> {
        let pair = authority.client(file, user, groups)?;
        fs::write(&path, kubeconfig(&cluster.server(), &authority.certificate(), &pair)?)
            .map_err(Error::file(&path))
    };
    write("admin", cluster.kubeconfig(), "admin", &["system:masters"])?;
    for part in ["controller-manager", "scheduler"] {
        write(part, cluster.part_kubeconfig(part), &format!("system:kube-{part}"), &[])?;
    }
    Ok(())
}

/// Starts etcd on what it wrote before, if it wrote anything.
pub(super) fn etcd(cluster: &Cluster, program: &Path) -> Result<()> {
    let record = &cluster.record;
    let url = |port: u16| format!("http://{}:{port}", record.address);
    let (client, peer) = (url(record.etcd_port), url(record.etcd_peer_port));
    let mut command = Command::new(program);
    command
        .arg(format!("--data-dir={}", cluster.directory().join("etcd").display()))
        .arg(format!("--listen-client-urls={client}"))
        .arg(format!("--advertise-client-urls={client}"))
        .arg(format!("--listen-peer-urls={peer}"))
        .arg(format!("--initial-advertise-peer-urls={peer}"))
        .arg(format!("--initial-cluster=default={peer}"))
        // Nothing here outlives the cluster: no need to wait for the disk.
        .args(["--unsafe-no-fsync", "--log-level=warn"]);
    let daemon = cluster.daemon("etcd");
    daemon.start(command, &cluster.place())?;
    daemon.await_ready(START, || TcpStream::connect((&*record.address, record.etcd_port)).is_ok())
}

/// Starts the API server, always at the same address.
pub(super) fn api_server(cluster: &Cluster, program: &Path) -> Result<()> {
    let record = &cluster.record;
    let pki = |file: &str| cluster.pki().join(file).display().to_string();
    let mut command = Command::new(program);
    command
        .arg(format!("--etcd-servers=http://{}:{}", record.address, record.etcd_port))
        .arg(format!("--secure-port={}", record.api_port))
        .arg(format!("--bind-address={}", if cluster.has_node() { "0.0.0.0" } else { "127.0.0.1" }))
        .arg(format!("--advertise-address={}", record.address))
        .arg(format!("--service-cluster-ip-range={}", record.service_network()))
        .arg(format!("--client-ca-file={}", pki("ca.crt")))
        .arg(format!("--tls-cert-file={}", pki("apiserver.crt")))
        .arg(format!("--tls-private-key-file={}", pki("apiserver.key")))
        .arg(format!("--kubelet-client-certificate={}", pki("kubelet-client.crt")))
        .arg(format!("--kubelet-client-key={}", pki("kubelet-client.key")))
        .arg("--kubelet-preferred-address-types=InternalIP")
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(format!("--service-account-key-file={}", pki("service-account.crt")))
        .arg(format!("--service-account-signing-key-file={}", pki("service-account.key")))
        .args([
            "--authorization-mode=Node,RBAC",
            "--allow-privileged",
            "--enable-admission-plugins=NodeRestriction",
        ])
        .arg("--profiling=false");
    if !cluster.has_node() {
        // A loopback address is refused as the endpoint of the Service `kubernetes`, and nobody here could use it.
        command.arg("--endpoint-reconciler-type=none");
    }
    let daemon = cluster.daemon("kube-apiserver");
    daemon.start(command, &cluster.place())?;
    let listens = || TcpStream::connect((&*record.address, record.api_port)).is_ok();
    daemon.await_ready(START, || listens() && cluster.kubectl(&["get", "--raw", "/readyz"]).is_ok())
}

fn controller_manager(cluster: &Cluster, program: &Path) -> Result<()> {
    let config = cluster.part_kubeconfig("controller-manager").display().to_string();
    let pki = |file: &str| cluster.pki().join(file).display().to_string();
    let mut command = Command::new(program);
    command
        .args(["--leader-elect=false", "--use-service-account-credentials=true", "--secure-port=0"])
        .arg("--allocate-node-cidrs=false")
        .arg(format!("--kubeconfig={config}"))
        .arg(format!("--authentication-kubeconfig={config}"))
        .arg(format!("--authorization-kubeconfig={config}"))
        .arg(format!("--root-ca-file={}", pki("ca.crt")))
        .arg(format!("--service-account-private-key-file={}", pki("service-account.key")))
        // Volumes are directories of the node. Without a node they would be directories of this machine, left behind.
        .arg(format!("--enable-hostpath-provisioner={}", cluster.has_node()));
    let daemon = cluster.daemon("kube-controller-manager");
    daemon.start(command, &cluster.place())?;
    // The sign that the controllers are at work.
    let there = || cluster.kubectl(&["get", "serviceaccount", "default", "--namespace=default"]).is_ok();
    daemon.await_ready(START, there)
}

/// Waits until the API server, which went on all the time, serves from etcd again.
pub(super) fn await_serving(cluster: &Cluster) -> Result<()> {
    let serves = || cluster.kubectl(&["get", "--raw", "/readyz"]).is_ok();
    if wait_until(START, serves) {
        return Ok(());
    }
    let daemon = cluster.daemon("kube-apiserver");
    Err(Error::NotReady {
        what: daemon.name.clone(),
        seconds: START.as_secs(),
        log: daemon.log().display().to_string(),
        tail: daemon.tail(),
    })
}
