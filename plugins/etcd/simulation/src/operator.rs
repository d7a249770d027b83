//! The operator: it looks, decides, writes the record, acts and tells, one call at a time, and dies in between.

use std::rc::Rc;

use etcd_api::Record;
use etcd_core::{
    act::Act,
    decide,
    decision::Decision,
    observed::{Etcd, Observed, View},
    refusal::Refusal,
    settled,
};
use jiff::{SignedDuration, Timestamp};

use crate::{
    mishap::{At, How, Mishap, No},
    observe::observe,
    world::World,
};

/// A mistake around the decisions, switched on to see that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slip {
    /// It acts on what a cache says, and writes its record whether the object has changed since or not.
    TrustsCache,
}

/// Whom a request goes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Target {
    /// The API server.
    #[default]
    Kubernetes,
    /// etcd.
    Etcd,
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
    Done(Box<Round>),
    /// What is to be remembered of it is written.
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
    /// Requests that change something, so far.
    pub calls: u32,
    /// Looks so far.
    pub looks: u32,
    /// Those that go wrong, and how.
    pub mishaps: Vec<Mishap>,
    /// What it did, for people, if they want to know.
    pub log: Option<Vec<String>>,
    /// Whom the last request that changes something went to.
    pub target: Target,
    /// A mistake it makes.
    pub slip: Option<Slip>,
}

impl Operator {
    /// An operator whose requests go wrong like this.
    pub fn with(mishaps: Vec<Mishap>) -> Self {
        Self { mishaps, woken: true, ..Self::default() }
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
            Stage::Done(round) => self.settle(world, round),
            Stage::Acted(round) => self.report(world, round),
        }
    }

    /// Its next request that changes something goes wrong.
    pub fn trouble(&mut self, how: How) {
        self.mishaps.push(Mishap { at: At::Call(self.calls + 1), how, stale: 0 });
    }

    fn say(&mut self, what: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(what());
        }
    }

    fn mishap(&self, at: At) -> Option<Mishap> {
        self.mishaps.iter().copied().find(|mishap| mishap.at == at)
    }

    fn look(&mut self, world: &mut World) {
        self.looks += 1;
        let mishap = self.mishap(At::Look(self.looks));
        if let Some(mishap) = mishap {
            self.say(|| format!("{} ({mishap})", clock(world)));
        }
        match mishap {
            Some(Mishap { how: How::Before | How::After | How::Lost, stale, .. }) => {
                return self.restart(stale);
            }
            Some(Mishap { how: How::Refused(no), .. }) => {
                return self.ended(world, End::Refused(no.refusal()));
            }
            Some(Mishap { how: How::LeaderMoves, .. }) => world.move_lead(),
            Some(Mishap { how: How::Deaf, .. }) | None => {}
        }
        let view = if self.live { View::Live } else { View::Cached };
        (self.woken, self.live, self.due) = (false, false, None);
        if self.lag == 0 {
            world.changed = false;
        }
        let shown = world.history.len().saturating_sub(1 + self.lag);
        let trusts = self.slip == Some(Slip::TrustsCache);
        let objects = match (view, world.history.get(shown)) {
            (View::Live, _) if !trusts => Rc::new(world.objects.clone()),
            (_, Some(objects)) => Rc::clone(objects),
            (_, None) => Rc::new(world.objects.clone()),
        };
        let view = if trusts { View::Live } else { view };
        let Some((cluster, mut observed)) = observe(world, &objects, view) else { return };
        if mishap.is_some_and(|mishap| mishap.how == How::Deaf) {
            observed.etcd = Etcd::default();
        }
        let decision = decide(&cluster, &observed, world.now);
        let version = objects.owner.as_ref().map_or(0, |owner| owner.version);
        let paused = cluster.spec.paused && !cluster.deleting;
        let disturbances = world.disturbances;
        self.stage = Stage::Decided(Box::new(Round { decision, observed, paused, version, disturbances }));
    }

    /// Makes a request that changes something, or dies over it. Answers whether it went well.
    fn call(
        &mut self,
        world: &mut World,
        call: impl FnOnce(&mut World) -> Result<(), Refusal>,
    ) -> Result<(), End> {
        self.calls += 1;
        let Some(mishap) = self.mishap(At::Call(self.calls)) else {
            return call(world).map_err(End::Refused);
        };
        self.say(|| format!("  ({mishap})"));
        match mishap.how {
            How::Before => Err(End::Died(mishap.stale)),
            How::After => {
                // What it was told dies with it.
                let _ = call(world);
                Err(End::Died(mishap.stale))
            }
            How::Lost => {
                let _ = call(world);
                Err(End::Refused(No::TimedOut.refusal()))
            }
            How::Refused(no) => Err(End::Refused(no.refusal())),
            How::LeaderMoves => {
                world.move_lead();
                call(world).map_err(End::Refused)
            }
            How::Deaf => call(world).map_err(End::Refused),
        }
    }

    fn ended(&mut self, world: &World, end: End) {
        match end {
            End::Died(stale) => self.restart(stale),
            End::Refused(refusal) => {
                self.say(|| format!("  refused: {refusal}"));
                let wait = SignedDuration::try_from(refusal.retry()).unwrap_or(SignedDuration::from_secs(1));
                self.due = Some(world.now + wait);
            }
        }
    }

    fn record(&mut self, world: &mut World, mut round: Box<Round>) {
        if round.decision.record == round.observed.record {
            self.stage = Stage::Recorded(round);
            return;
        }
        match self.write(world, round.decision.record.clone(), round.version) {
            Ok(()) => {
                round.version += 1;
                self.stage = Stage::Recorded(round);
            }
            Err(end) => self.ended(world, end),
        }
    }

    /// Writes a record over that of the object that was read.
    fn write(&mut self, world: &mut World, record: Record, version: u64) -> Result<(), End> {
        self.say(|| {
            let change = record.change.as_ref().map(|change| format!("{:?} {}", change.kind, change.member));
            format!("{} record {}", clock(world), change.unwrap_or_default())
        });
        self.target = Target::Kubernetes;
        let overwrites = self.slip == Some(Slip::TrustsCache);
        self.call(world, |world| {
            let Some(owner) = &world.objects.owner else {
                return Err(Refusal::Outdated("not found".to_owned()));
            };
            if owner.version != version && !overwrites {
                return Err(No::Conflict.refusal());
            }
            let before = owner.record.clone();
            world.watch_record(&before, &record);
            if let Some(owner) = &mut world.objects.owner {
                owner.record = Rc::new(record);
                owner.version += 1;
            }
            world.remember();
            Ok(())
        })
    }

    /// Remembers of an act that was carried out what nobody can look at.
    fn settle(&mut self, world: &mut World, round: Box<Round>) {
        let Some(record) = settled(&round.decision.record, &round.decision.act) else {
            self.stage = Stage::Acted(round);
            return;
        };
        match self.write(world, record, round.version) {
            Ok(()) => self.stage = Stage::Acted(round),
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
        self.say(|| format!("{} {}", clock(world), short(&act)));
        self.target = target(&act);
        let result = self.call(world, |world| {
            // Another member may have been elected just before.
            let undisturbed = world.disturbances == round.disturbances;
            world.watch(&act, &round.observed, round.paused, undisturbed);
            let result = world.perform(&act);
            if !undisturbed {
                world.excuse_now();
            }
            result
        });
        match result {
            Ok(()) => self.stage = Stage::Done(round),
            Err(End::Refused(refusal)) => {
                let told = refusal.told_in(round.decision.report.clone());
                if told != round.decision.report {
                    world.tell(&round.observed, &told);
                }
                self.ended(world, End::Refused(refusal));
            }
            Err(end) => self.ended(world, end),
        }
    }

    fn report(&mut self, world: &mut World, round: Box<Round>) {
        let Round { decision, observed, .. } = *round;
        let same =
            world.status.as_ref() == Some(&decision.report.status) && decision.report.events.is_empty();
        let known = world.standing.as_ref() == Some(&decision.report.standing);
        if !(same && known) {
            let report = decision.report.clone();
            self.target = Target::Kubernetes;
            if let Err(end) = self.call(world, |world| {
                world.tell(&observed, &report);
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
    Refused(Refusal),
}

fn clock(world: &World) -> String {
    world.now.strftime("%H:%M:%S").to_string()
}

fn target(act: &Act) -> Target {
    match act {
        Act::MemberAdd { .. }
        | Act::MemberPromote { .. }
        | Act::MemberRemove { .. }
        | Act::MoveLeader { .. }
        | Act::Compact { .. }
        | Act::Defragment { .. }
        | Act::Disarm { .. }
        | Act::DowngradeEnable { .. }
        | Act::DowngradeCancel => Target::Etcd,
        _ => Target::Kubernetes,
    }
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
