//! Plugins: from the bytes of a component to one hook call inside a sandbox.
//!
//! [`package`] reads what a file says about itself without running it, [`compiler`] turns it into machine code
//! once, [`compiled`] keeps that, [`revision`] links and checks it, [`registry`] knows which revision of each plugin is at work,
//! [`instance`] holds one store with its limits, [`call`] runs one hook in it for a [`context`] and names every way it can go wrong.

pub mod bindings;
pub mod call;
mod clock;
pub mod command;
pub mod compiled;
pub mod compiler;
pub mod context;
pub mod engine;
pub mod hook;
pub mod identity;
pub mod instance;
pub mod limits;
pub mod manifest;
pub mod names;
pub mod package;
mod processor_time;
pub mod registry;
pub mod revision;
pub mod source;
