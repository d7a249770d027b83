//! Variables of the environment in texts, as Go replaces them.

/// Go's `os.Expand`: `$NAME` and `${NAME}`, and the shell's special variables (`$1`, `$$`, `$*` …), which no environment has.
pub(super) fn expand(text: &str, env: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('$') {
        out.push_str(before);
        let (name, length) = variable(tail);
        match name {
            Some(name) => out.push_str(&env(name).unwrap_or_default()),
            // What begins like a variable and is none goes; a lone dollar stays.
            None if length == 0 => out.push('$'),
            None => {}
        }
        rest = tail.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The variable that a text after a dollar begins with, and how much of the text speaks of it (Go's `getShellName`).
fn variable(text: &str) -> (Option<&str>, usize) {
    let is_special = |c: char| "*#$@!?-".contains(c) || c.is_ascii_digit();
    if let Some(braced) = text.strip_prefix('{') {
        return match braced.find('}') {
            Some(0) => (None, 2),
            Some(end) => (braced.get(..end), end + 2),
            None => (None, 1),
        };
    }
    if text.starts_with(is_special) {
        return (text.get(..1), 1);
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    (text.get(..end).filter(|name| !name.is_empty()), end)
}
