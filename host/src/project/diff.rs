//! What becomes of a file, in the form that `diff -u` and git write.

use crate::unified_diff;

/// Lines around a change.
const CONTEXT: usize = 3;

/// The differences, with the file's name above them; empty where there are none.
pub fn unified(path: &str, old: &str, new: &str) -> String {
    let lines = unified_diff::lines(old, new, CONTEXT);
    if lines.is_empty() {
        return String::new();
    }
    let body: String = lines.into_iter().map(|line| line.text + "\n").collect();
    format!("--- a/{path}\n+++ b/{path}\n{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_where_it_differs() {
        assert_eq!(unified("f", "", "a\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified("f", "a\n", "a\n"), "");
    }
}
