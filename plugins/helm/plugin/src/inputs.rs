//! The digest of everything a rendering depends on. While it stays, nothing is rendered.

use std::fmt::Write;

use helm_chart::Capabilities;
pub(crate) use helm_release::marks::{base, found_otherwise};
use sha2::{Digest, Sha256};

use crate::charts::LoadedChart;

/// Whether the chart asks what the cluster offers.
pub(crate) fn needs_capabilities(chart: &LoadedChart) -> bool {
    chart.mentions("Capabilities")
}

/// The digest of a chart, the values given from outside, and what the chart asks about the cluster.
///
/// Of what the cluster offers only those names count that stand in the chart's text: else every definition of a kind
/// that anybody adds would render, and perhaps upgrade, every release.
///
/// `asked`: requests and settings that make what did not change another wish.
pub(crate) fn digest(
    chart: &LoadedChart,
    values: &str,
    capabilities: Option<&Capabilities>,
    asked: &[&Option<String>],
) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    };
    add("inputs/1");
    add(&chart.digest);
    add(values);
    if let Some(capabilities) = capabilities {
        add(&capabilities.kube_version.version);
        capabilities
            .api_versions
            .iter()
            .filter(|version| chart.mentions(version))
            .for_each(|version| add(version));
    }
    for (place, words) in asked.iter().enumerate() {
        if let Some(words) = words {
            add(&format!("asked/{place}/{words}"));
        }
    }
    hash.finalize().iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
