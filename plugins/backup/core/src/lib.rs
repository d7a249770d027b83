//! What a backup operator does next, from what was asked for, what was seen and the time.
//!
//! ```text
//!  announcement ─▶ lifecycle ─┐
//!  clock ───────▶ due ────────┼─▶ Backup ─▶ backup::decide ─▶ artefact ─▶ catalogue
//!  person ────────────────────┘                                  │
//!                                            retention ◀─────────┤
//!                                            restore::decide ◀───┘
//! ```
//! Nothing here waits, reads a clock or talks to anybody.

pub mod backup;
pub mod catalogue;
pub mod due;
pub mod guarded;
pub mod key;
pub mod lifecycle;
pub mod manifest;
mod naming;
pub mod place;
pub mod plan;
pub mod restore;
pub mod retention;
pub mod settings;
