//! The backup plugin: it looks, lets the core decide, writes down what is to be remembered, acts, and tells.
//!
//! ```text
//!  BackupPolicy ──▶ policy (clock, retention) ──┐
//!  another plugin's change ──▶ hooks ───────────┼──▶ Backup ──▶ backup ──▶ act
//!  person ──────────────────────────────────────┘    Restore ─▶ restore ─┘
//! ```
//! What may be done and in which order is the core's; here are only requests and what their answers mean.

mod act;
mod backup;
mod claim;
pub mod command;
mod etcd;
mod hooks;
mod job;
mod look;
mod object;
mod policy;
mod quiesce;
mod restore;
mod retire;
mod settings;
mod snapshot;
mod store;

use pilothouse_sdk::{export, export_commands, export_hooks};

export!(policy::Policies, backup::Backups, restore::Restores);
export_hooks!(hooks::Changes);
export_commands!(command::run);
