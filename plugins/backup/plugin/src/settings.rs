//! Settings of the plugin, which whoever runs it gives.

use backup_core::settings::Settings;
use pilothouse_sdk::{Context, Error};
use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Words {
    /// The host's own image. Without it there are no backups by Jobs.
    image: String,
}

/// What the host tells of itself.
///
/// # Errors
/// Permanent, when the settings do not have their shape.
pub(crate) fn read(ctx: &Context) -> Result<Settings, Error> {
    let Words { image } = ctx.config::<Option<Words>>()?.unwrap_or_default();
    Ok(Settings { image })
}
