//! Charts, dependencies, values, schema, capabilities, rendering and ordering.

pub mod archive;
pub mod capabilities;
pub mod chart;
pub mod coalesce;
mod decode;
pub mod dependencies;
mod file;
mod glob;
mod go_path;
pub mod hook;
pub mod ignore;
pub mod json;
pub mod loader;
pub mod manifest;
pub mod metadata;
pub mod order;
pub mod path_match;
pub mod schema;
pub mod strvals;
#[cfg(test)]
mod testing;
pub mod values;
mod version;
pub mod yaml;
