//! What is counted of releases.

use pilothouse_sdk::Patch;
use serde_json::{Value, json};

use crate::scene::Scene;

const STATES: [&str; 5] = ["deployed", "pending", "failed", "suspended", "uninstalling"];

/// In which states releases are.
fn states(scene: &Scene) -> Vec<&'static str> {
    let count = |state: &str| scene.cluster.metric(&format!("helm_releases{{state={state:?}}}"));
    STATES.into_iter().filter(|state| count(state) == Some(1.0)).collect()
}

#[test]
fn a_release_is_counted_where_it_stands_until_it_is_gone() {
    let mut scene = Scene::installed(&json!({"replicas": 1, "hooks": {"backup": true, "dump": true}}));
    assert_eq!(states(&scene), ["deployed"]);
    scene.set(&json!({"replicas": 2}));
    scene.settle();
    assert_eq!(states(&scene), ["pending"]);
    scene.complete("backup");
    assert_eq!(states(&scene), ["deployed"]);
    scene.set(&json!({"broken": true}));
    scene.settle();
    assert_eq!(states(&scene), ["failed"]);
    scene.ask("suspend", "true");
    scene.settle();
    assert_eq!(states(&scene), ["suspended"]);
    let resume = json!({"metadata": {"annotations": {"helm.pilothouse.dev/suspend": null}}, "spec": {"broken": false}});
    scene.cluster.kubectl().patch_ref::<Value>(&scene.object(), &Patch::merge(&resume).unwrap()).unwrap();
    scene.runner.restart();
    scene.run_for(60);
    assert_eq!(states(&scene), ["deployed"]);
    scene.delete();
    scene.settle();
    assert_eq!(states(&scene), ["uninstalling"]);
    scene.complete("dump");
    assert_eq!(scene.get(&scene.object()), None);
    assert_eq!(states(&scene), [""; 0]);
}
