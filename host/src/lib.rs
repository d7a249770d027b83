//! A Kubernetes operator host: it watches custom resources and calls reconcile hooks in WebAssembly components.
//!
//! The flow is the table of contents: watch → queue → reconcile → plugin call → plan → execute → status.
//! `docs/ARCHITECTURE.md` draws it.

pub mod controller;
pub mod object;
