//! Effects on the cluster: what is to be done ([`plan`], pure) and the only place that writes objects ([`execute`]).

pub mod compare;
pub mod execute;
pub mod inventory;
pub mod ownership;
pub mod plan;
