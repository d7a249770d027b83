//! Scenes, played in order.

#[cfg(test)]
mod tests {
    use etcd_simulation::{Order, Play, Scene, catalogue::scenes};

    fn play(scene: &Scene) -> Play {
        let mut play = Play::new(scene, Order::Fixed, Vec::new());
        play.run(scene, false);
        play
    }

    #[test]
    fn every_scene_ends_well_when_nothing_else_goes_wrong() {
        let only = std::env::var("SCENE").ok();
        let mut failed = Vec::new();
        for scene in scenes() {
            if only.as_ref().is_some_and(|only| !scene.name.contains(only.as_str())) {
                continue;
            }
            let play = play(&scene);
            println!("{}: {} calls", scene.name, play.operator.calls);
            if let Err(wrong) = play.verdict() {
                println!("  FAILED {wrong}");
                if only.is_some() {
                    println!("{}", play.story());
                }
                failed.push(scene.name);
            }
        }
        assert!(failed.is_empty(), "{failed:#?}");
    }
}
