//! Scalars of one line: which of them are surely strings, and what they hold.

use super::{Content, is_key, is_nothing};
use crate::resolve::{Scalar, resolve_plain};

/// Whether a scalar may go on with the next line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It does not.
    Closed,
    /// It does when the next line is of it.
    Open,
}

/// A scalar, or the part of it that stands on this line; or a collection of the simplest kind.
pub(super) fn scalar(value: &str) -> Option<(Content<'_>, End)> {
    let second = value.as_bytes().get(1).copied();
    match value.bytes().next()? {
        quote @ (b'"' | b'\'') => {
            let (content, rest) = quoted(value.get(1..)?, quote)?;
            ends(rest).then_some((content, End::Closed))
        }
        b'{' => ends(value.strip_prefix("{}")?).then_some((Content::Open, End::Closed)),
        b'[' => ends(flow_sequence(value.get(1..)?)?).then_some((Content::Other, End::Closed)),
        b'-' if !matches!(second, None | Some(b' ' | b'.')) => plain(value),
        b'.' if second == Some(b'/') => plain(value),
        b'a'..=b'z'
        | b'A'..=b'Z'
        | b'0'..=b'9'
        | b'_'
        | b'/'
        | b'$'
        | b'('
        | b'<'
        | b'='
        | b'^'
        | b';'
        | b'\\' => plain(value),
        _ => None,
    }
}

/// Whether nothing or a comment is left of a line.
fn ends(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ') && is_nothing(rest.trim_start_matches(' '))
}

/// What stands between quotes, and behind them.
fn quoted(text: &str, quote: u8) -> Option<(Content<'_>, &str)> {
    let (mut at, mut same) = (0, true);
    let bytes = text.as_bytes();
    loop {
        let byte = *bytes.get(at)?;
        let next = bytes.get(at + 1);
        let escaped = match byte {
            b'\\' if quote == b'"' => {
                matches!(next?, b'"' | b'\\' | b'n' | b't' | b'r' | b'/').then_some(true)?
            }
            b'\'' if quote == b'\'' => next == Some(&b'\''),
            _ => false,
        };
        if byte == quote && !escaped {
            let content = if same { Content::Text(text.get(..at)?) } else { Content::Other };
            return Some((content, text.get(at + 1..)?));
        }
        same &= !escaped;
        at += if escaped { 2 } else { 1 };
    }
}

/// What stands behind a flow sequence that holds scalars and ends on its line.
fn flow_sequence(mut text: &str) -> Option<&str> {
    loop {
        text = text.trim_start_matches(' ');
        if let Some(rest) = text.strip_prefix(']') {
            return Some(rest);
        }
        text = match text.bytes().next()? {
            quote @ (b'"' | b'\'') => quoted(text.get(1..)?, quote)?.1,
            first if first.is_ascii_alphanumeric() || first == b'/' => {
                let end = text.bytes().position(|byte| !is_key(byte) && byte != b'*')?;
                text.get(end..)?
            }
            _ => return None,
        };
        text = text.trim_start_matches(' ');
        if !text.starts_with(']') {
            text = text.strip_prefix(',')?;
        }
    }
}

/// A plain scalar. Not a number that JSON does not know: those begin with a dot or a sign.
fn plain(value: &str) -> Option<(Content<'_>, End)> {
    let (text, end) = match value.split_once(" #") {
        Some((text, _)) => (text.trim_end_matches(' '), End::Closed),
        None => (value, End::Open),
    };
    if text.ends_with(':') || text.contains(": ") {
        return None;
    }
    let is_text = resolve_plain(text) == Scalar::Text;
    Some((if is_text { Content::Text(text) } else { Content::Other }, end))
}

/// The first line of a literal or folded text, without a number of columns or a comment.
pub(super) fn block_header(header: &str) -> Option<()> {
    matches!(header.get(1..)?.trim_end_matches(' '), "" | "-" | "+").then_some(())
}
