//! Go's view of characters: bytes decoded one rune at a time, categories and simple case mappings.

use std::cell::RefCell;

use regex::Regex;

/// `utf8.DecodeRune`: a byte that is no UTF-8 is U+FFFD of width 1; no bytes are U+FFFD of width 0.
pub(crate) fn decode(bytes: &[u8]) -> (char, usize) {
    let Some(&first) = bytes.first() else { return (char::REPLACEMENT_CHARACTER, 0) };
    let width = match first {
        0..=0x7F => return (char::from(first), 1),
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return (char::REPLACEMENT_CHARACTER, 1),
    };
    let text = bytes.get(..width).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.and_then(|text| text.chars().next()).map_or((char::REPLACEMENT_CHARACTER, 1), |rune| (rune, width))
}

/// The runes of a text with the bytes each stands for.
pub(crate) fn runes(bytes: &[u8]) -> impl Iterator<Item = (char, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (rune, width) = decode(rest);
        let (taken, after) = rest.split_at_checked(width)?;
        rest = after;
        if width == 0 { None } else { Some((rune, taken)) }
    })
}

/// `[]rune(text)`.
pub(crate) fn to_runes(bytes: &[u8]) -> Vec<char> {
    runes(bytes).map(|(rune, _)| rune).collect()
}

/// `strings.Map`: bytes that are no UTF-8 become U+FFFD.
pub(crate) fn map(bytes: &[u8], mut change: impl FnMut(char) -> char) -> String {
    let mut out = String::with_capacity(bytes.len());
    out.extend(runes(bytes).map(|(rune, _)| change(rune)));
    out
}

/// `unicode.IsSpace`.
pub(crate) fn is_space(rune: char) -> bool {
    rune.is_whitespace()
}

/// A category of Unicode, as Go's tables have it.
#[derive(Clone, Copy)]
enum Category {
    Letter,
    Upper,
    Lower,
    Title,
    Punctuation,
}

/// Whether a rune outside of ASCII is of a category.
fn is_of(rune: char, category: Category) -> bool {
    const PATTERNS: [&str; 5] = [r"\A\p{L}\z", r"\A\p{Lu}\z", r"\A\p{Ll}\z", r"\A\p{Lt}\z", r"\A\p{P}\z"];
    thread_local! {
        static COMPILED: RefCell<[Option<Regex>; 5]> = const { RefCell::new([const { None }; 5]) };
    }
    let index = category as usize;
    COMPILED.with_borrow_mut(|compiled| {
        let (Some(slot), Some(pattern)) = (compiled.get_mut(index), PATTERNS.get(index)) else {
            return false;
        };
        if slot.is_none() {
            *slot = Regex::new(pattern).ok();
        }
        slot.as_ref().is_some_and(|regex| regex.is_match(rune.encode_utf8(&mut [0; 4])))
    })
}

/// `unicode.IsLetter`.
pub(crate) fn is_letter(rune: char) -> bool {
    if rune.is_ascii() { rune.is_ascii_alphabetic() } else { is_of(rune, Category::Letter) }
}

/// `unicode.IsUpper`.
pub(crate) fn is_upper(rune: char) -> bool {
    if rune.is_ascii() { rune.is_ascii_uppercase() } else { is_of(rune, Category::Upper) }
}

/// `unicode.IsLower`.
pub(crate) fn is_lower(rune: char) -> bool {
    if rune.is_ascii() { rune.is_ascii_lowercase() } else { is_of(rune, Category::Lower) }
}

/// `unicode.IsTitle`.
pub(crate) fn is_title(rune: char) -> bool {
    !rune.is_ascii() && is_of(rune, Category::Title)
}

/// `unicode.IsPunct`.
pub(crate) fn is_punctuation(rune: char) -> bool {
    if rune.is_ascii() {
        rune.is_ascii_punctuation() && !matches!(rune, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~')
    } else {
        is_of(rune, Category::Punctuation)
    }
}

/// A mapping to one character. Characters that the full mapping turns into several have a simple one only among the
/// Greek letters with iota.
fn simple(rune: char, full: impl Iterator<Item = char>) -> Option<char> {
    let mut full = full.fuse();
    match (full.next(), full.next()) {
        (Some(one), None) => Some(one),
        _ => {
            let title = match rune {
                '\u{1F80}'..='\u{1F87}' | '\u{1F90}'..='\u{1F97}' | '\u{1FA0}'..='\u{1FA7}' => {
                    rune as u32 + 8
                }
                '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => rune as u32 + 9,
                _ => return None,
            };
            char::from_u32(title)
        }
    }
}

/// `unicode.ToUpper`.
pub(crate) fn to_upper(rune: char) -> char {
    simple(rune, rune.to_uppercase()).unwrap_or(rune)
}

/// `unicode.ToLower`.
pub(crate) fn to_lower(rune: char) -> char {
    match rune {
        'İ' => 'i',
        rune => simple(rune, rune.to_lowercase()).unwrap_or(rune),
    }
}

/// `unicode.ToTitle`.
pub(crate) fn to_title(rune: char) -> char {
    match rune {
        'Ǆ'..='ǆ' => 'ǅ',
        'Ǉ'..='ǉ' => 'ǈ',
        'Ǌ'..='ǌ' => 'ǋ',
        'Ǳ'..='ǳ' => 'ǲ',
        '\u{10D0}'..='\u{10FF}' => rune,
        rune => to_upper(rune),
    }
}
