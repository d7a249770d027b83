//! One run: a scene, and what goes wrong in it.

use std::rc::Rc;

use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};

use crate::{
    accident::{Accident, What},
    environment::Happening,
    fault::Fault,
    mishap::Mishap,
    operator::Operator,
    scene::{Scene, Step, Who},
    world::World,
};

/// How long one thing takes.
const MOMENT: SignedDuration = SignedDuration::from_millis(200);
/// How long nothing may happen until it is taken for rest.
const REST: SignedDuration = SignedDuration::from_mins(14);
/// The same where nothing happens but attempts to make space.
const PAUSE: SignedDuration = SignedDuration::from_mins(2);
/// How late the operator may be woken when nothing happens.
const LATE: SignedDuration = SignedDuration::from_mins(3);
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
    /// What happened, a line each, if somebody wants to know.
    pub trace: Option<Vec<String>>,
    /// Moments so far.
    pub happened: u32,
    /// What still goes wrong, by moment.
    accidents: Vec<Accident>,
    /// Values that clients still write.
    writes_left: u32,
    /// Lines of the operator that are in the trace.
    logged: usize,
    /// The next step of the scene.
    next: usize,
    /// What only people can cure was cured.
    healed: bool,
    /// Steps do not wait for rest: moments until the next one.
    haste: Option<u32>,
    hasty: bool,
    quiet_since: Timestamp,
    print: (u64, u32, usize),
}

impl Play {
    /// A run of a scene up to its beginning.
    pub fn new(scene: &Scene, order: Order, mishaps: Vec<Mishap>) -> Self {
        let world = World::new(scene.spec.clone());
        let quiet_since = world.now;
        Self {
            world,
            operator: Operator::with(mishaps),
            order,
            trace: None,
            happened: 0,
            accidents: Vec::new(),
            writes_left: 40,
            logged: 0,
            next: 0,
            healed: false,
            haste: None,
            hasty: false,
            quiet_since,
            print: (0, 0, 0),
        }
    }

    /// With accidents, and with steps that do not wait until the one before has come to rest if `hasty`.
    pub fn with_accidents(mut self, accidents: Vec<Accident>, hasty: bool) -> Self {
        (self.accidents, self.hasty) = (accidents, hasty);
        if hasty {
            self.haste = Some(self.below(60));
        }
        self
    }

    /// With a trace of what happens.
    pub fn traced(mut self) -> Self {
        self.trace = Some(Vec::new());
        self.operator.log = Some(Vec::new());
        self
    }

    /// Plays the scene to its end.
    pub fn run(&mut self, scene: &Scene) {
        while self.advance(scene) {}
    }

    /// Plays one moment of the scene. Answers whether there is more to come.
    pub fn advance(&mut self, scene: &Scene) -> bool {
        if self.happened > LONGEST {
            self.world.violate("it does not come to rest");
            return false;
        }
        if self.is_over() && !self.go_on(scene) {
            return false;
        }
        if !self.moment() {
            self.world.now += LATE;
        }
        self.world.resync();
        let print = (self.world.activity, self.operator.calls, self.accidents.len());
        if print != self.print {
            (self.print, self.quiet_since) = (print, self.world.now);
        }
        self.haste = self.haste.map(|moments| moments.saturating_sub(1));
        true
    }

    /// Is it time for the next step?
    fn is_over(&self) -> bool {
        let record = self.world.objects.owner.as_ref().map(|owner| &owner.record);
        // Space that could not be made is tried again every ten minutes.
        let in_vain = record.is_some_and(|record| {
            record.change.is_none() && record.relief.as_ref().is_some_and(|relief| relief.in_vain)
        });
        let rest = self.world.now.duration_since(self.quiet_since) >= if in_vain { PAUSE } else { REST };
        self.haste.map_or(rest, |moments| moments == 0)
    }

    /// Takes the next step. Answers whether there is one.
    fn go_on(&mut self, scene: &Scene) -> bool {
        if let Some(step) = scene.steps.get(self.next) {
            self.next += 1;
            self.take(step);
        } else if !self.healed {
            self.healed = true;
            self.heal();
        } else {
            return false;
        }
        let more = self.hasty && self.next < scene.steps.len();
        self.haste = more.then(|| self.below(60) + 1);
        self.quiet_since = self.world.now;
        true
    }

    /// Cures what only people can cure: connections, nodes that have volumes, and pods of nodes that are gone.
    fn heal(&mut self) {
        self.accidents.clear();
        for name in self.world.unreachable() {
            self.fail(&Fault::RegainDisk(name));
        }
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
        self.say(|| format!("-- {step}"));
        match step {
            Step::Spec(_, change) => {
                if let Some(owner) = &mut self.world.objects.owner {
                    change(Rc::make_mut(&mut owner.spec));
                    owner.generation += 1;
                    owner.version += 1;
                }
                self.world.object_changed();
            }
            Step::Delete => self.world.delete_owner(),
            Step::LoseImage(version) => self.world.missing_images.push((*version).to_owned()),
            Step::Backup(uid) => {
                let values = self.world.kept.iter().map(|(_, value)| *value).collect();
                let deletions = self.world.deletions();
                let backup = crate::world::Backup { uid: (*uid).to_owned(), values, deletions };
                self.world.backup = Some(backup);
                self.world.object_changed();
            }
            Step::World(_, change) => {
                change(&mut self.world);
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

    /// Lets something go wrong now.
    pub fn fail(&mut self, fault: &Fault) {
        self.say(|| format!("!! {fault}"));
        self.world.fail(fault);
        self.world.watch_members();
    }

    fn say(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(what());
        }
    }

    fn below(&mut self, limit: u32) -> u32 {
        match &mut self.order {
            Order::Fixed => 0,
            Order::Chance(rng) => rng.u32(0..limit.max(1)),
        }
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
                    self.say(|| format!("   {what}"));
                    self.world.happen(&what);
                }
            }
        }
        self.world.watch_members();
        true
    }

    /// Copies what the operator says of itself into the trace.
    fn log(&mut self) {
        if let (Some(trace), Some(log)) = (&mut self.trace, &self.operator.log) {
            trace.extend(log.iter().skip(self.logged).map(|line| format!("op {line}")));
            self.logged = log.len();
        }
    }

    /// Lets go wrong what is due.
    fn by_accident(&mut self) {
        let now = self.happened;
        let Some(index) = self.accidents.iter().position(|accident| accident.at <= now) else { return };
        let accident = self.accidents.swap_remove(index);
        match accident.what {
            What::Fault(number) => {
                let possible = self.world.possible_faults();
                let count = possible.len().max(1);
                let fault = possible.get(usize::try_from(number).unwrap_or(0) % count).cloned();
                if let Some(fault) = fault {
                    self.fail(&fault);
                }
            }
            What::Death(stale) => {
                self.say(|| format!("!! the operator dies, and its successor's cache lags by {stale}"));
                self.operator.restart(stale);
            }
            What::Trouble(how) => self.operator.trouble(how),
            What::Hide => self.world.hidden = Some(self.world.changes + 1),
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

    /// What happened, as text.
    pub fn story(&self) -> String {
        self.trace.as_deref().unwrap_or_default().join("\n")
    }
}
