//! A scene played once for everything that can go wrong with one of the operator's requests.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{
    mishap::{At, How, Mishap, No},
    operator::{Slip, Target},
    play::{Order, Play},
    scene::Scene,
};

/// How much is tried.
#[derive(Debug, Clone, Copy)]
pub struct Depth {
    /// Of requests that change something, every so many-th is also refused, and asked of a new leader; none if zero.
    pub refusals: u32,
    /// Of looks, every so many-th goes wrong; none if zero.
    pub looks: u32,
    /// Of changes of objects, every so many-th is told by no watch; none if zero.
    pub hidden: u32,
    /// How many changes the cache of the operator's successor lags behind: each of these is tried for every death.
    pub stale: &'static [usize],
}

impl Depth {
    /// Everything.
    pub const FULL: Self = Self { refusals: 1, looks: 1, hidden: 1, stale: &[0, 1, 4, 11] };
    /// Death before, death after and no answer for every request; of the rest a sample.
    pub const BRIEF: Self = Self { refusals: 9, looks: 17, hidden: 13, stale: &[3] };
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Requests that change something, looks, and changes of objects in the scene itself.
    pub requests: u32,
    /// Looks.
    pub looks: u32,
    /// How many runs there were.
    pub points: u32,
    /// Those that went wrong.
    pub failures: Vec<Failure>,
}

/// A run that went wrong.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The scene.
    pub scene: String,
    /// What went wrong in it before.
    pub mishap: String,
    /// What must not happen and did, or is not as it should be at the end.
    pub wrong: String,
    /// Everything that happened.
    pub story: String,
}

/// What makes a run differ from the scene itself.
#[derive(Debug, Clone, Copy)]
enum Point {
    Mishap(Mishap),
    Hidden(u64),
}

/// Plays a scene for each point.
pub fn survey(scene: &Scene, depth: Depth, slip: Option<Slip>) -> Survey {
    let mut found = Survey::default();
    let mut play = Play::new(scene, Order::Fixed, Vec::new());
    play.operator.slip = slip;
    let mut after_last = u64::MAX;
    let mut forks: Vec<(Point, String, u32)> = Vec::new();
    loop {
        let before = play.clone();
        if !play.advance(scene) {
            break;
        }
        let undisturbed = before.world.activity == after_last;
        for point in points(&before, &play, depth, undisturbed) {
            let mut fork = before.clone();
            match point {
                Point::Mishap(mishap) => fork.operator.mishaps.push(mishap),
                Point::Hidden(change) => fork.world.hidden = Some(change),
            }
            fork.run(scene);
            found.points += 1;
            forks.push((point, fork.verdict().err().unwrap_or_default(), fork.world.creations()));
        }
        if play.operator.calls > before.operator.calls {
            after_last = play.world.activity;
        }
    }
    (found.requests, found.looks) = (play.operator.calls, play.operator.looks);
    if let Err(wrong) = play.verdict() {
        found.failures.push(tell(scene, None, slip, &wrong));
    }
    for (point, mut wrong, creations) in forks {
        // A mishap may cost a member that is given up before it votes, with its claim, and no more.
        if creations > play.world.creations() + 2 {
            wrong.push_str("\nmore objects are created than a mishap explains");
        }
        if !wrong.is_empty() {
            found.failures.push(tell(scene, Some(point), slip, &wrong));
        }
    }
    found
}

/// Surveys of scenes, several at a time; `done` hears of each.
pub fn survey_all(scenes: &[Scene], depth: Depth, done: impl Fn(&Scene, &Survey) + Sync) -> Vec<Failure> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut failures = Vec::new();
        while let Some(scene) = scenes.get(next.fetch_add(1, Ordering::Relaxed)) {
            let survey = survey(scene, depth, None);
            done(scene, &survey);
            failures.extend(survey.failures);
        }
        failures
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
    })
}

fn due(number: u32, every: u32) -> bool {
    every > 0 && number.is_multiple_of(every)
}

/// What can go wrong at this moment. `undisturbed`: nothing has happened since the last request, so that it does not matter
/// whether the operator dies after that or before this one.
fn points(before: &Play, after: &Play, depth: Depth, undisturbed: bool) -> Vec<Point> {
    let mut all = Vec::new();
    if after.operator.calls > before.operator.calls {
        let call = before.operator.calls + 1;
        let mut add = |how, stale| all.push(Point::Mishap(Mishap { at: At::Call(call), how, stale }));
        for stale in depth.stale {
            if !undisturbed {
                add(How::Before, *stale);
            }
            add(How::After, *stale);
        }
        add(How::Lost, 0);
        if due(call, depth.refusals) {
            let refusals: &[No] = match after.operator.target {
                Target::Kubernetes => &No::OF_KUBERNETES,
                Target::Etcd => &No::OF_ETCD,
            };
            refusals.iter().for_each(|no| add(How::Refused(*no), 0));
            add(How::LeaderMoves, 0);
        }
    }
    let look = before.operator.looks + 1;
    if after.operator.looks > before.operator.looks && due(look, depth.looks) {
        let mut add = |how, stale| all.push(Point::Mishap(Mishap { at: At::Look(look), how, stale }));
        depth.stale.iter().for_each(|stale| add(How::Before, *stale));
        [How::Refused(No::Gone), How::Refused(No::TooManyRequests), How::LeaderMoves, How::Deaf]
            .into_iter()
            .for_each(|how| add(how, 0));
    }
    let changes = before.world.changes + 1..=after.world.changes;
    let number = |change: &u64| u32::try_from(*change).unwrap_or(u32::MAX);
    all.extend(changes.filter(|change| due(number(change), depth.hidden)).map(Point::Hidden));
    all
}

/// Plays it again, and tells what happens.
fn tell(scene: &Scene, point: Option<Point>, slip: Option<Slip>, wrong: &str) -> Failure {
    let mut play = Play::new(scene, Order::Fixed, Vec::new()).traced();
    play.operator.slip = slip;
    let mishap = match point {
        None => "nothing".to_owned(),
        Some(Point::Mishap(mishap)) => {
            play.operator.mishaps.push(mishap);
            mishap.to_string()
        }
        Some(Point::Hidden(change)) => {
            play.world.hidden = Some(change);
            format!("no watch tells of change {change}")
        }
    };
    play.run(scene);
    Failure { scene: scene.name.clone(), mishap, wrong: wrong.trim().to_owned(), story: play.story() }
}
