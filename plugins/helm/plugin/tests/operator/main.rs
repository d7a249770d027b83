//! The Helm plugin against the SDK's in-memory Kubernetes.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod announced;
mod by_hand;
mod crash;
mod depends;
mod drift;
mod elsewhere;
mod failures;
mod force;
mod hooks;
mod install;
mod large;
mod left_alone;
mod let_go;
mod look;
mod look_diff;
mod lookups;
mod measures;
mod readiness;
mod release;
mod remediation;
mod requests;
mod scene;
mod slow;
mod strict;
mod suspend;
mod taken_over;
mod uninstall;
mod unknown_fields;
mod upgrade;
mod values_from;
