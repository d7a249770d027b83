//! Go's spelling of regular expressions in that of the `regex` crate.

/// Go reads a `{` that begins no repetition as itself and knows no nested classes; the crate sees syntax in both.
#[expect(clippy::too_many_lines, reason = "one arm for each character that means something")]
pub(super) fn from_go(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.char_indices();
    let mut in_class = false;
    let mut class_start = false;
    // Whether a whole set (`\w`, `\p{Greek}`) has just been read inside a class.
    let mut after_set = false;
    while let Some((at, c)) = chars.next() {
        let rest = pattern.get(at + c.len_utf8()..).unwrap_or_default();
        let first = std::mem::take(&mut class_start);
        let follows_set = std::mem::take(&mut after_set);
        match c {
            '\\' => {
                out.push(c);
                let Some((_, next)) = chars.next() else { return out };
                out.push(next);
                after_set = in_class && matches!(next, 'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'p' | 'P');
                // `\p{Greek}` and `\x{10FFFF}` keep their braces.
                if matches!(next, 'p' | 'P' | 'x') && chars.clone().next().is_some_and(|(_, c)| c == '{') {
                    for (_, c) in chars.by_ref() {
                        out.push(c);
                        if c == '}' {
                            break;
                        }
                    }
                }
            }
            '[' if !in_class => {
                in_class = true;
                class_start = true;
                out.push(c);
                if rest.starts_with('^') {
                    out.push('^');
                    chars.next();
                }
            }
            ']' if in_class && !first => {
                in_class = false;
                out.push(c);
            }
            // `]` as the first member of a class is itself.
            ']' if in_class => out.push_str("\\]"),
            '[' if rest.starts_with(':') => out.push(c),
            '[' => out.push_str("\\["),
            // No range begins with a set: `[\w-.]` has a plain `-` in it.
            '-' if follows_set => out.push_str("\\-"),
            '&' | '~' if in_class && rest.starts_with(c) => {
                out.push('\\');
                out.push(c);
            }
            '{' if !in_class && !is_repetition(rest) => out.push_str("\\{"),
            '}' if !in_class && !closes_repetition(pattern.get(..at).unwrap_or_default()) => {
                out.push_str("\\}");
            }
            c => out.push(c),
        }
        // `[:alpha:]` inside a class is taken as a whole.
        if c == '['
            && in_class
            && !class_start
            && rest.starts_with(':')
            && let Some(end) = rest.find(":]")
        {
            out.push_str(rest.get(..end + 2).unwrap_or_default());
            for _ in rest.get(..end + 2).unwrap_or_default().chars() {
                chars.next();
            }
            after_set = true;
        }
    }
    out
}

/// `n}`, `n,}`, `n,m}`.
fn is_repetition(rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once('}') else { return false };
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    match inside.split_once(',') {
        Some((least, most)) => digits(least) && (most.is_empty() || digits(most)),
        None => digits(inside),
    }
}

fn closes_repetition(before: &str) -> bool {
    let inside = before.rfind('{').and_then(|open| before.get(open + 1..));
    inside.is_some_and(|inside| is_repetition(&format!("{inside}}}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_takes_literally_is_escaped() {
        for (go, rust) in [
            ("{{.*}}", "\\{\\{.*\\}\\}"),
            ("a{2,3}b{1}", "a{2,3}b{1}"),
            ("[[]x", "[\\[]x"),
            ("[[:alpha:]_]+", "[[:alpha:]_]+"),
            ("[]a]", "[\\]a]"),
            ("\\p{Greek}", "\\p{Greek}"),
            ("^[\\w-\\.]+$", "^[\\w\\-\\.]+$"),
            ("[[:alpha:]-z]", "[[:alpha:]\\-z]"),
            ("[\\p{Greek}-z]", "[\\p{Greek}\\-z]"),
            ("[a-z\\d-]", "[a-z\\d\\-]"),
        ] {
            assert_eq!(from_go(go), rust, "{go}");
            assert!(regex::bytes::Regex::new(&from_go(go)).is_ok(), "{go}");
        }
    }
}
