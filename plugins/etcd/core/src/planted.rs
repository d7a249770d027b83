//! Known mistakes of other operators, switched on one by one to show that the simulation finds them. Without the feature
//! `planted`, none can be switched on.

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Defect {
    /// Members are added with a vote before they run.
    AddsVoters,
    /// A cluster whose first pod is not there when an operator starts is given up.
    GivesUpWhenCreating,
    /// The status does not tell that the cluster is paused.
    HidesPause,
    /// Whoever comes first is removed when fewer members are asked for, the leader as well.
    AnyVictim,
    /// Every version may follow every other.
    AnyVersion,
    /// Members go to a version that cannot read what is in their logs.
    KeepsOldLogs,
    /// The status tells of the version that was asked for.
    CopiesVersion,
    /// A member is taken for well when its pod runs.
    RunningIsReady,
    /// A claim is not used again when its pod is gone.
    ClaimsDieWithPods,
    /// A cluster that has lost its data is begun anew, empty.
    BeginsAnew,
}

#[cfg(feature = "planted")]
mod switch {
    use std::cell::Cell;

    use super::Defect;

    thread_local! {
        static PLANTED: Cell<Option<Defect>> = const { Cell::new(None) };
    }

    /// From now on, decisions of this thread have this mistake and no other.
    pub fn plant(defect: Option<Defect>) {
        PLANTED.set(defect);
    }

    pub(crate) fn has(defect: Defect) -> bool {
        PLANTED.get() == Some(defect)
    }
}

#[cfg(feature = "planted")]
pub use switch::plant;

#[cfg(feature = "planted")]
pub(crate) use switch::has;

#[cfg(not(feature = "planted"))]
pub(crate) const fn has(_: Defect) -> bool {
    false
}
