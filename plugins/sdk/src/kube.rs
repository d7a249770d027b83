//! The cluster, as far as the plugin's grants reach.

pub(crate) mod access;
pub(crate) mod error;
pub(crate) mod list;
pub(crate) mod types;
