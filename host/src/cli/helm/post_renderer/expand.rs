//! `$NAME` and `${NAME}` in a text, as Go's `os.Expand` has it.

/// The text with variables for their names.
pub(super) fn expand(text: &str, variable: &dyn Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        let (name, width) = name(behind);
        match name {
            Some(name) => out.push_str(&variable(name)),
            // A `$` in front of anything else is itself; bad syntax is passed over.
            None if width == 0 => out.push('$'),
            None => {}
        }
        rest = behind.get(width..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The name that a text starts with, and how much of the text belongs to it.
fn name(text: &str) -> (Option<&str>, usize) {
    if let Some(inner) = text.strip_prefix('{') {
        let special = inner.chars().next().is_some_and(is_special) && inner.get(1..2) == Some("}");
        if special {
            return (inner.get(..1), 3);
        }
        return match inner.find('}') {
            Some(0) => (None, 2),
            Some(end) => (inner.get(..end), end + 2),
            None => (None, 1),
        };
    }
    if text.chars().next().is_some_and(is_special) {
        return (text.get(..1), 1);
    }
    let end = text.find(|c: char| !(c == '_' || c.is_ascii_alphanumeric())).unwrap_or(text.len());
    if end == 0 { (None, 0) } else { (text.get(..end), end) }
}

fn is_special(character: char) -> bool {
    matches!(character, '*' | '#' | '$' | '@' | '!' | '?' | '-' | '0'..='9')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_as_by_go() {
        let variable = |name: &str| format!("<{name}>");
        for (text, want) in [
            ("plain", "plain"),
            ("$A/b", "<A>/b"),
            ("${A}b", "<A>b"),
            ("a$", "a$"),
            ("$$x", "<$>x"),
            ("$1x", "<1>x"),
            ("${1}x", "<1>x"),
            ("${}x", "x"),
            ("${x", "x"),
            ("$ x", "$ x"),
            ("$é", "$é"),
            ("${a b}", "<a b>"),
        ] {
            assert_eq!(expand(text, &variable), want, "{text}");
        }
    }
}
