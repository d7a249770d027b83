//! Base64, base32, hashes, random texts and UUIDs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use helm_template::{Signature, Type, Value};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::register::{Register, TEXT, fail, int, text};

pub(crate) fn register(all: &mut Register) {
    all.add("b64enc", TEXT, |args| Ok(Value::from(STANDARD.encode(text(args, 0)))));
    all.add("b64dec", TEXT, |args| {
        // Go's decoder skips line ends.
        let source: Vec<u8> =
            text(args, 0).iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
        match STANDARD.decode(&source) {
            Ok(bytes) => Ok(Value::String(helm_template::Str::from_bytes(&bytes))),
            Err(error) => {
                let at = match error {
                    base64::DecodeError::InvalidByte(at, _)
                    | base64::DecodeError::InvalidLastSymbol(at, _) => at,
                    _ => source.len() / 4 * 4,
                };
                Ok(Value::from(format!("illegal base64 data at input byte {at}")))
            }
        }
    });
    all.add("sha1sum", TEXT, |args| Ok(Value::from(hex(&Sha1::digest(text(args, 0))))));
    all.add("sha256sum", TEXT, |args| Ok(Value::from(hex(&Sha256::digest(text(args, 0))))));
    all.add("sha512sum", TEXT, |args| Ok(Value::from(hex(&Sha512::digest(text(args, 0))))));
    all.add("adler32sum", TEXT, |args| Ok(Value::from(adler32(text(args, 0)).to_string())));
    let random = |all: &mut Register, name: &'static str, alphabet: &'static [u8]| {
        all.add(name, Signature::new(&[Type::INT], Type::String), move |args| {
            random_text(int(args, 0), alphabet)
        });
    };
    random(all, "randAlphaNum", b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
    random(all, "randAlpha", b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    random(all, "randNumeric", b"0123456789");
    random(
        all,
        "randAscii",
        b" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~",
    );
    all.add("uuidv4", Signature::new(&[], Type::String), |_| {
        let mut bytes = random_bytes(16)?;
        if let Some(byte) = bytes.get_mut(6) {
            *byte = (*byte & 0x0f) | 0x40;
        }
        if let Some(byte) = bytes.get_mut(8) {
            *byte = (*byte & 0x3f) | 0x80;
        }
        let digits = hex(&bytes);
        let group = |range: std::ops::Range<usize>| digits.get(range).unwrap_or_default();
        let groups = [group(0..8), group(8..12), group(12..16), group(16..20), group(20..32)];
        Ok(Value::from(groups.join("-")))
    });
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

fn random_bytes(count: usize) -> Result<Vec<u8>, helm_template::CallError> {
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes).map_err(|error| fail(format!("no random numbers: {error}")))?;
    Ok(bytes)
}

/// Characters with equal chances: bytes beyond the last whole multiple of the alphabet's length are thrown away.
fn random_text(count: i64, alphabet: &[u8]) -> crate::register::Result {
    let count = usize::try_from(count).unwrap_or(0).min(1 << 20);
    let fair = 256 / alphabet.len() * alphabet.len();
    let mut out = String::with_capacity(count);
    while out.len() < count {
        for byte in random_bytes(count)? {
            let index = usize::from(byte);
            if index < fair && out.len() < count {
                out.push(alphabet.get(index % alphabet.len()).map_or('?', |byte| char::from(*byte)));
            }
        }
    }
    Ok(Value::from(out))
}
