//! Go's `fmt`: how values become text.

mod quote;

pub use self::quote::quote;
