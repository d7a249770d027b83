//! The etcd plugin: it looks, asks etcd, lets the core decide, writes down what is to be remembered, acts, and tells.
//!
//! ```text
//!  EtcdCluster ──▶ look (pods, claims, Services) ─┐
//!                  members (etcd's gateway) ──────┼──▶ etcd_core::decide ──▶ record ──▶ act ──▶ outcome
//!                  clock ─────────────────────────┘
//! ```
//! What may be done and in which order is the core's; here are only requests and what their answers mean.

mod act;
mod backup;
mod budget;
mod cluster;
mod gateway;
mod look;
mod members;
mod object;
mod outcome;
mod refused;
mod restore;
mod secrets;
mod settings;

use pilothouse_sdk::export;

export!(cluster::Clusters, backup::Backups, restore::Restores);
