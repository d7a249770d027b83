//! Going back on request: to which revision, and what became of it.

use thiserror::Error;

use crate::{Entry, History, Status};

/// Why a release cannot go back to a revision.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoWayBack {
    /// No revision is deployed.
    #[error("nothing is deployed that one could go back from")]
    NothingDeployed,
    /// The revision is not there, or not any more.
    #[error("there is no revision {wanted}; there are {}", listed(there))]
    NoSuchRevision {
        /// The revision that was named.
        wanted: u32,
        /// Those there are.
        there: Vec<u32>,
    },
    /// The revision is the deployed one.
    #[error("revision {0} is the deployed one")]
    IsDeployed(u32),
    /// The revision is not brought to an end.
    #[error("revision {revision} is {status}: it was not brought to an end")]
    Unfinished {
        /// The revision.
        revision: u32,
        /// Where it stands.
        status: Status,
    },
    /// No revision before the deployed one has been deployed once.
    #[error("no revision before {0}, which is deployed, has been deployed once and is still there")]
    NoneBefore(u32),
}

fn listed(revisions: &[u32]) -> String {
    let words: Vec<_> = revisions.iter().map(u32::to_string).collect();
    words.join(", ")
}

/// A way back that can be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WayBack {
    /// The deployed revision.
    pub from: u32,
    /// The revision to go back to.
    pub to: u32,
}

/// What became of a request for a way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return<'a> {
    /// Nobody has begun.
    Asked,
    /// It is under way as this revision.
    UnderWay(&'a Entry),
    /// It came to its end as this revision, which may have been superseded since.
    Done(&'a Entry),
    /// This revision was it, and it failed.
    Failed(&'a Entry),
    /// Something else was brought about in its place, as this revision.
    Overtaken(&'a Entry),
}

impl History {
    /// The way back to a revision, or to the newest one before the deployed one that has been deployed once.
    ///
    /// # Errors
    /// [`NoWayBack`]; what the operator would not do either.
    pub fn way_back(&self, wanted: Option<u32>) -> Result<WayBack, NoWayBack> {
        let from = self.deployed().ok_or(NoWayBack::NothingDeployed)?.revision;
        let to = match wanted {
            Some(wanted) => wanted,
            None => self.before(from).ok_or(NoWayBack::NoneBefore(from))?,
        };
        let there = || self.entries().iter().map(|entry| entry.revision).collect();
        match self.get(to) {
            None => Err(NoWayBack::NoSuchRevision { wanted: to, there: there() }),
            Some(_) if to == from => Err(NoWayBack::IsDeployed(to)),
            Some(entry) if entry.status.is_pending() => {
                Err(NoWayBack::Unfinished { revision: to, status: entry.status })
            }
            Some(_) => Ok(WayBack { from, to }),
        }
    }

    fn before(&self, deployed: u32) -> Option<u32> {
        let was_good = |entry: &&Entry| entry.revision < deployed && entry.status == Status::Superseded;
        self.life().iter().rev().find(was_good).map(|entry| entry.revision)
    }

    /// What became of a request, made with these words.
    #[must_use]
    pub fn returned(&self, words: &str) -> Return<'_> {
        // Later revisions note it as well, so that nobody carries it out again.
        let first = self.entries().iter().find(|entry| entry.marks.asked.as_deref() == Some(words));
        match first {
            None => Return::Asked,
            Some(entry) if entry.marks.rollback.is_none() => Return::Overtaken(entry),
            Some(entry) => match entry.status {
                Status::Failed => Return::Failed(entry),
                status if status.is_pending() => Return::UnderWay(entry),
                _ => Return::Done(entry),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::{entry, history};

    use Status::{Deployed, Failed, PendingRollback, PendingUpgrade, Superseded, Uninstalled};

    fn to(statuses: &[Status], wanted: Option<u32>) -> Result<u32, String> {
        history(statuses).way_back(wanted).map(|way| way.to).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_number_the_way_leads_to_what_was_deployed_before() {
        assert_eq!(to(&[Superseded, Superseded, Deployed], None), Ok(2));
        assert_eq!(to(&[Superseded, Failed, Deployed], None), Ok(1), "what failed was never good");
        assert_eq!(to(&[Superseded, Deployed, Failed], None), Ok(1));
    }

    #[test]
    fn a_way_that_cannot_be_gone_is_told_with_the_reason() {
        assert_eq!(to(&[Superseded, Deployed], Some(1)), Ok(1));
        assert_eq!(to(&[Failed, Deployed], Some(1)), Ok(1), "who names it means it");
        let refused = |statuses: &[Status], wanted| to(statuses, wanted).unwrap_err();
        assert_eq!(refused(&[], None), "nothing is deployed that one could go back from");
        assert_eq!(refused(&[Superseded, Deployed], Some(7)), "there is no revision 7; there are 1, 2");
        assert_eq!(refused(&[Superseded, Deployed], Some(2)), "revision 2 is the deployed one");
        assert_eq!(
            refused(&[Deployed, PendingUpgrade], Some(2)),
            "revision 2 is pending-upgrade: it was not brought to an end"
        );
        let none = "no revision before 1, which is deployed, has been deployed once and is still there";
        assert_eq!(refused(&[Deployed], None), none);
        let former = refused(&[Superseded, Uninstalled, Deployed], None);
        assert!(former.starts_with("no revision before 3"), "a former life is over: {former}");
    }

    #[test]
    fn a_request_is_followed_to_its_end() {
        let asked = |status, rollback| {
            let mut asked = entry(3, status);
            (asked.marks.asked, asked.marks.rollback) = (Some("1@now".to_owned()), rollback);
            asked
        };
        let with = |status, rollback| -> History {
            [entry(1, Superseded), entry(2, Deployed), asked(status, rollback)].into_iter().collect()
        };
        assert_eq!(history(&[Superseded, Deployed]).returned("1@now"), Return::Asked);
        let pending = asked(PendingRollback, Some(1));
        assert_eq!(with(PendingRollback, Some(1)).returned("1@now"), Return::UnderWay(&pending));
        assert_eq!(with(Deployed, Some(1)).returned("1@now"), Return::Done(&asked(Deployed, Some(1))));
        assert_eq!(with(Superseded, Some(1)).returned("1@now"), Return::Done(&asked(Superseded, Some(1))));
        assert_eq!(with(Failed, Some(1)).returned("1@now"), Return::Failed(&asked(Failed, Some(1))));
        assert_eq!(with(Deployed, None).returned("1@now"), Return::Overtaken(&asked(Deployed, None)));
        assert_eq!(with(Deployed, Some(1)).returned("1@then"), Return::Asked);
    }
}
