//! What the tests have in common.

use etcd_api::{ChangeKind, EtcdClusterSpec};
use etcd_simulation::{Order, Play, Scene, Step, fault::Fault, world::World};

pub(crate) fn ends_well(size: i32, claims: bool, steps: Vec<Step>) {
    let scene = Scene { steps, ..Scene::of(size, "3.5.35", claims) };
    let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
    play.run(&scene);
    play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
}

/// Plays on until it is so.
pub(crate) fn until(play: &mut Play, scene: &Scene, what: impl Fn(&World) -> bool) {
    while !what(&play.world) {
        assert!(play.advance(scene), "it never came to that\n{}", play.story());
    }
}

pub(crate) fn ask(world: &mut World, change: impl FnOnce(&mut EtcdClusterSpec)) {
    let owner = world.objects.owner.as_mut().unwrap();
    change(std::rc::Rc::make_mut(&mut owner.spec));
    owner.generation += 1;
    owner.version += 1;
    world.object_changed();
}

pub(crate) fn followers(world: &World) -> Vec<String> {
    let leader = world.cluster().and_then(|cluster| world.leader(cluster)).map(|(pod, _)| pod);
    world.pod_names().into_iter().filter(|pod| Some(pod) != leader.as_ref()).collect()
}

pub(crate) fn leaves(world: &World) -> bool {
    let change = world.objects.owner.as_ref().and_then(|owner| owner.record.change.as_ref());
    change.is_some_and(|change| change.kind == ChangeKind::Leave)
}

pub(crate) fn version(to: &'static str) -> Step {
    match to {
        "3.6.16" => Step::Spec("version 3.6.16", |spec| spec.version = "3.6.16".to_owned()),
        "3.7.3" => Step::Spec("version 3.7.3", |spec| spec.version = "3.7.3".to_owned()),
        _ => Step::Spec("version 3.5.35", |spec| spec.version = "3.5.35".to_owned()),
    }
}

pub(crate) fn repository(to: &'static str) -> Step {
    match to {
        "nowhere" => Step::Spec("repository nowhere", |spec| spec.repository = "nowhere/etcd".to_owned()),
        _ => Step::Spec("the old repository", |spec| spec.repository = "quay.io/coreos/etcd".to_owned()),
    }
}

/// The last one that runs and does not lead is gone, with its data.
pub(crate) fn lose_one(world: &mut World) {
    let leader = world.cluster().and_then(|cluster| world.leader(cluster)).map(|(pod, _)| pod);
    let runs = |pod: &String| world.connected(pod).is_some() && Some(pod) != leader.as_ref();
    if let Some(pod) = world.pod_names().into_iter().rfind(runs) {
        world.fail(&if world.objects.claims.is_empty() {
            Fault::DeletePod(pod)
        } else {
            Fault::LoseClaim(pod)
        });
    }
}
