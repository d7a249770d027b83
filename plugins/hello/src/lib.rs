//! The smallest plugin that is worth reading.
