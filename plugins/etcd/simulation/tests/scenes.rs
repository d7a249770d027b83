//! Scenes, played in order.

#[cfg(test)]
mod tests {
    use etcd_simulation::{Order, Play, Scene, Step, Who, fault::Fault, scene::spec};

    fn play(scene: &Scene) -> Play {
        let mut play = Play::new(scene, Order::Fixed, Vec::new());
        play.run(scene, false);
        play
    }

    fn check(scene: &Scene) -> Play {
        let play = play(scene);
        if let Err(wrong) = play.verdict() {
            panic!("{}: {wrong}\n{}", scene.name, play.story());
        }
        play
    }

    fn bring_up(size: i32, claims: bool) -> Scene {
        Scene { name: "bring-up", spec: spec(size, "3.6.16", claims).unwrap(), steps: Vec::new() }
    }

    #[test]
    fn clusters_of_one_three_and_five_come_up() {
        for size in [1, 3, 5] {
            for claims in [false, true] {
                let play = check(&bring_up(size, claims));
                println!("{size} {claims}: {} calls", play.operator.calls);
            }
        }
    }

    #[test]
    fn a_dead_member_is_replaced() {
        let mut scene = bring_up(3, false);
        scene.steps = vec![Step::Fault(Fault::DeletePod, Who::Followers(1))];
        let play = check(&scene);
        println!("{:?}", play.world.told);
        scene.steps = vec![Step::Fault(Fault::DeletePod, Who::Leader)];
        check(&scene);
    }
}
