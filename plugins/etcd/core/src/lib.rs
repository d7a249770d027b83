//! What an etcd operator does next: `(spec, observed, now) → one next act`, and what it tells.
//!
//! ```text
//!  spec ──▶ spec::Plan ─┐
//!  observed ────────────┼─▶ learn ─▶ Situation ─▶ decide ─▶ Decision { record, act, report, next }
//!  now ─────────────────┘   (record)  (by member)   (steps)
//! ```
//! Nothing here waits, reads a clock or talks to anybody. Whoever calls reads objects and asks etcd, writes the record, does
//! the act, tells the report, and calls again. `docs/adr` says why it is so.

pub mod act;
mod alarm;
mod announce;
pub mod backup;
mod cleanup;
mod decide;
pub mod decision;
mod defragmentation;
mod deletion;
mod digest;
mod join;
mod learn;
mod leave;
pub mod manifest;
mod member;
pub mod naming;
pub mod observed;
mod old_log;
mod patience;
pub mod planted;
mod quantity;
mod recovery;
pub mod refusal;
mod repair;
mod report;
mod rollout;
pub mod scope;
mod seed;
mod situation;
pub mod spec;
mod step;
pub mod tls;
mod upgrade;
mod upkeep;
pub mod version;

pub use alarm::settled;
pub use decide::decide;
pub use seed::RestoreOrder;
