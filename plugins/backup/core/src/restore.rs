//! One `Restore`: `(spec, status, observed, now) → (status to write first, one act, when to look again)`.
//!
//! ```text
//!  Check ─▶ SetAside ─▶ Restore ─▶ Clean ─▶ Completed
//!    │          │           ▲        │
//!    └──────────┴─▶ Failed  └─ Pause ◀┘ (failed, tried again)
//! ```
//! VolumeSnapshots become new claims: of them only the step Restore is taken. Before Restore nothing of the target is touched: a backup that does not fit, was not verified, is not whole or whose present data
//! could not be set aside is refused.

mod decide;
mod manifest;
mod observed;
mod source;
#[cfg(test)]
mod tests;
mod volumes;

pub use decide::{Decision, Order, decide};
pub use manifest::aside_name;
pub use observed::{Need, Object, Observed, claim_of, needs, task_name};
pub use source::{Refusal, Source, resolve};
pub use volumes::{Volume, claim_name};
