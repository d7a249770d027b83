//! Released directories of the plugin interface never change: their digests stand in `wit/released.txt`.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use crate::build::root;
use crate::steps::{output, say};

/// Compares every released directory with the digest it was released with.
pub(crate) fn check() -> Result<()> {
    let wit = root().join("wit");
    let list = fs::read_to_string(wit.join("released.txt"))?;
    let mut checked = 0;
    for line in list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some((version, digest)) = line.split_once(' ') else {
            bail!("wit/released.txt: {line:?} is not `VERSION SHA256`")
        };
        let script = format!("cd '{version}' && find . -type f | sort | xargs sha256sum | sha256sum");
        let found = output(Command::new("sh").current_dir(&wit).args(["-c", &script]))?;
        if found.split_whitespace().next() != Some(digest.trim()) {
            bail!("wit/{version} was released and has changed; put the change into a new directory");
        }
        checked += 1;
    }
    say(&format!("{checked} released versions of the plugin interface are unchanged"));
    Ok(())
}
