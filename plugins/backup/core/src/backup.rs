//! One `Backup`: `(plan, status, observed, now) → (status to write first, one act, when to look again)`.
//!
//! ```text
//!            ┌──────────── failed, too late, deleted ───────────┐
//!  Quiesce ─▶ Data ─▶ Release ─▶ Reread ─▶ Trial ─▶ Catalogue ─▶ Tidy ─▶ Completed ─▶ Remove
//!     │        │         │                                                  (object deleted, policy Delete)
//!     └────────┴───▶ Release ─▶ Clean ─▶ Pause ─▶ next attempt, or Failed
//! ```
//! Whatever happens after the first command that brings a database to rest, the way leads through Release. An attempt has a key, a Job
//! and an upload of its own, so what is left of one cannot be taken for another's.

pub mod act;
mod decide;
mod finish;
mod hooks;
pub mod observed;
pub mod read;
mod situation;
mod verify;

pub use act::{Act, Role, Token};
pub use decide::decide;
pub use hooks::goes_first;
pub use observed::{Need, Observed, command_at_hand, needs, task_name};
pub use situation::{Decision, Note, Object, Standing};
pub(crate) use situation::{STARTING, token_time};
