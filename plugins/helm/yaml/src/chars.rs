//! Classes of bytes in YAML text, as go-yaml's `yamlprivateh.go` tells them apart.

/// Space or tab.
const BLANK: u8 = 1;
/// Line feed, carriage return or the NUL that stands for the end of the text.
const BREAK_OR_END: u8 = 1 << 1;
/// First byte of a character that may be a line break: NEL, LS or PS.
const WIDE_BREAK: u8 = 1 << 2;
/// `:`.
const COLON: u8 = 1 << 3;
/// `,`, `?`, `[`, `]`, `{`, `}`: what ends a plain scalar in a flow collection.
const FLOW: u8 = 1 << 4;
/// `'`.
const SINGLE_QUOTE: u8 = 1 << 5;
/// `"` and `\`.
const DOUBLE_QUOTE: u8 = 1 << 6;

/// Where a run of bytes ends; a set of byte classes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stops(u8);

impl Stops {
    /// The end of a line.
    pub(crate) const LINE: Stops = Stops(BREAK_OR_END | WIDE_BREAK);
    /// What may end a plain scalar outside of flow collections.
    pub(crate) const PLAIN: Stops = Stops(BLANK | BREAK_OR_END | WIDE_BREAK | COLON);
    /// What may end a plain scalar inside of a flow collection.
    pub(crate) const PLAIN_IN_FLOW: Stops = Stops(BLANK | BREAK_OR_END | WIDE_BREAK | COLON | FLOW);
    /// What is special between single quotes.
    pub(crate) const SINGLE_QUOTED: Stops = Stops(BLANK | BREAK_OR_END | WIDE_BREAK | SINGLE_QUOTE);
    /// What is special between double quotes.
    pub(crate) const DOUBLE_QUOTED: Stops = Stops(BLANK | BREAK_OR_END | WIDE_BREAK | DOUBLE_QUOTE);

    /// Whether a run ends at this byte.
    #[inline]
    pub(crate) fn at(self, byte: u8) -> bool {
        class(byte) & self.0 != 0
    }
}

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "counts to 255")]
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            classes[byte] = match byte as u8 {
                b' ' | b'\t' => BLANK,
                b'\n' | b'\r' | 0 => BREAK_OR_END,
                0xC2 | 0xE2 => WIDE_BREAK,
                b':' => COLON,
                b',' | b'?' | b'[' | b']' | b'{' | b'}' => FLOW,
                b'\'' => SINGLE_QUOTE,
                b'"' | b'\\' => DOUBLE_QUOTE,
                _ => 0,
            };
        }
        byte += 1;
    }
    classes
};

#[inline]
fn class(byte: u8) -> u8 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Letters, digits, `_` and `-`: what names of anchors, tags and directives are made of.
#[inline]
pub(crate) fn is_alpha(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Number of bytes of the character that starts with `byte`; 0 for a byte that starts none.
#[inline]
pub(crate) fn width(byte: u8) -> usize {
    match byte {
        0..=0x7F => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 0,
    }
}

/// Whether `byte` continues a character.
#[inline]
pub(crate) fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}
