//! Scenes as they are played here, and what is looked at afterwards.

use etcd_simulation::{Order, Play, Scene, Step, catalogue::scene, world::World};

pub(crate) fn played(scene: &Scene) -> Play {
    let mut play = Play::new(scene, Order::Fixed, Vec::new()).traced();
    play.run(scene);
    play
}

pub(crate) fn well(name: &str) -> Play {
    let play = played(&scene(name).expect(name));
    play.verdict().unwrap_or_else(|wrong| panic!("{name}: {wrong}\n{}", play.story()));
    play
}

pub(crate) fn steps(size: i32, version: &str, claims: bool, steps: Vec<Step>) -> Scene {
    Scene { steps, ..Scene::of(size, version, claims) }
}

/// Lines of the trace that have this in them.
pub(crate) fn lines(play: &Play, part: &str) -> Vec<String> {
    play.trace.iter().flatten().filter(|line| line.contains(part)).cloned().collect()
}

pub(crate) fn told(play: &Play, reason: &str) -> Vec<String> {
    let told = play.world.told.iter().filter(|(of, _)| of == reason);
    told.map(|(_, message)| message.clone()).collect()
}

pub(crate) fn resize(world: &mut World, size: i32) {
    let owner = world.objects.owner.as_mut().unwrap();
    std::rc::Rc::make_mut(&mut owner.spec).size = size;
    owner.generation += 1;
    owner.version += 1;
}
