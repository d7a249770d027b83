//! Everything that can go wrong, in every scene, and what came of it: what `cargo xtask faults --plugin etcd` runs.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use serde::Deserialize;

use crate::{
    Scene,
    accident::Journey,
    catalogue::scenes,
    mutation::{differences, sequence},
    survey::{Depth, Failure, survey_all},
};

/// What is to be played.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Orders {
    /// The first seed of runs by chance.
    pub seed: u64,
    /// How many seeds each scene is played by; and how many sequences of changes of the spec.
    pub runs: u64,
    /// Go on with further seeds until so many minutes have passed.
    pub minutes: Option<u64>,
    /// Only scenes whose name contains this.
    pub scene: String,
    /// Runs by chance only.
    pub chance: bool,
    /// Deaths only, and of the other ways in which a request can go wrong a sample.
    pub brief: bool,
    /// Print the names of the scenes, and play none.
    pub list: bool,
}

/// Plays it, prints what comes of it, and answers how many runs went wrong.
pub fn run(orders: &Orders) -> usize {
    let scenes: Vec<Scene> =
        scenes().into_iter().filter(|scene| scene.name.contains(&orders.scene)).collect();
    if scenes.is_empty() {
        eprintln!("no scene's name contains {:?}: --list prints them all", orders.scene);
        return 1;
    }
    if orders.list {
        scenes.iter().for_each(|scene| println!("{}", scene.name));
        return 0;
    }
    let begun = Instant::now();
    let mut failures = Vec::new();
    if !orders.chance {
        failures.extend(surveys(&scenes, if orders.brief { Depth::BRIEF } else { Depth::FULL }));
    }
    let until = orders.minutes.map(|minutes| begun + Duration::from_secs(60 * minutes));
    failures.extend(by_chance(&scenes, orders.seed, orders.runs, until));
    tell(&failures);
    println!("{} failures, {} s", failures.len(), begun.elapsed().as_secs());
    failures.len()
}

/// Every request of every scene.
fn surveys(scenes: &[Scene], depth: Depth) -> Vec<Failure> {
    let points = AtomicU64::new(0);
    let failures = survey_all(scenes, depth, |scene, survey| {
        points.fetch_add(u64::from(survey.points), Ordering::Relaxed);
        println!(
            "{}: {} requests, {} looks, {} points, {} failures",
            scene.name,
            survey.requests,
            survey.looks,
            survey.points,
            survey.failures.len()
        );
    });
    println!("{} points in {} scenes", points.load(Ordering::Relaxed), scenes.len());
    failures
}

/// Runs by seed: so many, and on until the time is over if there is one.
fn by_chance(scenes: &[Scene], first: u64, runs: u64, until: Option<Instant>) -> Vec<Failure> {
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Vec::new());
    let more = |seed: u64| {
        let due = until.is_some_and(|until| Instant::now() < until);
        seed.wrapping_sub(first) < runs || due
    };
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !more(seed) {
                return;
            }
            let found = one_seed(scenes, seed);
            if let Ok(mut failures) = failures.lock() {
                failures.extend(found);
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let seeds = next.load(Ordering::Relaxed).saturating_sub(first + u64::try_from(workers).unwrap_or(1));
    let plays = seeds * u64::try_from(scenes.len()).unwrap_or(1);
    println!("{seeds} seeds from {first} on: {plays} runs by chance and {seeds} sequences");
    failures.into_inner().unwrap_or_default()
}

/// Every scene, and one sequence of changes of the spec.
fn one_seed(scenes: &[Scene], seed: u64) -> Vec<Failure> {
    let journey = Journey::new(seed);
    let mut failures: Vec<Failure> =
        scenes.iter().filter_map(|scene| failure(&journey, scene, seed)).collect();
    let (scene, journey) = sequence(seed);
    let play = journey.play(&scene, false);
    let wrong: Vec<String> = play.world.violations.iter().cloned().chain(differences(&play)).collect();
    if !wrong.is_empty() {
        failures.push(Failure {
            scene: scene.name.clone(),
            mishap: format!("changes of the spec by seed {seed}"),
            wrong: wrong.join("\n"),
            story: journey.play(&scene, true).story(),
        });
    }
    failures
}

/// What is wrong with a run by chance, as short as it could be made.
fn failure(journey: &Journey, scene: &Scene, seed: u64) -> Option<Failure> {
    journey.play(scene, false).verdict().err()?;
    let (short, scene) = journey.shortest(scene);
    let play = short.play(&scene, true);
    Some(Failure {
        scene: scene.name.clone(),
        mishap: format!("seed {seed}; {} accidents are left of {}", short.left(), journey.left()),
        wrong: play.verdict().err().unwrap_or_default(),
        story: play.story(),
    })
}

/// Each failure with what happened.
fn tell(failures: &[Failure]) {
    for failure in failures {
        println!("\nFAILED {}: {}", failure.scene, failure.mishap);
        println!("{}", failure.wrong);
        failure.story.lines().for_each(|line| println!("    {line}"));
    }
    if !failures.is_empty() {
        println!();
        failures.iter().for_each(|failure| println!("FAILED {}: {}", failure.scene, failure.mishap));
    }
}
