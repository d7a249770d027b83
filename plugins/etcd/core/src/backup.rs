//! Backups: when one is due, what it is called in the store, and which are kept. Pure; requests are the plugin's.

pub mod due;
pub mod key;
pub mod request;
pub mod retention;
pub mod snapshot;

pub use due::{Due, due};
pub use key::Key;
pub use request::{answered, request};
pub use retention::expired;
