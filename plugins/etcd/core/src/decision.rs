//! What to do next, what to remember before, and what to tell.

use std::time::Duration;

use etcd_api::{ClusterStatus, Record, names};
use serde_json::Value;

use crate::act::Act;

/// What to do next. In this order: the record is written if it differs from the one that was seen, with the object's version
/// as precondition; then the act is done; then the report is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What is remembered from now on.
    pub record: Record,
    /// The one thing to do. After an act that is not [`Act::Nothing`], look again at once.
    pub act: Act,
    /// What is told.
    pub report: Report,
    /// Look again after this time even if no object changes; etcd does not call.
    pub next: Duration,
}

/// What is told to people and scripts.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The status, without its conditions.
    pub status: ClusterStatus,
    /// Conditions that are set.
    pub conditions: Vec<ConditionChange>,
    /// Types of conditions that are removed.
    pub dropped: Vec<&'static str>,
    /// Events. They belong to the record of the same decision: only who wrote that tells them.
    pub events: Vec<EventNote>,
    /// Where the object stands.
    pub standing: Standing,
    /// Services and the disruption budget, to be kept applied: the complete set.
    pub children: Vec<Value>,
}

/// A condition as it is from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionChange {
    /// Its type.
    pub kind: &'static str,
    /// True or false.
    pub status: bool,
    /// Its reason.
    pub reason: &'static str,
    /// Its message.
    pub message: String,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventNote {
    /// Something is wrong.
    pub warning: bool,
    /// Its reason.
    pub reason: &'static str,
    /// Its message.
    pub message: String,
}

impl EventNote {
    /// Something happened as it should.
    pub(crate) fn normal(reason: &'static str, message: String) -> Self {
        Self { warning: false, reason, message }
    }

    /// A member was added, the first one as well: in the old operator's words.
    pub(crate) fn added(member: &str) -> Self {
        Self::normal(names::event::MEMBER_ADDED, format!("New member {member} added to cluster"))
    }

    /// Something is wrong.
    pub(crate) fn warning(reason: &'static str, message: String) -> Self {
        Self { warning: true, reason, message }
    }
}

/// Where the object stands, in kstatus' terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// What was asked for is there and well.
    Ready,
    /// Under way.
    Progressing {
        /// UpperCamelCase.
        reason: &'static str,
        /// What is waited for.
        message: String,
    },
    /// It does not get further without people.
    Stalled {
        /// UpperCamelCase.
        reason: &'static str,
        /// What has to be changed.
        message: String,
    },
}
