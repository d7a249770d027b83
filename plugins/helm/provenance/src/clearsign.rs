//! Clear-signed messages (RFC 9580 §7).

use crate::{
    armor,
    text::{trim, trim_end_of_line},
};

const START: &[u8] = b"\n-----BEGIN PGP SIGNED MESSAGE-----";
const SIGNATURE: &[u8] = b"-----BEGIN PGP SIGNATURE-----";
const SIGNATURE_END: &[u8] = b"\n-----END PGP SIGNATURE-----";

/// The hash functions that a message may say it is signed with. It is not looked at which one is used.
const HASHES: [&[u8]; 9] =
    [b"MD5", b"SHA1", b"RIPEMD160", b"SHA224", b"SHA256", b"SHA384", b"SHA512", b"SHA3-256", b"SHA3-512"];

/// A message and its signature.
pub(crate) struct Message<'a> {
    /// What was said, with Unix line ends.
    pub(crate) plain: Vec<u8>,
    /// What was signed: the same with the line ends of mail.
    pub(crate) signed: Vec<u8>,
    pub(crate) signature: armor::Block<'a>,
}

/// Cuts a line off, without its end.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let Some(end) = memchr::memchr(b'\n', text) else { return (text, &[]) };
    let (line, rest) = text.split_at(end);
    (line.strip_suffix(b"\r").unwrap_or(line), rest.get(1..).unwrap_or_default())
}

/// The first message in a text; none when it is not well made.
pub(crate) fn decode(text: &[u8]) -> Option<Message<'_>> {
    let after = match text.strip_prefix(START.get(1..)?) {
        Some(after) => after,
        None => text.get(memchr::memmem::find(text, START)? + START.len()..)?,
    };
    let (suffix, after) = line(after);
    if !suffix.is_empty() {
        return None;
    }
    let (plain, signed, after) = content(headers(after)?)?;
    let end = memchr::memmem::find(after, SIGNATURE_END)? + SIGNATURE_END.len();
    let ends = after.get(end..)?.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let signature = armor::decode(after.get(..end + ends)?)?;
    Some(Message { plain, signed, signature })
}

/// Reads over the headers, of which only `Hash` is allowed.
fn headers(text: &[u8]) -> Option<&[u8]> {
    let mut text = text;
    loop {
        if text.is_empty() {
            return None;
        }
        let (header, rest) = line(text);
        text = rest;
        if trim(header).is_empty() {
            return Some(text);
        }
        if !header.iter().all(|byte| matches!(byte, 0x20..=0x7e)) {
            return None;
        }
        let colon = memchr::memchr(b':', header)?;
        let (name, value) = (header.get(..colon)?, header.get(colon + 1..)?);
        let known = |hash: &[u8]| HASHES.contains(&trim(hash).to_ascii_uppercase().as_slice());
        if trim(name) != b"Hash" || !value.split(|byte| *byte == b',').all(known) {
            return None;
        }
    }
}

/// Reads the lines up to the signature: what they say, what of them is signed, and the signature.
fn content(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>, &[u8])> {
    let (mut plain, mut signed) = (Vec::new(), Vec::new());
    let mut rest = text;
    loop {
        let (text, after) = line(rest);
        if text.is_empty() && after.is_empty() {
            return None;
        }
        if text == SIGNATURE {
            break;
        }
        rest = after;
        let text = trim_end_of_line(text.strip_prefix(b"- ").unwrap_or(text));
        // The last line end is not signed, so it is written when another line follows.
        if !plain.is_empty() {
            signed.extend_from_slice(b"\r\n");
        }
        signed.extend_from_slice(text);
        plain.extend_from_slice(text);
        plain.push(b'\n');
    }
    // Without a single line there is nothing that could be signed; Go crashes here.
    plain.pop()?;
    Some((plain, signed, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNATURE_BLOCK: &str = "-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----\n";

    fn message(head: &str, body: &str) -> String {
        format!("{head}-----BEGIN PGP SIGNED MESSAGE-----\n{body}{SIGNATURE_BLOCK}")
    }

    fn read(text: &str) -> Option<(String, String)> {
        let message = decode(text.as_bytes())?;
        Some((String::from_utf8(message.plain).unwrap(), String::from_utf8(message.signed).unwrap()))
    }

    #[test]
    fn lines_lose_their_ends_and_dashes() {
        let (plain, signed) =
            read(&message("", "Hash: SHA512\n\na \t\r\n- -dash\n- \n\n-x\nlast\r\n")).unwrap();
        assert_eq!(plain, "a\n-dash\n\n\n-x\nlast");
        assert_eq!(signed, "a\r\n-dash\r\n\r\n\r\n-x\r\nlast");
    }

    #[test]
    fn a_message_may_follow_other_text() {
        assert!(read(&message("before\n", "\nx\n")).is_some());
        assert!(read(&message("before ", "\nx\n")).is_none());
    }

    #[test]
    fn headers_are_hashes_and_nothing_else() {
        for good in
            ["", "Hash: sha256\n", "Hash: SHA1, MD5\n", " Hash :SHA512\n", "Hash: SHA256\nHash: SHA512\n"]
        {
            assert!(read(&message("", &format!("{good}\nx\n"))).is_some(), "{good:?}");
        }
        for bad in
            ["Hash: SHA7\n", "hash: SHA256\n", "Version: 1\n", "x\n", "Hash:\tSHA256\n", "Hash: SHA256,\n"]
        {
            assert!(read(&message("", &format!("{bad}\nx\n"))).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_message_that_is_cut_is_none() {
        let whole = message("", "Hash: SHA512\n\na\nb\n");
        for end in 0..whole.len() - 1 {
            assert!(read(&whole[..end]).is_none(), "{end}");
        }
        assert!(read(&whole[..whole.len() - 1]).is_some());
    }

    #[test]
    fn a_message_without_content_is_none() {
        assert!(read(&message("", "\n")).is_none());
        assert!(read(&message("", "")).is_none());
        assert_eq!(read(&message("", "\n\n")), Some((String::new(), String::new())));
    }
}
