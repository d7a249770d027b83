//! Every scene, in order and with everything that can go wrong with the operator's requests.

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use etcd_simulation::{
        Order, Play, Scene,
        accident::Journey,
        catalogue::{scene, scenes},
        survey::{Depth, survey_all},
    };

    /// All scenes, or those that `SCENE` names.
    fn chosen() -> Vec<Scene> {
        let only = std::env::var("SCENE").unwrap_or_default();
        scenes().into_iter().filter(|scene| scene.name.contains(&only)).collect()
    }

    #[test]
    fn every_scene_ends_well_when_nothing_else_goes_wrong() {
        let mut failed = Vec::new();
        for scene in chosen() {
            let mut play = Play::new(&scene, Order::Fixed, Vec::new()).traced();
            play.run(&scene);
            if let Err(wrong) = play.verdict() {
                println!("{}: {wrong}\n{}", scene.name, play.story());
                failed.push(scene.name);
            }
        }
        assert!(failed.is_empty(), "{failed:#?}");
    }

    #[test]
    fn the_operator_may_die_at_any_request_of_any_scene() {
        let points = AtomicU32::new(0);
        let failures = survey_all(&chosen(), Depth::BRIEF, |_, survey| {
            points.fetch_add(survey.points, Ordering::Relaxed);
        });
        println!("{} points", points.load(Ordering::Relaxed));
        let failed: Vec<String> = failures
            .iter()
            .map(|failure| format!("{}: {}: {}", failure.scene, failure.mishap, failure.wrong))
            .collect();
        if let Some(failure) = failures.first() {
            println!("{}", failure.story);
        }
        assert!(failed.is_empty(), "{failed:#?}");
    }

    #[test]
    fn a_cluster_may_be_deleted_at_any_moment_of_any_scene() {
        let mut failed = Vec::new();
        for scene in chosen() {
            let mut play = Play::new(&scene, Order::Fixed, Vec::new());
            for moment in 0.. {
                // Some moments of each: of neighbours, the operator is at work in one.
                if moment % 23 == 0 {
                    let mut fork = play.clone();
                    fork.world.delete_owner();
                    fork.run(&Scene { steps: Vec::new(), ..scene.clone() });
                    if let Err(wrong) = fork.verdict() {
                        failed.push(format!("{} at moment {moment}: {wrong}", scene.name));
                    }
                }
                if !play.advance(&scene) {
                    break;
                }
            }
        }
        assert!(failed.is_empty(), "{failed:#?}");
    }

    /// Runs by chance that once went wrong.
    #[test]
    fn seeds_that_went_wrong_once_go_well() {
        for (name, seed) in [
            ("a backup is restored, with claims", 5056),
            ("other storage, without claims", 5127),
            ("two upgrades, with claims", 8112),
            ("two upgrades, with claims", 8268),
            ("two upgrades, without claims", 8172),
            ("an upgrade fails and is taken back, without claims", 20144),
            ("options of one member change, without claims", 20601),
            ("upgrade and downgrade, without claims", 20711),
        ] {
            let play = Journey::new(seed).play(&scene(name).expect(name), true);
            play.verdict().unwrap_or_else(|wrong| panic!("{name} by {seed}: {wrong}\n{}", play.story()));
        }
    }

    #[test]
    fn scenes_end_well_whatever_goes_wrong_by_chance() {
        let runs = std::env::var("RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(3);
        let mut failed = Vec::new();
        for scene in chosen() {
            for seed in 0..runs {
                let journey = Journey::new(seed);
                if journey.play(&scene, false).verdict().is_ok() {
                    continue;
                }
                if failed.len() < 5 {
                    let (journey, short) = journey.shortest(&scene);
                    let play = journey.play(&short, true);
                    println!("{} by {journey:?}: {:?}\n{}\n", scene.name, play.verdict(), play.story());
                }
                failed.push(format!("{} by seed {seed}", scene.name));
            }
        }
        assert!(failed.is_empty(), "{} failed: {failed:#?}", failed.len());
    }
}
