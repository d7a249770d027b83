//! Where things stand in the lines of block-style YAML. What is not in block style is not found.

use super::Step;
use crate::project::yaml_text::indent;

/// Lines that belong to a key or an item.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// The first: the one with the key or the dash.
    start: usize,
    /// After the last that says something.
    end: usize,
    /// Where the key or the dash stands.
    column: usize,
}

/// A block of siblings.
struct Block {
    spans: Vec<(String, Span)>,
    is_list: bool,
    column: usize,
}

fn column(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn says_something(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#') && line != "---" && !line.starts_with("--- ")
}

fn is_dash(line: &str) -> bool {
    let line = line.trim_start_matches(' ');
    line == "-" || line.starts_with("- ")
}

/// The key that a line begins with.
fn key_of(line: &str) -> Option<String> {
    let line = line.trim_start_matches(' ');
    for quote in ['"', '\''] {
        if let Some(rest) = line.strip_prefix(quote) {
            let (key, after) = rest.split_once(quote)?;
            return after.starts_with(':').then(|| key.to_owned());
        }
    }
    if let Some((key, _)) = line.split_once(": ") {
        return Some(key.to_owned());
    }
    line.trim_end().strip_suffix(':').map(str::to_owned)
}

/// The siblings among these lines.
fn block(lines: &[String], start: usize, end: usize) -> Option<Block> {
    let content = |index: &usize| lines.get(*index).is_some_and(|line| says_something(line));
    let first = (start..end).find(content)?;
    let first_line = lines.get(first)?;
    let (at, is_list) = (column(first_line), is_dash(first_line));
    let mut spans: Vec<(String, Span)> = Vec::new();
    for index in (first..end).filter(content) {
        let line = lines.get(index)?;
        let starts = column(line) == at && is_dash(line) == is_list;
        if column(line) < at {
            return None;
        }
        if starts {
            let name = if is_list { spans.len().to_string() } else { key_of(line)? };
            spans.push((name, Span { start: index, end: index + 1, column: at }));
        } else if let Some((_, span)) = spans.last_mut() {
            span.end = index + 1;
        }
    }
    Some(Block { spans, is_list, column: at })
}

/// The siblings at a path, and the lines with the dashes on the way blanked out.
fn descend(text: &str, path: &[Step]) -> Option<(Vec<String>, Span)> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut span = Span { start: 0, end: lines.len(), column: 0 };
    let mut inside = 0;
    for step in path {
        let found = block(&lines, span.start + inside, span.end)?;
        let wanted = match step {
            Step::Key(key) if !found.is_list => key.clone(),
            Step::Item(index) if found.is_list => index.to_string(),
            _ => return None,
        };
        span = found.spans.iter().find(|(name, _)| *name == wanted).map(|(_, span)| *span)?;
        inside = 1;
        if matches!(step, Step::Item(_)) {
            // What follows the dash begins the item's own block.
            lines.get_mut(span.start)?.replace_range(span.column..=span.column, " ");
            inside = 0;
        }
    }
    Some((lines, Span { start: span.start + inside, ..span }))
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The text with these lines in the place of others. What stands before a key in its line, a dash, stays.
fn replaced(text: &str, span: Span, block: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let head = lines.get(span.start).and_then(|line| line.get(..span.column)).unwrap_or_default().to_owned();
    let mut new: Vec<String> = indent(block, span.column).lines().map(str::to_owned).collect();
    if let Some(first) = new.first_mut() {
        first.replace_range(..span.column.min(first.len()), &head);
    }
    if span.end > lines.len() {
        return None;
    }
    lines.splice(span.start..span.end, new);
    Some(joined(&lines))
}

fn inserted(text: &str, line: usize, column: usize, block: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let new: Vec<String> = indent(block, column).lines().map(str::to_owned).collect();
    let line = line.min(lines.len());
    lines.splice(line..line, new);
    joined(&lines)
}

/// Puts `key: …` into the mapping at a path.
pub(super) fn put(text: &str, above: &[Step], key: &str, new: &str) -> Option<String> {
    let (lines, span) = descend(text, above)?;
    let Some(found) = block(&lines, span.start, span.end) else {
        // An empty document. Elsewhere, what is empty is put anew with its key.
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return above.is_empty().then(|| format!("{text}{end}{new}"));
    };
    if found.is_list {
        return None;
    }
    match found.spans.iter().find(|(name, _)| name == key) {
        Some((_, span)) => replaced(text, *span, new),
        None => {
            let end = found.spans.last()?.1.end;
            Some(inserted(text, end, found.column, new))
        }
    }
}

/// Puts an item, with its dash, in the place of the one at a path.
pub(super) fn replace_item(text: &str, path: &[Step], new: &str) -> Option<String> {
    let (last, above) = path.split_last()?;
    let Step::Item(index) = last else { return None };
    let (lines, span) = descend(text, above)?;
    let found = block(&lines, span.start, span.end)?;
    let (_, span) = found.spans.get(*index).filter(|_| found.is_list)?;
    replaced(text, *span, new)
}

/// Takes away what stands at a path.
pub(super) fn remove(text: &str, path: &[Step]) -> Option<String> {
    let (last, above) = path.split_last()?;
    let (lines, span) = descend(text, above)?;
    let found = block(&lines, span.start, span.end)?;
    let wanted = match last {
        Step::Key(key) => key.clone(),
        Step::Item(index) => index.to_string(),
    };
    let position = found.spans.iter().position(|(name, _)| *name == wanted)?;
    let mut gone = found.spans.get(position)?.1;
    // Comments above it are about it.
    let is_comment = |index: usize| {
        text.lines().nth(index).is_some_and(|line| {
            line.trim_start().starts_with('#')
                && column(line) == gone.column
                && !line.contains("+kubebuilder")
        })
    };
    while gone.start > 0 && is_comment(gone.start - 1) {
        gone.start -= 1;
    }
    let head = text.lines().nth(gone.start)?.get(..gone.column)?.to_owned();
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let next = found.spans.get(position + 1).map(|(_, span)| *span);
    if head.trim().is_empty() {
        if found.spans.len() == 1 {
            // The list or mapping itself is empty then.
            let above = all.get_mut(gone.start.checked_sub(1)?)?;
            above.push_str(if found.is_list { " []" } else { " {}" });
        }
    } else {
        // The dash of the item that this key began goes to the key after it.
        let next = all.get_mut(next?.start)?;
        next.replace_range(..gone.column.min(next.len()), &head);
    }
    all.splice(gone.start..gone.end, []);
    Some(joined(&all))
}

/// Appends items, as text, to the list at a path.
pub(super) fn append(text: &str, path: &[Step], items: &str) -> Option<String> {
    let (lines, span) = descend(text, path)?;
    // A list may stand as far to the left as its key: then its lines do not belong to the key's span by column alone.
    let found = block(&lines, span.start, span.end)?;
    if !found.is_list {
        return None;
    }
    Some(inserted(text, found.spans.last()?.1.end, found.column, items))
}

/// Renames a key of the root.
pub(super) fn rename(text: &str, old: &str, new: &str) -> Option<String> {
    let (lines, span) = descend(text, &[])?;
    let found = block(&lines, span.start, span.end)?;
    let (_, span) = found.spans.iter().find(|(name, _)| name == old)?;
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = all.get_mut(span.start)?;
    *line = line.replacen(old, new, 1);
    Some(joined(&all))
}
