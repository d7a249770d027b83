//! A small Kubernetes and a small etcd on virtual time, and an operator that runs `etcd-core` in them.
//!
//! Everything that can happen next is a list; a run is a sequence of choices from it, by a seed or in a fixed order. So every run
//! can be played again, the operator can die at any of its calls, and what must never happen is looked at after each choice.

pub mod accident;
pub mod boot;
pub mod catalogue;
pub mod environment;
pub mod etcd;
pub mod fault;
pub mod faults;
pub mod fields;
pub mod mishap;
pub mod mutation;
pub mod objects;
pub mod observe;
pub mod operator;
mod perform;
pub mod play;
pub mod raft;
pub mod scene;
pub mod survey;
mod verdict;
mod watcher;
pub mod world;

pub use mishap::{At, How, Mishap};
pub use operator::Slip;
pub use play::{Order, Play};
pub use scene::{Scene, Step, Who};
