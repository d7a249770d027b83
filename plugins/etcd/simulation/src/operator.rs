//! The operator: it looks, decides, writes the record, acts and tells, one call at a time, and dies in between.

use etcd_core::{
    act::Act,
    decide,
    decision::Decision,
    observed::{Observed, View},
};
use jiff::{SignedDuration, Timestamp};

use crate::{observe::observe, world::World};

/// When and how the operator dies, or is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Crash {
    /// At which of its writing calls, counted from 1.
    pub call: u32,
    /// How.
    pub how: How,
    /// How many changes the cache lags behind after the restart.
    pub stale: usize,
}

/// How a call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum How {
    /// It dies before the call.
    Before,
    /// It dies after the call.
    After,
    /// The call is carried out, and nobody says so.
    Lost,
}

/// Where the operator is.
#[derive(Debug, Clone, Default)]
enum Stage {
    /// It waits to be woken.
    #[default]
    Idle,
    /// It has looked and decided.
    Decided(Box<Round>),
    /// The record is written.
    Recorded(Box<Round>),
    /// The act is done.
    Acted(Box<Round>),
}

/// One round from a look to a report.
#[derive(Debug, Clone)]
struct Round {
    decision: Decision,
    observed: Observed,
    paused: bool,
    /// Version of the object that was read.
    version: u64,
    /// `World::disturbances` when it looked.
    disturbances: u64,
}

/// The operator.
#[derive(Debug, Clone, Default)]
pub struct Operator {
    stage: Stage,
    /// Somebody woke it.
    woken: bool,
    /// It looks at the API server, not at a cache.
    live: bool,
    /// When it wants to look again.
    due: Option<Timestamp>,
    /// How many changes its cache lags behind.
    lag: usize,
    /// Writing calls so far.
    pub calls: u32,
    /// Calls that went wrong and how.
    pub crashes: Vec<Crash>,
    /// Acts that were carried out, for people.
    pub log: Vec<String>,
    /// The first lines of the log that were dropped.
    refusals: u32,
}

impl Operator {
    /// An operator that goes wrong at these calls.
    pub fn with(crashes: Vec<Crash>) -> Self {
        Self { crashes, woken: true, ..Self::default() }
    }

    /// Has it anything to do now?
    pub fn is_due(&self, world: &World) -> bool {
        let awake =
            self.woken || (world.changed && self.lag == 0) || self.due.is_some_and(|due| due <= world.now);
        !matches!(self.stage, Stage::Idle) || awake
    }

    /// Does its cache lag behind?
    pub fn lags(&self) -> bool {
        self.lag > 0
    }

    /// The cache has caught up.
    pub fn sync(&mut self) {
        self.lag = 0;
        self.woken = true;
    }

    /// When it wants to look again.
    pub fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// It dies, and its successor sees a cache that lags behind by so many changes.
    pub fn restart(&mut self, stale: usize) {
        self.stage = Stage::Idle;
        (self.woken, self.live, self.due, self.lag) = (true, false, None, stale);
    }

    /// Takes the next step.
    pub fn step(&mut self, world: &mut World) {
        match std::mem::take(&mut self.stage) {
            Stage::Idle => self.look(world),
            Stage::Decided(round) => self.record(world, round),
            Stage::Recorded(round) => self.act(world, round),
            Stage::Acted(round) => self.report(world, round),
        }
    }

    fn look(&mut self, world: &mut World) {
        let view = if self.live { View::Live } else { View::Cached };
        (self.woken, self.live, self.due) = (false, false, None);
        if self.lag == 0 {
            world.changed = false;
        }
        let shown = world.history.len().saturating_sub(1 + self.lag);
        let objects = match (view, world.history.get(shown)) {
            (View::Cached, Some(objects)) => objects.clone(),
            _ => world.objects.clone(),
        };
        let Some((cluster, observed)) = observe(world, &objects, view) else { return };
        let decision = decide(&cluster, &observed, world.now);
        let version = objects.owner.as_ref().map_or(0, |owner| owner.version);
        let paused = cluster.spec.paused && !cluster.deleting;
        let disturbances = world.disturbances;
        self.stage = Stage::Decided(Box::new(Round { decision, observed, paused, version, disturbances }));
    }

    /// Makes a writing call, or dies over it. Answers whether it went well.
    fn call(
        &mut self,
        world: &mut World,
        call: impl FnOnce(&mut World) -> Result<(), String>,
    ) -> Result<(), End> {
        self.calls += 1;
        let crash = self.crashes.iter().copied().find(|crash| crash.call == self.calls);
        if let Some(crash) = crash.filter(|crash| crash.how == How::Before) {
            self.log.push("  (dies before)".to_owned());
            return Err(End::Died(crash.stale));
        }
        let answer = call(world);
        match crash {
            Some(Crash { how: How::Lost, .. }) => {
                self.log.push("  (no answer)".to_owned());
                Err(End::Refused("no answer".to_owned()))
            }
            Some(crash) => {
                self.log.push("  (dies after)".to_owned());
                Err(End::Died(crash.stale))
            }
            None => answer.map_err(End::Refused),
        }
    }

    fn ended(&mut self, world: &World, end: End) {
        match end {
            End::Died(stale) => self.restart(stale),
            End::Refused(why) => {
                self.log.push(format!("  refused: {why}"));
                self.refusals += 1;
                self.due = Some(world.now + SignedDuration::from_secs(2));
            }
        }
    }

    fn record(&mut self, world: &mut World, round: Box<Round>) {
        if round.decision.record == round.observed.record {
            self.stage = Stage::Recorded(round);
            return;
        }
        let (record, version) = (round.decision.record.clone(), round.version);
        let change = record.change.as_ref().map(|change| format!("{:?} {}", change.kind, change.member));
        self.log.push(format!("{} record {}", clock(world), change.unwrap_or_default()));
        let result = self.call(world, |world| {
            let Some(owner) = &world.objects.owner else { return Err("not found".to_owned()) };
            if owner.version != version {
                return Err("conflict".to_owned());
            }
            let before = owner.record.clone();
            world.watch_record(&before, &record);
            if let Some(owner) = &mut world.objects.owner {
                owner.record = record;
                owner.version += 1;
            }
            world.history.push(world.objects.clone());
            Ok(())
        });
        match result {
            Ok(()) => self.stage = Stage::Recorded(round),
            Err(end) => self.ended(world, end),
        }
    }

    fn act(&mut self, world: &mut World, round: Box<Round>) {
        let act = round.decision.act.clone();
        match act {
            Act::Look => {
                (self.woken, self.live) = (true, true);
                return;
            }
            Act::Nothing => {
                self.stage = Stage::Acted(round);
                return;
            }
            _ => {}
        }
        self.log.push(format!("{} {}", clock(world), short(&act)));
        let undisturbed = world.disturbances == round.disturbances;
        let result = self.call(world, |world| {
            world.watch(&act, &round.observed, round.paused, undisturbed);
            world.perform(&act)
        });
        match result {
            Ok(()) => self.stage = Stage::Acted(round),
            Err(end) => self.ended(world, end),
        }
    }

    fn report(&mut self, world: &mut World, round: Box<Round>) {
        let Round { decision, observed, .. } = *round;
        let same =
            world.status.as_ref() == Some(&decision.report.status) && decision.report.events.is_empty();
        let known = world.standing == format!("{:?}", decision.report.standing);
        if !(same && known) {
            let report = decision.report.clone();
            if let Err(end) = self.call(world, |world| {
                world.tell(&report);
                Ok(())
            }) {
                self.ended(world, end);
                return;
            }
        }
        if decision.act != Act::Nothing || decision.record != observed.record {
            (self.woken, self.live) = (true, true);
        } else {
            let wait = SignedDuration::try_from(decision.next).unwrap_or(SignedDuration::from_secs(1));
            self.due = Some(world.now + wait.max(SignedDuration::from_millis(100)));
        }
    }
}

/// Why a round ended early.
enum End {
    Died(usize),
    Refused(String),
}

fn clock(world: &World) -> String {
    world.now.strftime("%H:%M:%S").to_string()
}

/// An act in few words.
fn short(act: &Act) -> String {
    let name = |object: &serde_json::Value| {
        object.pointer("/metadata/name").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    match act {
        Act::CreatePod(object) => format!("CreatePod {}", name(object)),
        Act::CreateClaim(object) => format!("CreateClaim {}", name(object)),
        other => format!("{other:?}"),
    }
}
