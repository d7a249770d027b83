//! White space as Go's `bytes.TrimSpace` knows it.

/// The white space beyond ASCII, as UTF-8.
const WIDE: [&str; 19] = [
    "\u{85}", "\u{a0}", "\u{1680}", "\u{2000}", "\u{2001}", "\u{2002}", "\u{2003}", "\u{2004}", "\u{2005}",
    "\u{2006}", "\u{2007}", "\u{2008}", "\u{2009}", "\u{200a}", "\u{2028}", "\u{2029}", "\u{202f}",
    "\u{205f}", "\u{3000}",
];

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0b | 0x0c | b'\r' | b' ')
}

/// The text without white space around it.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    let mut text = text;
    loop {
        match text {
            [first, rest @ ..] if is_space(*first) => text = rest,
            [rest @ .., last] if is_space(*last) => text = rest,
            _ => {
                let wide = |space: &&str| {
                    text.strip_prefix(space.as_bytes()).or_else(|| text.strip_suffix(space.as_bytes()))
                };
                let Some(shorter) = WIDE.iter().find_map(wide) else { return text };
                text = shorter;
            }
        }
    }
}

/// The text without blanks and tabs at its end.
pub(crate) fn trim_end_of_line(line: &[u8]) -> &[u8] {
    let mut line = line;
    while let [rest @ .., b' ' | b'\t'] = line {
        line = rest;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_what_go_takes_for_it() {
        assert_eq!(trim(b" \t\r\n\x0b\x0ca b \n"), b"a b");
        assert_eq!(trim("\u{a0}\u{3000}x\u{85} ".as_bytes()), b"x");
        // The last byte alone is no space, nor is the zero-width space.
        assert_eq!(trim(b"\x85x\xa0"), b"\x85x\xa0");
        assert_eq!(trim("\u{200b}".as_bytes()), "\u{200b}".as_bytes());
        assert_eq!(trim(b""), b"");
    }

    #[test]
    fn only_blanks_and_tabs_end_a_line() {
        assert_eq!(trim_end_of_line(b"a \t \r"), b"a \t \r");
        assert_eq!(trim_end_of_line(b" a\r \t "), b" a\r");
    }
}
