//! What goes wrong by chance, and how a run in which it did is made shorter.

use fastrand::Rng;

use crate::{
    mishap::{How, No},
    play::{Order, Play},
    scene::Scene,
};

/// Something that goes wrong at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Accident {
    /// After so many moments.
    pub at: u32,
    /// What.
    pub what: What,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// One of the faults that are possible then.
    Fault(u32),
    /// The operator dies, and its successor's cache lags by so many changes.
    Death(usize),
    /// Its next request that changes something goes wrong.
    Trouble(How),
    /// No watch tells of the next change of an object.
    Hide,
}

/// A run by chance.
#[derive(Debug, Clone)]
pub struct Journey {
    /// It follows from this, and from the scene.
    pub seed: u64,
    /// What goes wrong.
    pub accidents: Vec<Accident>,
    /// Steps do not wait for rest.
    pub hasty: bool,
    /// Things happen in the order of the seed; else always in the same.
    pub shuffled: bool,
}

impl Journey {
    /// What goes wrong by this seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let accidents = (0..rng.u32(0..6)).map(|_| accident(&mut rng)).collect();
        Self { seed, accidents, hasty: rng.bool(), shuffled: rng.u32(0..4) != 0 }
    }

    /// Plays it.
    pub fn play(&self, scene: &Scene, traced: bool) -> Play {
        let order = if self.shuffled {
            Order::Chance(Box::new(Rng::with_seed(self.seed ^ 0x5eed)))
        } else {
            Order::Fixed
        };
        let play = Play::new(scene, order, Vec::new()).with_accidents(self.accidents.clone(), self.hasty);
        let mut play = if traced { play.traced() } else { play };
        play.run(scene);
        play
    }

    /// The shortest run found that goes wrong as well: with fewer accidents, fewer steps, in the usual order.
    pub fn shortest(&self, scene: &Scene) -> (Self, Scene) {
        let (mut best, mut short) = (self.clone(), scene.clone());
        loop {
            let journeys = best.shorter().into_iter().map(|journey| (journey, short.clone()));
            let scenes = (0..short.steps.len()).map(|index| {
                let mut scene = short.clone();
                scene.steps.remove(index);
                (best.clone(), scene)
            });
            // What is left has to end well by itself, or it is another failure.
            let scenes = scenes.filter(|(_, scene)| {
                let mut play = Play::new(scene, Order::Fixed, Vec::new());
                play.run(scene);
                play.verdict().is_ok()
            });
            let all: Vec<_> = journeys.chain(scenes).collect();
            let found =
                all.into_iter().find(|(journey, scene)| journey.play(scene, false).verdict().is_err());
            match found {
                Some((journey, scene)) => (best, short) = (journey, scene),
                None => return (best, short),
            }
        }
    }

    /// How many accidents there are.
    pub fn left(&self) -> usize {
        self.accidents.len()
    }

    fn shorter(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for index in 0..self.accidents.len() {
            let mut journey = self.clone();
            journey.accidents.remove(index);
            all.push(journey);
        }
        if self.hasty {
            all.push(Self { hasty: false, ..self.clone() });
        }
        if self.shuffled {
            all.push(Self { shuffled: false, ..self.clone() });
        }
        all
    }
}

fn accident(rng: &mut Rng) -> Accident {
    let troubles = No::OF_KUBERNETES.into_iter().chain(No::OF_ETCD).map(How::Refused);
    let troubles: Vec<How> = troubles.chain([How::Before, How::After, How::Lost, How::LeaderMoves]).collect();
    let what = match rng.u32(0..10) {
        0..4 => What::Fault(rng.u32(..)),
        4..6 => What::Death(rng.usize(0..8)),
        6..9 => What::Trouble(troubles.get(rng.usize(0..troubles.len())).copied().unwrap_or(How::Lost)),
        _ => What::Hide,
    };
    Accident { at: rng.u32(0..400), what }
}
