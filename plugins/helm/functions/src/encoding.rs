//! Base64, base32 and checksums.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helm_template::Value;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use self::base::{Corrupt, decode_base32, decode_base64, encode_base32};
use crate::register::{Register, TEXT, text};

pub(crate) mod base;

pub(crate) fn register(all: &mut Register) {
    all.add("b64enc", TEXT, |args| Ok(Value::from(STANDARD.encode(text(args, 0)))));
    all.add("b64dec", TEXT, |args| Ok(decoded(decode_base64(text(args, 0)))));
    all.add("b32enc", TEXT, |args| Ok(Value::from(encode_base32(text(args, 0)))));
    all.add("b32dec", TEXT, |args| Ok(decoded(decode_base32(text(args, 0)))));
    all.add("sha1sum", TEXT, |args| Ok(Value::from(hex(&Sha1::digest(text(args, 0))))));
    all.add("sha256sum", TEXT, |args| Ok(Value::from(hex(&Sha256::digest(text(args, 0))))));
    all.add("sha512sum", TEXT, |args| Ok(Value::from(hex(&Sha512::digest(text(args, 0))))));
    all.add("adler32sum", TEXT, |args| Ok(Value::from(adler32(text(args, 0)).to_string())));
}

/// A text that cannot be decoded gives the error's text.
fn decoded(bytes: Result<Vec<u8>, Corrupt>) -> Value {
    bytes.map_or_else(|error| error.to_string().into(), |bytes| Value::String(bytes.into()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 1950 §8.2.
fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}
