//! A Kubernetes operator host: it watches custom resources and calls reconcile hooks in WebAssembly components.
//!
//! The flow is the table of contents: watch → queue → reconcile → plugin call → plan → execute → status.
//! `docs/ARCHITECTURE.md` draws it.

pub mod action;
pub mod app;
pub mod asset;
pub mod binding;
pub mod blob;
pub mod capability;
pub mod certificate;
pub mod chart_source;
pub mod charts;
pub mod cli;
pub mod cluster;
pub mod command;
pub mod controller;
pub mod disk;
pub mod egress;
pub mod error_text;
pub mod exec;
pub mod handover;
pub mod health;
pub mod lifecycle;
pub mod listen;
pub mod memory;
pub mod object;
pub mod own_directory;
pub mod plugin;
pub mod project;
pub mod status;
pub mod telemetry;
pub mod unified_diff;
pub mod watches_file;
pub mod whole_file;
