//! The patterns of `.Files.Glob`: github.com/gobwas/glob v0.2.3 with `/` as separator.
//!
//! `*` stops at a slash and `**` does not, `?` is one character but a slash, `[abc]`, `[!abc]`, `[a-z]`,
//! `{one,two}` with patterns inside, `\` takes the next character literally. A pattern that does not compile
//! matches everything, because Helm then falls back to `**`.

/// How deep braces may be nested.
const MAX_DEPTH: usize = 100;

/// A compiled pattern: an automaton, so that no pattern takes more steps than it has terms for each character.
#[derive(Debug)]
pub(crate) struct Glob {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    /// One character, then the next step.
    One(Class),
    /// Any number of characters, then the next step.
    Many(Class),
    /// One of several ways.
    Fork(Vec<usize>),
    Jump(usize),
}

#[derive(Debug)]
enum Class {
    Is(char),
    All,
    NoSlash,
    List { chars: Vec<char>, negated: bool },
    Range { low: char, high: char, negated: bool },
}

impl Class {
    fn has(&self, c: char) -> bool {
        match self {
            Self::Is(wanted) => c == *wanted,
            Self::All => true,
            Self::NoSlash => c != '/',
            Self::List { chars, negated } => chars.contains(&c) != *negated,
            Self::Range { low, high, negated } => (low..=high).contains(&&c) != *negated,
        }
    }
}

impl Glob {
    /// Reads a pattern; a malformed one becomes `**`.
    pub(crate) fn compile_or_everything(pattern: &str) -> Self {
        let mut reader = Reader { chars: pattern.chars().collect(), at: 0, steps: Vec::new() };
        match reader.terms(0) {
            Some(()) => Self { steps: reader.steps },
            None => Self { steps: vec![Step::Many(Class::All)] },
        }
    }

    /// Whether the whole of `name` matches.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let mut at = self.reached(vec![0]);
        for c in name.chars() {
            let mut next = Vec::new();
            for place in at {
                match self.steps.get(place) {
                    Some(Step::One(class)) if class.has(c) => next.push(place + 1),
                    Some(Step::Many(class)) if class.has(c) => next.push(place),
                    _ => {}
                }
            }
            if next.is_empty() {
                return false;
            }
            at = self.reached(next);
        }
        at.contains(&self.steps.len())
    }

    /// The places that are reached without a character, each once.
    fn reached(&self, from: Vec<usize>) -> Vec<usize> {
        let mut seen = vec![false; self.steps.len() + 1];
        let (mut pending, mut reached) = (from, Vec::new());
        while let Some(place) = pending.pop() {
            if seen.get_mut(place).is_none_or(|seen| std::mem::replace(seen, true)) {
                continue;
            }
            reached.push(place);
            match self.steps.get(place) {
                Some(Step::Many(_)) => pending.push(place + 1),
                Some(Step::Fork(ways)) => pending.extend(ways),
                Some(Step::Jump(target)) => pending.push(*target),
                _ => {}
            }
        }
        reached
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    steps: Vec<Step>,
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
    fn terms(&mut self, depth: usize) -> Option<()> {
        while let Some(c) = self.peek() {
            if depth > 0 && matches!(c, ',' | '}') {
                break;
            }
            self.at += 1;
            let step = match c {
                '?' => Step::One(Class::NoSlash),
                '*' if self.peek() == Some('*') => {
                    self.at += 1;
                    Step::Many(Class::All)
                }
                '*' => Step::Many(Class::NoSlash),
                '[' => Step::One(self.range()?),
                '{' => {
                    self.alternatives(depth + 1)?;
                    continue;
                }
                _ => {
                    self.at -= 1;
                    let breakers = if depth > 0 { "?*[{}," } else { "?*[{" };
                    let text = self.text(breakers);
                    self.steps.extend(text.into_iter().map(|c| Step::One(Class::Is(c))));
                    continue;
                }
            };
            self.steps.push(step);
        }
        Some(())
    }

    /// After `{`. An unclosed brace ends with the pattern, as in the original.
    fn alternatives(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let fork = self.steps.len();
        self.steps.push(Step::Fork(Vec::new()));
        let (mut ways, mut ends) = (Vec::new(), Vec::new());
        loop {
            ways.push(self.steps.len());
            self.terms(depth)?;
            ends.push(self.steps.len());
            self.steps.push(Step::Jump(0));
            if self.next() != Some(',') {
                break;
            }
        }
        let after = self.steps.len();
        for end in ends {
            *self.steps.get_mut(end)? = Step::Jump(after);
        }
        *self.steps.get_mut(fork)? = Step::Fork(ways);
        Some(())
    }

    /// After `[`: `!`, then either one `low-high` or a list of characters in which `-` is literal.
    fn range(&mut self) -> Option<Class> {
        let negated = self.peek() == Some('!');
        self.at += usize::from(negated);
        if self.chars.get(self.at + 1) == Some(&'-') {
            let (low, _, high) = (self.next()?, self.next()?, self.next()?);
            return (self.next()? == ']' && low <= high).then_some(Class::Range { low, high, negated });
        }
        let chars = self.text("]");
        (self.next()? == ']' && !chars.is_empty()).then_some(Class::List { chars, negated })
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
    fn a_pattern_that_could_be_tried_in_many_ways_is_decided_at_once() {
        let name = "a".repeat(2000);
        for pattern in ["*a".repeat(50) + "b", "{a,a}".repeat(50) + "b", "**a".repeat(50) + "b"] {
            assert!(!Glob::compile_or_everything(&pattern).matches(&name), "{pattern}");
        }
        assert!(Glob::compile_or_everything(&"{a,a}".repeat(50)).matches(&"a".repeat(50)));
        assert!(Glob::compile_or_everything(&"{".repeat(100_000)).matches("x"));
    }

    #[test]
    fn a_malformed_pattern_matches_everything() {
        for pattern in ["[", "[]", "[a", "[c-a]", "[a-bc]", "x[!]"] {
            assert!(Glob::compile_or_everything(pattern).matches("any/thing"), "{pattern:?}");
        }
    }
}
