//! Shell patterns as Go's `filepath.Match` reads them on Unix: `*` and `?` stop at a slash, `[a-z]`, `[^a-z]`,
//! `\` takes the next character literally. The whole name has to match.
//!
//! Go reads a pattern only as far as the name matches, so a mistake further on shows with some names and not with
//! others.

use thiserror::Error;

/// A pattern that Go finds malformed (`filepath.ErrBadPattern`, same text).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("syntax error in pattern")]
pub struct BadPattern;

/// Whether the whole of a name matches.
///
/// # Errors
/// [`BadPattern`] for an unclosed or empty class, a stray `-` in one, or a trailing backslash, in what is read of the
/// pattern.
pub fn matches(pattern: &str, name: &str) -> Result<bool, BadPattern> {
    let (mut pattern, mut name) = (pattern.as_bytes(), name.as_bytes());
    while !pattern.is_empty() {
        let (star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(!name.contains(&b'/'));
        }
        // The last chunk has to reach the end of the name.
        let fits = |left: &[u8]| left.is_empty() || !rest.is_empty();
        let mut left = match_chunk(chunk, name)?.filter(|left| fits(left));
        let mut skipped = name;
        while star && left.is_none() {
            match skipped.split_first() {
                Some((first, after)) if *first != b'/' => skipped = after,
                _ => break,
            }
            left = match_chunk(chunk, skipped)?.filter(|left| fits(left));
        }
        match left {
            Some(left) => name = left,
            None => return Ok(false),
        }
    }
    Ok(name.is_empty())
}

/// The pattern up to its next star: whether stars stand before that, and what follows it.
fn next_chunk(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let pattern = pattern.get(stars..).unwrap_or_default();
    let (mut in_class, mut at) = (false, 0);
    while let Some(byte) = pattern.get(at) {
        match byte {
            b'\\' => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    let (chunk, rest) = pattern.split_at(at.min(pattern.len()));
    (stars > 0, chunk, rest)
}

/// What is left of the name behind a chunk without stars; `None` where it does not match. The chunk is read to its end in
/// any case.
fn match_chunk<'n>(mut chunk: &[u8], name: &'n [u8]) -> Result<Option<&'n [u8]>, BadPattern> {
    let mut left = Some(name);
    while let Some((first, rest)) = chunk.split_first() {
        let name = left.filter(|name| !name.is_empty());
        (chunk, left) = match first {
            b'[' => {
                let character = name.map(first_char);
                let (rest, within) = class(rest, character.map(|(c, _)| c))?;
                (rest, character.filter(|_| within).map(|(_, left)| left))
            }
            b'?' => {
                let name = name.filter(|name| name.first() != Some(&b'/'));
                (rest, name.map(|name| first_char(name).1))
            }
            b'\\' => {
                let (literal, rest) = rest.split_first().ok_or(BadPattern)?;
                (rest, name.and_then(|name| name.strip_prefix(&[*literal])))
            }
            literal => (rest, name.and_then(|name| name.strip_prefix(&[*literal]))),
        };
    }
    Ok(left)
}

/// Reads a class to its end: what follows it, and whether the character is one of it.
fn class(chunk: &[u8], character: Option<char>) -> Result<(&[u8], bool), BadPattern> {
    let (negated, mut chunk) = chunk.strip_prefix(b"^").map_or((false, chunk), |rest| (true, rest));
    let (mut within, mut ranges) = (false, 0);
    loop {
        if let Some(rest) = chunk.strip_prefix(b"]")
            && ranges > 0
        {
            return Ok((rest, within != negated));
        }
        let (low, rest) = class_char(chunk)?;
        let (high, rest) = match rest.strip_prefix(b"-") {
            Some(rest) => class_char(rest)?,
            None => (low, rest),
        };
        chunk = rest;
        within |= character.is_some_and(|character| low <= character && character <= high);
        ranges += 1;
    }
}

/// One member of a class. A class may not end right after it: Go wants at least the closing bracket.
fn class_char(chunk: &[u8]) -> Result<(char, &[u8]), BadPattern> {
    let chunk = match chunk.first() {
        None | Some(b'-' | b']') => return Err(BadPattern),
        Some(b'\\') => chunk.get(1..).unwrap_or_default(),
        Some(_) => chunk,
    };
    let (character, rest) = first_char(chunk);
    if rest.is_empty() { Err(BadPattern) } else { Ok((character, rest)) }
}

/// The first character of a text that has one. Texts are cut between characters only where they do not match any more.
fn first_char(text: &[u8]) -> (char, &[u8]) {
    // No more than a character is looked at: all of the rest would be, for each of them.
    let start = text.get(..text.len().min(char::MAX_LEN_UTF8)).unwrap_or_default();
    let valid = start.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    let character = valid.unwrap_or(char::REPLACEMENT_CHARACTER);
    let width = valid.map_or(1, char::len_utf8);
    (character, text.get(width..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(pattern: &str, name: &str) -> bool {
        matches(pattern, name).unwrap()
    }

    #[test]
    fn patterns_match_as_filepath_match_says() {
        for (pattern, name, want) in [
            ("abc", "abc", true),
            ("*", "abc", true),
            ("*c", "abc", true),
            ("a*", "a", true),
            ("a*", "abc", true),
            ("a*", "ab/c", false),
            ("a*/b", "abc/b", true),
            ("a*/b", "a/c/b", false),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", true),
            ("a*b*c*d*e*/f", "axbxcxdxexxx/f", true),
            ("a*b*c*d*e*/f", "axbxcxdxe/xxx/f", false),
            ("a*b?c*x", "abxbbxdbxebxczzx", true),
            ("a*b?c*x", "abxbbxdbxebxczzy", false),
            ("ab[c]", "abc", true),
            ("ab[b-d]", "abc", true),
            ("ab[e-g]", "abc", false),
            ("ab[^c]", "abc", false),
            ("ab[^e-g]", "abc", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "ab", false),
            ("a?b", "a☺b", true),
            ("a???b", "a☺b", false),
            ("[a-ζ]*", "α", true),
            ("a?b", "a/b", false),
            ("a*b", "a/b", false),
            ("[\\]a]", "]", true),
            ("[\\-x]", "-", true),
            ("[x\\-]", "z", false),
            ("*x", "xxx", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matched(pattern, name), want, "{pattern:?} on {name:?}");
        }
    }

    #[test]
    fn mistakes_are_found_as_far_as_the_name_matches() {
        for pattern in
            ["[]a]", "[-]", "[x-]", "[-x]", "[", "[^", "[^bc", "a[", "a\\", "[a-b-c]", "[\\", "a*["]
        {
            assert_eq!(matches(pattern, "a"), Err(BadPattern), "{pattern:?}");
        }
        assert_eq!(matches("b*[", "a"), Ok(false));
        assert_eq!(matches("ba[", "a"), Err(BadPattern), "up to the first star all is read");
        assert_eq!(matches("b*[", "ba"), Err(BadPattern));
    }
}
