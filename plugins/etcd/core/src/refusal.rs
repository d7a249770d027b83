//! What to do about a request that was refused, or not answered.

use std::time::Duration;

use crate::{
    decision::{Report, Standing},
    step::{LATER, SOON},
};

/// Why a request was not carried out, as far as that is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The object is not as it was when it was looked at: 404, 409, 410.
    #[error("{0}")]
    Outdated(String),
    /// Too much is asked at once: 429, 503.
    #[error("{why}")]
    Busy {
        /// The server's words.
        why: String,
        /// When to ask again, if the server says so.
        after: Option<Duration>,
    },
    /// A quota, a webhook, missing rights or a wrong object: 400, 403, 422. It is the same until people change something.
    #[error("{0}")]
    Forbidden(String),
    /// etcd does not do it now. Most of what it refuses, it does seconds later: members have to be connected for five seconds,
    /// learners have to learn, leaders have to be elected.
    #[error("{0}")]
    Etcd(String),
    /// No answer: it may have been carried out or not.
    #[error("{0}")]
    Unanswered(String),
    /// No answer in time: it may still be under way.
    #[error("{0}")]
    Late(String),
}

impl Refusal {
    /// When to look again. Everything may be tried again, for every act may be done twice.
    pub fn retry(&self) -> Duration {
        match self {
            Self::Outdated(_) | Self::Etcd(_) => SOON,
            Self::Busy { after, .. } => after.unwrap_or(LATER).max(SOON),
            Self::Unanswered(_) | Self::Late(_) => SOON * 2,
            Self::Forbidden(_) => LATER,
        }
    }

    /// The report of a decision whose act was refused. What passes by itself is not told as an error.
    pub fn told_in(&self, report: Report) -> Report {
        let Report { standing, .. } = &report;
        let doing = match standing {
            Standing::Progressing { message, .. } if !message.is_empty() => format!("{message}: "),
            _ => String::new(),
        };
        let standing = match self {
            Self::Forbidden(why) => {
                Standing::Stalled { reason: "Refused", message: format!("{doing}refused: {why}") }
            }
            Self::Busy { why, .. } => {
                Standing::Progressing { reason: "Throttled", message: format!("{doing}asked to wait: {why}") }
            }
            Self::Outdated(_) | Self::Etcd(_) | Self::Unanswered(_) | Self::Late(_) => return report,
        };
        let mut report = report;
        if let Standing::Stalled { message, .. } = &standing {
            report.status.reason.clone_from(message);
        }
        report.standing = standing;
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            status: etcd_api::ClusterStatus::default(),
            conditions: Vec::new(),
            dropped: Vec::new(),
            events: Vec::new(),
            standing: Standing::Progressing {
                reason: "MembershipChanging",
                message: "starting member example-a".to_owned(),
            },
            children: Vec::new(),
        }
    }

    #[test]
    fn a_quota_is_told_with_what_was_being_done_and_tried_again() {
        let refusal = Refusal::Forbidden("exceeded quota: pods=3".to_owned());
        let told = refusal.told_in(report());
        let Standing::Stalled { reason, message } = told.standing else { panic!("it is not told") };
        assert_eq!(reason, "Refused");
        assert_eq!(message, "starting member example-a: refused: exceeded quota: pods=3");
        assert_eq!(told.status.reason, message);
        assert_eq!(refusal.retry(), LATER);
    }

    #[test]
    fn what_passes_by_itself_is_not_told_as_an_error() {
        for refusal in [
            Refusal::Outdated("conflict".to_owned()),
            Refusal::Etcd("etcdserver: unhealthy cluster".to_owned()),
            Refusal::Unanswered("timed out".to_owned()),
        ] {
            assert_eq!(refusal.told_in(report()), report());
            assert!(refusal.retry() <= SOON * 2);
        }
    }

    #[test]
    fn a_server_that_says_when_to_come_again_is_obeyed() {
        let after = Some(Duration::from_secs(30));
        assert_eq!(Refusal::Busy { why: "slow down".to_owned(), after }.retry(), Duration::from_secs(30));
        assert_eq!(Refusal::Busy { why: "slow down".to_owned(), after: None }.retry(), LATER);
    }
}
