//! What a scene reads in manifests.

use serde_json::Value;

/// The first Deployment of a release's manifest that says how many replicas it has.
pub(super) fn scaled_deployment(manifest: &str) -> Option<(String, u64)> {
    let documents = manifest
        .split("\n---")
        .filter_map(|text| serde_saphyr::from_str::<Value>(text.trim_start_matches("---")).ok());
    let mut deployments =
        documents.filter(|object| object.get("kind").is_some_and(|kind| kind == "Deployment"));
    deployments.find_map(|object| {
        let replicas = object.pointer("/spec/replicas")?.as_u64()?;
        Some((object.pointer("/metadata/name")?.as_str()?.to_owned(), replicas))
    })
}

/// A plugin's bytes with another text of the same length in its manifest, which is a section of its own.
pub(super) fn with_version(bytes: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let at = bytes.windows(from.len()).position(|window| window == from)?;
    let mut changed = bytes.to_vec();
    changed.get_mut(at..at + from.len()).filter(|_| from.len() == to.len())?.copy_from_slice(to);
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_deployment_with_replicas_is_found_among_comments_and_others() {
        let manifest = "---\n# Source: a\nkind: Service\n---\n# Source: b\nkind: Deployment\nmetadata: {name: a}\nspec: {}\n---\nkind: Deployment\nmetadata: {name: b}\nspec: {replicas: 2}\n";
        assert_eq!(scaled_deployment(manifest), Some(("b".to_owned(), 2)));
        assert_eq!(scaled_deployment(""), None);
    }

    #[test]
    fn a_version_is_replaced_by_one_of_the_same_length_only() {
        assert_eq!(with_version(b"..v: 1.0..", b"v: 1.0", b"v: 1.1").as_deref(), Some(&b"..v: 1.1.."[..]));
        assert_eq!(with_version(b"..v: 1.0..", b"v: 1.0", b"v: 1.10"), None);
        assert_eq!(with_version(b"...", b"v: 1.0", b"v: 1.1"), None);
    }
}
