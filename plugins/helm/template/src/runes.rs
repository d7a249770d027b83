//! Go's view of text: bytes that are decoded to runes, and what Go calls a letter or printable.

use crate::unicode_tables::{ALPHANUMERIC, PRINTABLE};

/// What Go's `utf8.DecodeRune` gives: a rune and how many bytes it took. Bytes that are no UTF-8
/// give U+FFFD and length 1; no bytes give U+FFFD and length 0.
pub(crate) fn decode(bytes: &[u8]) -> (char, usize) {
    let Some(&first) = bytes.first() else { return (char::REPLACEMENT_CHARACTER, 0) };
    if first < 0x80 {
        return (char::from(first), 1);
    }
    let width = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return (char::REPLACEMENT_CHARACTER, 1),
    };
    let text = bytes.get(..width).and_then(|bytes| std::str::from_utf8(bytes).ok());
    match text.and_then(|text| text.chars().next()) {
        Some(rune) => (rune, width),
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

/// Whether a rune decoded with that width stands for an invalid byte.
pub(crate) fn is_invalid(rune: char, width: usize) -> bool {
    rune == char::REPLACEMENT_CHARACTER && width <= 1
}

/// Number of runes, each invalid byte counting as one (`utf8.RuneCount`).
pub(crate) fn count(bytes: &[u8]) -> usize {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.chars().count();
    }
    let (mut rest, mut runes) = (bytes, 0);
    while !rest.is_empty() {
        let (_, width) = decode(rest);
        rest = rest.get(width..).unwrap_or_default();
        runes += 1;
    }
    runes
}

/// `strconv.IsPrint`.
pub(crate) fn is_print(rune: char) -> bool {
    match rune as u32 {
        0x20..=0x7E => true,
        0..=0xA0 | 0xAD => false,
        0xA1..=0xFF => true,
        other => in_ranges(&PRINTABLE, other),
    }
}

/// A letter, a decimal digit or the underscore: what names in templates are made of.
pub(crate) fn is_alphanumeric(rune: char) -> bool {
    match rune {
        '_' | 'a'..='z' | 'A'..='Z' | '0'..='9' => true,
        '\0'..='\x7F' => false,
        other => in_ranges(&ALPHANUMERIC, other as u32),
    }
}

/// Whether a code point lies inside a run of a boundary list.
fn in_ranges(boundaries: &[u32], code_point: u32) -> bool {
    boundaries.partition_point(|&boundary| boundary <= code_point) % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_bytes_decode_one_at_a_time() {
        assert_eq!(decode(b"\xff\xfe"), ('\u{FFFD}', 1));
        assert_eq!(decode("é".as_bytes()), ('é', 2));
        assert_eq!(decode(b"\xc3"), ('\u{FFFD}', 1));
        assert_eq!(decode(b"\xed\xa0\x80"), ('\u{FFFD}', 1));
        assert_eq!(decode(b""), ('\u{FFFD}', 0));
        assert_eq!(count(b"a\xff\xc3\xa9"), 3);
    }

    #[test]
    fn printable_follows_go_and_not_rust() {
        assert!(is_print('é') && is_print('日') && is_print('😀') && is_print('\u{FFFD}'));
        assert!(!is_print('\u{AD}') && !is_print('\u{2028}') && !is_print('\u{A0}') && !is_print('\u{E000}'));
    }

    #[test]
    fn names_are_letters_and_digits() {
        assert!(
            is_alphanumeric('é') && is_alphanumeric('日') && is_alphanumeric('٣') && is_alphanumeric('_')
        );
        assert!(!is_alphanumeric('²') && !is_alphanumeric('-') && !is_alphanumeric('\u{0301}'));
    }
}
