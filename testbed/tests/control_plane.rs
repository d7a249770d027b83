//! The testbed on this machine: real programs, real API servers.

use std::path::Path;
use std::process::Command;

use pilothouse_testbed::progress::ToStderr;
use pilothouse_testbed::{Cluster, Options, skip};

/// The shared control plane, unless clusters are left out.
fn shared(test: &str) -> Option<&'static Cluster> {
    if std::env::var_os("PILOTHOUSE_NO_CLUSTER").is_some() {
        skip(&format!("{test}: PILOTHOUSE_NO_CLUSTER is set"));
        return None;
    }
    Some(Cluster::shared().unwrap())
}

/// A control plane of the test's own, for tests that break it.
fn own(test: &str) -> Option<Cluster> {
    shared(test)?;
    let name = format!("test-{}-{test}", std::process::id());
    Some(Cluster::up(&Options { name, tied: true, node: false }, &ToStderr).unwrap())
}

#[test]
fn a_config_map_that_kubectl_creates_is_read_back() {
    let Some(cluster) = shared("a_config_map_that_kubectl_creates_is_read_back") else { return };
    cluster.kubectl(&["create", "namespace", "read-back"]).unwrap();
    cluster.kubectl(&["create", "configmap", "a", "--namespace=read-back", "--from-literal=x=1"]).unwrap();
    let value = cluster
        .kubectl(&["get", "configmap", "a", "--namespace=read-back", "--output=jsonpath={.data.x}"])
        .unwrap();
    assert_eq!(value, "1");
}

#[test]
fn two_clusters_side_by_side_know_nothing_of_each_other() {
    let Some(one) = shared("two_clusters_side_by_side") else { return };
    let Some(two) = own("second") else { return };
    assert_ne!(one.server(), two.server());
    one.kubectl(&["create", "namespace", "only-in-one"]).unwrap();
    let error = two.kubectl(&["get", "namespace", "only-in-one"]).unwrap_err();
    assert!(error.to_string().contains("NotFound"), "{error}");
}

#[test]
fn a_cluster_that_is_down_leaves_neither_directory_nor_processes() {
    let Some(cluster) = own("gone") else { return };
    let directory = cluster.directory().to_owned();
    let pids: Vec<u32> = cluster.parts().into_iter().filter_map(|part| part.pid).collect();
    assert_eq!(pids.len(), 3);
    cluster.down();
    assert!(!directory.exists());
    // A thread of ours waits for each; it may not have come to it yet.
    let reaped = || pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists());
    assert!(pilothouse_testbed::process::wait_until(std::time::Duration::from_secs(20), reaped));
}

#[test]
fn another_user_may_do_what_was_granted_and_nothing_else() {
    let Some(cluster) = shared("another_user_may_do_what_was_granted") else { return };
    let config = cluster.kubeconfig_for("jane@example.com", &["readers"]).unwrap();
    let as_jane = |arguments: &[&str]| {
        let mut command = cluster.kubectl_command().unwrap();
        command.env("KUBECONFIG", &config).args(arguments).output().unwrap()
    };
    let refused = as_jane(&["get", "configmaps", "--namespace=default"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("jane@example.com"), "{refused:?}");
    cluster
        .kubectl(&["create", "clusterrolebinding", "readers", "--clusterrole=view", "--group=readers"])
        .unwrap();
    let granted = pilothouse_testbed::process::wait_until(std::time::Duration::from_secs(20), || {
        as_jane(&["get", "configmaps", "--namespace=default"]).status.success()
    });
    assert!(granted && !as_jane(&["delete", "namespace", "default"]).status.success());
}

#[test]
fn the_real_helm_finds_no_release_in_a_new_namespace() {
    let Some(cluster) = shared("the_real_helm_finds_no_release_in_a_new_namespace") else { return };
    assert!(cluster.helm(&["version", "--short"]).unwrap().starts_with("v4."));
    assert_eq!(
        cluster.helm(&["list", "--namespace", "nobody-installed-anything", "--output=json"]).unwrap().trim(),
        "[]"
    );
}

#[test]
fn an_api_server_that_stands_still_answers_again_when_it_goes_on() {
    let Some(cluster) = own("paused") else { return };
    cluster.pause_api_server();
    let error = cluster.kubectl(&["get", "namespaces", "--request-timeout=1s"]).unwrap_err();
    assert!(!error.to_string().is_empty());
    cluster.resume_api_server();
    assert!(cluster.kubectl(&["get", "namespaces"]).unwrap().contains("default"));
}

#[test]
fn what_was_written_outlives_a_crash_of_the_api_server_and_a_restart_of_etcd() {
    let Some(cluster) = own("restarted") else { return };
    cluster.kubectl(&["create", "namespace", "kept"]).unwrap();
    cluster.kill_api_server();
    assert!(!cluster.is_up() && cluster.kubectl(&["get", "namespaces"]).is_err());
    cluster.start_api_server().unwrap();
    cluster.restart_etcd().unwrap();
    assert!(cluster.kubectl(&["get", "namespaces"]).unwrap().contains("kept"));
}

#[test]
fn a_second_cluster_of_the_same_name_is_refused() {
    let Some(cluster) = own("twice") else { return };
    let options = Options { name: cluster.name().to_owned(), tied: true, node: false };
    let error = Cluster::up(&options, &ToStderr).unwrap_err();
    assert!(error.to_string().contains("cluster down --name"), "{error}");
    assert!(cluster.is_up());
}

/// Not a test: what `a_killed_process_leaves_nothing_behind` kills.
#[test]
fn starts_a_cluster_and_waits_to_be_killed() {
    let Some(name) = std::env::var_os("PILOTHOUSE_TEST_TO_BE_KILLED") else { return };
    let options = Options { name: name.into_string().unwrap(), tied: true, node: false };
    let _cluster = Cluster::up(&options, &ToStderr).unwrap();
    println!("up");
    std::thread::park();
}

#[test]
fn a_killed_process_leaves_nothing_behind() {
    use std::io::BufRead as _;
    if shared("a_killed_process_leaves_nothing_behind").is_none() {
        return;
    }
    let name = format!("test-{}-killed", std::process::id());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "starts_a_cluster_and_waits_to_be_killed", "--nocapture"])
        .env("PILOTHOUSE_TEST_TO_BE_KILLED", &name)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("up")), "the cluster did not come up");
    let cluster = Cluster::open(&name).unwrap();
    let pids: Vec<u32> = cluster.parts().into_iter().filter_map(|part| part.pid).collect();
    let directory = cluster.directory().to_owned();
    assert_eq!(pids.len(), 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let gone = || !directory.exists() && pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists());
    assert!(pilothouse_testbed::process::wait_until(std::time::Duration::from_secs(30), gone));
}
