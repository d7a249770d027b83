//! Every scene, with the operator dying at each of its calls.

#[cfg(test)]
mod tests {
    use etcd_simulation::{Crash, How, Order, Play, Scene, catalogue::scenes};

    fn play(scene: &Scene, crashes: Vec<Crash>) -> Play {
        let mut play = Play::new(scene, Order::Fixed, crashes);
        play.run(scene, false);
        play
    }

    #[test]
    fn the_operator_may_die_at_any_call_of_any_scene() {
        let only = std::env::var("SCENE").ok();
        let mut failed = Vec::new();
        let mut points = 0;
        for scene in scenes() {
            if only.as_ref().is_some_and(|only| !scene.name.contains(only.as_str())) {
                continue;
            }
            let calls = play(&scene, Vec::new()).operator.calls;
            for call in 1..=calls {
                for how in [How::Before, How::After, How::Lost] {
                    let stale = usize::try_from(call % 4).unwrap_or(0);
                    let crash = Crash { call, how, stale };
                    points += 1;
                    let play = play(&scene, vec![crash]);
                    if let Err(wrong) = play.verdict() {
                        if failed.is_empty() {
                            println!("{}: {crash:?}: {wrong}\n{}", scene.name, play.story());
                        }
                        let first = wrong.lines().next().unwrap_or_default();
                        failed.push(format!("{}: {crash:?}: {first}", scene.name));
                    }
                }
            }
        }
        println!("{points} points");
        assert!(failed.is_empty(), "{failed:#?}");
    }
}
