//! How a Job's data comes into object storage, and back, without the Job having a storage's credentials.
//!
//! A plugin opens a handover of one object. The host puts an address, a [`token`] and the [`authority`](authority::Authority) of its own
//! certificate into a Secret, and serves that address itself ([`serve`]): `PUT` writes the object, `GET` reads it. [`table`] knows
//! all handovers; [`receive`] takes content in, [`give`] gives it out.
//!
//! # Guarantees
//! - Content becomes an object only by a second request, the commit, that names the size and the sha256 of what was sent. Whoever is cut
//!   off, or learns at the end that the data is bad, does not send it, and nothing is under the key.
//! - No object is written over.
//! - A token is good for one `PUT`. It ends with its handover: when that is closed, when its owner is gone, and at its deadline. It is
//!   in the memory of this process and in the Secret, and nowhere else.
//! - When [`close`](table::Handovers::close) has returned, nothing appears under the key any more.
//!
//! # Caveats
//! Nothing survives the host: the next one knows no token of before, and the plugin opens the handover again.
//!
//! The other end of it, in the Job, is [`client`].

pub mod authority;
pub mod client;
pub mod give;
pub mod receive;
pub mod serve;
pub mod table;
pub mod token;

#[cfg(test)]
mod tests;

use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::blob::BlobError;

/// What was stored, in the words of both ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Bytes.
    pub size: u64,
    /// Of all of them, lower-case hex.
    pub sha256: String,
}

/// Why a request is refused, in the words of both ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// UpperCamelCase, from a small set.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

impl From<&BlobError> for Refusal {
    fn from(error: &BlobError) -> Self {
        Self { reason: error.reason().to_owned(), message: error.to_string() }
    }
}

/// The status that says of what class an error is.
fn status_of(error: &BlobError) -> StatusCode {
    match error {
        BlobError::Denied(_) | BlobError::Credentials(_) => StatusCode::FORBIDDEN,
        BlobError::NotFound(_) => StatusCode::NOT_FOUND,
        BlobError::Conflict(_) => StatusCode::CONFLICT,
        BlobError::Invalid(_) => StatusCode::BAD_REQUEST,
        BlobError::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        BlobError::Corrupt(_) => StatusCode::UNPROCESSABLE_ENTITY,
        BlobError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        BlobError::Other(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
