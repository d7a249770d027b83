//! Compares the Helm engine with Go's.
//!
//! A [`Question`] is an operation and its input. [`generate`] makes questions up, [`ours`] answers them with our crates,
//! [`Oracle`] with Helm's own code (`testbed/helm-oracle`), [`shrink`] makes those that are answered differently small and
//! [`regression`] keeps them with Go's answer.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a tool for tests: what cannot be is a panic"
)]

mod compare;
pub mod entry;
pub mod fuzz;
pub mod generate;
pub mod judge;
mod oracle;
pub mod ours;
mod question;
mod random;
pub mod regression;
pub mod shrink;

pub use compare::{differ, shown};
pub use oracle::{Oracle, ask};
pub use question::{Answer, Question};
pub use random::Random;
