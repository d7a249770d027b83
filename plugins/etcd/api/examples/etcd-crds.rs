//! Writes the definitions: `cargo run -p etcd-api --example etcd-crds -- plugins/etcd/crds`.

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(env::args_os().nth(1).ok_or("say into which directory")?);
    fs::create_dir_all(&directory)?;
    for (file, definition) in etcd_api::definition::definitions() {
        fs::write(directory.join(file), serde_saphyr::to_string(&definition)?)?;
    }
    Ok(())
}
