//! Base64 and base32 with padding, refused where and as Go's packages refuse them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Why a text is none (`CorruptInputError`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Corrupt {
    /// `encoding/base64`.
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    /// `encoding/base32`.
    #[error("illegal base32 data at input byte {0}")]
    Base32(usize),
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// `base64.StdEncoding.DecodeString`: line ends are skipped, bits that are left over are ignored.
pub(crate) fn decode_base64(source: &[u8]) -> Result<Vec<u8>, Corrupt> {
    let mut symbols = Vec::with_capacity(source.len());
    let mut input = source.iter().copied().enumerate().filter(|(_, byte)| !is_newline(*byte));
    while let Some((at, byte)) = input.next() {
        if is_base64(byte) {
            symbols.push(byte);
            continue;
        }
        let place = symbols.len() % 4;
        if byte != b'=' || place < 2 {
            return Err(Corrupt::Base64(at));
        }
        if place == 2 {
            match input.next() {
                None => return Err(Corrupt::Base64(source.len())),
                Some((_, b'=')) => {}
                Some((next, _)) => return Err(Corrupt::Base64(next - 1)),
            }
        }
        if let Some((next, _)) = input.next() {
            return Err(Corrupt::Base64(next));
        }
        return Ok(decode_symbols(symbols));
    }
    match symbols.len() % 4 {
        0 => Ok(decode_symbols(symbols)),
        missing => Err(Corrupt::Base64(source.len() - missing)),
    }
}

fn decode_symbols(mut symbols: Vec<u8>) -> Vec<u8> {
    // The crate refuses bits that are left over; Go drops them.
    let unused = match symbols.len() % 4 {
        2 => 0x0F,
        3 => 0x03,
        _ => 0,
    };
    if let Some(last) = symbols.last_mut()
        && unused != 0
    {
        let value = BASE64.iter().position(|symbol| symbol == last).unwrap_or(0) & !unused;
        *last = BASE64.get(value).copied().unwrap_or(b'A');
    }
    STANDARD_NO_PAD.decode(&symbols).unwrap_or_default()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// `base32.StdEncoding.EncodeToString`.
pub(crate) fn encode_base32(source: &[u8]) -> String {
    let mut out = String::with_capacity(source.len().div_ceil(5) * 8);
    for chunk in source.chunks(5) {
        let bits =
            chunk.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte)) << (8 * (5 - chunk.len()));
        let symbols = (chunk.len() * 8).div_ceil(5);
        for place in 0..8 {
            let index = usize::try_from(bits >> (35 - 5 * place) & 31).unwrap_or(0);
            out.push(if place < symbols { BASE32.get(index).map_or('=', |b| char::from(*b)) } else { '=' });
        }
    }
    out
}

/// `base32.StdEncoding.DecodeString`: line ends are skipped, and not counted.
pub(crate) fn decode_base32(source: &[u8]) -> Result<Vec<u8>, Corrupt> {
    let source: Vec<u8> = source.iter().copied().filter(|byte| !is_newline(*byte)).collect();
    let mut out = Vec::with_capacity(source.len() / 8 * 5);
    let (mut bits, mut count) = (0_u64, 0);
    for (at, byte) in source.iter().copied().enumerate() {
        let left = source.len() - at - 1;
        if byte == b'=' && count >= 2 && left < 8 {
            check_padding(&source, at, count)?;
            break;
        }
        let value = BASE32.iter().position(|symbol| *symbol == byte).ok_or(Corrupt::Base32(at))?;
        bits = bits << 5 | u64::try_from(value).unwrap_or(0);
        count += 1;
        if count == 8 {
            out.extend(bits.to_be_bytes().into_iter().skip(3));
            (bits, count) = (0, 0);
        } else if left == 0 {
            return Err(Corrupt::Base32(source.len() - count));
        }
    }
    let bytes = count * 5 / 8;
    out.extend((bits << (5 * (8 - count))).to_be_bytes().into_iter().skip(3).take(bytes));
    Ok(out)
}

/// What follows the first `=` of a group of `count` symbols.
fn check_padding(source: &[u8], at: usize, count: usize) -> Result<(), Corrupt> {
    let rest = source.get(at + 1..).unwrap_or_default();
    if rest.len() + count < 7 {
        return Err(Corrupt::Base32(source.len()));
    }
    if let Some(wrong) = rest.iter().take(7 - count).position(|byte| *byte != b'=') {
        return Err(Corrupt::Base32(at + wrong));
    }
    if matches!(count, 1 | 3 | 6) { Err(Corrupt::Base32(at)) } else { Ok(()) }
}
