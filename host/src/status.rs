//! What is told to people about an object: conditions and status fields ([`publish`] is their only writer), events.

pub mod conditions;
pub mod events;
pub mod publish;
