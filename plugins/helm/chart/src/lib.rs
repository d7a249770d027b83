//! Charts, dependencies, values, schema, capabilities, rendering and ordering.

pub mod archive;
pub mod capabilities;
pub mod chart;
pub mod coalesce;
mod decode;
pub mod dependencies;
mod digest;
pub mod engine;
mod file;
mod files_value;
mod glob;
pub mod go_path;
pub mod hook;
pub mod ignore;
pub mod json;
pub mod lint;
pub mod loader;
pub mod log;
pub mod manifest;
pub mod metadata;
pub mod order;
pub mod path_match;
pub mod post_render;
pub mod release;
mod rules;
pub mod schema;
pub mod strvals;
pub mod template;
#[cfg(test)]
mod testing;
pub mod values;
mod values_methods;
mod version;
pub mod yaml;

pub use crate::{
    capabilities::{Capabilities, KubeVersion},
    chart::Chart,
    digest::digest,
    engine::{Lookup, ParsedChart, RenderError, RenderSettings, Rendered},
    file::File,
    loader::{LoadError, load_archive, load_directory},
    release::Release,
    rules::Rules,
    template::{TemplateError, TemplateOptions, template},
};
