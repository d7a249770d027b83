//! What goes wrong with the operator's requests.

use std::{fmt, time::Duration};

use etcd_core::refusal::Refusal;

/// Something that goes wrong with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mishap {
    /// With which.
    pub at: At,
    /// How.
    pub how: How,
    /// How many changes the cache lags behind if the operator dies of it.
    pub stale: usize,
}

/// One of the operator's requests, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum At {
    /// One that changes something.
    Call(u32),
    /// A look at the objects and at etcd.
    Look(u32),
}

/// How a request goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum How {
    /// The operator dies before it.
    Before,
    /// The operator dies after it.
    After,
    /// It is carried out, and nobody says so.
    Lost,
    /// It is refused.
    Refused(No),
    /// Another member is elected just before it.
    LeaderMoves,
    /// Of a look: etcd does not answer, the API server does.
    Deaf,
}

/// Who refuses, and in which words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum No {
    /// 409.
    Conflict,
    /// 410.
    Gone,
    /// 429 with `Retry-After`.
    TooManyRequests,
    /// 500.
    Internal,
    /// 403 of a quota or a webhook.
    Forbidden,
    /// No answer, and it was not carried out.
    TimedOut,
    /// Voters are not connected for five seconds.
    Unhealthy,
    /// A learner is there already.
    TooManyLearners,
    /// Nobody leads just now.
    NoLeader,
}

impl No {
    /// Every refusal of the API server.
    pub const OF_KUBERNETES: [Self; 6] =
        [Self::Conflict, Self::Gone, Self::TooManyRequests, Self::Internal, Self::Forbidden, Self::TimedOut];
    /// Every refusal of etcd that can come at any time.
    pub const OF_ETCD: [Self; 4] = [Self::Unhealthy, Self::TooManyLearners, Self::NoLeader, Self::TimedOut];

    /// As the operator is told.
    pub fn refusal(self) -> Refusal {
        let own = str::to_owned;
        match self {
            Self::Conflict => Refusal::Outdated(own("the object has been modified")),
            Self::Gone => Refusal::Outdated(own("too old resource version")),
            Self::TooManyRequests => {
                Refusal::Busy { why: own("too many requests"), after: Some(Duration::from_secs(5)) }
            }
            Self::Internal => Refusal::Unanswered(own("internal error")),
            Self::Forbidden => Refusal::Forbidden(own("exceeded quota")),
            Self::TimedOut => Refusal::Unanswered(own("timed out")),
            Self::Unhealthy => Refusal::Etcd(own(crate::etcd::UNHEALTHY)),
            Self::TooManyLearners => Refusal::Etcd(own(crate::etcd::TOO_MANY_LEARNERS)),
            Self::NoLeader => Refusal::Etcd(own(crate::etcd::NO_LEADER)),
        }
    }
}

impl fmt::Display for Mishap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = match self.at {
            At::Call(call) => format!("request {call}"),
            At::Look(look) => format!("look {look}"),
        };
        match self.how {
            How::Before => write!(f, "the operator dies before {at}"),
            How::After => write!(f, "the operator dies after {at}"),
            How::Lost => write!(f, "{at} is carried out and not answered"),
            How::Refused(no) => write!(f, "{at} is refused ({no:?})"),
            How::LeaderMoves => write!(f, "another member is elected before {at}"),
            How::Deaf => write!(f, "etcd does not answer {at}"),
        }?;
        if self.stale > 0 {
            write!(f, "; its successor's cache lags by {}", self.stale)?;
        }
        Ok(())
    }
}
