//! What guests may call, one file for each interface of the WIT package, and what each call is allowed to do.

pub mod assets;
pub mod blob;
pub mod certificates;
pub mod charts;
pub mod config;
pub mod egress;
pub mod events;
pub mod grants;
pub mod http;
pub mod kube;
pub mod lifecycle;
pub mod log;
pub mod metrics;
pub mod phases;
pub mod rule;
mod secret;
