//! The patterns of `.Files.Glob`: github.com/gobwas/glob v0.2.3 with `/` as separator.
//!
//! `*` stops at a slash and `**` does not, `?` is one character but a slash, `[abc]`, `[!abc]`, `[a-z]`,
//! `{one,two}` with patterns inside, `\` takes the next character literally. A pattern that does not compile
//! matches everything, because Helm then falls back to `**`.

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Glob {
    terms: Vec<Term>,
}

#[derive(Debug)]
enum Term {
    Text(Vec<char>),
    Any,
    Super,
    Single,
    List { chars: Vec<char>, negated: bool },
    Range { low: char, high: char, negated: bool },
    AnyOf(Vec<Vec<Term>>),
}

impl Glob {
    /// Reads a pattern; a malformed one becomes `**`.
    pub(crate) fn compile_or_everything(pattern: &str) -> Self {
        let mut reader = Reader { chars: pattern.chars().collect(), at: 0 };
        Self { terms: reader.terms(0).unwrap_or_else(|| vec![Term::Super]) }
    }

    /// Whether the whole of `name` matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let refs: Vec<&Term> = self.terms.iter().collect();
        matches(&refs, &name)
    }
}

/// Backtracking over the terms left; patterns in charts have a handful of terms.
fn matches(terms: &[&Term], name: &[char]) -> bool {
    let Some((first, rest)) = terms.split_first() else {
        return name.is_empty();
    };
    let tail = name.split_first();
    match first {
        Term::Text(text) => name.strip_prefix(text.as_slice()).is_some_and(|name| matches(rest, name)),
        Term::Single => tail.is_some_and(|(c, name)| *c != '/' && matches(rest, name)),
        Term::List { chars, negated } => {
            tail.is_some_and(|(c, name)| chars.contains(c) != *negated && matches(rest, name))
        }
        Term::Range { low, high, negated } => {
            tail.is_some_and(|(c, name)| (low..=high).contains(&c) != *negated && matches(rest, name))
        }
        Term::Any => matches_after_any(rest, name, |c| c != '/'),
        Term::Super => matches_after_any(rest, name, |_| true),
        Term::AnyOf(alternatives) => alternatives.iter().any(|alternative| {
            let joined: Vec<&Term> = alternative.iter().chain(rest.iter().copied()).collect();
            matches(&joined, name)
        }),
    }
}

fn matches_after_any(rest: &[&Term], name: &[char], passes: impl Fn(char) -> bool) -> bool {
    let mut name = name;
    loop {
        if matches(rest, name) {
            return true;
        }
        match name.split_first() {
            Some((&c, tail)) if passes(c) => name = tail,
            _ => return false,
        }
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    /// Terms up to the end, or, inside braces (`depth > 0`), up to a comma or closing brace that is left unread.
    /// `None` when the pattern is malformed.
    fn terms(&mut self, depth: usize) -> Option<Vec<Term>> {
        let mut terms = Vec::new();
        while let Some(c) = self.peek() {
            if depth > 0 && matches!(c, ',' | '}') {
                break;
            }
            self.at += 1;
            match c {
                '?' => terms.push(Term::Single),
                '*' if self.peek() == Some('*') => {
                    self.at += 1;
                    terms.push(Term::Super);
                }
                '*' => terms.push(Term::Any),
                '[' => terms.push(self.range()?),
                '{' => terms.push(self.alternatives(depth + 1)?),
                _ => {
                    self.at -= 1;
                    let breakers = if depth > 0 { "?*[{}," } else { "?*[{" };
                    let text = self.text(breakers);
                    if !text.is_empty() {
                        terms.push(Term::Text(text));
                    }
                }
            }
        }
        Some(terms)
    }

    /// After `{`. An unclosed brace ends with the pattern, as in the original.
    fn alternatives(&mut self, depth: usize) -> Option<Term> {
        let mut alternatives = vec![self.terms(depth)?];
        while self.next() == Some(',') {
            alternatives.push(self.terms(depth)?);
        }
        Some(Term::AnyOf(alternatives))
    }

    /// After `[`: `!`, then either one `low-high` or a list of characters in which `-` is literal.
    fn range(&mut self) -> Option<Term> {
        let negated = self.peek() == Some('!');
        self.at += usize::from(negated);
        if self.chars.get(self.at + 1) == Some(&'-') {
            let (low, _, high) = (self.next()?, self.next()?, self.next()?);
            return (self.next()? == ']' && low <= high).then_some(Term::Range { low, high, negated });
        }
        let chars = self.text("]");
        (self.next()? == ']' && !chars.is_empty()).then_some(Term::List { chars, negated })
    }

    /// Characters up to an unescaped one of `breakers`; a trailing backslash is dropped.
    fn text(&mut self, breakers: &str) -> Vec<char> {
        let mut text = Vec::new();
        while let Some(c) = self.peek() {
            if c == '\\' {
                self.at += 1;
                text.extend(self.next());
            } else if breakers.contains(c) {
                break;
            } else {
                self.at += 1;
                text.push(c);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_gobwas_glob_says() {
        for (pattern, name, want) in [
            ("abc", "abc", true),
            ("a*c", "abc", true),
            ("a*c", "a/c", false),
            ("a**c", "a/b/c", true),
            ("files/*", "files/a.yaml", true),
            ("files/*", "files/sub/a.yaml", false),
            ("files/**", "files/sub/a.yaml", true),
            ("files/**.yaml", "files/sub/a.yaml", true),
            ("**/a.yaml", "a.yaml", false),
            ("*.{yaml,yml}", "a.yml", true),
            ("*.{yaml,yml}", "a.json", false),
            ("{a,b{c,d*}}x", "bdzzx", true),
            ("{a,b", "b", true),
            ("a?c", "a/c", false),
            ("a?c", "abc", true),
            ("[abc]", "b", true),
            ("[!abc]", "b", false),
            ("[!abc]", "z", true),
            ("[a-c]", "b", true),
            ("[!a-c]", "b", false),
            ("[a-c]", "-", false),
            ("[ab-d]", "-", true),
            ("[ab-d]", "c", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a,b", "a,b", true),
            ("a}", "a}", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(Glob::compile_or_everything(pattern).matches(name), want, "{pattern:?} on {name:?}");
        }
    }

    #[test]
    fn a_malformed_pattern_matches_everything() {
        for pattern in ["[", "[]", "[a", "[c-a]", "[a-bc]", "x[!]"] {
            assert!(Glob::compile_or_everything(pattern).matches("any/thing"), "{pattern:?}");
        }
    }
}
