//! A cluster that is deleted: others prepare first, and hear of it when its members are gone.

use std::time::Duration;

use pilothouse_sdk::{
    DeleteOptions, Gvk, ObjectRef, Propagation, Standing,
    harness::{Cluster, Runner, every_crash},
};
use serde_json::{Value, json};

use crate::{MANIFEST, hanging::cluster};

const FINALIZER: &str = "etcd.database.coreos.com/cluster";

fn reference() -> ObjectRef {
    ObjectRef::new(Gvk::new("etcd.database.coreos.com", "v1beta2", "EtcdCluster"), "default", "example")
}

fn runner(cluster: &Cluster) -> Runner {
    Runner::new(cluster, etcd_plugin::plugin).manifest(MANIFEST).unwrap()
}

fn object(cluster: &Cluster) -> Option<Value> {
    cluster.kubectl().get_ref(&reference()).unwrap()
}

fn pods(cluster: &Cluster) -> usize {
    let names = ["example-a", "example-b", "example-c"];
    let place = |name: &str| ObjectRef::new(Gvk::new("", "v1", "Pod"), "default", name);
    let found: Vec<Option<Value>> =
        names.iter().map(|name| cluster.kubectl().get_ref(&place(name)).unwrap()).collect();
    found.iter().flatten().count()
}

fn delete(cluster: &Cluster) {
    cluster.kubectl().delete_ref(&reference(), &DeleteOptions::default()).unwrap();
}

fn announced(cluster: &Cluster) -> Vec<String> {
    cluster.announced().into_iter().map(|(_, announcement)| announcement.phase).collect()
}

#[test]
fn the_members_stay_until_others_are_prepared() {
    let (cluster, _) = cluster(3, 0);
    cluster.answer_announcements("pre-delete", Ok(Standing::Pending("a backup is taken".to_owned())));
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(5)).unwrap();
    assert_eq!(object(&cluster).unwrap()["metadata"]["finalizers"], json!([FINALIZER]));
    delete(&cluster);
    runner.run_for(Duration::from_secs(60)).unwrap();
    assert_eq!((pods(&cluster), announced(&cluster)), (3, vec!["pre-delete".to_owned()]));
    cluster.answer_announcements("pre-delete", Ok(Standing::Done(Vec::new())));
    runner.run_for(Duration::from_secs(60)).unwrap();
    assert_eq!((pods(&cluster), object(&cluster)), (0, None));
    assert_eq!(announced(&cluster), ["pre-delete", "post-delete"]);
}

#[test]
fn wherever_the_host_dies_the_cluster_goes_after_everybody_has_heard() {
    let crashes = every_crash(|nth| {
        let (cluster, _) = cluster(3, 0);
        let mut runner = runner(&cluster);
        runner.run_for(Duration::from_secs(5)).unwrap();
        delete(&cluster);
        cluster.crash_after_write(nth);
        runner.run_for(Duration::from_mins(3)).unwrap();
        assert_eq!((pods(&cluster), object(&cluster)), (0, None), "crash {nth}");
        assert_eq!(announced(&cluster), ["pre-delete", "post-delete"], "crash {nth}");
        cluster
    });
    assert!(crashes >= 3, "{crashes} places where it can die");
}

#[test]
fn a_pod_that_never_goes_does_not_hold_the_cluster_for_ever() {
    let (cluster, _) = cluster(3, 0);
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(5)).unwrap();
    let pod = ObjectRef::new(Gvk::new("", "v1", "Pod"), "default", "example-b");
    cluster.edit_ref::<Value>(&pod, |pod| pod["metadata"]["finalizers"] = json!(["test/lost-node"])).unwrap();
    delete(&cluster);
    runner.run_for(Duration::from_secs(60)).unwrap();
    assert_eq!(pods(&cluster), 1);
    assert!(object(&cluster).is_some(), "the pod may just be slow");
    runner.run_for(Duration::from_mins(3)).unwrap();
    assert_eq!(object(&cluster), None);
}

#[test]
fn members_that_are_to_be_orphaned_are_left_alone() {
    let (cluster, _) = cluster(3, 0);
    let mut runner = runner(&cluster);
    runner.run_for(Duration::from_secs(5)).unwrap();
    let orphan = DeleteOptions { propagation: Propagation::Orphan, ..DeleteOptions::default() };
    cluster.kubectl().delete_ref(&reference(), &orphan).unwrap();
    runner.run_for(Duration::from_secs(60)).unwrap();
    assert_eq!((pods(&cluster), object(&cluster)), (3, None));
}

#[test]
fn a_cluster_that_cannot_be_held_is_taken_care_of_all_the_same() {
    let (cluster, asked) = cluster(3, 0);
    cluster.forbid("patch", "etcdclusters");
    runner(&cluster).run_for(Duration::from_secs(30)).unwrap();
    assert!(!asked.borrow().is_empty(), "its members are looked at");
    assert_eq!(object(&cluster).unwrap()["metadata"].get("finalizers"), None);
}
