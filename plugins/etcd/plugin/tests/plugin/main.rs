//! The plugin as the host calls it, in a Kubernetes in memory with scripted members and stores.

#[cfg(test)]
mod backup;
#[cfg(test)]
#[path = "../../../core/tests/snapshot/database.rs"]
mod database;
#[cfg(test)]
mod deletion;
#[cfg(test)]
mod discard;
#[cfg(test)]
mod edits;
#[cfg(test)]
mod hanging;
#[cfg(test)]
mod mishaps;
#[cfg(test)]
mod relief;
#[cfg(test)]
mod restore;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod scope;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod sweep;
#[cfg(test)]
mod trial;

#[cfg(test)]
const MANIFEST: &str = include_str!("../../plugin.yaml");

/// The definitions as they are shipped.
#[cfg(test)]
fn definitions() -> Vec<serde_json::Value> {
    let files = [
        include_str!("../../../crds/etcdbackups.yaml"),
        include_str!("../../../crds/etcdclusters.yaml"),
        include_str!("../../../crds/etcdrestores.yaml"),
    ];
    files.into_iter().map(|text| serde_saphyr::from_str(text).unwrap()).collect()
}
