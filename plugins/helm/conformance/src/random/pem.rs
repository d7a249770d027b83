//! A text cut into PEM blocks and what stands between.

use base64::{Engine, engine::general_purpose::STANDARD};

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    Block(Block<'a>),
}

/// What stands between `-----BEGIN` and `-----END`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// `CERTIFICATE`, `RSA PRIVATE KEY`.
    pub(super) label: &'a str,
    /// What separates its lines: a line break with indentation, or one that is escaped.
    pub(super) separator: &'a str,
    pub(super) content: Vec<u8>,
    /// How many lines it takes.
    pub(super) lines: usize,
}

/// Width of a line; only the last is shorter.
const WIDTH: usize = 64;

/// Cuts a text. What looks like a block and is none stays text.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let (mut parts, mut rest, mut searched) = (Vec::new(), text, 0);
    while let Some(found) = rest.get(searched..).and_then(|rest| rest.find("-----BEGIN ")) {
        let at = searched + found;
        let (before, from) = rest.split_at(at);
        match block(from) {
            Some((block, length)) => {
                parts.push(Part::Text(before));
                parts.push(Part::Block(block));
                rest = from.get(length..).unwrap_or_default();
                searched = 0;
            }
            None => searched = at + 1,
        }
    }
    parts.push(Part::Text(rest));
    parts
}

/// A block at the start of a text, and how long it is.
fn block(text: &str) -> Option<(Block<'_>, usize)> {
    let (label, body) = text.strip_prefix("-----BEGIN ")?.split_once("-----")?;
    let end = format!("-----END {label}-----");
    let (body, _) = body.split_once(&*end)?;
    let separator = separator(body)?;
    let lines: Vec<&str> = body.strip_prefix(separator)?.strip_suffix(separator)?.split(separator).collect();
    let (last, full) = lines.split_last()?;
    if last.is_empty() || last.len() > WIDTH || full.iter().any(|line| line.len() != WIDTH) {
        return None;
    }
    let content = STANDARD.decode(lines.concat()).ok()?;
    let length = "-----BEGIN -----".len() + label.len() + body.len() + end.len();
    let breaks = if separator.starts_with('\n') { lines.len() + 1 } else { 0 };
    Some((Block { label, separator, content, lines: breaks }, length))
}

fn separator(body: &str) -> Option<&str> {
    const ESCAPED: &str = "\\n";
    if body.starts_with(ESCAPED) {
        return Some(ESCAPED);
    }
    let after = body.strip_prefix('\n')?.trim_start_matches(' ');
    body.get(..body.len() - after.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> Vec<(String, String)> {
        let named = |part: Part<'_>| match part {
            Part::Block(block) => Some((block.label.to_owned(), String::from_utf8(block.content).unwrap())),
            Part::Text(_) => None,
        };
        parts(text).into_iter().filter_map(named).collect()
    }

    #[test]
    fn blocks_are_found_with_their_indentation_and_escaped() {
        let expected = [("X".to_owned(), "abc".to_owned())];
        assert_eq!(blocks("k: |\n  -----BEGIN X-----\n  YWJj\n  -----END X-----\nz"), expected);
        assert_eq!(blocks("\"-----BEGIN X-----\\nYWJj\\n-----END X-----\\n\""), expected);
    }

    #[test]
    fn what_surrounds_a_block_stays() {
        let found = parts("a\n-----BEGIN X-----\nYWJj\n-----END X-----\nb");
        assert_eq!(found.first(), Some(&Part::Text("a\n")));
        assert_eq!(found.last(), Some(&Part::Text("\nb")));
    }

    #[test]
    fn lines_of_another_width_or_indentation_make_no_block() {
        assert!(blocks("-----BEGIN X-----\nYWJj\nYWJj\n-----END X-----").is_empty());
        assert!(blocks("-----BEGIN X-----\n YWJj\n-----END X-----").is_empty());
        assert!(blocks("-----BEGIN X-----\nYWJj\n-----END Y-----").is_empty());
    }
}
