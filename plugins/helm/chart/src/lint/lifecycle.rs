//! Which APIs of Kubernetes are deprecated, from when on and for what.
//!
//! The table is what the types of k8s.io/api v0.37.1, the version Helm 4.3.1 is built with, say of themselves
//! (`APILifecycleDeprecated` and its sisters) for everything in client-go's scheme: `apiVersion`, `kind`, the version
//! that deprecates it, the one that removes it (`0.0`: none does), and what replaces it.

use crate::capabilities::KubeVersion;

const TABLE: &str = include_str!("lifecycle.tsv");

/// The warning for an object whose API is deprecated in this version of Kubernetes.
pub(super) fn deprecation(api_version: &str, kind: &str, kube_version: &KubeVersion) -> Option<String> {
    // The group without a name may be written with its slash.
    let api_version = api_version.strip_prefix('/').unwrap_or(api_version);
    let mut rows = TABLE.lines().filter_map(Row::parse);
    let row = rows.find(|row| row.api_version == api_version && row.kind == kind)?;
    let now = (kube_version.major.parse().ok()?, kube_version.minor.parse().ok()?);
    let is_known = now != (0, 0);
    if is_known && version(row.deprecated)? > now {
        return None;
    }
    let mut text = format!("{api_version} {kind} is deprecated in v{}+", row.deprecated);
    if row.removed != "0.0" {
        text.push_str(&format!(", unavailable in v{}+", row.removed));
    }
    if !row.replacement.is_empty() {
        text.push_str(&format!("; use {}", row.replacement));
    }
    Some(text)
}

struct Row<'a> {
    api_version: &'a str,
    kind: &'a str,
    deprecated: &'a str,
    removed: &'a str,
    replacement: &'a str,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut cells = line.split('\t');
        Some(Self {
            api_version: cells.next()?,
            kind: cells.next()?,
            deprecated: cells.next()?,
            removed: cells.next()?,
            replacement: cells.next()?,
        })
    }
}

fn version(text: &str) -> Option<(u64, u64)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_can_be_read() {
        for line in TABLE.lines() {
            let row = Row::parse(line).unwrap();
            assert!(version(row.deprecated) > Some((0, 0)) && version(row.removed).is_some(), "{line}");
            assert!(row.replacement.is_empty() || row.replacement.contains(' '), "{line}");
        }
        assert!(TABLE.lines().count() > 100);
    }

    #[test]
    fn an_api_is_deprecated_from_its_version_on() {
        let at = |version: &str| {
            deprecation("policy/v1beta1", "PodDisruptionBudget", &KubeVersion::parse(version).unwrap())
        };
        let text = "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1 PodDisruptionBudget";
        assert_eq!(at("v1.20.9"), None);
        assert_eq!(at("v1.21.0").as_deref(), Some(text));
        assert_eq!(at("v2.0").as_deref(), Some(text));
    }
}
