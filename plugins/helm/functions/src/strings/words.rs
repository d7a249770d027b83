//! Words of identifiers, as xstrings' convert.go parts them.

use crate::runes::{decode, is_letter, is_punctuation, is_space, is_upper, runes, to_lower, to_upper};

fn is_connector(rune: char) -> bool {
    rune == '-' || rune == '_' || is_space(rune)
}

/// A letter of a script that has words: not one of the ideographs.
fn is_alphabet(rune: char) -> bool {
    is_letter(rune)
        && !matches!(rune, '\u{4E00}'..='\u{9FCC}' | '\u{3400}'..='\u{4D85}' | '\u{20000}'..='\u{2B81D}')
}

/// `ToPascalCase`: connectors part words, leading and doubled ones stay; a run of capitals at the start of a word becomes
/// lower case but for the first.
pub(super) fn pascal(source: &[u8]) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = runes(source).map(|(rune, _)| rune);
    let mut current = loop {
        match rest.next() {
            Some(rune) if is_connector(rune) => out.push(rune),
            Some(rune) => break rune,
            // The last of nothing but connectors is written once more.
            None => {
                out.extend(runes(source).map(|(rune, _)| rune).last());
                return out;
            }
        }
    };
    let mut capitals = is_upper(current);
    current = to_upper(current);
    for rune in rest {
        let previous = std::mem::replace(&mut current, rune);
        match (is_connector(rune), is_connector(previous)) {
            (true, true) => {
                out.push(previous);
                continue;
            }
            (_, true) => {
                capitals = is_upper(rune);
                current = to_upper(rune);
                continue;
            }
            _ => {}
        }
        if capitals {
            if is_upper(rune) {
                current = to_lower(rune);
            } else {
                capitals = false;
            }
        }
        out.push(previous);
    }
    out.push(current);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Invalid,
    Number,
    Capitalised,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

/// A rune that is none: what Go's `RuneError` is compared with.
const ERROR: char = char::REPLACEMENT_CHARACTER;

/// The next rune that is valid and the bytes up to its end; `previous` when there is none.
fn next_valid(source: &[u8], previous: char) -> (char, usize) {
    let mut size = 0;
    while let (rune, width @ 1..) = decode(source.get(size..).unwrap_or_default()) {
        size += width;
        if rune != ERROR {
            return (rune, size);
        }
    }
    (previous, size)
}

/// How far runes of a kind go on from `offset`; and the rune that ends them.
fn extend(source: &[u8], offset: usize, last: char, belongs: impl Fn(char) -> bool) -> (usize, usize, char) {
    let (mut offset, mut last, mut last_size) = (offset, last, 0);
    while offset < source.len() {
        let (rune, size) = next_valid(source.get(offset..).unwrap_or_default(), last);
        last = rune;
        if size == 0 || !belongs(rune) {
            break;
        }
        last_size = size;
        offset += size;
    }
    (offset, last_size, last)
}

/// `nextWord`: the kind and the length of the first word.
fn next_word(source: &[u8]) -> (Kind, usize) {
    if source.is_empty() {
        return (Kind::Invalid, 0);
    }
    let (first, size) = next_valid(source, ERROR);
    let lower = |rune| is_alphabet(rune) && !is_upper(rune);
    match first {
        ERROR => (Kind::Invalid, size),
        _ if is_connector(first) => (Kind::Connector, extend(source, size, first, is_connector).0),
        _ if is_punctuation(first) => (Kind::Punctuation, extend(source, size, first, is_punctuation).0),
        _ if is_upper(first) => (Kind::Capitalised, capitalised(source, size, first)),
        _ if is_alphabet(first) => (Kind::Alphabet, extend(source, size, first, lower).0),
        _ if first.is_numeric() => (Kind::Number, extend(source, size, first, char::is_numeric).0),
        _ => {
            let other =
                |rune| !(is_connector(rune) || is_alphabet(rune) || is_numeric(rune) || is_punctuation(rune));
            (Kind::Other, extend(source, size, first, other).0)
        }
    }
}

fn is_numeric(rune: char) -> bool {
    rune.is_numeric()
}

/// A word that begins with a capital: one followed by small letters, or a run of them. The last of a run belongs to the
/// next word when a small letter follows.
fn capitalised(source: &[u8], size: usize, first: char) -> usize {
    if size >= source.len() {
        return size;
    }
    let (second, width) = next_valid(source.get(size..).unwrap_or_default(), first);
    if is_upper(second) {
        let (end, last_size, last) = extend(source, size + width, second, is_upper);
        let last_size = if last_size == 0 { width } else { last_size };
        return if end < source.len() && is_alphabet(last) { end - last_size } else { end };
    }
    if is_alphabet(second) {
        return extend(source, size + width, second, |rune| is_alphabet(rune) && !is_upper(rune)).0;
    }
    size
}

/// Goes through the words of a text and writes them.
struct Writer<'s> {
    rest: &'s [u8],
    kind: Kind,
    word: &'s [u8],
    connector: char,
    out: Vec<u8>,
}

/// `ToSnakeCase` and `ToKebabCase`.
pub(super) fn delimited(source: &[u8], connector: char) -> Vec<u8> {
    let out = Vec::with_capacity(source.len() + 8);
    let mut writer = Writer { rest: source, kind: Kind::Invalid, word: &[], connector, out };
    writer.advance();
    while !writer.rest.is_empty() {
        writer.step();
    }
    writer.write();
    writer.out
}

impl<'s> Writer<'s> {
    fn advance(&mut self) {
        let (kind, length) = next_word(self.rest);
        let (word, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, &[]));
        (self.kind, self.word, self.rest) = (kind, word, rest);
    }

    /// `toLower` of the current word.
    fn write(&mut self) {
        self.write_word(self.kind, self.word);
    }

    fn write_word(&mut self, kind: Kind, word: &'s [u8]) {
        if !matches!(kind, Kind::Capitalised | Kind::Connector) {
            self.out.extend_from_slice(word);
            return;
        }
        for (rune, _) in runes(word) {
            let written = match rune {
                rune if is_connector(rune) => self.connector,
                rune if is_upper(rune) => to_lower(rune),
                rune => rune,
            };
            self.push(written);
        }
    }

    fn push(&mut self, rune: char) {
        self.out.extend_from_slice(rune.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn push_connector_unless(&mut self, kinds: &[Kind]) {
        if !kinds.contains(&self.kind) {
            self.push(self.connector);
        }
    }

    /// Letters and numbers that go on without a boundary.
    fn write_joined(&mut self) {
        while matches!(self.kind, Kind::Alphabet | Kind::Number) {
            self.write();
            self.advance();
        }
        self.push_connector_unless(&[Kind::Invalid, Kind::Punctuation, Kind::Connector]);
    }

    fn step(&mut self) {
        if self.kind != Kind::Connector {
            self.write();
        }
        let (previous, last) = (self.kind, self.word);
        self.advance();
        match previous {
            Kind::Number => self.write_joined(),
            Kind::Connector => self.write_word(previous, last),
            Kind::Punctuation => {}
            _ if self.kind != Kind::Number => {
                self.push_connector_unless(&[Kind::Connector, Kind::Punctuation]);
            }
            _ => self.step_number(),
        }
    }

    /// A number after a word belongs to it, unless small letters follow the number.
    fn step_number(&mut self) {
        if self.rest.is_empty() {
            return;
        }
        let number = self.word;
        self.advance();
        if self.kind != Kind::Alphabet {
            self.write_word(Kind::Number, number);
            self.push_connector_unless(&[Kind::Connector, Kind::Punctuation]);
            return;
        }
        self.push(self.connector);
        self.write_word(Kind::Number, number);
        self.write_joined();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_joined_as_xstrings_does() {
        for (source, snake) in [
            ("FirstName", "first_name"),
            ("HTTPServer", "http_server"),
            ("NoHTTPS", "no_https"),
            ("Bld4Floor3rd", "bld4_floor_3rd"),
            ("HTTP2xx", "http_2xx"),
            ("a b--C", "a_b__c"),
            ("__x", "__x"),
        ] {
            assert_eq!(delimited(source.as_bytes(), '_'), snake.as_bytes(), "{source}");
        }
        assert_eq!(pascal(b"http_server"), "HttpServer");
        assert_eq!(pascal(b"_foo-bar"), "_FooBar");
        assert_eq!(pascal(b"GOLANG_IS__GREAT"), "GolangIs_Great");
    }
}
