//! Provenance files of charts, verified as Helm does it (`pkg/provenance`): a clear-signed message that lists the
//! SHA-256 of the archive, and a keyring that says whose signature counts. Pure: bytes and a time go in, an answer
//! comes out; nothing here reads a file or a clock.
//!
//! What is accepted, skipped and refused is what ProtonMail's go-crypto accepts, skips and refuses, down to the
//! texts, since these are what users see. Its oddities are kept where they decide whether a chart is accepted.

mod algorithm;
mod armor;
mod base64;
mod clearsign;
mod curve;
mod entity;
mod error;
mod field;
mod hash;
mod key;
mod keybox;
mod keyring;
mod packet;
mod secret;
mod signature;
mod source;
mod subpacket;
mod sums;
mod text;
mod verify;

pub use crate::{
    error::{Error, KeyringError, PgpError, SumsError},
    keyring::Keyring,
    verify::{Verification, verify},
};
