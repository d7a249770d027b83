//! One run: a scene, a seed, and what goes wrong in it.

use etcd_core::observed::AlarmKind;
use fastrand::Rng;
use jiff::SignedDuration;

use crate::{
    environment::Happening,
    fault::Fault,
    operator::{Crash, Operator},
    scene::{Scene, Step, Who},
    world::World,
};

/// How long one thing takes.
const MOMENT: SignedDuration = SignedDuration::from_millis(200);
/// How long nothing may happen until it is taken for rest.
const REST: SignedDuration = SignedDuration::from_mins(25);
/// Things that happen until it is taken for unrest.
const LONGEST: u32 = 20_000;

/// In which order things happen.
#[derive(Debug, Clone)]
pub enum Order {
    /// Always the same: the operator first, then what comes first by name.
    Fixed,
    /// By chance.
    Chance(Box<Rng>),
}

/// One run.
#[derive(Debug, Clone)]
pub struct Play {
    /// The world.
    pub world: World,
    /// The operator.
    pub operator: Operator,
    order: Order,
    /// What happened, a line each.
    pub trace: Vec<String>,
    happened: u32,
    /// Faults that are still to come, by chance.
    pub faults_left: u32,
    /// Deaths of the operator that are still to come, by chance.
    pub deaths_left: u32,
    /// Values that clients still write.
    writes_left: u32,
    logged: usize,
}

impl Play {
    /// A run of a scene up to its beginning.
    pub fn new(scene: &Scene, order: Order, crashes: Vec<Crash>) -> Self {
        Self {
            world: World::new(scene.spec.clone()),
            operator: Operator::with(crashes),
            order,
            trace: Vec::new(),
            happened: 0,
            faults_left: 0,
            deaths_left: 0,
            writes_left: 40,
            logged: 0,
        }
    }

    /// Plays the scene to its end. Every step waits until the one before has come to rest, or does not if `hasty`.
    pub fn run(&mut self, scene: &Scene, hasty: bool) {
        for step in &scene.steps {
            if hasty {
                let moments = self.below(60);
                self.moments(moments);
            } else {
                self.settle();
            }
            self.take(step);
        }
        self.settle();
        self.heal();
        self.settle();
    }

    /// Cures what only people can cure: connections, and pods of nodes that are gone.
    fn heal(&mut self) {
        self.faults_left = 0;
        self.deaths_left = 0;
        for name in self.world.pod_names() {
            let Some(pod) = self.world.objects.pods.get(&name) else { continue };
            if pod.node_lost {
                self.fail(&Fault::ForcePod(name));
            } else if pod.process.as_ref().is_some_and(|process| !process.connected) {
                self.fail(&Fault::Reconnect(name));
            }
        }
    }

    fn take(&mut self, step: &Step) {
        self.trace.push(format!("-- {step}"));
        match step {
            Step::Spec(_, change) => {
                if let Some(owner) = &mut self.world.objects.owner {
                    change(&mut owner.spec);
                    owner.generation += 1;
                    owner.version += 1;
                }
                self.world.object_changed();
            }
            Step::Delete => {
                if let Some(owner) = &mut self.world.objects.owner {
                    owner.deleting = true;
                    owner.version += 1;
                }
                self.world.object_changed();
            }
            Step::LoseImage(version) => self.world.missing_images.push((*version).to_owned()),
            Step::Backup(uid) => {
                let values = self.world.kept.iter().map(|(_, value)| *value).collect();
                self.world.backup = Some(crate::world::Backup { uid: (*uid).to_owned(), values });
                self.world.object_changed();
            }
            Step::Fault(what, who) => {
                for name in self.pick_members(*who) {
                    let fault = what(name);
                    self.fail(&fault);
                }
            }
        }
    }

    fn pick_members(&mut self, who: Who) -> Vec<String> {
        let cluster = self.world.cluster();
        let leader = cluster.and_then(|cluster| self.world.leader(cluster)).map(|(pod, _)| pod);
        let mut others: Vec<String> =
            self.world.pod_names().into_iter().filter(|pod| Some(pod) != leader.as_ref()).collect();
        if let Order::Chance(rng) = &mut self.order {
            rng.shuffle(&mut others);
        }
        match who {
            Who::Leader => leader.into_iter().collect(),
            Who::Followers(count) => others.into_iter().take(count).collect(),
            Who::All => self.world.pod_names(),
        }
    }

    fn fail(&mut self, fault: &Fault) {
        self.trace.push(format!("!! {fault}"));
        self.world.fail(fault);
        self.world.watch_members();
    }

    fn below(&mut self, limit: u32) -> u32 {
        match &mut self.order {
            Order::Fixed => 0,
            Order::Chance(rng) => rng.u32(0..limit.max(1)),
        }
    }

    fn moments(&mut self, count: u32) {
        for _ in 0..count {
            self.moment();
        }
    }

    /// Until nothing happens any more for a long while.
    pub fn settle(&mut self) {
        let mut quiet_since = self.world.now;
        let mut print = self.print();
        while self.world.now.duration_since(quiet_since) < REST {
            if !self.moment() {
                let next = self.world.now + SignedDuration::from_secs(60);
                let due = self.operator.due().unwrap_or(next);
                self.world.now = due.min(next).max(self.world.now + MOMENT);
            }
            let now = self.print();
            if now != print {
                (print, quiet_since) = (now, self.world.now);
            }
            if self.happened > LONGEST {
                self.world.violate("it does not come to rest");
                return;
            }
        }
    }

    /// What tells whether anything has happened; clients and looks do not count.
    fn print(&self) -> (u64, u32, u32, u32) {
        (self.world.activity, self.operator.calls, self.faults_left, self.deaths_left)
    }

    /// Lets one thing happen. Answers whether there was any.
    fn moment(&mut self) -> bool {
        self.by_accident();
        let mut happenings = self.world.happenings();
        let due = self.operator.is_due(&self.world);
        let lags = self.operator.lags();
        if happenings.is_empty() && !due && !lags {
            return false;
        }
        self.happened += 1;
        self.world.now += MOMENT;
        self.client();
        let choices =
            u32::try_from(happenings.len()).unwrap_or(u32::MAX) + 2 * u32::from(due) + u32::from(lags);
        let mut choice = self.below(choices);
        if due && choice < 2 {
            self.operator.step(&mut self.world);
            self.log();
        } else {
            choice -= 2 * u32::from(due);
            if lags && choice == 0 {
                self.operator.sync();
            } else {
                choice -= u32::from(lags);
                let index = usize::try_from(choice).unwrap_or(0).min(happenings.len().saturating_sub(1));
                if !happenings.is_empty() {
                    let what = happenings.swap_remove(index);
                    self.happen(&what);
                }
            }
        }
        self.world.watch_members();
        true
    }

    fn happen(&mut self, what: &Happening) {
        self.trace.push(format!("   {what}"));
        self.world.happen(what);
    }

    /// Copies what the operator says of itself into the trace.
    fn log(&mut self) {
        let new: Vec<String> = self.operator.log.iter().skip(self.logged).cloned().collect();
        self.logged = self.operator.log.len();
        self.trace.extend(new.into_iter().map(|line| format!("op {line}")));
    }

    /// Faults and deaths, by chance.
    fn by_accident(&mut self) {
        if self.faults_left > 0 && self.below(40) == 1 {
            self.faults_left -= 1;
            let possible = self.world.possible_faults();
            let index = self.below(u32::try_from(possible.len()).unwrap_or(0));
            if let Some(fault) = possible.get(usize::try_from(index).unwrap_or(0)) {
                let fault = fault.clone();
                self.fail(&fault);
            }
        }
        if self.deaths_left > 0 && self.below(30) == 1 {
            self.deaths_left -= 1;
            let stale = usize::try_from(self.below(6)).unwrap_or(0);
            self.trace.push(format!("!! the operator dies, and its cache lags by {stale}"));
            self.operator.restart(stale);
        }
    }

    /// A client writes now and then.
    fn client(&mut self) {
        if self.writes_left == 0 || self.below(8) != 0 {
            return;
        }
        let endpoints = self.world.endpoints();
        let index = self.below(u32::try_from(endpoints.len()).unwrap_or(0));
        if let Some(pod) = endpoints.get(usize::try_from(index).unwrap_or(0)) {
            self.writes_left -= 1;
            self.world.happen(&Happening::Write(pod.clone()));
        }
    }

    /// Clients write so many values more.
    pub fn more_writes(&mut self, count: u32) {
        self.writes_left += count;
    }

    /// Is nothing wrong at the end? `lost`: the data of a majority was destroyed, and nobody asked to go on without.
    pub fn verdict(&self) -> Result<(), String> {
        let mut wrong = self.world.violations.clone();
        match &self.world.objects.owner {
            None => self.is_gone(&mut wrong),
            Some(_) => self.is_whole(&mut wrong),
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    }

    fn is_gone(&self, wrong: &mut Vec<String>) {
        let objects = &self.world.objects;
        if !objects.pods.is_empty() || !objects.claims.is_empty() || !objects.services.is_empty() {
            wrong.push("something is left of a cluster that was deleted".to_owned());
        }
    }

    fn is_whole(&self, wrong: &mut Vec<String>) {
        let Some(owner) = &self.world.objects.owner else { return };
        let size = usize::try_from(owner.spec.size).unwrap_or(0);
        let cluster = owner.record.cluster_id;
        let lost = cluster.is_some_and(|cluster| {
            self.world.destroyed.contains(&cluster) && self.world.leader(cluster).is_none()
        });
        let available = self.world.conditions.get("Available");
        if lost || (owner.announced && cluster.is_none()) {
            if available.is_none_or(|(status, _)| *status) {
                wrong.push(format!("the data of a majority is gone, and Available is {available:?}"));
            }
            return;
        }
        if owner.spec.paused {
            return;
        }
        let state =
            cluster.and_then(|cluster| self.world.leader(cluster)).map(|(pod, _)| self.world.state(&pod));
        let Some(state) = state else {
            wrong.push("nobody leads".to_owned());
            return;
        };
        let mut expect = |what: &str, is: bool| {
            if !is {
                wrong.push(format!("{what} (standing: {})", self.world.standing));
            }
        };
        expect("the number of voters is not the one asked for", state.voters().len() == size);
        expect("there is a learner", state.members.len() == size);
        expect("there are other pods than those of members", self.world.objects.pods.len() == size);
        let claims = if owner.spec.pod.as_ref().is_some_and(|pod| pod.persistent_volume_claim_spec.is_some())
        {
            size
        } else {
            0
        };
        expect("there are other claims than those of members", self.world.objects.claims.len() == claims);
        expect("a pod is not ready", self.world.objects.pods.values().all(|pod| pod.seen.ready));
        let version = owner.spec.version.trim_start_matches('v');
        let run = self
            .world
            .objects
            .pods
            .values()
            .all(|pod| pod.process.as_ref().is_some_and(|process| process.version == version));
        expect("a member runs another version", run);
        expect("a change is under way", owner.record.change.is_none() && owner.record.upgrade.is_none());
        expect("members are remembered that are none", owner.record.members.len() == size);
        expect("Available is not true", available.is_some_and(|(status, _)| *status));
        expect("other conditions are left", self.world.conditions.len() == 1);
        expect("it is not said to be ready", self.world.standing == "Ready");
        let budget = i64::try_from(size / 2 + 1).ok();
        expect("the disruption budget does not fit", self.world.objects.min_available == budget);
        let corrupt = state.alarms.iter().any(|(_, kind)| *kind == AlarmKind::Corrupt);
        expect("an alarm is raised", !corrupt && state.alarms.is_empty());
        let ready = self.world.status.as_ref().map_or(0, |status| status.members.ready.len());
        expect("the status tells of other ready members", ready == size);
    }

    /// What happened, as text.
    pub fn story(&self) -> String {
        self.trace.join("\n")
    }
}
