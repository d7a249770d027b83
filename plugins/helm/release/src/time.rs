//! Times as Go's encoding/json writes them, with Helm 3's empty strings and Go's zero time read as none.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

/// Go's zero time, in seconds of Unix.
const GO_ZERO: i64 = -62_135_596_800;

/// Reads a time that may be missing, null, `""` or Go's zero.
pub(crate) fn optional<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(source)?.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let time: Timestamp = text.parse().map_err(serde::de::Error::custom)?;
    Ok((time.as_second() != GO_ZERO).then_some(time))
}
