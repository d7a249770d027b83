//! Go's quoted strings and characters (`strconv.Quote` and its kin).

use crate::runes;

/// A double-quoted Go string literal, printable runes kept (`strconv.Quote`).
pub fn quote(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    quote_into(&mut out, bytes, '"', false);
    out
}

/// Appends a quoted literal; with `ascii` everything beyond ASCII is escaped.
pub(crate) fn quote_into(out: &mut String, bytes: &[u8], mark: char, ascii: bool) {
    out.push(mark);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (rune, width) = runes::decode(rest);
        if runes::is_invalid(rune, width) {
            if let Some(byte) = rest.first() {
                push_hex(out, 'x', u32::from(*byte), 2);
            }
        } else {
            escape_into(out, rune, mark, ascii);
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    out.push(mark);
}

/// Appends a single-quoted character literal.
pub(crate) fn quote_rune_into(out: &mut String, rune: char, ascii: bool) {
    out.push('\'');
    escape_into(out, rune, '\'', ascii);
    out.push('\'');
}

fn escape_into(out: &mut String, rune: char, mark: char, ascii: bool) {
    if rune == mark || rune == '\\' {
        out.push('\\');
        out.push(rune);
        return;
    }
    if (!ascii || rune.is_ascii()) && runes::is_print(rune) {
        out.push(rune);
        return;
    }
    match rune {
        '\x07' => out.push_str("\\a"),
        '\x08' => out.push_str("\\b"),
        '\x0C' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0B' => out.push_str("\\v"),
        '\0'..=' ' | '\x7F' => push_hex(out, 'x', rune as u32, 2),
        '\u{80}'..='\u{FFFF}' => push_hex(out, 'u', rune as u32, 4),
        _ => push_hex(out, 'U', rune as u32, 8),
    }
}

fn push_hex(out: &mut String, letter: char, code: u32, digits: u32) {
    out.push('\\');
    out.push(letter);
    for digit in (0..digits).rev() {
        out.push(char::from_digit((code >> (4 * digit)) & 0xF, 16).unwrap_or('0'));
    }
}

/// Whether a string can stand between backquotes unchanged (`strconv.CanBackquote`).
pub(crate) fn can_backquote(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| {
        text.chars().all(|rune| match rune {
            '\t' => true,
            '\0'..='\x1F' | '`' | '\x7F' | '\u{FEFF}' => false,
            _ => true,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_as_go_quotes_them() {
        for (input, wanted) in [
            (&b"plain"[..], r#""plain""#),
            (b"a\"b\\c", r#""a\"b\\c""#),
            (b"\x07\x08\x0c\n\r\t\x0b\x00\x1f\x7f", r#""\a\b\f\n\r\t\v\x00\x1f\x7f""#),
            ("héllo 日本 😀".as_bytes(), "\"héllo 日本 😀\""),
            (b"\xffx\xc3", r#""\xffx\xc3""#),
            ("\u{ad}\u{2028}\u{feff}\u{e0001}".as_bytes(), r#""\u00ad\u2028\ufeff\U000e0001""#),
            ("\u{fffd}".as_bytes(), "\"\u{fffd}\""),
        ] {
            assert_eq!(quote(input), wanted);
        }
    }

    #[test]
    fn ascii_quoting_escapes_all_else() {
        let mut out = String::new();
        quote_into(&mut out, "é😀'\"".as_bytes(), '"', true);
        assert_eq!(out, r#""\u00e9\U0001f600'\"""#);
    }

    #[test]
    fn backquotes_take_no_control_characters() {
        assert!(can_backquote("a\tb\"é".as_bytes()));
        assert!(!can_backquote(b"a\nb") && !can_backquote(b"`") && !can_backquote(b"\xff"));
    }
}
