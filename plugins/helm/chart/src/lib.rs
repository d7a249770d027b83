//! Charts, dependencies, values, schema, capabilities, rendering and ordering.

pub mod archive;
pub mod capabilities;
mod file;
mod glob;
mod go_path;
pub mod ignore;
pub mod json;
pub mod order;
pub mod path_match;
pub mod strvals;
pub mod values;
