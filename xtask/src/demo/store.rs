//! What a project's release keeps data in, as far as a scene reads and writes it: so that a restored backup can be told
//! from a Job that merely ended well.

use std::path::Path;

use serde_json::Value;

/// A Deployment that keeps data, and the shell commands for it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Store {
    /// Its name.
    pub(super) deployment: String,
    /// An image with a client, which the project uses anyway.
    pub(super) image: &'static str,
    /// In the Deployment: keeps [`WORD`].
    pub(super) put: &'static str,
    /// In the Deployment: prints what is kept.
    pub(super) read: &'static str,
    /// In a pod of the image: loses what is kept, and prints what is left.
    pub(super) spoil: String,
}

/// What is kept.
pub(super) const WORD: &str = "precious";

/// Whatever is called as a Job, where there is no store.
pub(super) const ANY_IMAGE: &str = "docker.io/library/busybox:1.37";

impl Store {
    /// The store of the sample's chart or of the player-stats project with its `mongodb`; none: a chart of which nobody here
    /// knows what it keeps.
    pub(super) fn of(chart: &Path, values: &Value, release: &str) -> Option<Self> {
        if chart.join("charts/store/templates/store.yaml").is_file() {
            let deployment = format!("{release}-store");
            return Some(Self {
                spoil: format!("echo spoiled | nc {deployment} 7001; nc {deployment} 7000"),
                deployment,
                image: ANY_IMAGE,
                put: "echo precious > /data/stats",
                read: "cat /data/stats",
            });
        }
        let host = values.pointer("/mongodb/fullnameOverride")?.as_str()?;
        let remove = "db.games.remove({})";
        Some(Self {
            deployment: host.to_owned(),
            image: "docker.io/bitnami/mongodb:4.4.6-debian-10-r0",
            put: r#"mongo --quiet stats --eval 'db.games.insert({"word":"precious"})'"#,
            read: "mongo --quiet stats --eval 'db.games.find()'",
            spoil: format!("mongo --quiet {host}/stats --eval '{remove}'; echo spoiled"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_samples_store_is_known_and_so_is_the_mongodb_of_the_first_project() {
        let sample =
            crate::build::root().join("charts/samples/player-stats-operator/helm-charts/player-stats");
        assert_eq!(Store::of(&sample, &Value::Null, "a").unwrap().deployment, "a-store");
        let values = json!({"mongodb": {"fullnameOverride": "mongo"}});
        assert_eq!(Store::of(Path::new("/nowhere"), &values, "a").unwrap().deployment, "mongo");
        assert_eq!(Store::of(Path::new("/nowhere"), &json!({}), "a"), None);
    }
}
