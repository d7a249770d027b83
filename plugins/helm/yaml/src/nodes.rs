//! YAML that is changed and written again with its comments and styles: nodes of go-yaml v3, and what kyaml does with those
//! that are Kubernetes objects.
//!
//! Reader and writer follow go-yaml's, with its habits: which comment belongs to what is found with the look-ahead of its
//! scanner. Only where characters and positions are concerned is this the reader of v2 next door.

mod compose;
mod emitter;
mod events;
mod fields;
mod mark;
mod objects;
mod parser;
mod scanner;
mod token;
mod tree;

pub use self::mark::NodeError;
pub use self::objects::{Object, ObjectError, Objects};
