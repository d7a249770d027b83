//! Outages that the operator itself has to end, each as short as it could be made.

#[cfg(test)]
mod tests {
    use etcd_simulation::{Order, Play, Scene, Step, fault::Fault, world::World};

    fn ends_well(size: i32, claims: bool, steps: Vec<Step>) {
        let scene = Scene { steps, ..Scene::of(size, "3.5.35", claims) };
        let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
        play.run(&scene);
        play.verdict().unwrap_or_else(|wrong| panic!("claims: {claims}: {wrong}\n{}", play.story()));
    }

    fn version(to: &'static str) -> Step {
        match to {
            "3.6.16" => Step::Spec("version 3.6.16", |spec| spec.version = "3.6.16".to_owned()),
            _ => Step::Spec("version 3.5.35", |spec| spec.version = "3.5.35".to_owned()),
        }
    }

    fn repository(to: &'static str) -> Step {
        match to {
            "nowhere" => Step::Spec("repository nowhere", |spec| spec.repository = "nowhere/etcd".to_owned()),
            _ => Step::Spec("the old repository", |spec| spec.repository = "quay.io/coreos/etcd".to_owned()),
        }
    }

    /// The last one that runs and does not lead is gone, with its data.
    fn lose_one(world: &mut World) {
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

    #[test]
    fn a_single_member_whose_new_image_cannot_be_had_gets_the_old_one_back() {
        for claims in [false, true] {
            ends_well(1, claims, vec![Step::LoseImage("3.6.16"), version("3.6.16"), version("3.5.35")]);
        }
    }

    #[test]
    fn a_member_that_waits_for_its_image_gets_the_old_one_back_though_the_quorum_is_gone() {
        for claims in [false, true] {
            let lose = Step::World("another member is lost", lose_one);
            let steps = vec![Step::LoseImage("3.6.16"), version("3.6.16"), lose, version("3.5.35")];
            ends_well(3, claims, steps);
        }
    }

    #[test]
    fn a_pod_that_never_came_up_is_made_from_the_spec_that_was_mended_though_the_quorum_is_gone() {
        for claims in [false, true] {
            let lose = Step::World("another member is lost", lose_one);
            let steps = vec![Step::LoseImage("nowhere/"), repository("nowhere"), lose, repository("quay.io")];
            ends_well(3, claims, steps);
        }
    }
}
