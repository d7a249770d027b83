//! GnuPG's keybox (`pubring.kbx`): keys between what GnuPG remembers of them.

/// A blob that holds an OpenPGP key.
const OPENPGP: u8 = 2;
/// Set in blobs that GnuPG does not count as part of the keyring (yet).
const EPHEMERAL: u16 = 2;
/// The length and kind that every blob has.
const SHORTEST: u32 = 5;

/// Whether a file is a keybox.
pub(crate) fn is_keybox(bytes: &[u8]) -> bool {
    matches!(bytes, [_, _, _, _, 1, _, _, _, b'K', b'B', b'X', b'f', ..])
}

/// The keys in a keybox, one after the other; an error says what is wrong with it.
pub(crate) fn keys(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        let (blob, after) = blob(rest, at)?;
        rest = after;
        if let [_, _, _, _, OPENPGP, ..] = blob {
            keys.extend_from_slice(key(blob, at)?);
        }
    }
    if keys.is_empty() {
        return Err("keybox contains no OpenPGP keys".to_owned());
    }
    Ok(keys)
}

/// Cuts a blob off.
fn blob(rest: &[u8], at: usize) -> Result<(&[u8], &[u8]), String> {
    let ([a, b, c, d, _], _) =
        rest.split_first_chunk().ok_or_else(|| format!("truncated blob header at offset {at}"))?;
    let length = u32::from_be_bytes([*a, *b, *c, *d]);
    if length < SHORTEST {
        return Err(format!("invalid blob length {length} at offset {at}"));
    }
    usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length)).ok_or_else(|| {
        let left = rest.len();
        format!("blob at offset {at} has length {length} exceeding the {left} remaining bytes")
    })
}

/// The key in a blob; nothing when it does not count.
fn key(blob: &[u8], at: usize) -> Result<&[u8], String> {
    let [_, _, _, _, _, _, f, g, a, b, c, d, h, i, j, k, ..] = blob else {
        return Err(format!("OpenPGP blob at offset {at} is too short"));
    };
    let position = u64::from(u32::from_be_bytes([*a, *b, *c, *d]));
    let length = u64::from(u32::from_be_bytes([*h, *i, *j, *k]));
    let range = usize::try_from(position).ok().zip(usize::try_from(position + length).ok());
    let key = range
        .and_then(|(from, to)| blob.get(from..to))
        .ok_or_else(|| format!("OpenPGP blob at offset {at} has an out-of-range keyblock"))?;
    let counts = u16::from_be_bytes([*f, *g]) & EPHEMERAL == 0;
    Ok(if counts { key } else { &[] })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] = b"\0\0\0\x0c\x01\x01\0\x02KBXf";

    fn with(blob: &[u8]) -> Vec<u8> {
        [HEADER, blob].concat()
    }

    #[test]
    fn keys_are_found_between_other_blobs() {
        let key = b"\0\0\0\x12\x02\x01\0\0\0\0\0\x10\0\0\0\x02ab";
        let ephemeral = b"\0\0\0\x12\x02\x01\0\x02\0\0\0\x10\0\0\0\x02cd";
        let certificate = b"\0\0\0\x06\x03x";
        let all = [with(certificate), key.to_vec(), ephemeral.to_vec(), key.to_vec()].concat();
        assert!(is_keybox(&all));
        assert_eq!(keys(&all).unwrap(), b"abab");
    }

    #[test]
    fn what_is_no_keybox_is_refused() {
        for (blob, text) in [
            (&b""[..], "keybox contains no OpenPGP keys"),
            (b"\0\0\0\x05", "truncated blob header at offset 12"),
            (b"\0\0\0\x04\x01", "invalid blob length 4 at offset 12"),
            (b"\0\0\0\x06\x01", "blob at offset 12 has length 6 exceeding the 5 remaining bytes"),
            (b"\0\0\0\x05\x02", "OpenPGP blob at offset 12 is too short"),
            (
                b"\0\0\0\x10\x02\x01\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
                "OpenPGP blob at offset 12 has an out-of-range keyblock",
            ),
        ] {
            assert_eq!(keys(&with(blob)).unwrap_err(), text);
        }
    }
}
