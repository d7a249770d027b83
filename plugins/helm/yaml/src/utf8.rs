//! UTF-8 as Go decodes it: every byte that is part of no character counts for one U+FFFD.

use std::borrow::Cow;

/// The text of `bytes`, as encoding/json makes strings valid.
pub(crate) fn to_valid(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for _ in chunk.invalid() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::to_valid;

    #[test]
    fn every_invalid_byte_is_replaced_by_itself() {
        assert_eq!(to_valid(b"a\xE2\x82b"), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(to_valid(b"\xED\xA0\x80"), "\u{FFFD}\u{FFFD}\u{FFFD}");
        assert_eq!(to_valid("é".as_bytes()), "é");
    }
}
