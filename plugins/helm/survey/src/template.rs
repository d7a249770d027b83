//! Templates as texts: their actions, their blocks, and which of them decide about objects.

pub(crate) mod actions;
pub(crate) mod blocks;
pub(crate) mod instrument;
pub(crate) mod scan;
