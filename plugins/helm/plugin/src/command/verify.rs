//! Whether a chart's archive is the one that its provenance file vouches for (Helm's `downloader.VerifyChart`).

use std::time::UNIX_EPOCH;

use helm_provenance::verify as verify_provenance;
use pilothouse_sdk::Host;

use super::options::VerifyOptions;

/// Verifies. Nothing is printed for a chart that is what it should be, as with `helm template --verify`.
pub(super) fn verify(host: &dyn Host, options: &VerifyOptions) -> Result<(), String> {
    let read = |asset: &str| {
        let files = host.asset_read(asset).map_err(|error| error.to_string())?;
        Ok::<_, String>(files.into_iter().next().map(|file| file.content).unwrap_or_default())
    };
    let keyring = read(&options.keyring.asset)?;
    let (archive, provenance) = (read(&options.archive.asset)?, read(&options.provenance)?);
    // A clock before 1970 makes every signature one of the future, which is refused.
    let now = host.now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    verify_provenance(&archive, &provenance, &keyring, &options.keyring.name, &options.archive.name, now)
        .map_err(|error| error.to_string())?;
    Ok(())
}
