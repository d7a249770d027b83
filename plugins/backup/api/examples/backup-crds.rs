//! Writes the definitions: `cargo run -p backup-api --features schema --example backup-crds -- plugins/backup/crds`.

use std::{env, error::Error, fs, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(env::args_os().nth(1).ok_or("say into which directory")?);
    fs::create_dir_all(&directory)?;
    for (file, definition) in backup_api::definition::definitions() {
        fs::write(directory.join(file), serde_saphyr::to_string(&definition)?)?;
    }
    Ok(())
}
