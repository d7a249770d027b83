//! Shell patterns as Go's `filepath.Match` reads them on Unix: `*` and `?` stop at a slash, `[a-z]`, `[^a-z]`,
//! `\` takes the next character literally. The whole name has to match.

use thiserror::Error;

/// A pattern that Go refuses to compile (`filepath.ErrBadPattern`, same text).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("syntax error in pattern")]
pub struct BadPattern;

/// A compiled shell pattern.
#[derive(Debug, Clone)]
pub struct PathPattern {
    tokens: Vec<Token>,
    /// What a name has to begin and to end with: most names differ there.
    prefix: String,
    suffix: String,
}

#[derive(Debug, Clone)]
enum Token {
    Literal(char),
    AnyChar,
    AnySequence,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl PathPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// [`BadPattern`] for an unclosed or empty class, a stray `-` in one, or a trailing backslash.
    pub fn compile(pattern: &str) -> Result<Self, BadPattern> {
        let mut tokens = Vec::new();
        let mut rest = pattern.chars().peekable();
        while let Some(c) = rest.next() {
            tokens.push(match c {
                '*' => Token::AnySequence,
                '?' => Token::AnyChar,
                '[' => class(&mut rest)?,
                '\\' => Token::Literal(rest.next().ok_or(BadPattern)?),
                other => Token::Literal(other),
            });
        }
        let literal = |token: &Token| if let Token::Literal(c) = token { Some(*c) } else { None };
        let prefix = tokens.iter().map_while(literal).collect();
        let mut suffix: Vec<char> = tokens.iter().rev().map_while(literal).collect();
        suffix.reverse();
        Ok(Self { tokens, prefix, suffix: suffix.into_iter().collect() })
    }

    /// Whether the whole of `name` matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let Some(rest) = name.strip_prefix(self.prefix.as_str()) else { return false };
        if !name.ends_with(&self.suffix) {
            return false;
        }
        // Each character of the prefix is a token.
        let (mut token, mut at) = (self.prefix.chars().count(), self.prefix.len());
        if token == self.tokens.len() {
            return rest.is_empty();
        }
        let char_at = |at: usize| name.get(at..).and_then(|rest| rest.chars().next());
        // The last star seen, and how far it reaches: on a mismatch only that star can still give way, because
        // an earlier one that reached further would have to pass the same slash.
        let mut star: Option<(usize, usize)> = None;
        loop {
            let advanced = match (self.tokens.get(token), char_at(at)) {
                (None, None) => return true,
                (Some(Token::AnySequence), _) => {
                    star = Some((token, at));
                    token += 1;
                    continue;
                }
                (Some(wanted), Some(c)) if wanted.accepts(c) => Some(c.len_utf8()),
                _ => None,
            };
            if let Some(width) = advanced {
                token += 1;
                at += width;
                continue;
            }
            match star.and_then(|(starred, reach)| Some((starred, reach, char_at(reach)?))) {
                Some((starred, reach, c)) if c != '/' => {
                    star = Some((starred, reach + c.len_utf8()));
                    token = starred + 1;
                    at = reach + c.len_utf8();
                }
                _ => return false,
            }
        }
    }
}

impl Token {
    fn accepts(&self, c: char) -> bool {
        match self {
            Self::Literal(wanted) => *wanted == c,
            Self::AnyChar => c != '/',
            Self::Class { negated, ranges } => {
                ranges.iter().any(|&(low, high)| low <= c && c <= high) != *negated
            }
            Self::AnySequence => false,
        }
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn class(rest: &mut Chars<'_>) -> Result<Token, BadPattern> {
    let negated = rest.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    while ranges.is_empty() || rest.peek() != Some(&']') {
        let low = class_char(rest)?;
        let high = if rest.next_if_eq(&'-').is_some() { class_char(rest)? } else { low };
        ranges.push((low, high));
    }
    rest.next();
    Ok(Token::Class { negated, ranges })
}

/// One member of a class. A class may not end right after it: Go wants at least the closing bracket.
fn class_char(rest: &mut Chars<'_>) -> Result<char, BadPattern> {
    let c = match rest.next() {
        None | Some('-' | ']') => return Err(BadPattern),
        Some('\\') => rest.next().ok_or(BadPattern)?,
        Some(c) => c,
    };
    if rest.peek().is_none() { Err(BadPattern) } else { Ok(c) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(pattern: &str, name: &str) -> bool {
        PathPattern::compile(pattern).unwrap().matches(name)
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
    fn malformed_patterns_are_refused() {
        for pattern in ["[]a]", "[-]", "[x-]", "[-x]", "[", "[^", "[^bc", "a[", "a\\", "[a-b-c]", "[\\"] {
            assert_eq!(PathPattern::compile(pattern).unwrap_err(), BadPattern, "{pattern:?}");
        }
    }
}
