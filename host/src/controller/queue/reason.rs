//! Why an object is in the queue, and how urgent that is.

use crate::object::ObjectKey;

/// Most reasons that are kept for one call; further ones change nothing for a level-triggered hook.
pub const MAX_REASONS: usize = 16;

/// Why an object was queued: the `reason` variant of the plugin interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The host or the plugin started, or the plugin was swapped.
    Start,
    /// The object itself changed in more than its status.
    Changed,
    /// An object tied to this one changed or went away.
    Child(ObjectKey),
    /// An object the last outcome asked to be told about.
    Related(ObjectKey),
    /// `requeue-after` of the last outcome has passed.
    Timer,
    /// The periodic safety net.
    Resync,
    /// Settings or an asset of the binding changed.
    Configuration,
    /// The hook failed before.
    Retry,
    /// Somebody asked by the host's API or an annotation.
    Manual,
}

impl Reason {
    /// Whether the failures so far say nothing about the next call: what was asked for, or the code that answers,
    /// is another one now. Such a reason ends a back-off; all others wait it out.
    pub fn ends_backoff(&self) -> bool {
        matches!(self, Self::Start | Self::Changed | Self::Configuration | Self::Manual)
    }

    /// A bounded word, for traces.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Changed => "changed",
            Self::Child(_) => "child",
            Self::Related(_) => "related",
            Self::Timer => "timer",
            Self::Resync => "resync",
            Self::Configuration => "configuration",
            Self::Retry => "retry",
            Self::Manual => "manual",
        }
    }

    fn names_an_object(&self) -> bool {
        matches!(self, Self::Child(_) | Self::Related(_))
    }
}

/// Which of two waiting objects of a lane goes first. Low is never starved by high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Start, resync, staggered re-queues after a swap: nobody waits for it.
    Low,
    /// Somebody changed something.
    High,
}

impl Priority {
    /// As the label `priority` of `workqueue_depth` shows it (0 is controller-runtime's default, −100 its low one).
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Low => "-100",
            Self::High => "0",
        }
    }
}

/// Adds a reason, keeping arrival order, no duplicates and at most [`MAX_REASONS`].
///
/// When the list is full, a reason that names no object replaces the last one that does: hundreds of moving
/// children must not hide that the owner changed as well.
pub(super) fn merge(reasons: &mut Vec<Reason>, reason: Reason) {
    if reasons.contains(&reason) {
        return;
    }
    if reasons.len() < MAX_REASONS {
        reasons.push(reason);
    } else if !reason.names_an_object()
        && let Some(place) = reasons.iter().rposition(Reason::names_an_object)
    {
        reasons.remove(place);
        reasons.push(reason);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::object::Gvk;

    fn child(n: usize) -> Reason {
        Reason::Child(ObjectKey::new(Arc::new(Gvk::new("", "v1", "Pod")), Some("a"), &format!("p{n}")))
    }

    #[test]
    fn equal_reasons_are_kept_once_in_order_of_arrival() {
        let mut reasons = Vec::new();
        for reason in [Reason::Changed, child(1), Reason::Changed, child(1), Reason::Timer] {
            merge(&mut reasons, reason);
        }
        assert_eq!(reasons, [Reason::Changed, child(1), Reason::Timer]);
    }

    #[test]
    fn a_flood_of_children_does_not_hide_a_change_of_the_object() {
        let mut reasons = Vec::new();
        for n in 0..100 {
            merge(&mut reasons, child(n));
        }
        merge(&mut reasons, Reason::Changed);
        assert_eq!(reasons.len(), MAX_REASONS);
        assert_eq!(reasons.last(), Some(&Reason::Changed));
        assert_eq!(reasons[0], child(0));
    }
}
