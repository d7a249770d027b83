//! One life of one `Backup`, with a host that dies wherever it is told to.

use backup_api::BackupPlan;
use backup_core::{
    backup::{Act, Object, decide, needs},
    settings::Settings,
};
use jiff::SignedDuration;
use serde_json::json;

use crate::world::World;

/// How long a life may be, in looks.
const LOOKS: usize = 4_000;

/// Mishaps of one life, by the number of the place at which they happen. There are four places in a look: before anything, before the
/// status is written, between that and the act, and after the act.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mishaps {
    pub(crate) crashes: Vec<usize>,
    pub(crate) deleted: Option<usize>,
}

pub(crate) fn plan(change: serde_json::Value) -> BackupPlan {
    let hook = |word: &str| json!([{"selector": {"matchLabels": {"app": "db"}}, "command": [word], "timeout": "10s"}]);
    let plan = json!({
        "retries": 2,
        "strategy": {"job": {"preset": "mariadb", "parameters": {"host": "db"}}},
        "storage": {"url": "s3://bucket/backups"},
        "quiesce": {"pre": hook("freeze"), "post": hook("thaw")},
        "timeout": "20m",
    });
    serde_json::from_value(backup_core::manifest::merge(plan, &change)).unwrap()
}

pub(crate) fn settings() -> Settings {
    Settings { image: "registry.example.com/pilothouse:1".to_owned() }
}

/// Plays until nothing is left to be done; tells how many places there were.
pub(crate) fn play(world: &mut World, mishaps: &Mishaps) -> usize {
    let mut place = 0;
    for _ in 0..LOOKS {
        let Some(next) = look(world, mishaps, &mut place) else {
            if mishaps.deleted.is_some() && !world.deleting {
                world.deleting = true;
                continue;
            }
            // Whatever still runs somewhere comes to its end.
            world.advance(SignedDuration::from_secs(120));
            world.watch();
            world.conclude();
            return place;
        };
        if !next.is_zero() {
            world.advance(next);
        }
        world.watch();
    }
    panic!("it does not come to an end: {:?}", world.status);
}

/// One look; none: there is nothing more to do. An act is followed by a look at once.
fn look(world: &mut World, mishaps: &Mishaps, place: &mut usize) -> Option<SignedDuration> {
    let crashes = |place: &mut usize| {
        let here = mishaps.crashes.contains(place);
        *place += 1;
        here
    };
    if mishaps.deleted.is_some_and(|at| *place >= at) {
        world.deleting = true;
    }
    let at_once = Some(SignedDuration::ZERO);
    if crashes(place) {
        world.crash();
        return at_once;
    }
    let spec = world.spec.clone();
    let object = Object { namespace: "shop", name: "b", uid: "u-1", deleting: world.deleting, spec: &spec };
    let plan = spec.plan.clone().unwrap();
    let seen = world.observe(&needs(&object, &plan, &world.status));
    let decision = decide(object, &plan, &world.status, &seen, &settings(), world.now);
    if crashes(place) {
        world.crash();
        return at_once;
    }
    world.status = decision.status;
    world.watch();
    if crashes(place) {
        world.crash();
        return at_once;
    }
    world.perform(&decision.act);
    world.watch();
    if crashes(place) {
        world.crash();
        return at_once;
    }
    if decision.released {
        world.gone = true;
        return None;
    }
    match (decision.next, &decision.act) {
        (None, _) if !world.deleting => None,
        (next, Act::Nothing) => {
            Some(next.map_or(SignedDuration::ZERO, |next| SignedDuration::try_from(next).unwrap()))
        }
        // Something was done: time goes by a little.
        (next, _) => Some(next.map_or(SignedDuration::ZERO, |next| SignedDuration::try_from(next).unwrap())),
    }
}
