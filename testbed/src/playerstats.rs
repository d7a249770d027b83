//! Small images under the names that the player-stats operator project and its `mongodb` dependency use, so that its
//! charts run unchanged on a node without a registry. They are stand-ins that do the work: what is stored is on the
//! volume, and a backup that is restored brings it back.

use crate::busybox;
use crate::error::Result;
use crate::image::Archive;

/// What the chart's Deployment runs.
pub const PLAYER_STATS: &str = "registry.cn-beijing.aliyuncs.com/sretech/player-stats:v0.1.0";
/// What the `mongodb` chart runs, and the project's backup and restore Jobs.
pub const MONGODB: &str = "docker.io/bitnami/mongodb:4.4.6-debian-10-r0";
/// What `helm test` runs.
pub const CURL: &str = "docker.io/curlimages/curl:7.68.0";

/// Scripts of the stand-in for MongoDB, by their path in the image.
const MONGODB_SCRIPTS: [(&str, &str); 6] = [
    ("/usr/bin/mongod", include_str!("playerstats/mongod.sh")),
    ("/usr/bin/mongod-serve", include_str!("playerstats/serve.sh")),
    ("/usr/bin/mongo", include_str!("playerstats/mongo.sh")),
    ("/usr/bin/mongodump", include_str!("playerstats/mongodump.sh")),
    ("/usr/bin/mongorestore", include_str!("playerstats/mongorestore.sh")),
    // The chart's probes ask for bash; what they say to it, busybox's shell understands.
    ("/bin/bash", "#!/bin/sh\nexec /bin/sh \"$@\"\n"),
];

/// All of them.
///
/// # Errors
/// When this machine has no static busybox.
pub fn images() -> Result<Vec<Archive>> {
    Ok(vec![player_stats()?, mongodb()?, curl()?])
}

fn player_stats() -> Result<Archive> {
    let mut image = busybox::archive(PLAYER_STATS)?;
    image.file("/www/index.html", "<!doctype html><title>player-stats</title><h1>player-stats</h1>\n", 0o644);
    image.file("/usr/bin/player-stats", include_str!("playerstats/serve-page.sh"), 0o755);
    image.entrypoint(&["/usr/bin/player-stats"]).arguments(&[]);
    Ok(image)
}

fn mongodb() -> Result<Archive> {
    let mut image = busybox::archive(MONGODB)?;
    for (path, script) in MONGODB_SCRIPTS {
        image.file(path, script, 0o755);
    }
    // As the real image: not root, and the data where the chart mounts the volume.
    image.directory("/bitnami/mongodb", 0o777, 1001).user("1001");
    image
        .environment(&["PATH=/usr/bin:/bin", "MONGODB_DATA_DIR=/bitnami/mongodb/data/db"])
        .arguments(&["mongod"]);
    Ok(image)
}

fn curl() -> Result<Archive> {
    let mut image = busybox::archive(CURL)?;
    image.file("/usr/bin/curl", include_str!("playerstats/curl.sh"), 0o755);
    image.environment(&["PATH=/usr/bin:/bin"]).user("100").arguments(&["curl"]);
    Ok(image)
}

#[cfg(test)]
mod tests;
