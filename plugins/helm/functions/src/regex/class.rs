//! Character classes and escapes.

use regex::bytes::Regex;

use super::error::{Code, Error};
use super::syntax::push_code_point;

/// A character that means itself, in a class or outside.
pub(super) fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() { out.push(c) } else { push_code_point(out, c) }
}

/// `\d`, `\s`, `\w` and their opposites, as members of a class: those of ASCII.
pub(super) fn perl(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "0-9",
        'D' => r"\x00-\x2F\x3A-\x{10FFFF}",
        's' => r"\t\n\f\r\x20",
        'S' => r"\x00-\x08\x0B\x0E-\x1F\x21-\x{10FFFF}",
        'w' => "0-9A-Z_a-z",
        'W' => r"\x00-\x2F\x3A-\x40\x5B-\x5E\x60\x7B-\x{10FFFF}",
        _ => return None,
    })
}

/// `\pL`, `\p{Greek}`, `\P{^Lu}` at the start of a text: the crate's spelling, and what follows.
pub(super) fn unicode(source: &str) -> Result<(String, &str), Error> {
    let negated = source.starts_with("\\P");
    let after = source.get(2..).unwrap_or_default();
    let refuse = |part: &str| Error::new(Code::CharRange, part);
    let (name, length) = match after.chars().next() {
        None => return Err(refuse(source)),
        Some('{') => {
            let end = source.find('}').ok_or_else(|| refuse(source))?;
            (source.get(3..end).unwrap_or_default(), end + 1)
        }
        Some(c) => (after.get(..c.len_utf8()).unwrap_or_default(), 2 + c.len_utf8()),
    };
    let (whole, rest) = source.split_at_checked(length).unwrap_or((source, ""));
    let (negated, name) = match name.strip_prefix('^') {
        Some(name) => (!negated, name),
        None => (negated, name),
    };
    let letter = if negated { 'P' } else { 'p' };
    if let Some(set) = surrogates(name, negated) {
        return Ok((set.to_owned(), rest));
    }
    for property in properties(name) {
        let text = format!("\\{letter}{{{property}={name}}}");
        if Regex::new(&text).is_ok() {
            return Ok((text, rest));
        }
    }
    Err(refuse(whole))
}

/// The name without what does not count in it.
fn canonical(name: &str) -> String {
    let counts = |c: &char| !matches!(c, '_' | ' ' | '-');
    name.chars().filter(counts).map(|c| c.to_ascii_lowercase()).collect()
}

/// Characters that no text of ours has: the crate knows no name for them.
fn surrogates(name: &str, negated: bool) -> Option<&'static str> {
    let known = matches!(&*canonical(name), "cs" | "surrogate");
    known.then_some(if negated { r"[\x00-\x{10FFFF}]" } else { r"[^\x00-\x{10FFFF}]" })
}

/// The properties of the crate that Go has under such a name. The crate knows more than categories and scripts, lets
/// names begin with `is`, and takes the codes of scripts, which have four letters, as few names in full have.
fn properties(name: &str) -> &'static [&'static str] {
    const SHORT: [&str; 9] = ["ahom", "cham", "kawi", "lisu", "miao", "modi", "newa", "thai", "toto"];
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b' ' | b'-');
    let canonical = canonical(name);
    if canonical.is_empty() || canonical.starts_with("is") || !name.bytes().all(plain) {
        &[]
    } else if canonical.len() == 4 && !SHORT.contains(&&*canonical) {
        &["gc"]
    } else {
        &["gc", "sc"]
    }
}

/// `[:alpha:]`, `[:^alpha:]`.
fn posix(source: &str) -> Option<Result<(&str, &str), Error>> {
    let inside = source.strip_prefix("[:")?;
    let length = inside.find(":]")? + 4;
    let (class, rest) = source.split_at_checked(length)?;
    let name = inside.get(..length - 4)?;
    Some(match name.strip_prefix('^').unwrap_or(name) {
        "alnum" | "alpha" | "ascii" | "blank" | "cntrl" | "digit" | "graph" | "lower" | "print" | "punct"
        | "space" | "upper" | "word" | "xdigit" => Ok((class, rest)),
        _ => Err(Error::new(Code::CharRange, class)),
    })
}

/// A class in brackets at the start of a text: the crate's spelling, and what follows.
pub(super) fn bracketed(source: &str) -> Result<(String, &str), Error> {
    let mut rest = source.get(1..).unwrap_or_default();
    let mut out = String::from("[");
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        if let Some(found) = posix(rest) {
            let (class, after) = found?;
            out.push_str(class);
            rest = after;
            continue;
        }
        if rest.starts_with("\\p") || rest.starts_with("\\P") {
            let (class, after) = unicode(rest)?;
            out.push_str(&class);
            rest = after;
            continue;
        }
        let escaped = rest.strip_prefix('\\').and_then(|after| after.chars().next());
        if let Some(set) = escaped.and_then(perl) {
            out.push_str(set);
            rest = rest.get(2..).unwrap_or_default();
            continue;
        }
        let before = rest;
        let (low, after) = member(rest, source)?;
        rest = after;
        push_literal(&mut out, low);
        let is_range = rest.starts_with('-') && rest.len() >= 2 && !rest.starts_with("-]");
        if is_range {
            let (high, after) = member(rest.get(1..).unwrap_or_default(), source)?;
            rest = after;
            if high < low {
                let range = before.get(..before.len() - rest.len()).unwrap_or(before);
                return Err(Error::new(Code::CharRange, range));
            }
            out.push('-');
            push_literal(&mut out, high);
        }
    }
    out.push(']');
    Ok((out, rest.get(1..).unwrap_or_default()))
}

/// One character of a class.
fn member<'s>(source: &'s str, class: &str) -> Result<(char, &'s str), Error> {
    match source.chars().next() {
        None => Err(Error::new(Code::MissingBracket, class)),
        Some('\\') => escaped(source),
        Some(c) => Ok((c, source.get(c.len_utf8()..).unwrap_or_default())),
    }
}

/// An escape at the start of a text (`parseEscape`): the character, and what follows.
pub(super) fn escaped(source: &str) -> Result<(char, &str), Error> {
    let mut chars = source.chars();
    chars.next();
    let Some(c) = chars.next() else { return Err(Error::new(Code::TrailingBackslash, "")) };
    let after = chars.as_str();
    let refuse =
        |rest: &str| Error::new(Code::Escape, source.get(..source.len() - rest.len()).unwrap_or(source));
    let simple = match c {
        'a' => '\x07',
        'f' => '\x0C',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0B',
        'x' => return hexadecimal(after).map_err(refuse),
        '0'..='7' => return octal(c, after).ok_or_else(|| refuse(after)),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
        _ => return Err(refuse(after)),
    };
    Ok((simple, after))
}

/// Up to three digits. A single one that is not zero would be a reference, which there is none of.
fn octal(first: char, after: &str) -> Option<(char, &str)> {
    let digits = after.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    if first != '0' && digits == 0 {
        return None;
    }
    let (more, rest) = after.split_at_checked(digits)?;
    let code = u32::from_str_radix(&format!("{first}{more}"), 8).ok()?;
    Some((char::from_u32(code)?, rest))
}

/// `\x41`, `\x{1F600}`; what was not read yet when it is wrong.
fn hexadecimal(after: &str) -> Result<(char, &str), &str> {
    let mut chars = after.chars();
    let Some(first) = chars.next() else { return Err("") };
    if first != '{' {
        let Some(second) = chars.next() else { return Err("") };
        return match (first.to_digit(16), second.to_digit(16)) {
            (Some(high), Some(low)) => {
                Ok((char::from_u32(high * 16 + low).unwrap_or_default(), chars.as_str()))
            }
            _ => Err(chars.as_str()),
        };
    }
    let (mut code, mut digits) = (0_u32, 0);
    loop {
        match chars.next() {
            Some('}') if digits > 0 => break,
            Some(c) => match c.to_digit(16) {
                Some(digit) if code <= 0x10_FFFF => code = code * 16 + digit,
                _ => return Err(chars.as_str()),
            },
            None => return Err(""),
        }
        if code > 0x10_FFFF {
            return Err(chars.as_str());
        }
        digits += 1;
    }
    // Go lets surrogates pass, which no text contains.
    Ok((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), chars.as_str()))
}
