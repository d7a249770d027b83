//! What two texts differ in, in the form that `diff -u` and git write.

use std::fmt::Write as _;

/// Lines around a change.
const CONTEXT: usize = 3;

/// A line of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'a> {
    Both(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The differences, with the file's name above them; empty where there are none.
pub fn unified(path: &str, old: &str, new: &str) -> String {
    let lines = compare(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>());
    let mut out = String::new();
    for hunk in hunks(&lines) {
        if out.is_empty() {
            let _ = write!(out, "--- a/{path}\n+++ b/{path}\n");
        }
        let Some(part) = lines.get(hunk.clone()) else { continue };
        let before = lines.get(..hunk.start).unwrap_or_default();
        let (old_start, old_count) = (count(before, true), count(part, true));
        let (new_start, new_count) = (count(before, false), count(part, false));
        // A side without lines is counted from the line before it.
        let first = |start: usize, count: usize| if count == 0 { start } else { start + 1 };
        let _ = writeln!(
            out,
            "@@ -{},{old_count} +{},{new_count} @@",
            first(old_start, old_count),
            first(new_start, new_count)
        );
        for line in part {
            let (sign, text) = match line {
                Line::Both(text) => (' ', text),
                Line::Old(text) => ('-', text),
                Line::New(text) => ('+', text),
            };
            let _ = writeln!(out, "{sign}{text}");
        }
    }
    out
}

fn count(lines: &[Line<'_>], old: bool) -> usize {
    let counts = |line: &&Line<'_>| match line {
        Line::Both(_) => true,
        Line::Old(_) => old,
        Line::New(_) => !old,
    };
    lines.iter().filter(counts).count()
}

/// Ranges of lines with changes and their surroundings.
fn hunks(lines: &[Line<'_>]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if matches!(line, Line::Both(_)) {
            continue;
        }
        let range = index.saturating_sub(CONTEXT)..(index + 1 + CONTEXT).min(lines.len());
        match hunks.last_mut() {
            Some(last) if range.start <= last.end => last.end = range.end,
            _ => hunks.push(range),
        }
    }
    hunks
}

/// The longest common part, and what is on either side of it.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let middle = |lines: &[&'a str]| lines.get(head..lines.len() - tail).unwrap_or_default().to_vec();
    let (a, b) = (middle(old), middle(new));
    let width = b.len() + 1;
    // lengths[i * width + j]: how many lines a[i..] and b[j..] have in common.
    let mut lengths = vec![0_u32; (a.len() + 1) * width];
    let at = |lengths: &[u32], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or(0);
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            let length = if a.get(i) == b.get(j) {
                at(&lengths, i + 1, j + 1) + 1
            } else {
                at(&lengths, i + 1, j).max(at(&lengths, i, j + 1))
            };
            if let Some(cell) = lengths.get_mut(i * width + j) {
                *cell = length;
            }
        }
    }
    let mut lines: Vec<Line<'a>> = old.iter().take(head).map(|line| Line::Both(line)).collect();
    let (mut i, mut j) = (0, 0);
    loop {
        match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x == y => {
                lines.push(Line::Both(x));
                (i, j) = (i + 1, j + 1);
            }
            (Some(x), y) if y.is_none() || at(&lengths, i + 1, j) >= at(&lengths, i, j + 1) => {
                lines.push(Line::Old(x));
                i += 1;
            }
            (_, Some(y)) => {
                lines.push(Line::New(y));
                j += 1;
            }
            _ => break,
        }
    }
    lines.extend(old.iter().skip(old.len() - tail).map(|line| Line::Both(line)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_their_surroundings_as_git_shows_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n";
        let expected = "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+13\n";
        assert_eq!(unified("f", old, new), expected);
        assert_eq!(unified("f", old, old), "");
        assert_eq!(unified("f", "", "a\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
    }
}
