//! Constraints as nearly all are written, read without the grammar: compiling its patterns takes longer than rendering a
//! small chart.

const SPACE: [char; 5] = ['\t', '\n', '\x0C', '\r', ' '];
const OPERATORS: [&str; 12] = ["", "=", "!=", ">", "<", ">=", "=>", "<=", "=<", "~", "~>", "^"];

/// What a constraint is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts<'s> {
    pub(super) operator: &'s str,
    pub(super) major: &'s str,
    /// With their dots; empty when missing.
    pub(super) minor: &'s str,
    pub(super) patch: &'s str,
    /// With its `-`.
    pub(super) pre: &'s str,
}

/// The constraints of an alternative; `None` where the grammar has to say what they are.
pub(super) fn alternative(source: &str) -> Option<Vec<Parts<'_>>> {
    let mut found = Vec::new();
    let mut rest = source.trim_start_matches(SPACE);
    loop {
        let (parts, after) = one(rest)?;
        found.push(parts);
        rest = after.trim_start_matches(SPACE);
        if rest.is_empty() {
            return Some(found);
        }
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start_matches(SPACE),
            None if rest.len() == after.len() => return None,
            None => {}
        }
    }
}

fn one(source: &str) -> Option<(Parts<'_>, &str)> {
    let (operator, rest) = split(source, |c| "=!<>~^".contains(c));
    if !OPERATORS.contains(&operator) {
        return None;
    }
    let rest = rest.trim_start_matches(SPACE);
    let (major, rest) = number(rest.strip_prefix('v').unwrap_or(rest))?;
    let (minor, rest) = after_dot(rest)?;
    let (patch, rest) = if minor.is_empty() { ("", rest) } else { after_dot(rest)? };
    let (pre, rest) = tail(rest, '-')?;
    let (_, rest) = tail(rest, '+')?;
    let ends = rest.chars().next().is_none_or(|next| next == ',' || SPACE.contains(&next));
    ends.then_some((Parts { operator, major, minor, patch, pre }, rest))
}

/// A number or a wildcard.
fn number(source: &str) -> Option<(&str, &str)> {
    match split(source, |c| c.is_ascii_digit()) {
        ("", rest) => {
            let (wild, rest) = split(rest, |c| "xX*".contains(c));
            (wild.len() == 1).then_some((wild, rest))
        }
        found => Some(found),
    }
}

/// A part with its dot, or nothing.
fn after_dot(source: &str) -> Option<(&str, &str)> {
    let Some(rest) = source.strip_prefix('.') else { return Some(("", source)) };
    let (part, rest) = number(rest)?;
    Some((source.get(..=part.len())?, rest))
}

/// Identifiers parted by dots, with what is in front of them, or nothing.
fn tail(source: &str, mark: char) -> Option<(&str, &str)> {
    let Some(rest) = source.strip_prefix(mark) else { return Some(("", source)) };
    let (text, rest) = split(rest, |c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
    let whole = text.split('.').all(|identifier| !identifier.is_empty());
    whole.then_some((source.get(..=text.len())?, rest))
}

fn split(source: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = source.find(|c| !belongs(c)).unwrap_or(source.len());
    source.split_at_checked(end).unwrap_or((source, ""))
}
