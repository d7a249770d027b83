//! Random schedules against the queue's promises: no key is lost, none runs twice at once, no lane exceeds its limit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::state::{Handout, Next, State};
use super::*;
use crate::object::Gvk;

const LANES: [&str; 3] = ["a", "b", "c"];
const LIMIT: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    Add { key: u8, high: bool, ends_backoff: bool },
    AddAfter { key: u8, ms: u64 },
    Take,
    Finish { which: usize, verdict: u8 },
    Remove { key: u8 },
    Pass { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..12u8, any::<bool>(), any::<bool>())
            .prop_map(|(key, high, ends_backoff)| Step::Add { key, high, ends_backoff }),
        1 => (0..12u8, 0..3000u64).prop_map(|(key, ms)| Step::AddAfter { key, ms }),
        5 => Just(Step::Take),
        5 => (any::<usize>(), 0..4u8).prop_map(|(which, verdict)| Step::Finish { which, verdict }),
        1 => (0..12u8).prop_map(|key| Step::Remove { key }),
        3 => (0..2000u64).prop_map(|ms| Step::Pass { ms }),
    ]
}

/// The queue beside the simplest model of what it owes: for each key whether a call has to come.
struct Simulation {
    state: State,
    now: Instant,
    running: Vec<Handout>,
    owed: BTreeSet<u8>,
}

fn key(n: u8) -> ObjectKey {
    ObjectKey::new(Arc::new(Gvk::new("", "v1", "Thing")), None, &n.to_string())
}

fn number(key: &ObjectKey) -> u8 {
    key.name.parse().unwrap()
}

fn lane(key: u8) -> Arc<str> {
    Arc::from(LANES[usize::from(key) % LANES.len()])
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let options = Options { lane_concurrency: LIMIT, seed: Some(seed), ..Options::default() };
        Self { state: State::new(&options), now: Instant::now(), running: Vec::new(), owed: BTreeSet::new() }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Add { key: n, high, ends_backoff } => {
                let priority = if high { Priority::High } else { Priority::Low };
                let reason = if ends_backoff { Reason::Changed } else { Reason::Child(key(99)) };
                self.state.add(self.now, &key(n), &lane(n), reason, priority);
                self.owed.insert(n);
            }
            Step::AddAfter { key: n, ms } => {
                let delay = Duration::from_millis(ms);
                self.state.add_after(self.now, &key(n), &lane(n), Reason::Start, Priority::Low, delay);
                self.owed.insert(n);
            }
            Step::Take => {
                self.take();
            }
            Step::Finish { which, verdict } => self.finish(which, verdict),
            Step::Remove { key: n } => {
                self.state.remove(self.now, &key(n));
                self.owed.remove(&n);
            }
            Step::Pass { ms } => self.now += Duration::from_millis(ms),
        }
    }

    fn take(&mut self) -> Option<Instant> {
        match self.state.next(self.now) {
            Next::Run(handout) => {
                assert!(
                    self.running.iter().all(|other| other.key != handout.key),
                    "{} runs twice",
                    handout.key
                );
                assert!(!handout.reasons.is_empty());
                self.owed.remove(&number(&handout.key));
                self.running.push(handout);
                let mut lanes = BTreeMap::<_, usize>::new();
                for handout in &self.running {
                    *lanes.entry(Arc::clone(&handout.lane)).or_default() += 1;
                }
                assert!(lanes.values().all(|n| *n <= LIMIT), "{lanes:?}");
                Some(self.now)
            }
            Next::Wait(at) => at,
            Next::Drained => None,
        }
    }

    fn finish(&mut self, which: usize, verdict: u8) {
        if self.running.is_empty() {
            return;
        }
        let handout = self.running.swap_remove(which % self.running.len());
        let verdict = match verdict {
            0 => Verdict::Done,
            1 => Verdict::RequeueAfter(Duration::from_millis(700)),
            2 => Verdict::Retry,
            _ => Verdict::RetryAfter(Duration::from_millis(300)),
        };
        self.state.finish(self.now, &handout.key, handout.ticket, verdict);
    }

    /// Lets everything run to its end; what is owed must come.
    fn settle(&mut self) {
        loop {
            while !self.running.is_empty() {
                self.finish(0, 0);
            }
            match self.take() {
                Some(at) => self.now = self.now.max(at),
                None => break,
            }
        }
        assert!(self.owed.is_empty(), "never handed out: {:?}", self.owed);
        assert_eq!(self.state.snapshot(self.now).known, 0);
        assert_eq!(self.state.running(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_key_is_lost_and_none_runs_twice_at_once(seed: u64, steps in prop::collection::vec(step(), 1..200)) {
        let mut simulation = Simulation::new(seed);
        for step in &steps {
            simulation.apply(step);
        }
        simulation.settle();
    }
}
