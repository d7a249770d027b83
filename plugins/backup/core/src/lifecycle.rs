//! Backups before the changes of a subject, and their restores when a change is undone.
//!
//! What a hook needs is given to it as its parameters when it is planned, so that a policy that is edited or deleted meanwhile changes
//! nothing of a change that is under way. In the same way the artefact of a change brings all that its restore needs: whether the
//! policy is still there does not matter.

mod announcement;
mod hook;
mod lost;
mod run;
#[cfg(test)]
mod tests;

pub use announcement::{Announcement, Outcome, RecordedArtefact, Subject};
pub use hook::{Hook, Parameters, Policy, Record, guards, is_about, may_guard, plan};
pub use lost::{InTheWay, in_the_way};
pub(crate) use lost::{is_over, lost, reached};
pub use run::{BackupSeen, Move, RestoreSeen, Seen, backup_name, restore_name, run};
