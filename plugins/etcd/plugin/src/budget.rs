//! Several members are asked one after the other, and some of them may hang.

use std::time::{Duration, SystemTime};

use pilothouse_sdk::Context;

/// How long members may take together to tell how they are.
const TOGETHER: Duration = Duration::from_secs(3);
/// How long a member that works takes at most.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1500);
/// How long everybody is given, whatever the others took.
const LEAST: Duration = Duration::from_millis(100);

/// Time that requests to several members may take together.
#[derive(Debug)]
pub(crate) struct Budget<'a> {
    ctx: &'a Context,
    end: SystemTime,
}

impl<'a> Budget<'a> {
    /// It begins now.
    pub(crate) fn new(ctx: &'a Context) -> Self {
        Self { ctx, end: ctx.now() + TOGETHER }
    }

    /// What the next one may take when so many are still to be asked, itself included: those that hang leave enough for the others.
    pub(crate) fn share(&self, left: usize) -> Duration {
        let rest = self.end.duration_since(self.ctx.now()).unwrap_or_default();
        share(rest, left)
    }
}

fn share(rest: Duration, left: usize) -> Duration {
    let left = u32::try_from(left).unwrap_or(u32::MAX).max(1);
    (rest / left).clamp(LEAST, PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long so many take if all of them hang.
    fn all_hang(members: usize) -> Duration {
        let (mut rest, mut spent) = (TOGETHER, Duration::ZERO);
        for asked in 0..members {
            let share = share(rest, members - asked);
            spent += share;
            rest = rest.saturating_sub(share);
        }
        spent
    }

    #[test]
    fn one_that_hangs_is_waited_for_and_many_are_not_longer_than_they_may_together() {
        assert_eq!(all_hang(1), PATIENCE);
        for members in [2, 3, 5, 7, 20, 30] {
            assert_eq!(all_hang(members), TOGETHER, "{members} members");
        }
        assert_eq!(share(Duration::ZERO, 3), LEAST);
        assert_eq!(share(TOGETHER, 0), PATIENCE);
    }
}
