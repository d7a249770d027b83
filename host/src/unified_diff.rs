//! What two texts differ in, in the form that `diff -u` and git write.

use similar::{ChangeTag, TextDiff};

/// What a line of a difference says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Both texts have the line.
    Both,
    /// Only the old one.
    Old,
    /// Only the new one.
    New,
    /// Where the lines after it stand.
    Place,
}

/// A line of a difference, without its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it says.
    pub sign: Sign,
    /// As it is printed, with its sign in front.
    pub text: String,
}

/// The differences, with so many lines around each; none where there are none. The lines that name the files are left to
/// the caller.
pub fn lines(old: &str, new: &str, context: usize) -> Vec<Line> {
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for hunk in diff.unified_diff().context_radius(context).iter_hunks() {
        lines.push(Line { sign: Sign::Place, text: hunk.header().to_string() });
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Equal => Sign::Both,
                ChangeTag::Delete => Sign::Old,
                ChangeTag::Insert => Sign::New,
            };
            let text = format!("{}{}", change.tag(), change.value().trim_end_matches('\n'));
            lines.push(Line { sign, text });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(old: &str, new: &str) -> String {
        lines(old, new, 3).into_iter().map(|line| line.text + "\n").collect()
    }

    #[test]
    fn changes_are_shown_with_their_surroundings_as_git_shows_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n";
        let expected =
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+13\n";
        assert_eq!(text(old, new), expected);
        assert_eq!(text(old, old), "");
        assert_eq!(text("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
    }
}
